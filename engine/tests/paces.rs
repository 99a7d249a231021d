//! Loads that keep a rate, or think: how much is begun, when, and how long it is said to have taken.

mod played;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use _engine::connection::Failure;
use _engine::engine::Engine;
use _engine::histogram::Histogram;
use _engine::lane::{Course, Tally};
use _engine::program::Program;

use played::*;

const LONG: Duration = Duration::from_millis(300);
/// What a busy machine may add to a slice.
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

fn taking(service: Duration) -> Role {
    serving(move |_, stream| {
        thread::sleep(service);
        say(stream, &done());
    })
}

/// How one slice went, and how many commands each connection was sent.
struct Ran {
    result: Result<Tally, Failure>,
    took: Duration,
    cpu_s: f64,
    heard: Vec<usize>,
}

fn run(program: Program, roles: Vec<Role>, workers: usize, window: Duration, timeout: Duration) -> Ran {
    let connections = roles.len();
    let server = Server::of(roles);
    let mut engine = Engine::new(program, 1, workers);
    connect(&mut engine, &server, connections);
    let (began, cpu_s) = (Instant::now(), thread_cpu_s());
    let result = engine.slice(0, Course { window, ..COURSE }, timeout, &|| began.elapsed() < SOON);
    let (took, cpu_s) = (began.elapsed(), thread_cpu_s() - cpu_s);
    drop(engine);
    let heard = server.heard().iter().map(Vec::len).collect();
    Ran { result, took, cpu_s, heard }
}

/// The first of some attempts that fits, or the last: a busy machine can disturb one, but not make one fit.
fn undisturbed<T>(attempt: impl Fn() -> T, fits: impl Fn(&T) -> bool) -> T {
    let attempts = std::iter::repeat_with(&attempt).take(9);
    attempts.into_iter().find(fits).unwrap_or_else(attempt)
}

fn longer_than(latencies: &Histogram, seconds: f64) -> u64 {
    latencies.buckets().iter().filter(|(latency, _)| *latency > seconds).map(|(_, count)| count).sum()
}

#[test]
fn all_that_arrive_are_begun_and_counted() {
    // 600 are to come; of those at random, five standard deviations more or less.
    for (poisson, expected) in [(false, 598..=602), (true, 478..=722)] {
        for workers in [1, 2] {
            let roles = std::iter::repeat_with(obliging).take(4).collect();
            let ran = run(open(2000, poisson), roles, workers, LONG, TIMEOUT);
            let tally = ran.result.unwrap();
            assert!(expected.contains(&tally.completed), "{}", tally.completed);
            assert_eq!(tally.completed, ran.heard.iter().sum::<usize>() as u64);
            assert_eq!(tally.latencies.count(), tally.completed);
            assert!(ran.took < LONG + SLACK, "{:?}", ran.took);
        }
    }
}

#[test]
fn lanes_share_the_rate_by_their_connections() {
    let roles = std::iter::repeat_with(obliging).take(3).collect();
    let ran = run(open(2000, false), roles, 2, LONG, TIMEOUT);
    // In the order of connecting: the first lane has two of three.
    assert!((398..=402).contains(&(ran.heard[0] + ran.heard[1])), "{:?}", ran.heard);
    assert!((198..=202).contains(&ran.heard[2]), "{:?}", ran.heard);
}

#[test]
fn a_stall_shows_in_all_that_should_have_begun_meanwhile() {
    let stalled = || {
        let mut number = 0;
        let stalling = serving(move |_, stream| {
            number += 1;
            if number == 20 {
                thread::sleep(LONG);
            }
            say(stream, &done());
        });
        let tally = run(open(200, false), vec![stalling], 1, 2 * LONG, TIMEOUT).result.unwrap();
        assert!((119..=121).contains(&tally.completed), "{}", tally.completed);
        assert_eq!(tally.latencies.count(), tally.completed);
        assert!(tally.latencies.max_s() >= 0.3);
        tally
    };
    // One every 5 ms: those of the first 250 and 150 of the 300 ms waited longer than 50 and 150 ms.
    let waited = |tally: &Tally| [0.05, 0.15].map(|seconds| longer_than(&tally.latencies, seconds));
    let fits = |[some, much]: [u64; 2]| (47..=56).contains(&some) && (28..=36).contains(&much);
    let tally = undisturbed(stalled, |tally| fits(waited(tally)));
    assert!(fits(waited(&tally)), "{:?}", waited(&tally));
    // The server itself was slow only once.
    assert_eq!(longer_than(&tally.statements[0], 0.15), 1);
}

