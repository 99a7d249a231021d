//! Takes the statements of a log one by one, and tells what they were.

use std::collections::BTreeMap;

use super::connections::{Connection, Connections, Tally, Times};
use super::control::{Act, last_word};
use super::learned::{self, COUNT_MAX, LeftOut, Log, quantity};
use super::sequences::{Kind, Link, Shape};
use super::statement::{Fault, Options, Statement};
use super::templates::{Cost, Template, Templates};
use crate::random::Stream;

pub const DEADLOCK: u32 = 1213;
const SEED: u64 = 43;

/// A statement of a log, or a packet of several.
pub struct Entry<'a> {
    pub connection: u64,
    pub times: Option<Times>,
    pub text: &'a [u8],
    pub cost: Option<Cost>,
    /// The server's error; 0: none that the log has.
    pub error: u32,
}

pub struct Learner {
    options: Options,
    statement: Statement,
    connections: Connections,
    books: Books,
    /// The log does not tell connections apart.
    pub mixed: bool,
    pub sampled: Sampled,
}

/// The log's sampling: one of every `of` statements, or sessions.
#[derive(Default)]
pub struct Sampled {
    pub of: u64,
    pub sessions: bool,
}

/// Sums over the statements of all connections, beside transactions.
struct Books {
    templates: Templates,
    /// By reason: how many, and an example.
    left_out: BTreeMap<&'static str, (u64, String)>,
    seconds: f64,
    fastest_s: Option<f64>,
}

impl Books {
    fn leave_out(&mut self, reason: &'static str, statements: u64, example: &[u8]) {
        let example = || String::from_utf8_lossy(example).into_owned();
        let left = self.left_out.entry(reason).or_insert_with(|| (0, example()));
        left.0 = left.0.saturating_add(statements);
    }

    /// Counts a statement, whose values are then in `templates.values`.
    fn count(&mut self, statement: &Statement, count: u64, cost: Option<Cost>) -> Option<u32> {
        if let Some(cost) = cost {
            let each_s = cost.seconds / count.max(1) as f64;
            self.fastest_s = Some(self.fastest_s.map_or(each_s, |fastest_s| fastest_s.min(each_s)));
        }
        let id = self.templates.count(statement, count, cost);
        id.inspect_err(|reason| self.leave_out(reason, count, first_word(statement))).ok()
    }
}

impl Learner {
    pub fn new(options: Options) -> Self {
        Self {
            options,
            statement: Statement::default(),
            connections: Connections::new(Stream::new(SEED, 0)),
            books: Books {
                templates: Templates::new(Stream::new(SEED, 1)),
                left_out: BTreeMap::new(),
                seconds: 0.0,
                fastest_s: None,
            },
            mixed: false,
            sampled: Sampled::default(),
        }
    }

    /// A connection began anew.
    pub fn connected(&mut self, connection: u64, times: Option<Times>) {
        self.connections.closed(connection);
        self.connections.heard(connection, times);
    }

    pub fn disconnected(&mut self, connection: u64) {
        self.connections.closed(connection);
    }

    /// Notes what cannot be read as a statement.
    pub fn unreadable(&mut self, reason: &'static str) {
        self.left_out(reason, 1);
    }

    /// Notes statements of which the log has no text.
    pub fn left_out(&mut self, reason: &'static str, statements: u64) {
        self.books.leave_out(reason, statements, b"");
    }

    pub fn ran(&mut self, entry: &Entry) {
        let (connection, tally) = self.connections.heard(entry.connection, entry.times);
        tally.lossy = entry.cost.is_some();
        self.books.seconds += entry.cost.map_or(0.0, |cost| cost.seconds);
        if entry.error == DEADLOCK {
            connection.lost(tally);
        }
        let (mut rest, mut cost) = (entry.text, entry.cost);
        while !rest.is_empty() {
            match self.statement.read(rest, &self.options) {
                Ok(read) => rest = &rest[read..],
                Err(fault) => {
                    let reason = match fault {
                        Fault::Unended => "cut off within a string, name or comment",
                        Fault::Nested => "nested too deep",
                    };
                    return self.books.leave_out(reason, 1, first_word(&self.statement));
                }
            }
            if self.statement.template.is_empty() {
                continue;
            }
            if entry.error == 0 {
                act(&mut self.statement, &mut self.books, connection, tally, cost.take());
            } else {
                self.books.leave_out("failed with an error", 1, &self.statement.template);
            }
        }
    }

    /// A kind of statement that ran `count` times, of which `text` may be one.
    pub fn digested(&mut self, text: &[u8], count: u64, cost: Cost) {
        self.books.seconds += cost.seconds;
        match self.statement.read(text, &self.options) {
            Ok(_) if self.statement.template.is_empty() => {
                self.books.leave_out("digests without a whole text", count, b"");
            }
            Err(_) => self.books.leave_out("cut off within a string, name or comment", count, b""),
            Ok(_) => {
                if matches!(Act::of(&self.statement), Act::Plain | Act::Definition) {
                    self.books.count(&self.statement, count, Some(cost));
                }
            }
        }
    }

