//! The content of a log, as `shootout/learn/values.py` reads it: see there for what each field means.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use super::sequences::{self, Kind};
use super::templates;
use super::values::written;

/// The largest number of a document.
pub const COUNT_MAX: u64 = 1_000_000_000_000_000;

/// Hashes of a slot's values: enough to tell what part of them another slot has.
const HASHES_MAX: usize = 256;

#[derive(Serialize)]
pub struct Log<'a> {
    pub kind: &'static str,
    pub templates: Vec<Template<'a>>,
    pub sequences: Vec<Sequence>,
    pub left_out: Vec<LeftOut>,
    pub statements: u64,
    pub transactions: u64,
    pub connections: u64,
    pub span_s: f64,
    pub think_s: f64,
    pub seconds: f64,
    pub ordered: bool,
    pub abandoned: u64,
    pub lost_begins: u64,
    pub lost_commits: u64,
    pub fastest_s: f64,
    pub sampled: u64,
    pub sampled_sessions: bool,
}

#[derive(Serialize)]
pub struct Template<'a> {
    sql: &'a str,
    count: u64,
    seconds: Option<f64>,
    rows_examined: Option<u64>,
    rows_sent: Option<u64>,
    slots: Vec<Slot>,
}

#[derive(Serialize)]
struct Slot {
    kind: &'static str,
    distinct: u64,
    hashes: Vec<u64>,
    top: Vec<(String, u64)>,
    sample: Vec<String>,
    nulls: u64,
    sizes: Vec<(u64, u64)>,
    table: bool,
}

#[derive(Serialize)]
pub struct Sequence {
    statements: Vec<u32>,
    pub count: u64,
    explicit: bool,
    end: &'static str,
    links: Vec<Link>,
    /// Statement, slot and number.
    constants: Vec<(usize, usize, i64)>,
    /// Statement, slot and hash.
    texts: Vec<(usize, usize, u64)>,
    rows_sent: Vec<u64>,
}

#[derive(Serialize)]
struct Link {
    statement: usize,
    slot: usize,
    of_statement: usize,
    of_slot: usize,
    difference: i64,
    share: f64,
}

#[derive(Serialize)]
pub struct LeftOut {
    pub reason: &'static str,
    pub statements: u64,
    pub example: String,
}

impl<'a> Template<'a> {
    pub fn of(template: &'a templates::Template) -> Self {
        let slot = |(place, slot): (usize, &templates::Slot)| Slot {
            kind: slot.kind(),
            distinct: slot.distinct.estimate().min(COUNT_MAX),
            hashes: slot.distinct.least(HASHES_MAX),
            top: slot.top.sure().into_iter().map(|(value, count)| (STANDARD.encode(value), count)).collect(),
            sample: template
                .sample
                .kept
                .iter()
                .filter_map(|execution| execution[place].as_ref().map(|value| STANDARD.encode(value)))
                .collect(),
            nulls: slot.nulls(),
            sizes: slot.sizes.0.clone(),
            table: slot.mark.table,
        };
        let cost = template.cost.as_ref();
        Self {
            sql: &template.sql,
            count: template.count.min(COUNT_MAX),
            seconds: cost.map(|cost| quantity(cost.seconds)),
            rows_examined: cost.map(|cost| cost.rows_examined.min(COUNT_MAX)),
            rows_sent: cost.map(|cost| cost.rows_sent.min(COUNT_MAX)),
            slots: template.slots.iter().enumerate().map(slot).collect(),
        }
    }
}

impl Sequence {
    pub fn of(kind: &Kind, all: &[templates::Template]) -> Self {
        let Kind { shape, count, links, constants, texts, rows } = kind;
        let slots = |&id: &u32| all[id as usize].slots.len();
        // For each slot of the transaction, its statement and its place there.
        let places: Vec<_> = (0..)
            .zip(shape.statements.iter().map(slots))
            .flat_map(|(statement, slots)| (0..slots).map(move |slot| (statement, slot)))
            .collect();
        let link = |link: &sequences::Link| {
            let ((statement, slot), (of_statement, of_slot)) = (places[link.slot], places[link.of]);
            let sequences::Link { difference, share, .. } = *link;
            Link { statement, slot, of_statement, of_slot, difference, share }
        };
        Self {
            statements: shape.statements.to_vec(),
            count: (*count).min(COUNT_MAX),
            explicit: shape.explicit,
            end: if shape.rollback { "rollback" } else { "commit" },
            links: links.iter().map(link).collect(),
            constants: constants
                .iter()
                .map(|&(slot, number)| (places[slot].0, places[slot].1, number))
                .collect(),
            texts: texts
                .iter()
                .map(|&(slot, hash)| (places[slot].0, places[slot].1, written(hash)))
                .collect(),
            rows_sent: rows.iter().map(|&rows| rows.min(COUNT_MAX)).collect(),
        }
    }
}

/// A number that a document may have.
pub fn quantity(number: f64) -> f64 {
    number.clamp(0.0, COUNT_MAX as f64)
}
