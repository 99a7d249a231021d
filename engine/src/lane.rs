//! One thread's share of a server's connections: the epoll loop and its counters.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::{Errno, read};
use rustix::net::{RecvFlags, recv};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};

use crate::connection::{Connection, Failure, Progress, Target};
use crate::histogram::Histogram;
use crate::pace::Arrivals;
use crate::program::{Effect, Program};
use crate::random::Stream;
use crate::wire::Returned;

/// Edge-triggered: one wake-up per reply, and none for writability.
const WATCHED: EventFlags = EventFlags::IN.union(EventFlags::RDHUP).union(EventFlags::ET);
const CLOSED: EventFlags = EventFlags::RDHUP.union(EventFlags::HUP).union(EventFlags::ERR);
/// The ticker's epoll key; connections use their indexes.
const TICK: usize = usize::MAX;
const READ_SIZE: usize = 64 * 1024;
/// Reads from one connection in a row, so that a long result does not starve the others.
const READS_MAX: usize = 64;
/// Connections that a lane opens at once: enough to keep a server busy, fewer than its accept queue holds.
const PENDING_MAX: usize = 32;
/// Attempts of a transaction that the server refuses; then it is given up.
const ATTEMPTS_MAX: u32 = 10;
/// Nanoseconds before the next attempt: with a full accept queue, and after the first and later failures.
const RETRY_FULL: u64 = 1_000_000;
const RETRY_FIRST: u64 = 10_000_000;
const RETRY_LAST: u64 = 1_000_000_000;
/// How often an idle loop checks for time-outs and signals. A gap of more than two intervals means that this
/// thread was stalled, perhaps with the whole machine: the excess does not count as the server's silence.
pub const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Thirty years: its nanoseconds fit into the lane's clock.
const ENDLESS: Duration = Duration::from_secs(1_000_000_000);

/// A slice's phases, from its start.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    pub ramp: Duration,
    pub window: Duration,
    /// Ends the window when each lane has begun this many transactions.
    pub transactions: Option<u64>,
}

impl Course {
    /// Exactly this many transactions of each lane, however long they take.
    pub fn counted(transactions: u64) -> Self {
        Self { ramp: Duration::ZERO, window: ENDLESS, transactions: Some(transactions) }
    }
}

/// Counts of one slice.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Transactions in the window. One that crosses an edge counts by the share of its time inside: the same
    /// expectation, without rounding to whole transactions.
    pub transactions: f64,
    pub completed: u64,
    pub reads: u64,
    pub writes: u64,
    pub other: u64,
    pub errors: BTreeMap<u16, u64>,
    /// Refused attempts by statement and code, each with a message of the server.
    pub refusals: BTreeMap<(usize, u16), (u64, String)>,
    pub client_cpu_s: f64,
    pub latencies: Histogram,
    pub statements: Vec<Histogram>,
    /// For each kind of statement, over the whole slice: how many were answered, and what they returned.
    pub returned: Vec<(u64, Returned)>,
    /// How long this process stood still, in whole check intervals.
    pub stopped_s: f64,
}