    /// All that was learned, as the JSON of a `Log`.
    pub fn finish(self, kind: &'static str) -> Vec<u8> {
        let (tally, connections) = self.connections.finish();
        let (templates, books) = (&self.books.templates.all, &self.books);
        // Digests have no transactions, and single statements of one are none.
        let whole = self.sampled.of < 2 || self.sampled.sessions;
        let ordered = tally.ordered() && !self.mixed && whole && kind != "digests";
        let (span_s, think_s, abandoned) = (tally.span_s(), tally.think_s(), tally.abandoned);
        let lost = if ordered { (tally.lost_begins, tally.lost_commits) } else { (0, 0) };
        let sequences: Vec<_> = if ordered {
            let inner: Vec<_> = templates.iter().map(Template::links).collect();
            let sorted = tally.sequences.sorted(|shape| inner_links(shape, templates, &inner));
            sorted.iter().map(|kind| learned::Sequence::of(kind, templates)).collect()
        } else {
            let alone = |(id, template): (u32, &Template)| {
                let shape = Shape::alone(id);
                let (count, links) = (template.count, template.links());
                learned::Sequence::of(&Kind { shape, count, links, ..Kind::default() }, templates)
            };
            (0..).zip(templates).map(alone).collect()
        };
        let left_out = books.left_out.iter().map(|(&reason, (statements, example))| LeftOut {
            reason,
            statements: (*statements).min(COUNT_MAX),
            example: example.clone(),
        });
        let left_out: Vec<_> = left_out.collect();
        let counts = templates.iter().map(|template| template.count);
        let log = Log {
            kind,
            statements: counts.chain(left_out.iter().map(|left| left.statements)).sum::<u64>().min(COUNT_MAX),
            transactions: sequences.iter().map(|sequence| sequence.count).sum::<u64>().min(COUNT_MAX),
            templates: templates.iter().map(learned::Template::of).collect(),
            sequences,
            left_out,
            connections,
            span_s: quantity(span_s),
            // A general log does not tell how long statements took.
            think_s: if kind == "slow" { quantity(think_s) } else { 0.0 },
            seconds: quantity(books.seconds),
            ordered,
            abandoned,
            lost_begins: lost.0,
            lost_commits: lost.1,
            sampled: self.sampled.of.clamp(1, COUNT_MAX),
            sampled_sessions: self.sampled.sessions,
            fastest_s: quantity(books.fastest_s.unwrap_or(0.0)),
        };
        serde_json::to_vec(&log).expect("strings and finite numbers")
    }
}

/// Links within the statements of a transaction, as far as the statements' own samples show.
fn inner_links(shape: &Shape, templates: &[Template], inner: &[Vec<Link>]) -> Vec<Link> {
    let mut first = 0;
    let mut links = Vec::new();
    for &id in &shape.statements {
        let moved = |link: &Link| Link { slot: link.slot + first, of: link.of + first, ..*link };
        links.extend(inner[id as usize].iter().map(moved));
        first += templates[id as usize].slots.len();
    }
    links
}

/// All that is safe to show of a text that may be torn or in another character set: what looks like a name further on
/// can be the content of a string.
fn first_word(statement: &Statement) -> &[u8] {
    statement.template.split(|byte| !byte.is_ascii_alphabetic()).next().unwrap_or_default()
}

/// Does to the connection's transaction what the statement did.
fn act(
    statement: &mut Statement,
    books: &mut Books,
    connection: &mut Connection,
    tally: &mut Tally,
    cost: Option<Cost>,
) {
    let act = Act::of(statement);
    let number = match act {
        Act::Begin => return connection.began(tally),
        Act::Commit { chain } => return connection.ended(tally, false, chain),
        Act::Rollback { chain } => return connection.ended(tally, true, chain),
        Act::Autocommit(on) => return connection.set_autocommit(tally, on),
        Act::Aside => return,
        Act::Plain | Act::Definition => None,
        Act::Savepoint => Some(("SAVEPOINT", connection.savepoint(last_word(&statement.template)))),
        Act::Release => back("RELEASE SAVEPOINT", connection, statement, true),
        Act::RollbackTo => back("ROLLBACK TO SAVEPOINT", connection, statement, false),
    };
    if let Some((what, number)) = number {
        statement.template = format!("{what} s{number}").into_bytes();
        statement.marks.clear();
        statement.literals.clear();
    }
    let rows = cost.map_or(0, |cost| cost.rows_sent);
    let Some(id) = books.count(statement, 1, cost) else { return };
    let values = &books.templates.values;
    match act {
        Act::Definition => connection.defined(tally, id, values),
        _ => connection.ran(tally, id, values, rows),
    }
}

/// The text of a statement about a known savepoint.
fn back(
    what: &'static str,
    connection: &mut Connection,
    statement: &Statement,
    release: bool,
) -> Option<(&'static str, usize)> {
    connection.back_to(last_word(&statement.template), release).map(|number| (what, number))
}
