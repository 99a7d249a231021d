//! Slices that go as they should, and those that a server ends.

mod played;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use _engine::connection::Failure;
use _engine::engine::Engine;

use played::*;

#[test]
fn what_is_refused_for_ever_is_given_up_after_the_window() {
    for begin in [true, false] {
        let server = Server::of(vec![serving(|command, stream| {
            let duplicate = command.text() == "INSERT";
            say(stream, &if duplicate { refused(1062, "Duplicate entry") } else { done() });
        })]);
        let tally = one_slice(program(begin, "INSERT"), &server, 1, TIMEOUT).unwrap();
        let heard = server.heard_texts();
        let attempts = heard.iter().filter(|text| *text == "INSERT").count() as u64;
        assert!(attempts > 1);
        assert_eq!(tally.errors, BTreeMap::from([(1062, attempts)]));
        assert_eq!((tally.completed, tally.writes), (0, 0));
        assert_eq!(tally.transactions.to_bits(), 0f64.to_bits());
        assert_eq!(tally.other, heard.len() as u64 - attempts);
        assert_eq!(heard.last().unwrap(), "ROLLBACK");
    }
}

#[test]
fn what_is_refused_is_rolled_back_and_tried_again() {
    let mut attempts = 0;
    let server = Server::of(vec![serving(move |command, stream| {
        attempts += u32::from(command.text() == "UPDATE");
        let reply = match (command.text(), attempts) {
            ("UPDATE", 1) => refused(1213, "Deadlock found"),
            ("COMMIT", 2) => refused(1205, "Lock wait timeout exceeded"),
            _ => done(),
        };
        say(stream, &reply);
    })]);
    let tally = one_slice(program(true, "UPDATE"), &server, 1, TIMEOUT).unwrap();
    let heard = server.heard_texts();
    assert_eq!(
        heard[..9],
        ["BEGIN", "UPDATE", "ROLLBACK", "BEGIN", "UPDATE", "COMMIT", "ROLLBACK", "BEGIN", "UPDATE"]
    );
    assert_eq!(tally.errors, BTreeMap::from([(1205, 1), (1213, 1)]));
    assert_eq!(tally.reads + tally.writes + tally.other + 2, heard.len() as u64);
    assert_eq!(tally.completed, heard.iter().filter(|text| *text == "COMMIT").count() as u64 - 1);
}

#[test]
fn replies_may_come_byte_by_byte() {
    let server = Server::of(vec![serving(|_, stream| {
        for byte in rows() {
            say(stream, &[byte]);
            thread::yield_now();
        }
    })]);
    let tally = one_slice(program(false, "SELECT"), &server, 1, TIMEOUT).unwrap();
    assert!(tally.completed > 0);
    assert_eq!(tally.completed, server.heard_texts().len() as u64);
}

#[test]
fn a_large_statement_is_sent_in_pieces_and_arrives_whole() {
    let text = "x".repeat(3 << 20);
    let server = Server::of(vec![obliging()]);
    let tally = one_slice(program(false, &text), &server, 1, TIMEOUT).unwrap();
    let heard = server.heard_texts();
    assert!(tally.completed > 0);
    assert_eq!(tally.completed, heard.len() as u64);
    assert!(heard.iter().all(|statement| *statement == text));
}

#[test]
fn a_statement_longer_than_a_packet_is_refused() {
    let server = Server::of(vec![obliging()]);
    let failure = one_slice(program(false, &"x".repeat(1 << 24)), &server, 1, TIMEOUT).unwrap_err();
    assert_eq!(failure.message, "not in the MySQL protocol: a statement of 16 MiB or more");
}

#[test]
fn a_reply_cut_short_by_the_end_is_noticed_at_once() {
    for shut in [Shutdown::Write, Shutdown::Both] {
        let server = Server::of(vec![serving(move |_, stream| {
            say(stream, &rows()[..12]);
            stream.shutdown(shut).unwrap();
        })]);
        let failure = one_slice(program(false, "SELECT"), &server, 1, TIMEOUT).unwrap_err();
        assert_eq!(failure, Failure::lost("the server closed the connection"));
    }
}

#[test]
fn the_last_words_before_an_end_are_heard() {
    let server = Server::of(vec![serving(|_, stream| {
        say(stream, &refused(1053, "Server shutdown in progress"));
        stream.shutdown(Shutdown::Both).unwrap();
    })]);
    let failure = one_slice(program(false, "SELECT"), &server, 1, TIMEOUT).unwrap_err();
    assert_eq!(failure, Failure::of_server(1053, "Server shutdown in progress".into()));
}

/// Answers to the first half of a statement that does not fit into the socket.
fn hasty(answer: Vec<u8>) -> Role {
    logged(move |stream| {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        say(stream, &answer);
        wait_for_end(stream);
    })
}