impl Tally {
    fn new(program: &Program) -> Self {
        let kinds = program.kinds.len();
        Self {
            statements: vec![Histogram::default(); kinds],
            returned: vec![Default::default(); kinds],
            ..Self::default()
        }
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
        for (&refused, (count, message)) in &other.refusals {
            self.refusals.entry(refused).or_insert_with(|| (0, message.clone())).0 += count;
        }
        for (mine, theirs) in self.statements.iter_mut().zip(&other.statements) {
            mine.add(theirs);
        }
        for ((count, mine), (more, theirs)) in self.returned.iter_mut().zip(&other.returned) {
            *count += more;
            mine.rows = mine.rows.wrapping_add(theirs.rows);
            mine.bytes += theirs.bytes;
        }
        self.stopped_s = self.stopped_s.max(other.stopped_s);
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

    /// The share of `began` to `ended` that lies inside the window.
    fn share(self, began: u64, ended: u64) -> f64 {
        let inside = ended.min(self.to).saturating_sub(began.max(self.from));
        if ended > began { inside as f64 / (ended - began) as f64 } else { f64::from(self.holds(ended)) }
    }
}

/// Some of a server's connections, driven by one thread.
#[derive(Debug)]
pub struct Lane {
    poll: OwnedFd,
    ticker: OwnedFd,
    /// The origin of all times.
    clock: Instant,
    connections: Vec<Connection>,
    /// This lane's share of the server's connections.
    share: f64,
    stream: Stream,
    /// Connections to open, and the number being opened.
    down: VecDeque<usize>,
    pending: usize,
    /// When to reopen a connection or begin its next transaction.
    timers: BinaryHeap<Reverse<(u64, usize)>>,
    /// Idle connections of an open loop.
    free: VecDeque<usize>,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
}

/// The work of a lane, and its server.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    pub program: &'a Program,
    pub target: &'a Target,
    /// Longest wait for one reply, and for the last transaction after the window.
    pub timeout: Duration,
    /// Set when any lane of the server has failed.
    pub abandoned: &'a AtomicBool,
    /// Called every `CHECK_INTERVAL`; returning false ends the slice.
    pub keep_going: &'a dyn Fn() -> bool,
}

impl Lane {
    /// A lane for the given `numbers` of a server's `connections`; each number seeds its connection's draws.
    pub fn new(program: &Program, seed: u64, numbers: &[u64], connections: u64) -> Result<Self, Failure> {
        let poll = epoll::create(CreateFlags::CLOEXEC).map_err(Failure::without_code)?;
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let ticker = timerfd_create(TimerfdClockId::Monotonic, flags).map_err(Failure::without_code)?;
        epoll::add(&poll, &ticker, EventData::new_u64(TICK as u64), EventFlags::IN)
            .map_err(Failure::without_code)?;
        let own =
            numbers.iter().map(|&number| Connection::new(program.draws(seed, number, connections), program));
        Ok(Self {
            poll,
            ticker,
            clock: Instant::now(),
            connections: own.collect(),
            share: numbers.len() as f64 / connections as f64,
            stream: Stream::new(!seed, numbers.first().copied().unwrap_or(0)),
            down: (0..numbers.len()).collect(),
            pending: 0,
            timers: BinaryHeap::new(),
            free: VecDeque::new(),
            incoming: vec![0; READ_SIZE],
            outgoing: Vec::new(),
        })
    }

    /// The number of open connections.
    pub fn up(&self) -> usize {
        self.connections.iter().filter(|connection| !connection.is_down() && !connection.is_pending()).count()
    }

    /// Opens all connections; fails if any cannot be opened.
    pub fn connect(&mut self, task: Task<'_>) -> Result<(), Failure> {
        let mut slice = Slice::new(task, self.clock, Window { from: 0, to: 0 });
        slice.opening = true;
        self.drive(&mut slice)
    }

    /// Runs one slice.
    pub fn run(&mut self, task: Task<'_>, start: Instant, course: Course) -> Result<Tally, Failure> {
        let start = start - self.clock;
        let from = start + course.ramp;
        let window = Window { from: from.as_nanos() as u64, to: (from + course.window).as_nanos() as u64 };
        let mut slice = Slice::new(task, self.clock, window);
        slice.left = course.transactions;
        // All lanes count from the common start, however late their threads begin.
        slice.arrivals = task.program.pace.arrivals(self.share, start.as_nanos() as u64, self.stream.split());
        let cpu_before = thread_cpu_s();
        let result = self.begin(&mut slice).and_then(|()| self.drive(&mut slice));
        if result.is_err() {
            task.abandoned.store(true, Ordering::Relaxed);
        }
        self.timers.clear();
        self.free.clear();
        self.down.clear();
        slice.tally.client_cpu_s = thread_cpu_s() - cpu_before;
        result.map(|()| slice.tally)
    }

