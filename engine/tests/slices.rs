//! Whole slices, and slices that a server ends.

mod fake;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use _engine::connection::Failure;
use _engine::engine::Engine;
use _engine::lane::Course;

use fake::*;

#[test]
fn endless_refusals_end_with_the_window() {
    for begin in [true, false] {
        let server = Server::of(vec![serving(|command, stream| {
            let duplicate = command.text() == "INSERT";
            send(stream, &if duplicate { refused(1062, "Duplicate entry") } else { ok() });
        })]);
        let tally = one_slice(program(begin, "INSERT"), &server, 1, TIMEOUT).unwrap();
        let received = server.received_texts();
        let attempts = received.iter().filter(|text| *text == "INSERT").count() as u64;
        assert!(attempts > 1);
        assert_eq!(tally.errors, BTreeMap::from([(1062, attempts)]));
        assert_eq!((tally.completed, tally.writes), (0, 0));
        assert_eq!(tally.transactions.to_bits(), 0f64.to_bits());
        assert_eq!(tally.other, received.len() as u64 - attempts);
        assert_eq!(received.last().unwrap(), "ROLLBACK");
    }
}

#[test]
fn a_transaction_is_tried_ten_times_at_most_and_its_refusals_are_named() {
    let mut inserts = 0;
    let server = Server::of(vec![serving(move |command, stream| {
        inserts += u32::from(command.text() == "INSERT");
        let refuse = command.text() == "INSERT" && inserts <= 10;
        send(stream, &if refuse { refused(1452, "No parent") } else { ok() });
    })]);
    let program = program(false, "INSERT");
    let mut engine = Engine::new(program, 1, 1);
    engine.connect(server.target(), 1, TIMEOUT, &|| true).unwrap();
    let tally = engine.slice(0, Course::counted(2), TIMEOUT, &|| true).unwrap();
    assert_eq!(tally.refusals, BTreeMap::from([((0, 1452), (10, "No parent".into()))]));
    assert_eq!(tally.completed, 1, "the first was given up");
}

#[test]
fn refused_transactions_are_rolled_back_and_retried() {
    let mut attempts = 0;
    let server = Server::of(vec![serving(move |command, stream| {
        attempts += u32::from(command.text() == "UPDATE");
        let reply = match (command.text(), attempts) {
            ("UPDATE", 1) => refused(1213, "Deadlock found"),
            ("COMMIT", 2) => refused(1205, "Lock wait timeout exceeded"),
            _ => ok(),
        };
        send(stream, &reply);
    })]);
    let tally = one_slice(program(true, "UPDATE"), &server, 1, TIMEOUT).unwrap();
    let received = server.received_texts();
    assert_eq!(
        received[..9],
        ["BEGIN", "UPDATE", "ROLLBACK", "BEGIN", "UPDATE", "COMMIT", "ROLLBACK", "BEGIN", "UPDATE"]
    );
    assert_eq!(tally.errors, BTreeMap::from([(1205, 1), (1213, 1)]));
    assert_eq!(tally.reads + tally.writes + tally.other + 2, received.len() as u64);
    assert_eq!(tally.completed, received.iter().filter(|text| *text == "COMMIT").count() as u64 - 1);
}

#[test]
fn transactions_are_counted_exactly() {
    let server = Server::of(vec![all_ok()]);
    let mut engine = Engine::new(program(true, "SELECT"), 1, 1);
    engine.connect(server.target(), 1, TIMEOUT, &|| true).unwrap();
    for transactions in [1, 7, 100] {
        let tally = engine.slice(0, Course::counted(transactions), TIMEOUT, &|| true).unwrap();
        assert_eq!(
            (tally.completed, tally.writes, tally.other),
            (transactions, transactions, 2 * transactions)
        );
        assert_eq!(tally.returned.iter().map(|(count, _)| count).sum::<u64>(), 3 * transactions);
    }
    drop(engine);
    assert_eq!(server.received_texts().len(), 3 * 108);
}

#[test]
fn replies_may_come_byte_by_byte() {
    let server = Server::of(vec![serving(|_, stream| {
        for byte in rows() {
            send(stream, &[byte]);
            thread::yield_now();
        }
    })]);
    let tally = one_slice(program(false, "SELECT"), &server, 1, TIMEOUT).unwrap();
    assert!(tally.completed > 0);
    assert_eq!(tally.completed, server.received_texts().len() as u64);
}

#[test]
fn a_large_statement_arrives_whole() {
    let text = "x".repeat(3 << 20);
    let server = Server::of(vec![all_ok()]);
    let tally = one_slice(program(false, &text), &server, 1, TIMEOUT).unwrap();
    let received = server.received_texts();
    assert!(tally.completed > 0);
    assert_eq!(tally.completed, received.len() as u64);
    assert!(received.iter().all(|statement| *statement == text));
}

#[test]
fn a_reply_cut_short_by_the_end_is_noticed_at_once() {
    for shut in [Shutdown::Write, Shutdown::Both] {
        let server = Server::of(vec![serving(move |_, stream| {
            send(stream, &rows()[..12]);
            stream.shutdown(shut).unwrap();
        })]);
        let failure = one_slice(program(false, "SELECT"), &server, 1, TIMEOUT).unwrap_err();
        assert_eq!(failure, Failure::lost("the server closed the connection"));
    }
}

