//! Connections that are lost, while the program wants new ones: what is counted, and how hard it is tried.

mod played;

use std::collections::BTreeMap;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use _engine::connection::Failure;
use _engine::engine::Engine;
use _engine::lane::{Course, Tally};
use _engine::program::Program;

use played::*;

const LONG: Duration = Duration::from_millis(400);

fn reconnecting(begin: bool, statement: &str) -> Program {
    program_with(r#""reconnect": true,"#, begin, statement)
}

fn close(stream: &mut UnixStream) {
    stream.shutdown(Shutdown::Both).unwrap_or_default();
}

/// Obliges until the command of this number, from 1, and then does this.
fn obliging_until(number: usize, mut then: impl FnMut(&mut UnixStream) + Send + 'static) -> Role {
    let mut heard = 0;
    serving(move |_, stream| {
        heard += 1;
        if heard == number { then(stream) } else { say(stream, &done()) }
    })
}

/// The first connection's role, and an obliging one for all that come later.
fn first_then_obliging(first: impl Fn() -> Role + Send + 'static) -> Server {
    Server::new(move |number| if number == 0 { first() } else { obliging() })
}

fn run(engine: &mut Engine, window: Duration, timeout: Duration) -> Result<Tally, Failure> {
    let began = Instant::now();
    let result = engine.slice(0, Course { window, ..COURSE }, timeout, &|| began.elapsed() < SOON);
    assert!(began.elapsed() < SOON, "{result:?}");
    result
}

fn answers(tally: &Tally) -> u64 {
    tally.reads + tally.writes + tally.other
}

#[test]
fn a_connection_lost_in_a_transaction_is_counted_once_and_another_goes_on() {
    for (number, whole) in [(1, 0), (5, 1), (9, 2)] {
        let server = first_then_obliging(move || obliging_until(number, close));
        let mut engine = Engine::new(reconnecting(true, "UPDATE"), 1, 1);
        connect(&mut engine, &server, 1);
        let tally = run(&mut engine, LONG / 2, TIMEOUT).unwrap();
        drop(engine);
        let heard = server.heard();
        assert_eq!(heard.len(), 2);
        assert_eq!(tally.errors, BTreeMap::from([(2013, 1)]));
        // All were answered but the one that was lost.
        assert_eq!(heard[0].len(), number);
        assert_eq!(answers(&tally), (number - 1 + heard[1].len()) as u64);
        assert_eq!(heard[1].len() % 3, 0);
        assert!(!heard[1].is_empty());
        assert_eq!(tally.completed, (whole + heard[1].len() / 3) as u64);
    }
}

#[test]
fn others_go_on_meanwhile() {
    let server = Server::new(|number| if number % 2 == 0 { obliging() } else { obliging_until(20, close) });
    let mut engine = Engine::new(reconnecting(false, "UPDATE"), 1, 2);
    connect(&mut engine, &server, 6);
    let tally = run(&mut engine, LONG / 2, TIMEOUT).unwrap();
    drop(engine);
    let heard = server.heard();
    let lost = heard.iter().skip(1).step_by(2).filter(|commands| commands.len() == 20).count() as u64;
    assert!(lost >= 3);
    assert_eq!(tally.errors, BTreeMap::from([(2013, lost)]));
    assert_eq!(tally.completed, heard.concat().len() as u64 - lost);
}

#[test]
fn a_server_that_is_away_is_tried_again_with_growing_pauses() {
    let home = Home::new();
    let away = Arc::new(AtomicBool::new(false));
    let leaving = Arc::clone(&away);
    let server = Server::at(&home.socket(), move |_| {
        let leaving = Arc::clone(&leaving);
        serving(move |_, stream| {
            if leaving.load(Ordering::Relaxed) {
                close(stream);
            } else {
                say(stream, &done());
            }
        })
    });
    let mut engine = Engine::new(reconnecting(false, "UPDATE"), 1, 1);
    connect(&mut engine, &server, 1);
    assert_eq!(slice(&mut engine, 0, TIMEOUT).unwrap().errors, BTreeMap::new());
    away.store(true, Ordering::Relaxed);
    drop(server);

    let began = Instant::now();
    let tally = run(&mut engine, LONG, TIMEOUT).unwrap();
    assert!(began.elapsed() < 2 * LONG, "{:?}", began.elapsed());
    assert_eq!((tally.completed, answers(&tally)), (0, 0));
    // At once, and 10, 30, 70, 150 and 310 ms later.
    assert_eq!(tally.errors.keys().collect::<Vec<_>>(), [&2002, &2013]);
    assert_eq!(tally.errors[&2013], 1);
    assert!((4..=6).contains(&tally.errors[&2002]), "{:?}", tally.errors);
    assert!(tally.client_cpu_s < 0.1, "{}", tally.client_cpu_s);

    let tally = run(&mut engine, WINDOW, TIMEOUT).unwrap();
    assert_eq!((tally.completed, tally.errors), (0, BTreeMap::from([(2002, 1)])));

    let server = Server::at(&home.socket(), |_| obliging());
    let tally = run(&mut engine, LONG / 2, TIMEOUT).unwrap();
    drop(engine);
    assert_eq!(tally.errors, BTreeMap::new());
    assert!(tally.completed > 0);
    assert_eq!(tally.completed, server.heard_texts().len() as u64);
}

#[test]
fn an_open_loop_waits_in_vain_without_spinning() {
    let server = Server::of(vec![obliging_until(1, close)]);
    let extra = r#""reconnect": true, "pace": {"type": "open", "rate": 100, "poisson": false},"#;
    let mut engine = Engine::new(program_with(extra, false, "UPDATE"), 1, 1);
    connect(&mut engine, &server, 1);
    drop(server);
    let (began, cpu_s) = (Instant::now(), thread_cpu_s());
    let failure = run(&mut engine, WINDOW, LONG).unwrap_err();
    assert_eq!(failure.message, "transactions still waited within 0.4 s after the slice");
    assert!(began.elapsed() >= LONG);
    let cpu_s = thread_cpu_s() - cpu_s;
    assert!(cpu_s < 0.1, "{cpu_s}");
}

#[test]
fn a_server_that_shuts_down_is_counted_under_its_own_number() {
    let shut_down = |stream: &mut UnixStream| {
        say(stream, &refused(1053, "Server shutdown in progress"));
        close(stream);
    };
    let server = first_then_obliging(move || obliging_until(2, shut_down));
    let tally = one_slice(reconnecting(true, "UPDATE"), &server, 1, TIMEOUT).unwrap();
    let heard = server.heard();
    assert_eq!(tally.errors, BTreeMap::from([(1053, 1)]));
    assert_eq!(answers(&tally), (1 + heard[1].len()) as u64);
    assert_eq!(tally.completed, (heard[1].len() / 3) as u64);
}

#[test]
fn a_full_server_is_counted_under_its_own_number() {
    let server = Server::new(|number| match number {
        0 => obliging_until(3, close),
        1 | 2 => refusing(1040, "Too many connections"),
        _ => obliging(),
    });
    let mut engine = Engine::new(reconnecting(false, "UPDATE"), 1, 1);
    connect(&mut engine, &server, 1);
    let tally = run(&mut engine, LONG, TIMEOUT).unwrap();
    drop(engine);
    assert_eq!(tally.errors, BTreeMap::from([(1040, 2), (2013, 1)]));
    assert_eq!(tally.completed, server.heard().concat().len() as u64 - 1);
}

#[test]
fn what_a_new_connection_does_not_help_against_ends_the_slice() {
    let syntax =
        |stream: &mut UnixStream| say(stream, &refused(1064, "You have an error in your SQL syntax"));
    let server = first_then_obliging(move || obliging_until(4, syntax));
    let failure = one_slice(reconnecting(false, "UPDATE"), &server, 1, TIMEOUT).unwrap_err();
    assert_eq!(failure, Failure::of_server(1064, "You have an error in your SQL syntax".into()));
    assert_eq!(server.accepted(), 1);

    let server =
        Server::new(|number| if number == 0 { obliging_until(1, close) } else { refusing(1045, "no") });
    let failure = one_slice(reconnecting(false, "UPDATE"), &server, 1, TIMEOUT).unwrap_err();
    assert_eq!(failure, Failure::of_server(1045, "no".into()));
}

#[test]
fn a_silent_connection_is_given_up_and_counted() {
    // However the end of the wait falls to that of the slice.
    for timeout in [200, 240, 280].map(Duration::from_millis) {
        let server = Server::new(|number| if number == 1 { silent() } else { obliging() });
        let mut engine = Engine::new(reconnecting(false, "UPDATE"), 1, 1);
        connect(&mut engine, &server, 2);
        let tally = run(&mut engine, WINDOW / 4, timeout).unwrap();
        drop(engine);
        assert_eq!(tally.errors, BTreeMap::from([(2013, 1)]));
        assert_eq!(tally.completed, server.heard().concat().len() as u64);
    }
}

#[test]
fn a_connection_lost_in_thought_comes_back_with_thoughts_of_its_own() {
    let service = Duration::from_millis(50);
    let answer = move |_: &Command, stream: &mut UnixStream| {
        thread::sleep(service);
        say(stream, &done());
    };
    let forgetful = move || {
        serving(move |_, stream| {
            say(stream, &done());
            thread::sleep(Duration::from_millis(5));
            close(stream);
        })
    };
    let server = Server::new(move |number| if number < 4 { forgetful() } else { serving(answer) });
    let think = r#""reconnect": true, "pace": {"type": "closed", "think_s": 0.04, "exponential": false},"#;
    let mut engine = Engine::new(program_with(think, false, "SELECT"), 1, 1);
    connect(&mut engine, &server, 4);
    let tally = run(&mut engine, LONG, TIMEOUT).unwrap();
    drop(engine);
    assert_eq!(tally.errors, BTreeMap::from([(2013, 4)]));
    let heard = server.heard();
    assert_eq!(heard.len(), 8);
    // The first four answered once, whatever they were sent before they closed.
    let answered = heard[4..].concat().len() + 4;
    assert_eq!(tally.completed, answered as u64);
    // Thought and service take 90 ms: no connection may begin more often.
    assert!(
        heard.iter().all(|commands| commands.len() <= 5),
        "{:?}",
        heard.iter().map(Vec::len).collect::<Vec<_>>()
    );
}

#[test]
fn a_server_that_takes_all_and_answers_none_is_not_hammered() {
    let server = Server::new(|_| obliging_until(1, close));
    let mut engine = Engine::new(reconnecting(false, "UPDATE"), 1, 1);
    connect(&mut engine, &server, 1);
    let tally = run(&mut engine, LONG, TIMEOUT).unwrap();
    drop(engine);
    let heard = server.heard().concat().len() as u64;
    assert_eq!(tally.errors, BTreeMap::from([(2013, heard)]));
    assert!(heard < 10, "{heard}");
}

#[test]
fn connections_that_wait_in_a_full_queue_are_opened_once() {
    const CONNECTIONS: usize = 8;
    let home = Home::new();
    let server = Server::at(&home.socket(), |_| obliging_until(1, close));
    let mut engine = Engine::new(reconnecting(false, "UPDATE"), 1, 1);
    connect(&mut engine, &server, CONNECTIONS);
    drop(server);
    let listener = UnixListener::bind(home.socket()).unwrap();
    rustix::net::listen(&listener, 1).unwrap();
    for _ in 0..2 {
        let tally = run(&mut engine, WINDOW, TIMEOUT).unwrap();
        assert_eq!(tally.completed, 0);
    }
    let server = Server::on(listener, |_| obliging());
    let tally = run(&mut engine, LONG, TIMEOUT).unwrap();
    assert_eq!(tally.errors, BTreeMap::new());
    drop(engine);
    let heard = server.heard();
    assert_eq!(heard.len(), CONNECTIONS);
    assert!(heard.iter().all(|commands| !commands.is_empty()));
    assert_eq!(tally.completed, heard.concat().len() as u64);
}
