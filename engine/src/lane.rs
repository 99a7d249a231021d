//! One thread's share of a server's connections: the epoll loop, and what it counts.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::{Errno, read};
use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::connection::{Connection, Failure, Progress};
use crate::histogram::Histogram;
use crate::program::{Effect, Program};
use crate::random::Stream;

/// Edge-triggered: one wake-up for a reply, and none for the room that our own requests leave in the socket.
const WATCHED: EventFlags = EventFlags::IN.union(EventFlags::RDHUP).union(EventFlags::ET);
const CLOSED: EventFlags = EventFlags::RDHUP.union(EventFlags::HUP).union(EventFlags::ERR);
const READ_SIZE: usize = 64 * 1024;
/// How often an idle loop looks for a time-out or a signal.
pub const LOOK_AROUND: Duration = Duration::from_millis(100);

/// A slice's course in time, from its start.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    pub ramp: Duration,
    pub window: Duration,
    /// Longest wait for one answer, and for the last transaction after the window.
    pub timeout: Duration,
}

/// What one slice counted.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Transactions in the window. One that crosses an edge counts by the share of its time inside, which
    /// leaves the expectation as it is and takes away the rounding to whole transactions.
    pub transactions: f64,
    pub completed: u64,
    pub reads: u64,
    pub writes: u64,
    pub other: u64,
    pub errors: BTreeMap<u16, u64>,
    pub client_cpu_s: f64,
    pub latencies: Histogram,
    pub statements: Vec<Histogram>,
}

impl Tally {
    fn new(program: &Program) -> Self {
        Self { statements: vec![Histogram::default(); program.kinds.len()], ..Self::default() }
    }

    pub fn add(&mut self, other: &Self) {
        self.transactions += other.transactions;
        self.completed += other.completed;
        self.reads += other.reads;
        self.writes += other.writes;
        self.other += other.other;
        self.client_cpu_s += other.client_cpu_s;
        self.latencies.add(&other.latencies);
        for (&code, count) in &other.errors {
            *self.errors.entry(code).or_default() += count;
        }
        for (mine, theirs) in self.statements.iter_mut().zip(&other.statements) {
            mine.add(theirs);
        }
    }
}

/// The counted part of a slice, in nanoseconds from its start.
#[derive(Clone, Copy, Debug)]
struct Window {
    from: u64,
    to: u64,
}

impl Window {
    fn holds(self, moment: u64) -> bool {
        self.from <= moment && moment <= self.to
    }

    /// The share of the time from `began` to `ended` that lies inside.
    fn share(self, began: u64, ended: u64) -> f64 {
        let inside = ended.min(self.to).saturating_sub(began.max(self.from));
        if ended > began { inside as f64 / (ended - began) as f64 } else { f64::from(self.holds(ended)) }
    }
}

/// Some connections of one server, driven by one thread at a time.
#[derive(Debug)]
pub struct Lane {
    poll: OwnedFd,
    connections: Vec<Connection>,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
}

impl Lane {
    /// `sockets` are non-blocking; each comes with the number that its random numbers are made from.
    pub fn new(program: &Program, seed: u64, sockets: Vec<(u64, OwnedFd)>) -> Result<Self, Failure> {
        let poll = epoll::create(CreateFlags::CLOEXEC).map_err(Failure::without_code)?;
        let mut connections = Vec::with_capacity(sockets.len());
        for (index, (number, socket)) in sockets.into_iter().enumerate() {
            epoll::add(&poll, &socket, EventData::new_u64(index as u64), WATCHED)
                .map_err(Failure::without_code)?;
            connections.push(Connection::new(socket, Stream::new(seed, number), program));
        }
        Ok(Self { poll, connections, incoming: vec![0; READ_SIZE], outgoing: Vec::new() })
    }

    /// Runs one slice. `look_around` is called now and then and ends the slice by returning false; `abandoned`
    /// tells the lanes of one server that one of them has failed.
    pub fn run(
        &mut self,
        program: &Program,
        start: Instant,
        course: Course,
        abandoned: &AtomicBool,
        look_around: &dyn Fn() -> bool,
    ) -> Result<Tally, Failure> {
        let mut slice = Slice {
            program,
            start,
            window: Window {
                from: course.ramp.as_nanos() as u64,
                to: (course.ramp + course.window).as_nanos() as u64,
            },
            running: 0,
            tally: Tally::new(program),
        };
        let cpu_before = thread_cpu_s();
        let result = self.drive(&mut slice, course, abandoned, look_around);
        if result.is_err() {
            abandoned.store(true, Ordering::Relaxed);
        }
        slice.tally.client_cpu_s = thread_cpu_s() - cpu_before;
        result.map(|()| slice.tally)
    }