    /// Takes every connection's first step of a slice.
    fn begin(&mut self, slice: &mut Slice<'_>) -> Result<(), Failure> {
        let pace = slice.task.program.pace;
        for index in 0..self.connections.len() {
            let now = slice.now();
            if self.connections[index].is_down() && !slice.task.program.connects {
                self.timers.push(Reverse((now, index)));
            } else if !self.connections[index].is_pending() {
                let lead = pace.lead(self.connections[index].stream());
                if let Err(failure) = self.next(slice, index, now, lead) {
                    self.lose(slice, index, failure)?;
                }
            }
        }
        Ok(())
    }

    fn drive(&mut self, slice: &mut Slice<'_>) -> Result<(), Failure> {
        self.tick(CHECK_INTERVAL)?;
        let result = self.work(slice);
        self.tick(Duration::ZERO)?;
        result
    }

    /// Sets the ticker's interval; zero stops it.
    fn tick(&self, interval: Duration) -> Result<(), Failure> {
        let interval = Timespec { tv_sec: 0, tv_nsec: i64::from(interval.subsec_nanos()) };
        let times = Itimerspec { it_interval: interval, it_value: interval };
        timerfd_settime(&self.ticker, TimerfdTimerFlags::empty(), &times).map_err(Failure::without_code)?;
        Ok(())
    }

    fn work(&mut self, slice: &mut Slice<'_>) -> Result<(), Failure> {
        let mut events: Vec<Event> = Vec::with_capacity(self.connections.len().clamp(1, 1024));
        let mut patience = slice.task.timeout.as_nanos() as u64;
        let mut checked = slice.now();
        loop {
            self.catch_up(slice)?;
            if self.is_over(slice) {
                return Ok(());
            }
            events.clear();
            match epoll::wait(&self.poll, spare_capacity(&mut events), self.wait(slice).as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(Failure::without_code(error)),
            }
            for event in &events {
                let (index, flags) = (event.data.u64() as usize, event.flags);
                if index == TICK {
                    // Reading clears the tick.
                    read(&self.ticker, &mut [0; 8]).map_err(Failure::without_code)?;
                    continue;
                }
                if let Err(failure) = self.serve(slice, index, flags) {
                    self.lose(slice, index, failure)?;
                }
            }
            let now = slice.now();
            if now - checked > CHECK_INTERVAL.as_nanos() as u64 {
                let stopped = (now - checked).saturating_sub(2 * CHECK_INTERVAL.as_nanos() as u64);
                patience += stopped;
                slice.tally.stopped_s += stopped as f64 * 1e-9;
                checked = now;
                if slice.task.abandoned.load(Ordering::Relaxed) {
                    return Ok(());
                }
                if !(slice.task.keep_going)() {
                    return Err(Failure::interrupted());
                }
                self.end_silence(slice, now, patience)?;
            }
        }
    }

    /// Opens the sockets and begins the transactions that are due.
    fn catch_up(&mut self, slice: &mut Slice<'_>) -> Result<(), Failure> {
        if let Some(&Reverse((first, _))) = self.timers.peek() {
            let now = slice.now();
            let mut next = Some(first);
            while next.is_some_and(|due| due <= now) {
                let Some(Reverse((_, index))) = self.timers.pop() else { break };
                // If each transaction connects, a connection stays closed until one begins.
                let connection = &self.connections[index];
                if connection.is_down() && (connection.is_busy() || !slice.task.program.connects) {
                    self.down.push_back(index);
                } else if let Err(failure) = self.next(slice, index, now, 0) {
                    self.lose(slice, index, failure)?;
                }
                next = self.timers.peek().map(|&Reverse((due, _))| due);
            }
        }
        self.open(slice)?;
        while let Some(index) = slice.take_arrival(&mut self.free) {
            let intended = slice.arrivals.as_mut().map_or(0, Arrivals::take);
            if let Err(failure) = self.start(slice, index, intended, slice.now()) {
                self.lose(slice, index, failure)?;
            }
        }
        Ok(())
    }

    /// Opens the sockets that are down, as far as the accept queue takes them.
    fn open(&mut self, slice: &mut Slice<'_>) -> Result<(), Failure> {
        while self.pending < PENDING_MAX {
            let Some(index) = self.down.pop_front() else { break };
            let now = slice.now();
            match self.connections[index].open(slice.task.target, now) {
                Ok(true) => {
                    self.pending += 1;
                    self.add(index)?;
                }
                Ok(false) => {
                    self.timers.push(Reverse((now + RETRY_FULL, index)));
                    break;
                }
                Err(failure) => self.lose(slice, index, failure)?,
            }
        }
        Ok(())
    }

