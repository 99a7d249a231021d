//! From the statements of each connection to transactions.

use std::collections::HashMap;

use super::lives::Lives;
use super::sequences::{Sequences, Shape, Value};
use crate::random::Stream;

/// Longer transactions are not kept.
const STATEMENTS_MAX: usize = 1000;
/// So many statements without BEGIN or COMMIT prove that each commits by itself.
const UNDECIDED_MAX: usize = 100;
const CONNECTIONS_MAX: usize = 16_384;
/// A connection silent for so long counts as closed: not every log says so.
const SILENT_US: i64 = 300_000_000;
const TIDY_EVERY: u64 = 65_536;
/// A log is in order if at most this share of statements begin before their connection's last one, and of COMMITs
/// end nothing that a whole transaction explains; or as few as that.
const BACKWARDS_MAX: f64 = 0.01;
const ORPHANS_MAX: f64 = 0.05;
const FEW: u64 = 3;

/// When a statement began and ended, in microseconds of the log's clock.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub start_us: i64,
    pub end_us: i64,
}

/// Sums over all connections' transactions.
pub struct Tally {
    pub sequences: Sequences,
    /// Transactions without an end, or too long to keep.
    pub abandoned: u64,
    /// The log leaves out the fastest statements, as a slow log does.
    pub lossy: bool,
    /// BEGINs and COMMITs that the log has lost.
    pub lost_begins: u64,
    pub lost_commits: u64,
    commits: u64,
    /// COMMITs after statements that had none to wait for, and those that ended what is whole elsewhere.
    orphans: u64,
    explained: u64,
    /// BEGINs in a transaction.
    reopened: u64,
    heard: u64,
    /// Statements that began before their connection's last one.
    backwards: u64,
    gaps: u64,
    gaps_us: i64,
    span_us: Option<(i64, i64)>,
}

impl Tally {
    pub fn ordered(&self) -> bool {
        let few = |faults: u64, all: u64, share: f64| faults <= FEW.max((all as f64 * share) as u64);
        // A log that loses BEGINs has no second one before a COMMIT; a mangled log has either, and all kinds of wholes.
        let orphans = self.orphans + self.explained.min(self.reopened);
        few(self.backwards, self.heard, BACKWARDS_MAX) && few(orphans, self.commits, ORPHANS_MAX)
    }

    /// Counts the statements outside of BEGIN that wait for an end, which would prove that the log lost their BEGIN.
    fn waiting(&self) -> usize {
        match self.sequences.longest {
            1.. if self.lossy => self.sequences.longest.max(UNDECIDED_MAX),
            _ => 0,
        }
    }

    pub fn span_s(&self) -> f64 {
        self.span_us.map_or(0.0, |(first, last)| last.saturating_sub(first).max(0) as f64 / 1e6)
    }

    /// Clocks of whole seconds are right on average.
    pub fn think_s(&self) -> f64 {
        self.gaps_us.max(0) as f64 / 1e6 / self.gaps.max(1) as f64
    }
}

/// The role of statements outside of BEGIN.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Unknown,
    /// An end came before anything told what it ends.
    Doubtful,
    Autocommit,
    /// Transactions, as ends without BEGIN suggest.
    Guessed,
    /// Transactions, as a SET says.
    Off,
}

/// Whether a connection's transactions begin with BEGIN.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Begins {
    #[default]
    Unknown,
    Always,
    /// It has ended what it had not begun: others of its ends may be such, too.
    NotAlways,
}

#[derive(Default)]
pub struct Connection {
    /// By BEGIN.
    open: bool,
    mode: Mode,
    /// A statement committed by itself since the last transaction.
    single: bool,
    begins: Begins,
    too_long: bool,
    /// Statements of a transaction that is open, or may be: templates, their numbers of values, and rows sent.
    statements: Vec<(u32, usize, u64)>,
    values: Vec<Value>,
    savepoints: Vec<Box<[u8]>>,
    times: Option<Times>,
    entry: u64,
}

impl Connection {
    fn in_transaction(&self) -> bool {
        self.open || matches!(self.mode, Mode::Guessed | Mode::Off)
    }

    /// A statement of template `id` ran.
    pub fn ran(&mut self, tally: &mut Tally, id: u32, values: &[Value], rows: u64) {
        if self.in_transaction() && self.statements.len() == STATEMENTS_MAX {
            self.too_long = true;
            return;
        }
        self.statements.push((id, values.len(), rows));
        self.values.extend_from_slice(values);
        if self.in_transaction() {
            return;
        }
        let (count, waiting) = (self.statements.len(), tally.waiting());
        if self.mode == Mode::Autocommit {
            if count > 2 * waiting {
                self.first_alone(tally, count - waiting);
            }
        } else if count == UNDECIDED_MAX {
            self.mode = Mode::Autocommit;
            self.alone(tally);
        }
    }