#[test]
fn a_refusal_of_what_is_still_being_sent_is_heard() {
    let server =
        Server::of(vec![hasty(refused(1153, "Got a packet bigger than 'max_allowed_packet' bytes"))]);
    let failure = one_slice(program(false, &"x".repeat(3 << 20)), &server, 1, TIMEOUT).unwrap_err();
    assert_eq!(failure.code, 1153);
}

#[test]
fn an_answer_to_half_a_statement_is_refused() {
    let server = Server::of(vec![hasty(done())]);
    let failure = one_slice(program(false, &"x".repeat(3 << 20)), &server, 1, TIMEOUT).unwrap_err();
    assert_eq!(failure.message, "not in the MySQL protocol: an answer to what was not asked");
}

#[test]
fn an_answer_on_an_idle_connection_is_refused() {
    let late = Duration::from_millis(100);
    let talkative = serving(move |_, stream| {
        thread::sleep(WINDOW);
        say(stream, &done());
        thread::sleep(late);
        say(stream, &packet(2, OK));
    });
    let slow = serving(move |_, stream| {
        thread::sleep(WINDOW + 3 * late);
        say(stream, &done());
    });
    let server = Server::of(vec![talkative, slow]);
    let failure = one_slice(program(false, "SELECT"), &server, 2, TIMEOUT).unwrap_err();
    assert_eq!(failure.message, "not in the MySQL protocol: an answer to what was not asked");
}

#[test]
fn silence_ends_a_slice() {
    let timeout = Duration::from_millis(300);
    for statement in ["SELECT", &"x".repeat(3 << 20)] {
        let server = Server::of(vec![obliging(), silent()]);
        let failure = one_slice(program(false, statement), &server, 2, timeout).unwrap_err();
        assert_eq!(failure, Failure::lost("no answer within 0.3 s"));
    }
}

/// Of a thread that stood still, and perhaps with the server's, nobody can say that it got no answer.
#[test]
fn silence_is_not_counted_while_nobody_listens() {
    let timeout = Duration::from_millis(1500);
    let still = 2 * timeout;
    let late = serving(move |_, stream| {
        thread::sleep(still + timeout / 5);
        say(stream, &done());
    });
    let server = Server::of(vec![late]);
    let mut engine = Engine::new(program(false, "SELECT"), 1, 1);
    connect(&mut engine, &server, 1);
    let first = AtomicBool::new(true);
    let look_around = || {
        if first.swap(false, Ordering::Relaxed) {
            thread::sleep(still);
        }
        true
    };
    assert_eq!(engine.slice(0, COURSE, timeout, &look_around).unwrap().completed, 1);
}

#[test]
fn an_interrupt_is_noticed_though_only_other_lanes_still_run() {
    let server = Server::of(vec![obliging(), silent()]);
    let mut engine = Engine::new(program(false, "SELECT"), 1, 2);
    connect(&mut engine, &server, 2);
    let began = Instant::now();
    let interrupted_at = WINDOW + SOON / 4;
    let look_around = || began.elapsed() < interrupted_at;
    let failure = engine.slice(0, COURSE, TIMEOUT, &look_around).unwrap_err();
    assert_eq!(failure, Failure::interrupted());
    assert!(began.elapsed() < SOON);
}

#[test]
fn a_server_that_failed_is_left_and_the_others_go_on() {
    for workers in [1, 2] {
        let failing = Server::of(vec![saying(refused(1146, "No such table")), obliging()]);
        let good = Server::of(vec![obliging()]);
        let mut engine = Engine::new(program(true, "SELECT"), 1, workers);
        connect(&mut engine, &failing, 2);
        connect(&mut engine, &good, 1);
        let failure = Failure::of_server(1146, "No such table".into());
        assert_eq!(slice(&mut engine, 0, TIMEOUT).unwrap_err(), failure);
        assert_eq!(slice(&mut engine, 0, TIMEOUT).unwrap_err(), failure);
        assert!(slice(&mut engine, 1, TIMEOUT).unwrap().completed > 0);
        // Its connections are closed, so that it rolls back what they were at: all threads end.
        failing.heard();
    }
}

#[test]
fn an_answer_without_end_is_given_up() {
    let endless = logged(|stream| {
        let head = packets(&[&[1], &b"\x03def"[..], END]);
        read_command(stream).unwrap();
        let mut row = vec![b'x'; 1 << 16];
        say(stream, &head);
        for sequence in (0..=u8::MAX).cycle().skip(4) {
            let length = row.len() as u32 - 4;
            row[..4].copy_from_slice(&length.to_le_bytes());
            row[3] = sequence;
            if stream.write_all(&row).is_err() {
                return;
            }
        }
    });
    let server = Server::of(vec![endless]);
    let failure = one_slice(program(false, "SELECT"), &server, 1, SOON / 8).unwrap_err();
    assert_eq!(failure, Failure::lost("no answer within 0.25 s"));
}
