//! Opening a server's connections, and the errors when that fails.

mod fake;

use std::io::Write;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::thread;
use std::time::{Duration, Instant};

use _engine::address::Address;
use _engine::connection::{Failure, Target};
use _engine::engine::Engine;
use _engine::lane::Tally;

use fake::*;

const PATIENCE: Duration = Duration::from_millis(500);

/// Connects within `SOON`; interrupted otherwise.
fn attempt(target: Target, connections: usize, workers: usize) -> Result<Engine, Failure> {
    let began = Instant::now();
    let mut engine = Engine::new(program(false, "SELECT"), 1, workers);
    let result = engine.connect(target, connections, PATIENCE, &|| began.elapsed() < SOON);
    assert!(began.elapsed() < SOON, "{result:?}");
    result.map(|_| engine)
}

#[test]
fn a_server_that_refuses_or_never_greets_is_given_up() {
    let dripping = before_login(|stream| {
        send(stream, &[250, 0, 0, 0, 10]);
        while stream.write_all(b"5").is_ok() {
            thread::sleep(Duration::from_millis(20));
        }
    });
    let never = "no answer within 0.5 s";
    // Lanes connect one after the other: the third when two are open.
    for (scripts, workers, code, message) in [
        (vec![all_ok(), all_ok(), refusing(1040, "Too many connections")], 3, 1040, "Too many connections"),
        (vec![all_ok(), before_login(wait_for_end)], 1, 0, never),
        (vec![dripping], 1, 0, never),
    ] {
        let connections = scripts.len();
        let failure = attempt(Server::of(scripts).target(), connections, workers).unwrap_err();
        let said = format!("{} of {connections} connections opened: {message}", connections - 1);
        assert_eq!((failure.code, failure.message), (code, said));
    }
}

#[test]
fn a_server_that_never_accepts_is_given_up() {
    let directory = TempDir::new();
    let _deaf = UnixListener::bind(directory.socket()).unwrap();
    let failure = attempt(target(directory.socket()), 1, 1).unwrap_err();
    assert_eq!(failure.message, "0 of 1 connections opened: no answer within 0.5 s");
}

#[test]
fn a_server_whose_queue_stays_full_is_given_up() {
    let directory = TempDir::new();
    let listener = UnixListener::bind(directory.socket()).unwrap();
    rustix::net::listen(&listener, 1).unwrap();
    let address = Address::Unix(directory.socket());
    let _waiting: Vec<_> = std::iter::from_fn(|| address.connect_nonblocking().ok()).collect();
    let failure = attempt(target(directory.socket()), 2, 1).unwrap_err();
    assert_eq!(failure.message, "0 of 2 connections opened: no answer within 0.5 s");
}

#[test]
fn a_short_accept_queue_takes_all_connections() {
    const CONNECTIONS: usize = 40;
    let directory = TempDir::new();
    let listener = UnixListener::bind(directory.socket()).unwrap();
    rustix::net::listen(&listener, 1).unwrap();
    let server = Server::on(listener, |_| {
        thread::sleep(Duration::from_millis(2));
        all_ok()
    });
    let mut engine = Engine::new(program(false, "SELECT"), 1, 1);
    connect(&mut engine, &server, CONNECTIONS);
    let tally = run(&mut engine, WINDOW, TIMEOUT).unwrap();
    drop(engine);
    let received = server.received();
    assert_eq!(received.len(), CONNECTIONS);
    assert!(received.iter().all(|commands| !commands.is_empty()));
    assert_eq!(tally.completed, received.concat().len() as u64);
}

#[test]
fn an_interrupt_ends_connecting() {
    let server = Server::of(vec![before_login(wait_for_end)]);
    let began = Instant::now();
    let mut engine = Engine::new(program(false, "SELECT"), 1, 1);
    let failure = engine.connect(server.target(), 1, TIMEOUT, &|| false).unwrap_err();
    assert_eq!(failure.message, "0 of 1 connections opened: a slice was interrupted");
    assert!(began.elapsed() < SOON);
}

