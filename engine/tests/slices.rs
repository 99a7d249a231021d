//! Slices against servers that a thread plays, each at the other end of a socket pair.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use _engine::connection::Failure;
use _engine::engine::Engine;
use _engine::lane::{Course, Tally};
use _engine::program::Program;

const WINDOW: Duration = Duration::from_millis(60);
/// Much longer than any slice here may take, but for those that must time out.
const TIMEOUT: Duration = Duration::from_secs(20);
const SOON: Duration = Duration::from_secs(2);

fn program(begin: bool, statement: &str) -> Program {
    let json = format!(
        r#"{{"tables": 1, "rows": 9, "distribution": {{"type": "uniform"}}, "parameters": [],
            "kinds": [{{"name": "write", "effect": "write"}},
                      {{"name": "begin", "effect": "other"}}, {{"name": "commit", "effect": "other"}}],
            "transactions": [{{"weight": 1, "begin": {begin}, "steps": [
                {{"repeat": 1, "statements": [{{"kind": 0, "pieces": ["{statement}"]}}]}}]}}]}}"#
    );
    Program::parse(json.as_bytes()).unwrap()
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = (payload.len() as u32).to_le_bytes().to_vec();
    packet[3] = sequence;
    packet.extend_from_slice(payload);
    packet
}

fn done() -> Vec<u8> {
    packet(1, &[0, 1, 0, 2, 0, 0, 0])
}

fn refused(code: u16, words: &str) -> Vec<u8> {
    packet(1, &[&[0xFF], &code.to_le_bytes()[..], b"#HY000", words.as_bytes()].concat())
}

fn rows() -> Vec<u8> {
    let end = [0xFE, 0, 0, 2, 0];
    let payloads: [&[u8]; 5] = [&[1], b"\x03def", &end, b"\x05a row", &end];
    payloads.iter().zip(1..).flat_map(|(payload, sequence)| packet(sequence, payload)).collect()
}

/// A server's end of one connection: `answer` replies to each statement; joined, it tells what it was sent.
struct Played {
    socket: OwnedFd,
    heard: JoinHandle<Vec<String>>,
}

fn played(mut answer: impl FnMut(&str, &mut UnixStream) + Send + 'static) -> Played {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let heard = thread::spawn(move || {
        let mut heard = Vec::new();
        let mut header = [0; 5];
        while theirs.read_exact(&mut header).is_ok() {
            let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
            let mut text = vec![0; length - 1];
            if theirs.read_exact(&mut text).is_err() {
                break;
            }
            let text = String::from_utf8(text).unwrap();
            answer(&text, &mut theirs);
            heard.push(text);
        }
        heard
    });
    Played { socket: ours.into(), heard }
}

fn obliging() -> Played {
    played(|_, stream| stream.write_all(&done()).unwrap_or_default())
}

fn course(timeout: Duration) -> Course {
    Course { ramp: Duration::ZERO, window: WINDOW, timeout }
}

/// One slice that must end soon.
fn slice(engine: &mut Engine, server: usize, timeout: Duration) -> Result<Tally, Failure> {
    let began = Instant::now();
    let result = engine.slice(server, course(timeout), &|| true);
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    result
}

fn one_slice(program: Program, sockets: Vec<OwnedFd>, timeout: Duration) -> Result<Tally, Failure> {
    let mut engine = Engine::new(program, 1, 1);
    engine.connect(sockets).unwrap();
    slice(&mut engine, 0, timeout)
}

#[test]
fn what_is_refused_for_ever_is_given_up_after_the_window() {
    for begin in [true, false] {
        let server = played(|text, stream| {
            let reply = if text == "INSERT" { refused(1062, "Duplicate entry") } else { done() };
            stream.write_all(&reply).unwrap();
        });
        let tally = one_slice(program(begin, "INSERT"), vec![server.socket], TIMEOUT).unwrap();
        let heard = server.heard.join().unwrap();
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
    let server = played(move |text, stream| {
        attempts += u32::from(text == "UPDATE");
        let reply = match (text, attempts) {
            ("UPDATE", 1) => refused(1213, "Deadlock found"),
            ("COMMIT", 2) => refused(1205, "Lock wait timeout exceeded"),
            _ => done(),
        };
        stream.write_all(&reply).unwrap();
    });
    let tally = one_slice(program(true, "UPDATE"), vec![server.socket], TIMEOUT).unwrap();
    let heard = server.heard.join().unwrap();
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
    let server = played(|_, stream| {
        for byte in rows() {
            stream.write_all(&[byte]).unwrap();
            thread::yield_now();
        }
    });
    let tally = one_slice(program(false, "SELECT"), vec![server.socket], TIMEOUT).unwrap();
    assert!(tally.completed > 0);
    assert_eq!(tally.completed, server.heard.join().unwrap().len() as u64);
}

#[test]
fn a_large_statement_is_sent_in_pieces_and_arrives_whole() {
    let text = "x".repeat(3 << 20);
    let small_after_large = played(|text, stream| {
        assert!(text.bytes().all(|byte| byte == b'x'));
        stream.write_all(&done()).unwrap();
    });
    let tally = one_slice(program(false, &text), vec![small_after_large.socket], TIMEOUT).unwrap();
    let heard = small_after_large.heard.join().unwrap();
    assert!(tally.completed > 0);
    assert_eq!(tally.completed, heard.len() as u64);
    assert!(heard.iter().all(|statement| statement.len() == text.len()));
}

#[test]
fn a_statement_longer_than_a_packet_is_refused() {
    let server = obliging();
    let failure = one_slice(program(false, &"x".repeat(1 << 24)), vec![server.socket], TIMEOUT).unwrap_err();
    assert_eq!(failure.message, "not in the MySQL protocol: a statement of 16 MiB or more");
}

#[test]
fn a_reply_cut_short_by_the_end_is_noticed_at_once() {
    for shut in [Shutdown::Write, Shutdown::Both] {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(&rows()[..12]).unwrap();
        theirs.shutdown(shut).unwrap();
        let failure = one_slice(program(false, "SELECT"), vec![ours.into()], TIMEOUT).unwrap_err();
        assert_eq!(failure, Failure::without_code("the server closed the connection"));
    }
}

#[test]
fn the_last_words_before_an_end_are_heard() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    theirs.write_all(&refused(1053, "Server shutdown in progress")).unwrap();
    drop(theirs);
    let failure = one_slice(program(false, "SELECT"), vec![ours.into()], TIMEOUT).unwrap_err();
    assert_eq!(failure, Failure { code: 1053, message: "Server shutdown in progress".into() });
}

