//! Statements counted by template, and what is kept of their literals.

use std::collections::HashMap;

use super::sequences::{Link, Value, links};
use super::statement::{Kind, Mark, Statement};
use super::values::{Distinct, Sample, Sizes, Top, cut, hash};
use crate::random::Stream;

const TEMPLATES_MAX: usize = 4000;
const SLOTS_MAX: usize = 1000;
/// Executions of a template whose values are kept; half as many from each further 256 templates on.
const SAMPLED: usize = 1000;
const SAMPLED_MIN: usize = 32;
const HALVED_EVERY: usize = 256;
/// The frequent values that are kept, as a part of them.
const TOP_PART: usize = 4;
/// Executions that links within a statement are sought in.
const LINKED: usize = 64;

#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    pub seconds: f64,
    pub rows_examined: u64,
    pub rows_sent: u64,
}

/// For each slot its value; none if it is NULL. Of a list it is one.
type Execution = Box<[Option<Box<[u8]>>]>;

pub struct Slot {
    pub mark: Mark,
    /// How many numbers, texts, bytes, NULLs.
    pub kinds: [u64; 4],
    pub distinct: Distinct,
    pub top: Top,
    pub sizes: Sizes,
}

impl Slot {
    /// Names the kind of most values.
    pub fn kind(&self) -> &'static str {
        let [numbers, texts, bytes, _] = self.kinds;
        match numbers.max(texts).max(bytes) {
            0 => "null",
            most if most == numbers => "number",
            most if most == texts => "text",
            _ => "bytes",
        }
    }

    pub fn nulls(&self) -> u64 {
        self.kinds[3]
    }
}

pub struct Template {
    pub sql: String,
    pub count: u64,
    pub cost: Option<Cost>,
    pub slots: Vec<Slot>,
    pub sample: Sample<Execution>,
}

impl Template {
    /// Links within the statement, as far as its sample shows.
    pub fn links(&self) -> Vec<Link> {
        let slots = &self.slots;
        let compared = |execution: &Execution| {
            let value = |(slot, value): (&Slot, &Option<Box<[u8]>>)| match value {
                Some(value) if !slot.mark.list || slot.sizes.0.iter().all(|&(size, _)| size == 1) => {
                    Value::of(value)
                }
                _ => Value::Absent,
            };
            slots.iter().zip(execution).map(value).collect()
        };
        let executions: Vec<_> = self.sample.kept.iter().take(LINKED).map(compared).collect();
        links(&executions)
    }
}

pub struct Templates {
    pub all: Vec<Template>,
    /// By text.
    places: HashMap<Box<[u8]>, u32>,
    stream: Stream,
    /// For each slot of the statement counted last.
    pub values: Vec<Value>,
    sizes: Vec<u64>,
}

impl Templates {
    pub fn new(stream: Stream) -> Self {
        Self { all: Vec::new(), places: HashMap::new(), stream, values: Vec::new(), sizes: Vec::new() }
    }

    /// Counts executions of a statement, and its values once; none if no further template fits or its text is not
    /// UTF-8.
    pub fn count(
        &mut self,
        statement: &Statement,
        count: u64,
        cost: Option<Cost>,
    ) -> Result<u32, &'static str> {
        let id = match self.places.get(&*statement.template) {
            Some(&id) => id,
            None => self.add(statement)?,
        };
        let template = &mut self.all[id as usize];
        template.count = template.count.saturating_add(count);
        if let Some(cost) = cost {
            let total = template.cost.get_or_insert_default();
            total.seconds += cost.seconds;
            total.rows_examined = total.rows_examined.saturating_add(cost.rows_examined);
            total.rows_sent = total.rows_sent.saturating_add(cost.rows_sent);
        }
        self.values.clear();
        self.values.resize(template.slots.len(), Value::Absent);
        self.sizes.clear();
        self.sizes.resize(template.slots.len(), 0);
        for literal in &statement.literals {
            let slot = &mut template.slots[literal.slot as usize];
            self.sizes[literal.slot as usize] += 1;
            let kind = match literal.kind {
                Kind::Number => 0,
                Kind::Text => 1,
                Kind::Bytes => 2,
                Kind::Null => 3,
                Kind::Unknown => continue,
            };
            slot.kinds[kind] += 1;
            if literal.kind == Kind::Null {
                continue;
            }
            let value = statement.value(literal);
            let hash = hash(value);
            slot.distinct.add(hash);
            slot.top.add(hash, value);
            self.values[literal.slot as usize] = Value::new(value, hash);
        }
        // A list of one is a value that others may repeat.
        for (value, _) in self.values.iter_mut().zip(&self.sizes).filter(|&(_, &size)| size > 1) {
            *value = Value::Absent;
        }
        for (slot, &size) in template.slots.iter_mut().zip(&self.sizes).filter(|(slot, _)| slot.mark.list) {
            slot.sizes.add(size);
        }
        let seen = template.sample.seen;
        template.sample.offer(&mut self.stream, || execution(statement, &self.sizes, seen));
        Ok(id)
    }

    fn add(&mut self, statement: &Statement) -> Result<u32, &'static str> {
        let id = self.all.len();
        if id == TEMPLATES_MAX {
            return Err("a kind of statement beyond the 4000 that are kept");
        }
        if statement.marks.len() > SLOTS_MAX {
            return Err("more than 1000 values outside of lists");
        }
        let Ok(sql) = String::from_utf8(statement.template.clone()) else {
            return Err("not UTF-8 outside of strings");
        };
        let sampled = (SAMPLED >> (id / HALVED_EVERY)).max(SAMPLED_MIN);
        let slot = |&mark: &Mark| Slot {
            mark,
            kinds: [0; 4],
            distinct: Distinct::new(sampled),
            top: Top::new(sampled / TOP_PART),
            sizes: Sizes::default(),
        };
        self.all.push(Template {
            sql,
            count: 0,
            cost: None,
            slots: statement.marks.iter().map(slot).collect(),
            sample: Sample::new(sampled),
        });
        self.places.insert(statement.template[..].into(), id as u32);
        Ok(id as u32)
    }
}

/// The statement's values; of lists one at a place that differs from execution to execution.
fn execution(statement: &Statement, sizes: &[u64], seen: u64) -> Execution {
    let mut values = vec![None; sizes.len()];
    let mut passed = vec![0; sizes.len()];
    for literal in &statement.literals {
        let slot = literal.slot as usize;
        if passed[slot] == seen % sizes[slot] && !matches!(literal.kind, Kind::Null | Kind::Unknown) {
            values[slot] = Some(cut(statement.value(literal)).into());
        }
        passed[slot] += 1;
    }
    values.into()
}