    fn is_over(&self, slice: &Slice<'_>) -> bool {
        if slice.opening {
            return self.down.is_empty() && self.pending == 0 && self.timers.is_empty();
        }
        slice.running == 0 && !slice.is_backlogged() && slice.now() >= slice.window.to
    }

    /// Time until work that no event announces; None if there is none.
    ///
    /// The ticker still wakes the lane every `CHECK_INTERVAL`: a time-out on each wait would cost more.
    fn wait(&self, slice: &Slice<'_>) -> Option<Timespec> {
        let timer = self.timers.peek().map(|&Reverse((due, _))| due);
        let backlogged = slice.is_backlogged();
        let arrival = slice.arrivals.as_ref().filter(|_| backlogged && !self.free.is_empty());
        let arrival = arrival.map(|arrivals| arrivals.due);
        let end = (slice.running == 0 && !backlogged && !slice.opening).then_some(slice.window.to);
        let next = [timer, arrival, end].into_iter().flatten().min();
        let left = next?.saturating_sub(slice.now()).min(CHECK_INTERVAL.as_nanos() as u64 - 1);
        Some(Timespec { tv_sec: 0, tv_nsec: left as i64 })
    }

    /// Gives up connections that have waited too long.
    fn end_silence(&mut self, slice: &mut Slice<'_>, now: u64, patience: u64) -> Result<(), Failure> {
        let waited = slice.task.timeout.as_secs_f64();
        for index in 0..self.connections.len() {
            let connection = &self.connections[index];
            let waits = connection.is_busy() || connection.is_pending();
            if waits && now.saturating_sub(connection.sent) > patience {
                self.lose(slice, index, Failure::lost(format!("no answer within {waited} s")))?;
            }
        }
        // While the accept queue is full no connection is pending, and none may ever be.
        if slice.opening && self.pending == 0 && now.saturating_sub(slice.progressed) > patience {
            return Err(Failure::lost(format!("no answer within {waited} s")));
        }
        // The loop above may have given up the last transaction.
        if !slice.opening && now > slice.window.to + patience && !self.is_over(slice) {
            let what = if slice.running > 0 {
                "a transaction did not end"
            } else {
                "transactions were still queued"
            };
            return Err(Failure::without_code(format!("{what} {waited} s after the slice")));
        }
        Ok(())
    }

    /// Counts a lost connection and schedules its reopening; fails the slice unless the program reconnects.
    fn lose(&mut self, slice: &mut Slice<'_>, index: usize, failure: Failure) -> Result<(), Failure> {
        let connection = &mut self.connections[index];
        let Some(code) = failure.lost.filter(|_| slice.task.program.reconnect && !slice.opening) else {
            return Err(failure);
        };
        *slice.tally.errors.entry(code).or_default() += 1;
        slice.running -= usize::from(connection.is_busy());
        self.pending -= usize::from(connection.is_pending());
        if !connection.is_busy() {
            self.free.retain(|&free| free != index);
            self.timers.retain(|&Reverse((_, waiting))| waiting != index);
        }
        connection.close();
        let pause = if connection.attempts == 0 {
            0
        } else {
            (RETRY_FIRST << (connection.attempts - 1).min(16)).min(RETRY_LAST)
        };
        connection.attempts += 1;
        self.timers.push(Reverse((slice.now() + pause, index)));
        Ok(())
    }

    fn serve(&mut self, slice: &mut Slice<'_>, index: usize, flags: EventFlags) -> Result<(), Failure> {
        let connection = &mut self.connections[index];
        if connection.is_connecting() {
            // Reading would take the socket's error, and with it the reason why it could not connect.
            connection.writable(slice.task.target)?;
        }
        // Read first: the server's final error says more than a failed send.
        if flags.intersects(CLOSED | EventFlags::IN) {
            self.receive(slice, index, flags.intersects(CLOSED))?;
        }
        let connection = &mut self.connections[index];
        if flags.contains(EventFlags::OUT) && !connection.is_down() {
            connection.writable(slice.task.target)?;
            self.watch(index)?;
        }
        Ok(())
    }

