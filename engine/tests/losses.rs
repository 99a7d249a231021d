//! Lost connections of a program that reconnects: what is counted, and how often it retries.

mod fake;

use std::collections::BTreeMap;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use _engine::connection::Failure;
use _engine::engine::Engine;
use _engine::lane::Tally;
use _engine::program::Program;

use fake::*;

const LONG: Duration = Duration::from_millis(400);

fn reconnecting(begin: bool, statement: &str) -> Program {
    program_with(r#""reconnect": true,"#, begin, statement)
}

fn close(stream: &mut UnixStream) {
    stream.shutdown(Shutdown::Both).unwrap_or_default();
}

/// Answers OK until command `number`, from 1, then calls `then`.
fn ok_until(number: usize, mut then: impl FnMut(&mut UnixStream) + Send + 'static) -> Script {
    let mut received = 0;
    serving(move |_, stream| {
        received += 1;
        if received == number { then(stream) } else { send(stream, &ok()) }
    })
}

/// A script for the first connection; all later ones get OK.
fn first_then_ok(first: impl Fn() -> Script + Send + 'static) -> Server {
    Server::new(move |number| if number == 0 { first() } else { all_ok() })
}

fn answers(tally: &Tally) -> u64 {
    tally.reads + tally.writes + tally.other
}

#[test]
fn a_lost_connection_is_counted_once_and_replaced() {
    for (number, whole) in [(1, 0), (5, 1), (9, 2)] {
        let server = first_then_ok(move || ok_until(number, close));
        let tally = run_once(reconnecting(true, "UPDATE"), &server, 1, LONG / 2, TIMEOUT).unwrap();
        let received = server.received();
        assert_eq!(received.len(), 2);
        assert_eq!(tally.errors, BTreeMap::from([(2013, 1)]));
        // All but the lost one were answered.
        assert_eq!(received[0].len(), number);
        assert_eq!(answers(&tally), (number - 1 + received[1].len()) as u64);
        assert_eq!(received[1].len() % 3, 0);
        assert!(!received[1].is_empty());
        assert_eq!(tally.completed, (whole + received[1].len() / 3) as u64);
    }
}

#[test]
fn other_connections_continue_after_a_loss() {
    let server = Server::new(|number| if number % 2 == 0 { all_ok() } else { ok_until(20, close) });
    let mut engine = Engine::new(reconnecting(false, "UPDATE"), 1, 2);
    connect(&mut engine, &server, 6);
    let tally = run(&mut engine, LONG / 2, TIMEOUT).unwrap();
    drop(engine);
    let received = server.received();
    let lost = received.iter().skip(1).step_by(2).filter(|commands| commands.len() == 20).count() as u64;
    assert!(lost >= 3);
    assert_eq!(tally.errors, BTreeMap::from([(2013, lost)]));
    assert_eq!(tally.completed, received.concat().len() as u64 - lost);
}

#[test]
fn an_absent_server_is_retried_with_growing_pauses() {
    let directory = TempDir::new();
    let away = Arc::new(AtomicBool::new(false));
    let leaving = Arc::clone(&away);
    let server = Server::at(&directory.socket(), move |_| {
        let leaving = Arc::clone(&leaving);
        serving(move |_, stream| {
            if leaving.load(Ordering::Relaxed) {
                close(stream);
            } else {
                send(stream, &ok());
            }
        })
    });
    let mut engine = Engine::new(reconnecting(false, "UPDATE"), 1, 1);
    connect(&mut engine, &server, 1);
    assert_eq!(run(&mut engine, WINDOW, TIMEOUT).unwrap().errors, BTreeMap::new());
    away.store(true, Ordering::Relaxed);
    drop(server);

    let began = Instant::now();
    let tally = run(&mut engine, LONG, TIMEOUT).unwrap();
    assert!(began.elapsed() < 2 * LONG, "{:?}", began.elapsed());
    assert_eq!((tally.completed, answers(&tally)), (0, 0));
    // Attempts at once, and 10, 30, 70, 150 and 310 ms later.
    assert_eq!(tally.errors.keys().collect::<Vec<_>>(), [&2002, &2013]);
    assert_eq!(tally.errors[&2013], 1);
    assert!((4..=6).contains(&tally.errors[&2002]), "{:?}", tally.errors);
    assert!(tally.client_cpu_s < 0.1, "{}", tally.client_cpu_s);

    let tally = run(&mut engine, WINDOW, TIMEOUT).unwrap();
    assert_eq!((tally.completed, tally.errors), (0, BTreeMap::from([(2002, 1)])));

    let server = Server::at(&directory.socket(), |_| all_ok());
    let tally = run(&mut engine, LONG / 2, TIMEOUT).unwrap();
    drop(engine);
    assert_eq!(tally.errors, BTreeMap::new());
    assert!(tally.completed > 0);
    assert_eq!(tally.completed, server.received_texts().len() as u64);
}

#[test]
fn an_open_loop_without_connections_does_not_spin() {
    let server = Server::of(vec![ok_until(1, close)]);
    let extra = r#""reconnect": true, "pace": {"type": "open", "rate": 100, "poisson": false},"#;
    let mut engine = Engine::new(program_with(extra, false, "UPDATE"), 1, 1);
    connect(&mut engine, &server, 1);
    drop(server);
    let (began, cpu_s) = (Instant::now(), thread_cpu_s());
    let failure = run(&mut engine, WINDOW, LONG).unwrap_err();
    assert_eq!(failure.message, "transactions were still queued 0.4 s after the slice");
    assert!(began.elapsed() >= LONG);
    let cpu_s = thread_cpu_s() - cpu_s;
    assert!(cpu_s < 0.1, "{cpu_s}");
}

/// The error of a session that its server ends.
fn ended() -> Vec<u8> {
    packet(0, &error(1927, "Connection was killed"))
}

#[test]
fn a_loss_is_counted_under_the_servers_error() {
    let shut_down = |stream: &mut UnixStream| {
        send(stream, &refused(1053, "Server shutdown in progress"));
        close(stream);
    };
    let killed = |stream: &mut UnixStream| send(stream, &[ok(), ended()].concat());
    for (number, then, errors) in [
        (2, shut_down as fn(&mut UnixStream), BTreeMap::from([(1053, 1)])),
        (1, killed, BTreeMap::from([(1927, 1)])),
        (3, close, BTreeMap::from([(1040, 2), (2013, 1)])),
    ] {
        let full = errors.contains_key(&1040);
        let server = Server::new(move |connection| match connection {
            0 => ok_until(number, then),
            1 | 2 if full => refusing(1040, "Too many connections"),
            _ => all_ok(),
        });
        let tally = run_once(reconnecting(false, "UPDATE"), &server, 1, LONG, TIMEOUT).unwrap();
        assert_eq!(tally.errors, errors);
        assert_eq!(tally.completed, server.received().concat().len() as u64 - 1);
    }
}

#[test]
fn a_session_that_ends_while_idle_is_named() {
    const THINK: &str = r#""pace": {"type": "closed", "think_s": 0.2, "exponential": false},"#;
    let server = Server::of(vec![ok_until(1, |stream| {
        send(stream, &ok());
        thread::sleep(Duration::from_millis(20));
        send(stream, &ended());
    })]);
    let failure = run_once(program_with(THINK, false, "UPDATE"), &server, 1, LONG, TIMEOUT).unwrap_err();
    assert_eq!(failure, Failure::of_server(1927, "Connection was killed".into()));
}

#[test]
fn an_error_that_reconnecting_cannot_cure_ends_the_slice() {
    let syntax =
        |stream: &mut UnixStream| send(stream, &refused(1064, "You have an error in your SQL syntax"));
    let server = first_then_ok(move || ok_until(4, syntax));
    let failure = one_slice(reconnecting(false, "UPDATE"), &server, 1, TIMEOUT).unwrap_err();
    let message = "statement `write`: You have an error in your SQL syntax";
    assert_eq!(failure, Failure::of_server(1064, message.into()));
    assert_eq!(server.accepted(), 1);

    let server = Server::new(|number| if number == 0 { ok_until(1, close) } else { refusing(1045, "no") });
    let failure = one_slice(reconnecting(false, "UPDATE"), &server, 1, TIMEOUT).unwrap_err();
    assert_eq!(failure, Failure::of_server(1045, "no".into()));
}

#[test]
fn a_silent_connection_is_given_up_and_counted() {
    // The wait may end before or after the slice.
    for timeout in [200, 240, 280].map(Duration::from_millis) {
        let server = Server::new(|number| if number == 1 { silent() } else { all_ok() });
        let tally = run_once(reconnecting(false, "UPDATE"), &server, 2, WINDOW / 4, timeout).unwrap();
        assert_eq!(tally.errors, BTreeMap::from([(2013, 1)]));
        assert_eq!(tally.completed, server.received().concat().len() as u64);
    }
}

#[test]
fn a_connection_lost_while_thinking_thinks_again() {
    let service = Duration::from_millis(50);
    let answer = move |_: &Command, stream: &mut UnixStream| {
        thread::sleep(service);
        send(stream, &ok());
    };
    let forgetful = move || {
        serving(move |_, stream| {
            send(stream, &ok());
            thread::sleep(Duration::from_millis(5));
            close(stream);
        })
    };
    let server = Server::new(move |number| if number < 4 { forgetful() } else { serving(answer) });
    let think = r#""reconnect": true, "pace": {"type": "closed", "think_s": 0.04, "exponential": false},"#;
    let tally = run_once(program_with(think, false, "SELECT"), &server, 4, LONG, TIMEOUT).unwrap();
    assert_eq!(tally.errors, BTreeMap::from([(2013, 4)]));
    let received = server.received();
    assert_eq!(received.len(), 8);
    // The first four answered once, however many commands they received.
    let answered = received[4..].concat().len() + 4;
    assert_eq!(tally.completed, answered as u64);
    // Think time and service take 90 ms: no connection may begin more often.
    assert!(
        received.iter().all(|commands| commands.len() <= 5),
        "{:?}",
        received.iter().map(Vec::len).collect::<Vec<_>>()
    );
}

#[test]
fn a_server_that_answers_nothing_is_not_hammered() {
    let server = Server::new(|_| ok_until(1, close));
    let tally = run_once(reconnecting(false, "UPDATE"), &server, 1, LONG, TIMEOUT).unwrap();
    let received = server.received().concat().len() as u64;
    assert_eq!(tally.errors, BTreeMap::from([(2013, received)]));
    assert!(received < 10, "{received}");
}

#[test]
fn connections_waiting_for_a_full_queue_open_once() {
    const CONNECTIONS: usize = 8;
    let directory = TempDir::new();
    let server = Server::at(&directory.socket(), |_| ok_until(1, close));
    let mut engine = Engine::new(reconnecting(false, "UPDATE"), 1, 1);
    connect(&mut engine, &server, CONNECTIONS);
    drop(server);
    let listener = UnixListener::bind(directory.socket()).unwrap();
    rustix::net::listen(&listener, 1).unwrap();
    for _ in 0..2 {
        let tally = run(&mut engine, WINDOW, TIMEOUT).unwrap();
        assert_eq!(tally.completed, 0);
    }
    let server = Server::on(listener, |_| all_ok());
    let tally = run(&mut engine, LONG, TIMEOUT).unwrap();
    assert_eq!(tally.errors, BTreeMap::new());
    drop(engine);
    let received = server.received();
    assert_eq!(received.len(), CONNECTIONS);
    assert!(received.iter().all(|commands| !commands.is_empty()));
    assert_eq!(tally.completed, received.concat().len() as u64);
}