#[test]
fn a_refusal_of_what_is_still_being_sent_is_heard() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    theirs.write_all(&refused(1153, "Got a packet bigger than 'max_allowed_packet' bytes")).unwrap();
    let failure = one_slice(program(false, &"x".repeat(3 << 20)), vec![ours.into()], TIMEOUT).unwrap_err();
    assert_eq!(failure.code, 1153);
}

#[test]
fn an_answer_to_half_a_statement_is_refused() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    theirs.write_all(&done()).unwrap();
    let failure = one_slice(program(false, &"x".repeat(3 << 20)), vec![ours.into()], TIMEOUT).unwrap_err();
    assert_eq!(failure.message, "not in the MySQL protocol: an answer to what was not asked");
}

#[test]
fn an_answer_on_an_idle_connection_is_refused() {
    let late = Duration::from_millis(100);
    let talkative = played(move |_, stream| {
        thread::sleep(WINDOW);
        stream.write_all(&done()).unwrap();
        thread::sleep(late);
        stream.write_all(&packet(2, &done()[4..])).unwrap();
    });
    let slow = played(move |_, stream| {
        thread::sleep(WINDOW + 3 * late);
        stream.write_all(&done()).unwrap_or_default();
    });
    let failure =
        one_slice(program(false, "SELECT"), vec![talkative.socket, slow.socket], TIMEOUT).unwrap_err();
    assert_eq!(failure.message, "not in the MySQL protocol: an answer to what was not asked");
}

#[test]
fn silence_ends_a_slice() {
    let timeout = Duration::from_millis(300);
    for statement in ["SELECT", &"x".repeat(3 << 20)] {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let talking = obliging();
        let sockets = vec![talking.socket, ours.into()];
        let failure = one_slice(program(false, statement), sockets, timeout).unwrap_err();
        assert_eq!(failure, Failure::without_code("no answer within 0.3 s"));
    }
}

#[test]
fn an_interrupt_is_noticed_though_only_other_lanes_still_run() {
    let (silent, _theirs) = UnixStream::pair().unwrap();
    let mut engine = Engine::new(program(false, "SELECT"), 1, 2);
    engine.connect(vec![obliging().socket, silent.into()]).unwrap();
    let began = Instant::now();
    let interrupted_at = WINDOW + SOON / 4;
    let look_around = || began.elapsed() < interrupted_at;
    let failure = engine.slice(0, course(TIMEOUT), &look_around).unwrap_err();
    assert_eq!(failure, Failure::interrupted());
    assert!(began.elapsed() < SOON);
}

#[test]
fn a_server_that_failed_is_left_and_the_others_go_on() {
    for workers in [1, 2] {
        let failing = played(|_, stream| stream.write_all(&refused(1146, "No such table")).unwrap());
        let (waiting, good) = (obliging(), obliging());
        let mut engine = Engine::new(program(true, "SELECT"), 1, workers);
        engine.connect(vec![failing.socket, waiting.socket]).unwrap();
        engine.connect(vec![good.socket]).unwrap();
        let failure = Failure { code: 1146, message: "No such table".into() };
        assert_eq!(slice(&mut engine, 0, TIMEOUT).unwrap_err(), failure);
        assert_eq!(slice(&mut engine, 0, TIMEOUT).unwrap_err(), failure);
        assert!(slice(&mut engine, 1, TIMEOUT).unwrap().completed > 0);
        // Its connections are closed, so that it rolls back what they were at: both threads end.
        failing.heard.join().unwrap();
        waiting.heard.join().unwrap();
    }
}
