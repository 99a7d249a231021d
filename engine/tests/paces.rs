//! Rates and think times: how many transactions begin, when, and their latencies.

mod fake;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use _engine::connection::Result;
use _engine::engine::Engine;
use _engine::histogram::Histogram;
use _engine::lane::{Course, Tally};
use _engine::program::Program;

use fake::*;

const LONG: Duration = Duration::from_millis(300);
/// Time that a busy machine may add to a slice.
const SLACK: Duration = Duration::from_millis(500);

fn paced(pace: &str) -> Program {
    program_with(&format!(r#""pace": {{{pace}}},"#), false, "SELECT")
}

fn open(rate: u32, poisson: bool) -> Program {
    paced(&format!(r#""type": "open", "rate": {rate}, "poisson": {poisson}"#))
}

fn thinking(think_s: f64, exponential: bool) -> Program {
    paced(&format!(r#""type": "closed", "think_s": {think_s}, "exponential": {exponential}"#))
}

fn taking(service: Duration) -> Script {
    serving(move |_, stream| {
        thread::sleep(service);
        send(stream, &ok());
    })
}

/// One slice, and the number of commands on each connection.
struct Outcome {
    result: Result<Tally>,
    took: Duration,
    cpu_s: f64,
    received: Vec<usize>,
}

fn run(
    program: Program,
    scripts: Vec<Script>,
    workers: usize,
    window: Duration,
    timeout: Duration,
) -> Outcome {
    let connections = scripts.len();
    let server = Server::of(scripts);
    let mut engine = Engine::new(program, 1, workers);
    connect(&mut engine, &server, connections);
    let (began, cpu_s) = (Instant::now(), thread_cpu_s());
    let result = engine.slice(0, Course { window, ..COURSE }, timeout, &|| began.elapsed() < SOON);
    let (took, cpu_s) = (began.elapsed(), thread_cpu_s() - cpu_s);
    drop(engine);
    let received = server.received().iter().map(Vec::len).collect();
    Outcome { result, took, cpu_s, received }
}

/// The first attempt that fits, or the last: a busy machine can spoil an attempt, but not make one fit.
fn undisturbed<T>(attempt: impl Fn() -> T, fits: impl Fn(&T) -> bool) -> T {
    let attempts = std::iter::repeat_with(&attempt).take(9);
    attempts.into_iter().find(fits).unwrap_or_else(attempt)
}

fn longer_than(latencies: &Histogram, seconds: f64) -> u64 {
    latencies.buckets().iter().filter(|(latency, _)| *latency > seconds).map(|(_, count)| count).sum()
}

#[test]
fn all_arrivals_begin_and_count() {
    // 600 are due; Poisson arrivals vary by five standard deviations.
    for (poisson, expected) in [(false, 598..=602), (true, 478..=722)] {
        for workers in [1, 2] {
            let scripts = std::iter::repeat_with(all_ok).take(4).collect();
            let outcome = run(open(2000, poisson), scripts, workers, LONG, TIMEOUT);
            let tally = outcome.result.unwrap();
            assert!(expected.contains(&tally.completed), "{}", tally.completed);
            assert_eq!(tally.completed, outcome.received.iter().sum::<usize>() as u64);
            assert_eq!(tally.latencies.count(), tally.completed);
            assert!(outcome.took < LONG + SLACK, "{:?}", outcome.took);
        }
    }
}

#[test]
fn lanes_share_the_rate_by_their_connections() {
    let scripts = std::iter::repeat_with(all_ok).take(3).collect();
    let outcome = run(open(2000, false), scripts, 2, LONG, TIMEOUT);
    // In connecting order: the first lane has two of three connections.
    assert!((398..=402).contains(&(outcome.received[0] + outcome.received[1])), "{:?}", outcome.received);
    assert!((198..=202).contains(&outcome.received[2]), "{:?}", outcome.received);
}

#[test]
fn a_stall_shows_in_all_transactions_due_meanwhile() {
    let stalled = || {
        let mut number = 0;
        let stalling = serving(move |_, stream| {
            number += 1;
            if number == 20 {
                thread::sleep(LONG);
            }
            send(stream, &ok());
        });
        let tally = run(open(200, false), vec![stalling], 1, 2 * LONG, TIMEOUT).result.unwrap();
        assert!((119..=121).contains(&tally.completed), "{}", tally.completed);
        assert_eq!(tally.latencies.count(), tally.completed);
        assert!(tally.latencies.max_s() >= 0.3);
        tally
    };
    // One every 5 ms: arrivals of the first 250 and 150 of the 300 ms waited longer than 50 and 150 ms.
    let waited = |tally: &Tally| [0.05, 0.15].map(|seconds| longer_than(&tally.latencies, seconds));
    let fits = |[some, much]: [u64; 2]| (47..=56).contains(&some) && (28..=36).contains(&much);
    let tally = undisturbed(stalled, |tally| fits(waited(tally)));
    assert!(fits(waited(&tally)), "{:?}", waited(&tally));
    // The server itself was slow only once.
    assert_eq!(longer_than(&tally.statements[0], 0.15), 1);
}

#[test]
fn the_backlog_is_worked_off_after_the_window() {
    let service = Duration::from_millis(5);
    let outcome = run(open(400, false), vec![taking(service)], 1, LONG, TIMEOUT);
    let tally = outcome.result.unwrap();
    assert!((119..=121).contains(&tally.completed), "{}", tally.completed);
    assert_eq!(tally.completed, outcome.received[0] as u64);
    assert_eq!(tally.latencies.count(), tally.completed);
    assert!(outcome.took >= service * 119, "{:?}", outcome.took);
    // The last one waited half of the time.
    assert!(tally.latencies.max_s() >= 0.28, "{}", tally.latencies.max_s());
    // The window counts only what was done in it.
    assert!(tally.transactions <= 60.0, "{}", tally.transactions);
}

#[test]
fn a_backlog_that_stays_is_given_up() {
    let timeout = Duration::from_millis(400);
    let outcome = run(open(400, false), vec![taking(Duration::from_millis(20))], 1, LONG, timeout);
    let failure = outcome.result.unwrap_err();
    assert!(failure.message.ends_with(" 0.4 s after the slice"), "{failure:?}");
    assert!(outcome.took < LONG + 2 * timeout, "{:?}", outcome.took);
}

#[test]
fn a_refusal_after_the_window_frees_its_connection_for_the_backlog() {
    let mut number = 0;
    let refusing_once = serving(move |_, stream| {
        thread::sleep(Duration::from_millis(10));
        number += 1;
        send(stream, &if number == 25 { refused(1213, "Deadlock found") } else { ok() });
    });
    // 50 arrive in the window, which ends before the server's 11th answer.
    let outcome = run(open(500, false), vec![refusing_once], 1, WINDOW, TIMEOUT);
    let tally = outcome.result.unwrap();
    assert_eq!(tally.errors, BTreeMap::from([(1213, 1)]));
    // All but the refused one and its ROLLBACK.
    assert_eq!(tally.completed, outcome.received[0] as u64 - 2);
    assert!((48..=50).contains(&tally.completed), "{}", tally.completed);
}

#[test]
fn waiting_for_the_last_reply_takes_no_client_cpu() {
    let mut number = 0;
    let slow = serving(move |_, stream| {
        number += 1;
        if number == 2 {
            thread::sleep(2 * LONG);
        }
        send(stream, &ok());
    });
    let outcome = run(open(100, false), vec![slow, all_ok()], 1, WINDOW, TIMEOUT);
    assert!(outcome.took > LONG);
    assert!(outcome.result.is_ok());
    assert!(outcome.cpu_s < 0.1, "{}", outcome.cpu_s);
}

#[test]
fn think_and_service_times_fill_the_window() {
    let (service, window) = (Duration::from_millis(20), Duration::from_secs(1));
    // Each of the four does one in 100 ms; exponential times vary by three standard deviations.
    for (exponential, expected) in [(false, 35..=42), (true, 25..=55)] {
        let thoughtful = || {
            let scripts = std::iter::repeat_with(|| taking(service)).take(4).collect();
            let outcome = run(thinking(0.08, exponential), scripts, 1, window, TIMEOUT);
            assert!(outcome.took < window + SLACK, "{:?}", outcome.took);
            let tally = outcome.result.unwrap();
            assert_eq!(tally.completed, outcome.received.iter().sum::<usize>() as u64);
            tally
        };
        let tally = undisturbed(thoughtful, |tally| expected.contains(&tally.completed));
        assert!(expected.contains(&tally.completed), "{}", tally.completed);
        // Think time is not part of a transaction.
        assert!(tally.latencies.percentile_s(50.0) < 0.04);
    }
}

#[test]
fn thinking_connections_begin_spread_out() {
    let begun = || {
        let firsts = Arc::new(Mutex::new(Vec::new()));
        let noting = || {
            let (firsts, mut noted) = (Arc::clone(&firsts), false);
            serving(move |_, stream| {
                if !std::mem::replace(&mut noted, true) {
                    firsts.lock().unwrap().push(Instant::now());
                }
                send(stream, &ok());
            })
        };
        let scripts = std::iter::repeat_with(noting).take(20).collect();
        run(thinking(0.1, false), scripts, 1, LONG, TIMEOUT).result.unwrap();
        let mut firsts = firsts.lock().unwrap().clone();
        firsts.sort();
        assert_eq!(firsts.len(), 20);
        let longest = firsts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
        (firsts[19] - firsts[0], longest)
    };
    // Spread over the whole think time, not in a few lumps.
    let fits = |&(spread, longest): &(Duration, Duration)| {
        spread > Duration::from_millis(60)
            && spread < Duration::from_millis(115)
            && longest < Duration::from_millis(40)
    };
    let found = undisturbed(begun, fits);
    assert!(fits(&found), "{found:?}");
}