    /// A definition ran, which commits what was before, and itself.
    pub fn defined(&mut self, tally: &mut Tally, id: u32, values: &[Value]) {
        if self.in_transaction() {
            self.end(tally, false);
            self.open = false;
        }
        self.statements.push((id, values.len(), 0));
        self.values.extend_from_slice(values);
        self.alone(tally);
    }

    pub fn began(&mut self, tally: &mut Tally) {
        if self.open {
            self.end_unsaid(tally);
        } else if self.mode == Mode::Off {
            self.end(tally, false);
        } else {
            self.alone(tally);
            self.mode = Mode::Autocommit;
        }
        (self.open, self.single) = (true, false);
        if self.begins == Begins::Unknown {
            self.begins = Begins::Always;
        }
    }

    pub fn ended(&mut self, tally: &mut Tally, rollback: bool, chain: bool) {
        tally.commits += u64::from(!rollback);
        if self.mode == Mode::Doubtful && !self.open && !self.statements.is_empty() {
            self.mode = Mode::Guessed;
        }
        if self.in_transaction() {
            self.end(tally, rollback);
        } else {
            self.end_unbegun(tally, rollback);
        }
        (self.open, self.single) = (chain, false);
    }

    /// An end came without a BEGIN. If the log has lost that, the transaction is the longest whole one behind
    /// statements that commit by themselves, or else all since the last end if the client is known to begin what it
    /// ends.
    fn end_unbegun(&mut self, tally: &mut Tally, rollback: bool) {
        let (ids, sequences) = (self.ids(), &tally.sequences);
        let fits = |shape: &Shape| {
            let before = ids.strip_suffix(&*shape.statements).filter(|_| shape.rollback == rollback);
            before.is_some_and(|before| before.iter().all(|&id| sequences.alone(id)))
        };
        let whole = sequences.whole(fits).filter(|_| tally.lossy).map(|shape| shape.statements.len());
        let known = self.mode == Mode::Autocommit;
        let none = ids.is_empty() && !self.single;
        if !rollback {
            tally.orphans += u64::from(known && whole.is_none() && !none);
            tally.explained += u64::from(whole.is_some());
        }
        let sure = tally.lossy && self.begins == Begins::Always && !self.single;
        let all = known && sure && !ids.is_empty();
        if let Some(length) = whole.or(all.then_some(ids.len())) {
            tally.lost_begins += 1;
            self.first_alone(tally, ids.len() - length);
            self.end(tally, rollback);
        } else if known {
            if none {
                self.begins = Begins::NotAlways;
            }
            self.alone(tally);
        } else {
            self.abandon(tally);
        }
        if !known {
            self.mode = Mode::Doubtful;
        }
    }

    /// A BEGIN came before the end. The log has lost the COMMIT if the statements are a whole transaction, and then
    /// such that commit by themselves. Otherwise the client has given up, as after a deadlock.
    fn end_unsaid(&mut self, tally: &mut Tally) {
        let (ids, sequences) = (self.ids(), &tally.sequences);
        tally.reopened += u64::from(!ids.is_empty());
        let fits = |shape: &Shape| {
            let rest = ids.strip_prefix(&*shape.statements).filter(|_| !shape.rollback);
            rest.is_some_and(|rest| rest.iter().all(|&id| sequences.alone(id)))
        };
        let whole = sequences.whole(fits).filter(|_| tally.lossy && !self.too_long);
        let Some(length) = whole.map(|shape| shape.statements.len()) else {
            return self.abandon(tally);
        };
        tally.lost_commits += 1;
        let rest = self.statements.split_off(length);
        let values = self.values.split_off(self.statements.iter().map(|&(_, count, _)| count).sum());
        self.end(tally, false);
        (self.statements, self.values) = (rest, values);
        self.alone(tally);
    }

    fn ids(&self) -> Vec<u32> {
        self.statements.iter().map(|&(id, ..)| id).collect()
    }

    pub fn set_autocommit(&mut self, tally: &mut Tally, on: bool) {
        if !self.in_transaction() {
            self.alone(tally);
        } else if !self.open {
            self.end(tally, false);
        }
        self.mode = if on { Mode::Autocommit } else { Mode::Off };
    }

    /// The server rolled the transaction back.
    pub fn lost(&mut self, tally: &mut Tally) {
        if self.mode == Mode::Autocommit && !self.open {
            self.alone(tally);
        } else {
            self.abandon(tally);
        }
        self.open = false;
    }

    /// The number of a new savepoint, counted from the transaction's first: applications make up names.
    pub fn savepoint(&mut self, name: &[u8]) -> usize {
        self.savepoints.retain(|other| &**other != name);
        if self.savepoints.len() < STATEMENTS_MAX {
            self.savepoints.push(name.into());
        }
        self.savepoints.len()
    }

    /// The number of a savepoint that is released or rolled back to.
    pub fn back_to(&mut self, name: &[u8], release: bool) -> Option<usize> {
        let place = self.savepoints.iter().position(|other| &**other == name)?;
        self.savepoints.truncate(place + usize::from(!release));
        Some(place + 1)
    }