    fn receive(&mut self, slice: &mut Slice<'_>, index: usize, closed: bool) -> Result<(), Failure> {
        for _ in 0..READS_MAX {
            let connection = &mut self.connections[index];
            let Some(socket) = connection.socket() else { return Ok(()) };
            let length =
                match recv(socket, &mut self.incoming[..], RecvFlags::DONTWAIT).map(|(length, _)| length) {
                    Ok(0) => return Err(Failure::lost("the server closed the connection")),
                    Ok(length) => length,
                    Err(Errno::AGAIN) => return Ok(()),
                    Err(Errno::INTR) => continue,
                    Err(error) => return Err(Failure::lost(format!("lost the connection: {error}"))),
                };
            let (program, target) = (slice.task.program, slice.task.target);
            let bytes = &self.incoming[..length];
            let progress = connection.feed(program, target, bytes, &|| slice.now(), &mut self.outgoing)?;
            let complete = progress != Progress::Waiting;
            if complete {
                self.answered(slice, index, &progress)?;
            }
            // A short read emptied the socket, so the next byte is a new edge; an end already seen is not.
            if (complete || length < self.incoming.len()) && !closed {
                return self.watch_unsent(index);
            }
        }
        // Let the other connections in, and rearm the event.
        self.watch(index)
    }

    fn answered(&mut self, slice: &mut Slice<'_>, index: usize, progress: &Progress) -> Result<(), Failure> {
        let connection = &mut self.connections[index];
        let (now, program) = (connection.answered, slice.task.program);
        match *progress {
            Progress::Waiting => Ok(()),
            Progress::Ready => {
                self.pending -= 1;
                slice.progressed = now;
                if slice.opening {
                    return Ok(());
                }
                if connection.is_busy() {
                    return connection.attempt(program, now, &mut self.outgoing);
                }
                let lead = program.pace.lead(connection.stream());
                self.next(slice, index, now, lead)
            }
            Progress::Answered { kind } => {
                slice.count(kind, connection, now);
                Ok(())
            }
            Progress::Finished { kind } => {
                slice.count(kind, connection, now);
                slice.complete(connection, now);
                let think = program.pace.think(connection.stream());
                self.next(slice, index, now, think)
            }
            Progress::Refused { code } => {
                *slice.tally.errors.entry(code).or_default() += 1;
                if let (Some(kind), message) = &connection.refused {
                    let known = slice.tally.refusals.entry((*kind, code));
                    known.or_insert_with(|| (0, message.clone())).0 += 1;
                }
                Ok(())
            }
            Progress::RolledBack => {
                slice.tally.other += 1;
                // An endless refusal must not keep the slice alive.
                if now < slice.window.to && connection.refusals < ATTEMPTS_MAX {
                    connection.attempt(program, now, &mut self.outgoing)
                } else {
                    slice.running -= 1;
                    self.next(slice, index, now, 0)
                }
            }
        }
    }

    /// Schedules an idle connection's next transaction: now, after a pause, or at the next arrival.
    fn next(&mut self, slice: &mut Slice<'_>, index: usize, now: u64, pause: u64) -> Result<(), Failure> {
        if slice.task.program.connects && !self.connections[index].is_down() {
            self.connections[index].quit()?;
        }
        if slice.arrivals.is_some() {
            self.free.push_back(index);
        } else if pause > 0 {
            self.timers.push(Reverse((now + pause, index)));
        } else {
            return self.start(slice, index, now, now);
        }
        Ok(())
    }