/// Answers before a statement that exceeds the socket's buffer has arrived.
fn hasty(answer: Vec<u8>) -> Script {
    after_login(move |stream| {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        send(stream, &answer);
        wait_for_end(stream);
    })
}

/// Answers with an endless row.
fn endless() -> Script {
    after_login(|stream| {
        read_command(stream).unwrap();
        let mut row = vec![b'x'; 1 << 16];
        send(stream, &packets(&[&[1], &b"\x03def"[..], END]));
        for sequence in (0..=u8::MAX).cycle().skip(4) {
            let length = row.len() as u32 - 4;
            row[..4].copy_from_slice(&length.to_le_bytes());
            row[3] = sequence;
            if stream.write_all(&row).is_err() {
                return;
            }
        }
    })
}

#[test]
fn what_ends_a_slice_is_named() {
    let closing = serving(|_, stream| {
        send(stream, &refused(1053, "Server shutdown in progress"));
        stream.shutdown(Shutdown::Both).unwrap();
    });
    let large = "x".repeat(3 << 20);
    for (script, statement, code, message) in [
        (all_ok(), &*"x".repeat(1 << 24), 0, "MySQL protocol error: a command of 16 MiB or more"),
        (closing, "SELECT", 1053, "statement `write`: Server shutdown in progress"),
        (hasty(refused(1153, "Too big")), &large, 1153, "statement `write`: Too big"),
        (hasty(ok()), &large, 0, "MySQL protocol error: an unexpected reply"),
        (endless(), "SELECT", 0, "no answer within 1 s"),
    ] {
        let server = Server::of(vec![script]);
        let failure = one_slice(program(false, statement), &server, 1, SOON / 2).unwrap_err();
        assert_eq!((failure.code, &*failure.message), (code, message));
    }
}

#[test]
fn a_reply_on_an_idle_connection_is_an_error() {
    let late = Duration::from_millis(100);
    let talkative = serving(move |_, stream| {
        thread::sleep(WINDOW);
        send(stream, &ok());
        thread::sleep(late);
        send(stream, &packet(2, OK));
    });
    let slow = serving(move |_, stream| {
        thread::sleep(WINDOW + 3 * late);
        send(stream, &ok());
    });
    let server = Server::of(vec![talkative, slow]);
    let failure = one_slice(program(false, "SELECT"), &server, 2, TIMEOUT).unwrap_err();
    assert_eq!(failure.message, "MySQL protocol error: an unexpected reply");
}

#[test]
fn silence_ends_a_slice() {
    let timeout = Duration::from_millis(300);
    for statement in ["SELECT", &"x".repeat(3 << 20)] {
        let server = Server::of(vec![all_ok(), silent()]);
        let failure = one_slice(program(false, statement), &server, 2, timeout).unwrap_err();
        assert_eq!(failure, Failure::lost("no answer within 0.3 s"));
    }
}

/// A stalled thread cannot tell whether the server answered meanwhile.
#[test]
fn silence_does_not_count_while_the_client_is_stalled() {
    let timeout = Duration::from_millis(1500);
    let still = 2 * timeout;
    let late = serving(move |_, stream| {
        thread::sleep(still + timeout / 5);
        send(stream, &ok());
    });
    let server = Server::of(vec![late]);
    let mut engine = Engine::new(program(false, "SELECT"), 1, 1);
    connect(&mut engine, &server, 1);
    let first = AtomicBool::new(true);
    let keep_going = || {
        if first.swap(false, Ordering::Relaxed) {
            thread::sleep(still);
        }
        true
    };
    assert_eq!(engine.slice(0, COURSE, timeout, &keep_going).unwrap().completed, 1);
}

#[test]
fn an_interrupt_is_noticed_though_only_other_lanes_still_run() {
    let server = Server::of(vec![all_ok(), silent()]);
    let mut engine = Engine::new(program(false, "SELECT"), 1, 2);
    connect(&mut engine, &server, 2);
    let began = Instant::now();
    let interrupted_at = WINDOW + SOON / 4;
    let keep_going = || began.elapsed() < interrupted_at;
    let failure = engine.slice(0, COURSE, TIMEOUT, &keep_going).unwrap_err();
    assert_eq!(failure, Failure::interrupted());
    assert!(began.elapsed() < SOON);
}

#[test]
fn other_servers_continue_after_a_failure() {
    for workers in [1, 2] {
        let failing = Server::of(vec![replying_once(refused(1146, "No such table")), all_ok()]);
        let good = Server::of(vec![all_ok()]);
        let mut engine = Engine::new(program(true, "SELECT"), 1, workers);
        connect(&mut engine, &failing, 2);
        connect(&mut engine, &good, 1);
        let failure = Failure::of_server(1146, "statement `begin`: No such table".into());
        assert_eq!(run(&mut engine, WINDOW, TIMEOUT).unwrap_err(), failure);
        assert_eq!(run(&mut engine, WINDOW, TIMEOUT).unwrap_err(), failure);
        assert!(engine.slice(1, COURSE, TIMEOUT, &|| true).unwrap().completed > 0);
        // Its connections are closed: all threads end.
        failing.received();
    }
}
