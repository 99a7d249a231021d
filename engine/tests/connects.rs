//! How a server's connections come up, and what is said where they do not.

mod played;

use std::os::unix::net::UnixListener;
use std::thread;
use std::time::{Duration, Instant};

use _engine::address::Address;
use _engine::connection::{Failure, Target};
use _engine::engine::Engine;

use played::*;

const PATIENCE: Duration = Duration::from_millis(500);

/// Connects, which must end soon.
fn attempt(target: Target, connections: usize, workers: usize) -> Result<Engine, Failure> {
    let began = Instant::now();
    let mut engine = Engine::new(program(false, "SELECT"), 1, workers);
    // What would wait for ever is interrupted.
    let result = engine.connect(target, connections, PATIENCE, &|| began.elapsed() < SOON);
    assert!(began.elapsed() < SOON, "{result:?}");
    result.map(|_| engine)
}

#[test]
fn a_full_server_says_so_and_how_many_it_took() {
    // One lane after the other, so that the third comes when two are up.
    let server = Server::of(vec![obliging(), obliging(), refusing(1040, "Too many connections")]);
    let failure = attempt(server.target(), 3, 3).unwrap_err();
    assert_eq!(failure.code, 1040);
    assert_eq!(failure.message, "2 of 3 connections were made: Too many connections");
}

#[test]
fn a_server_that_never_greets_is_given_up() {
    let server = Server::of(vec![obliging(), unlogged(wait_for_end)]);
    let failure = attempt(server.target(), 2, 1).unwrap_err();
    assert_eq!(failure.message, "1 of 2 connections were made: no answer within 0.5 s");
}

#[test]
fn a_server_that_never_accepts_is_given_up() {
    let home = Home::new();
    let _deaf = UnixListener::bind(home.socket()).unwrap();
    let failure = attempt(target(home.socket()), 1, 1).unwrap_err();
    assert_eq!(failure.message, "0 of 1 connections were made: no answer within 0.5 s");
}

#[test]
fn a_server_whose_queue_stays_full_is_given_up() {
    let home = Home::new();
    let listener = UnixListener::bind(home.socket()).unwrap();
    rustix::net::listen(&listener, 1).unwrap();
    let address = Address::Unix(home.socket());
    let _waiting: Vec<_> = std::iter::from_fn(|| address.connect_nonblocking().ok()).collect();
    let failure = attempt(target(home.socket()), 2, 1).unwrap_err();
    assert_eq!(failure.message, "0 of 2 connections were made: no answer within 0.5 s");
}

#[test]
fn a_short_queue_takes_all_in_the_end() {
    const CONNECTIONS: usize = 40;
    let home = Home::new();
    let listener = UnixListener::bind(home.socket()).unwrap();
    rustix::net::listen(&listener, 1).unwrap();
    let server = Server::on(listener, |_| {
        thread::sleep(Duration::from_millis(2));
        obliging()
    });
    let mut engine = Engine::new(program(false, "SELECT"), 1, 1);
    connect(&mut engine, &server, CONNECTIONS);
    let tally = slice(&mut engine, 0, TIMEOUT).unwrap();
    drop(engine);
    let heard = server.heard();
    assert_eq!(heard.len(), CONNECTIONS);
    assert!(heard.iter().all(|commands| !commands.is_empty()));
    assert_eq!(tally.completed, heard.concat().len() as u64);
}

#[test]
fn an_interrupt_ends_connecting() {
    let server = Server::of(vec![unlogged(wait_for_end)]);
    let began = Instant::now();
    let mut engine = Engine::new(program(false, "SELECT"), 1, 1);
    let failure = engine.connect(server.target(), 1, TIMEOUT, &|| false).unwrap_err();
    assert_eq!(failure.message, "0 of 1 connections were made: a slice was interrupted");
    assert!(began.elapsed() < SOON);
}

#[test]
fn nobody_there_is_said_with_the_address() {
    let home = Home::new();
    let failure = attempt(target(home.socket()), 1, 1).unwrap_err();
    assert_eq!(failure.code, 2002);
    let socket = home.socket();
    let words = format!("0 of 1 connections were made: {}: No such file or directory", socket.display());
    assert!(failure.message.starts_with(&words), "{failure:?}");
}