    /// Begins a transaction due at `intended`, unless that is after the window.
    fn start(&mut self, slice: &mut Slice<'_>, index: usize, intended: u64, now: u64) -> Result<(), Failure> {
        if intended >= slice.window.to {
            return Ok(());
        }
        slice.running += 1;
        slice.left = slice.left.map(|left| left.saturating_sub(1));
        if slice.left == Some(0) {
            slice.window.to = now;
        }
        self.connections[index].begin(slice.task.program, intended, now, &mut self.outgoing)?;
        if slice.task.program.connects {
            self.down.push_back(index);
            return self.open(slice);
        }
        self.watch_unsent(index)
    }

    // --- the sockets -------------------------------------------------------------------------------

    fn watch_unsent(&self, index: usize) -> Result<(), Failure> {
        if self.connections[index].has_unsent() { self.watch(index) } else { Ok(()) }
    }

    /// Watches for writability only while bytes are unsent.
    fn watch(&self, index: usize) -> Result<(), Failure> {
        let connection = &self.connections[index];
        let Some(socket) = connection.socket() else { return Ok(()) };
        let room = if connection.has_unsent() { EventFlags::OUT } else { EventFlags::empty() };
        epoll::modify(&self.poll, socket, EventData::new_u64(index as u64), WATCHED | room)
            .map_err(Failure::without_code)
    }

    fn add(&self, index: usize) -> Result<(), Failure> {
        let connection = &self.connections[index];
        let Some(socket) = connection.socket() else { return Ok(()) };
        // A new socket turns writable when it is connected.
        epoll::add(&self.poll, socket, EventData::new_u64(index as u64), WATCHED | EventFlags::OUT)
            .map_err(Failure::without_code)
    }
}

/// One run of a lane.
struct Slice<'a> {
    task: Task<'a>,
    clock: Instant,
    window: Window,
    /// Opens connections only.
    opening: bool,
    /// When a connection last opened, or the slice began.
    progressed: u64,
    arrivals: Option<Arrivals>,
    /// Connections with a transaction in flight.
    running: usize,
    /// Transactions still to begin; None: until the window ends.
    left: Option<u64>,
    tally: Tally,
}

impl<'a> Slice<'a> {
    fn new(task: Task<'a>, clock: Instant, window: Window) -> Self {
        let (tally, progressed) = (Tally::new(task.program), clock.elapsed().as_nanos() as u64);
        Self {
            task,
            clock,
            window,
            opening: false,
            progressed,
            arrivals: None,
            running: 0,
            left: None,
            tally,
        }
    }

    fn now(&self) -> u64 {
        self.clock.elapsed().as_nanos() as u64
    }

    /// Whether arrivals of this slice are still to begin.
    fn is_backlogged(&self) -> bool {
        self.arrivals.as_ref().is_some_and(|arrivals| arrivals.due < self.window.to)
    }

    /// A free connection for the transaction that is due, if there is one of each.
    fn take_arrival(&self, free: &mut VecDeque<usize>) -> Option<usize> {
        let arrivals = self.arrivals.as_ref()?;
        if free.is_empty() || arrivals.due >= self.window.to || arrivals.due > self.now() {
            return None;
        }
        free.pop_front()
    }

    fn complete(&mut self, connection: &Connection, now: u64) {
        self.running -= 1;
        self.tally.completed += 1;
        self.tally.transactions += self.window.share(connection.began, now);
        // An open loop records every transaction that was due in the window, however late it ended.
        let moment = if self.arrivals.is_some() { connection.intended } else { now };
        if self.window.holds(moment) {
            self.tally.latencies.record(now - connection.intended);
        }
    }

    fn count(&mut self, kind: usize, connection: &Connection, now: u64) {
        match self.task.program.kinds[kind].effect {
            Effect::Read => self.tally.reads += 1,
            Effect::Write => self.tally.writes += 1,
            Effect::Other => self.tally.other += 1,
        }
        // Over the whole slice: what a window's edges cut off are the long statements, which return more.
        let (count, returned) = &mut self.tally.returned[kind];
        *count += 1;
        returned.rows = returned.rows.wrapping_add(connection.returned.rows);
        returned.bytes += connection.returned.bytes;
        if self.window.holds(now) {
            self.tally.statements[kind].record(now - connection.requested);
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
        /// Back-to-back transactions of any length sum to the window divided by their length.
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