    fn drive(
        &mut self,
        slice: &mut Slice,
        course: Course,
        abandoned: &AtomicBool,
        look_around: &dyn Fn() -> bool,
    ) -> Result<(), Failure> {
        for index in 0..self.connections.len() {
            let now = slice.now();
            self.connections[index].begin(slice.program, now, &mut self.outgoing)?;
            slice.running += 1;
            self.watch_unsent(index)?;
        }
        let mut events: Vec<Event> = Vec::with_capacity(self.connections.len().clamp(1, 1024));
        let timeout = course.timeout.as_nanos() as u64;
        let mut looked = slice.now();
        while slice.running > 0 {
            events.clear();
            let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK_AROUND.subsec_nanos()) };
            match epoll::wait(&self.poll, spare_capacity(&mut events), Some(&wait)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(Failure::without_code(error)),
            }
            for event in &events {
                let (index, flags) = (event.data.u64() as usize, event.flags);
                self.serve(slice, index, flags)?;
            }
            let now = slice.now();
            if now - looked > LOOK_AROUND.as_nanos() as u64 {
                looked = now;
                if abandoned.load(Ordering::Relaxed) {
                    return Ok(());
                }
                if !look_around() {
                    return Err(Failure::interrupted());
                }
                let silent = |connection: &Connection| {
                    !connection.is_idle() && now.saturating_sub(connection.sent) > timeout
                };
                let waited = course.timeout.as_secs_f64();
                if self.connections.iter().any(silent) {
                    return Err(Failure::without_code(format!("no answer within {waited} s")));
                }
                if now > slice.window.to + timeout {
                    let message = format!("a transaction did not end within {waited} s after the slice");
                    return Err(Failure::without_code(message));
                }
            }
        }
        Ok(())
    }

    fn serve(&mut self, slice: &mut Slice, index: usize, flags: EventFlags) -> Result<(), Failure> {
        // Reading comes first: what the server says before it closes is worth more than a failed send.
        if flags.intersects(CLOSED | EventFlags::IN) {
            self.receive(slice, index, flags.intersects(CLOSED))?;
        }
        if flags.contains(EventFlags::OUT) && self.connections[index].has_unsent() {
            self.connections[index].flush()?;
            self.watch(index)?;
        }
        Ok(())
    }

    fn receive(&mut self, slice: &mut Slice, index: usize, closed: bool) -> Result<(), Failure> {
        let connection = &mut self.connections[index];
        loop {
            let length = match read(connection.as_fd(), &mut self.incoming[..]) {
                Ok(0) => return Err(Failure::without_code("the server closed the connection")),
                Ok(length) => length,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(Failure::without_code(format!("lost the connection: {error}"))),
            };
            if let Some(outcome) = connection.reply.feed(&self.incoming[..length])? {
                slice.answered(connection, outcome, &mut self.outgoing)?;
                return self.watch_unsent(index);
            }
            // A short read took all there was: the next byte is a new edge. An end that is there already is none.
            if length < self.incoming.len() && !closed {
                return Ok(());
            }
        }
    }

    fn watch_unsent(&self, index: usize) -> Result<(), Failure> {
        if self.connections[index].has_unsent() { self.watch(index) } else { Ok(()) }
    }

    /// Waits for room in the socket while there is something unsent, and only then.
    fn watch(&self, index: usize) -> Result<(), Failure> {
        let connection = &self.connections[index];
        let room = if connection.has_unsent() { EventFlags::OUT } else { EventFlags::empty() };
        epoll::modify(&self.poll, connection.as_fd(), EventData::new_u64(index as u64), WATCHED | room)
            .map_err(Failure::without_code)
    }
}

/// One run of a lane: its clock and its tally.
struct Slice<'p> {
    program: &'p Program,
    start: Instant,
    window: Window,
    /// Connections with a transaction in flight.
    running: usize,
    tally: Tally,
}

impl Slice<'_> {
    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn answered(
        &mut self,
        connection: &mut Connection,
        outcome: crate::wire::Outcome,
        scratch: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let now = self.now();
        let sent = connection.sent;
        match connection.proceed(self.program, outcome, now, scratch)? {
            Progress::Answered { kind } => self.count(kind, sent, now),
            Progress::Finished { kind } => {
                self.count(kind, sent, now);
                self.tally.completed += 1;
                self.tally.transactions += self.window.share(connection.began, now);
                if self.window.holds(now) {
                    self.tally.latencies.record(now - connection.began);
                }
                if now < self.window.to {
                    connection.begin(self.program, now, scratch)?;
                } else {
                    self.running -= 1;
                }
            }
            Progress::Refused { code } => *self.tally.errors.entry(code).or_default() += 1,
            Progress::RolledBack => {
                self.tally.other += 1;
                // After the window it is given up: what is refused for ever must not keep the slice alive.
                if now < self.window.to {
                    connection.attempt(self.program, now, scratch)?;
                } else {
                    self.running -= 1;
                }
            }
        }
        Ok(())
    }

    fn count(&mut self, kind: usize, sent: u64, now: u64) {
        match self.program.kinds[kind].effect {
            Effect::Read => self.tally.reads += 1,
            Effect::Write => self.tally.writes += 1,
            Effect::Other => self.tally.other += 1,
        }
        if self.window.holds(now) {
            self.tally.statements[kind].record(now - sent);
        }
    }
}

fn thread_cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WINDOW: Window = Window { from: 100, to: 200 };

    #[test]
    fn a_transaction_counts_by_its_share_in_the_window() {
        assert_eq!(WINDOW.share(120, 140).to_bits(), 1.0f64.to_bits());
        assert_eq!(WINDOW.share(50, 150).to_bits(), 0.5f64.to_bits());
        assert_eq!(WINDOW.share(150, 250).to_bits(), 0.5f64.to_bits());
        assert_eq!(WINDOW.share(0, 90).to_bits(), 0.0f64.to_bits());
        assert_eq!(WINDOW.share(210, 260).to_bits(), 0.0f64.to_bits());
        assert_eq!(WINDOW.share(150, 150).to_bits(), 1.0f64.to_bits());
    }

    proptest! {
        /// Back-to-back transactions, however long, fill a window with as many as their mean time allows.
        #[test]
        fn shares_add_up(first in 0u64..50, length in 1u64..60) {
            let total: f64 = (0..400u64)
                .map(|index| (first + index * length, first + (index + 1) * length))
                .map(|(began, ended)| WINDOW.share(began, ended))
                .sum();
            prop_assert!((total - 100.0 / length as f64).abs() < 1e-9);
        }
    }
}