    /// The transaction ended.
    fn end(&mut self, tally: &mut Tally, rollback: bool) {
        if self.too_long {
            tally.abandoned += 1;
        } else if !self.statements.is_empty() {
            let statements = self.ids().into();
            let rows: Vec<u64> = self.statements.iter().map(|&(.., rows)| rows).collect();
            let shape = Shape { statements, explicit: true, rollback };
            tally.sequences.count(shape, self.open, &self.values, &rows);
        }
        self.clear();
    }

    fn abandon(&mut self, tally: &mut Tally) {
        tally.abandoned += u64::from(!self.statements.is_empty());
        self.clear();
    }

    /// Each statement so far committed by itself.
    fn alone(&mut self, tally: &mut Tally) {
        self.first_alone(tally, self.statements.len());
        self.clear();
    }

    /// Each of the first `count` statements committed by itself.
    fn first_alone(&mut self, tally: &mut Tally, count: usize) {
        self.single |= count > 0;
        let mut first = 0;
        for (id, count, rows) in self.statements.drain(..count) {
            let own = first..first + count;
            tally.sequences.count(Shape::alone(id), false, &self.values[own], &[rows]);
            first += count;
        }
        self.values.drain(..first);
    }

    fn close(&mut self, tally: &mut Tally) {
        if self.in_transaction() {
            self.abandon(tally);
        } else {
            self.alone(tally);
        }
    }

    fn clear(&mut self) {
        self.statements.clear();
        self.values.clear();
        self.savepoints.clear();
        self.too_long = false;
    }
}

/// All connections that are open, as far as the log tells.
pub struct Connections {
    open: HashMap<u64, Connection>,
    lives: Lives,
    pub tally: Tally,
}

impl Connections {
    pub fn new(stream: Stream) -> Self {
        let tally = Tally {
            sequences: Sequences::new(stream),
            abandoned: 0,
            lossy: false,
            lost_begins: 0,
            lost_commits: 0,
            commits: 0,
            orphans: 0,
            explained: 0,
            reopened: 0,
            heard: 0,
            backwards: 0,
            gaps: 0,
            gaps_us: 0,
            span_us: None,
        };
        Self { open: HashMap::new(), lives: Lives::default(), tally }
    }

    /// The connection with this number, which sent something.
    pub fn heard(&mut self, id: u64, times: Option<Times>) -> (&mut Connection, &mut Tally) {
        self.tally.heard += 1;
        let entry = self.tally.heard;
        if entry % TIDY_EVERY == 0 || self.open.len() >= CONNECTIONS_MAX {
            self.tidy(times);
        }
        let tally = &mut self.tally;
        let connection = self.open.entry(id).or_insert_with(|| {
            self.lives.begun(entry);
            Connection::default()
        });
        if let Some(now) = times {
            let (first, last) = tally.span_us.unwrap_or((now.start_us, now.end_us));
            tally.span_us = Some((first.min(now.start_us), last.max(now.end_us)));
            if let Some(before) = connection.times {
                // Where a log has whole seconds of one of them, the other may seem earlier.
                let earlier = now.start_us < before.start_us && now.end_us < before.end_us;
                tally.backwards += u64::from(earlier);
                if connection.open || connection.in_transaction() && !connection.statements.is_empty() {
                    tally.gaps += 1;
                    let gap = now.start_us.saturating_sub(before.end_us);
                    tally.gaps_us = tally.gaps_us.saturating_add(gap);
                }
            }
            connection.times = times;
        }
        connection.entry = entry;
        (connection, tally)
    }

    pub fn closed(&mut self, id: u64) {
        if let Some(mut connection) = self.open.remove(&id) {
            self.lives.ended(connection.entry);
            connection.close(&mut self.tally);
        }
    }

    /// Closes silent connections, and the half that is silent longest, if there are too many.
    fn tidy(&mut self, now: Option<Times>) {
        let mut entries: Vec<u64> = self.open.values().map(|connection| connection.entry).collect();
        entries.sort_unstable();
        let oldest = if entries.len() < CONNECTIONS_MAX { 0 } else { entries[entries.len() / 2] };
        let silent = |connection: &Connection| match (now, connection.times) {
            (Some(now), Some(times)) => times.end_us < now.start_us.saturating_sub(SILENT_US),
            _ => false,
        };
        let gone = self.open.iter().filter(|(_, connection)| connection.entry < oldest || silent(connection));
        let mut gone: Vec<u64> = gone.map(|(&id, _)| id).collect();
        gone.sort_unstable(); // a map's order differs from process to process
        for id in gone {
            self.closed(id);
        }
        let before = self.open.values().map(|connection| connection.entry).min();
        self.lives.settle(before.unwrap_or(self.tally.heard));
    }

    /// Closes all, and returns how many were open at once.
    pub fn finish(mut self) -> (Tally, u64) {
        let mut ids: Vec<u64> = self.open.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            self.closed(id);
        }
        self.lives.settle(u64::MAX);
        (self.tally, self.lives.most())
    }
}