#[test]
fn what_waits_is_worked_off_after_the_window() {
    let service = Duration::from_millis(5);
    let ran = run(open(400, false), vec![taking(service)], 1, LONG, TIMEOUT);
    let tally = ran.result.unwrap();
    assert!((119..=121).contains(&tally.completed), "{}", tally.completed);
    assert_eq!(tally.completed, ran.heard[0] as u64);
    assert_eq!(tally.latencies.count(), tally.completed);
    assert!(ran.took >= service * 119, "{:?}", ran.took);
    // By its end the last has waited for half of the time.
    assert!(tally.latencies.max_s() >= 0.28, "{}", tally.latencies.max_s());
    // In the window only what was done in it.
    assert!(tally.transactions <= 60.0, "{}", tally.transactions);
}

#[test]
fn what_cannot_be_worked_off_is_given_up() {
    let timeout = Duration::from_millis(400);
    let ran = run(open(400, false), vec![taking(Duration::from_millis(20))], 1, LONG, timeout);
    let failure = ran.result.unwrap_err();
    assert!(failure.message.ends_with(" within 0.4 s after the slice"), "{failure:?}");
    assert!(ran.took < LONG + 2 * timeout, "{:?}", ran.took);
}

#[test]
fn what_is_refused_after_the_window_leaves_its_connection_to_those_that_wait() {
    let mut number = 0;
    let refusing_once = serving(move |_, stream| {
        thread::sleep(Duration::from_millis(10));
        number += 1;
        say(stream, &if number == 25 { refused(1213, "Deadlock found") } else { done() });
    });
    // 50 arrive in the window, which ends before the server's 11th answer.
    let ran = run(open(500, false), vec![refusing_once], 1, WINDOW, TIMEOUT);
    let tally = ran.result.unwrap();
    assert_eq!(tally.errors, BTreeMap::from([(1213, 1)]));
    // But for the one that was refused, and its ROLLBACK.
    assert_eq!(tally.completed, ran.heard[0] as u64 - 2);
    assert!((48..=50).contains(&tally.completed), "{}", tally.completed);
}

#[test]
fn waiting_for_the_last_takes_no_time_of_the_client() {
    let mut number = 0;
    let slow = serving(move |_, stream| {
        number += 1;
        if number == 2 {
            thread::sleep(2 * LONG);
        }
        say(stream, &done());
    });
    let ran = run(open(100, false), vec![slow, obliging()], 1, WINDOW, TIMEOUT);
    assert!(ran.took > LONG);
    assert!(ran.result.is_ok());
    assert!(ran.cpu_s < 0.1, "{}", ran.cpu_s);
}

#[test]
fn thought_and_service_fill_the_window() {
    let (service, window) = (Duration::from_millis(20), Duration::from_secs(1));
    // Each of the four does one in 100 ms; by chance up to three standard deviations more or less.
    for (exponential, expected) in [(false, 35..=42), (true, 25..=55)] {
        let thoughtful = || {
            let roles = std::iter::repeat_with(|| taking(service)).take(4).collect();
            let ran = run(thinking(0.08, exponential), roles, 1, window, TIMEOUT);
            assert!(ran.took < window + SLACK, "{:?}", ran.took);
            let tally = ran.result.unwrap();
            assert_eq!(tally.completed, ran.heard.iter().sum::<usize>() as u64);
            tally
        };
        let tally = undisturbed(thoughtful, |tally| expected.contains(&tally.completed));
        assert!(expected.contains(&tally.completed), "{}", tally.completed);
        // Thought is no part of a transaction.
        assert!(tally.latencies.percentile_s(50.0) < 0.04);
    }
}

#[test]
fn connections_that_think_do_not_begin_all_at_once() {
    let begun = || {
        let firsts = Arc::new(Mutex::new(Vec::new()));
        let noting = || {
            let (firsts, mut noted) = (Arc::clone(&firsts), false);
            serving(move |_, stream| {
                if !std::mem::replace(&mut noted, true) {
                    firsts.lock().unwrap().push(Instant::now());
                }
                say(stream, &done());
            })
        };
        let roles = std::iter::repeat_with(noting).take(20).collect();
        run(thinking(0.1, false), roles, 1, LONG, TIMEOUT).result.unwrap();
        let mut firsts = firsts.lock().unwrap().clone();
        firsts.sort();
        assert_eq!(firsts.len(), 20);
        let longest = firsts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
        (firsts[19] - firsts[0], longest)
    };
    // Over the whole time of a thought, and not in a few lumps.
    let fits = |&(spread, longest): &(Duration, Duration)| {
        spread > Duration::from_millis(60)
            && spread < Duration::from_millis(115)
            && longest < Duration::from_millis(40)
    };
    let found = undisturbed(begun, fits);
    assert!(fits(&found), "{found:?}");
}