#[test]
fn a_name_may_have_addresses_at_which_nothing_listens() {
    let listening = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = Address::Tcp(TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    let open = Address::Tcp(listening.local_addr().unwrap());
    let account = target("".into()).account;
    let tried = |addresses: &[&Address]| {
        let addresses = addresses.iter().copied().cloned().collect();
        let failure =
            Target::reach(addresses, &account, &mut |target| attempt(target, 1, 1)).map(drop).unwrap_err();
        (failure.code, failure.message)
    };
    let never = "0 of 1 connections opened: no answer within 0.5 s".to_string();
    assert_eq!(tried(&[&closed, &open, &closed]), (0, never));
    assert_eq!(tried(&[&closed, &closed]).0, 2003);
}

#[test]
fn an_unreachable_server_is_reported_with_its_address() {
    let directory = TempDir::new();
    let failure = attempt(target(directory.socket()), 1, 1).unwrap_err();
    assert_eq!(failure.code, 2002);
    let socket = directory.socket();
    let message = format!("0 of 1 connections opened: {}: No such file or directory", socket.display());
    assert!(failure.message.starts_with(&message), "{failure:?}");

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap());
    drop(listener);
    let message = format!("0 of 1 connections opened: {address}: Connection refused");
    let failure = attempt(Target { address, ..target(directory.socket()) }, 1, 1).unwrap_err();
    assert_eq!(failure.code, 2003);
    assert!(failure.message.starts_with(&message), "{failure:?}");
}

/// Connections, and the commands that each one received, of a slice in which every transaction connects.
fn connecting(extra: &str, begin: bool, connections: usize) -> (Tally, Vec<Vec<u8>>) {
    let server = Server::new(|_| all_ok());
    let program = program_with(&format!(r#""connects": true,{extra}"#), begin, "SELECT");
    let tally = one_slice(program, &server, connections, TIMEOUT).unwrap();
    let codes = |commands: &Vec<Command>| commands.iter().map(|command| command.code).collect();
    (tally, server.received().iter().map(codes).collect())
}

#[test]
fn each_transaction_opens_a_connection_and_takes_leave() {
    const QUERY: u8 = 3;
    const QUIT: u8 = 1;
    let open = r#""pace": {"type": "open", "rate": 200, "poisson": false},"#;
    for (extra, begin, connections) in [("", false, 1), ("", true, 3), (open, false, 2)] {
        let (tally, received) = connecting(extra, begin, connections);
        let (idle, used) = received.split_at(connections);
        assert!(idle.iter().all(|commands| commands == &[QUIT]));
        let whole = if begin { vec![QUERY, QUERY, QUERY, QUIT] } else { vec![QUERY, QUIT] };
        assert!(used.iter().all(|commands| commands == &whole), "{used:?}");
        assert_eq!(tally.completed as usize, used.len());
        assert!(used.len() > 2 * connections, "{tally:?}");
    }
}

#[test]
fn opening_its_connection_is_a_part_of_a_transaction() {
    const GREETING: Duration = Duration::from_millis(20);
    let server = Server::new(|number| {
        Box::new(move |stream| {
            if number > 0 {
                thread::sleep(GREETING);
            }
            all_ok()(stream)
        })
    });
    let tally =
        one_slice(program_with(r#""connects": true,"#, false, "SELECT"), &server, 1, TIMEOUT).unwrap();
    assert!(tally.completed > 0);
    assert!(tally.latencies.mean_s() >= GREETING.as_secs_f64(), "{tally:?}");
}

#[test]
fn a_connection_that_a_transaction_cannot_open_fails_or_is_counted() {
    let full = |number| if number == 2 { refusing(1040, "Too many connections") } else { all_ok() };
    let failed =
        one_slice(program_with(r#""connects": true,"#, false, "SELECT"), &Server::new(full), 1, TIMEOUT);
    assert_eq!(failed.unwrap_err().message, "Too many connections");
    let both = r#""connects": true, "reconnect": true,"#;
    let tally = one_slice(program_with(both, false, "SELECT"), &Server::new(full), 1, TIMEOUT).unwrap();
    assert_eq!(tally.errors.into_iter().collect::<Vec<_>>(), [(1040, 1)]);
    assert!(tally.completed > 1);
}
