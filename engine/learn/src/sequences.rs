//! Kinds of transactions: which statements in which order, how often, and which values repeat.

use std::collections::HashMap;

use super::text::parsed;
use super::values::{Sample, hash};
use crate::random::Stream;

/// Kinds that are counted one by one. The transactions of any further kind are sampled.
const KINDS_MAX: usize = 1000;
const SAMPLED: usize = 1000;
/// Transactions of each kind whose values are kept, and their values altogether (16 bytes each).
const VALUED: usize = 64;
const VALUES_MAX: usize = 2_000_000;
/// Fewer transactions prove no link.
const LINK_MIN: usize = 8;
/// The least share of a link, and by how much it exceeds chance.
const SHARE_MIN: f64 = 0.5;
const BEYOND_CHANCE: f64 = 0.25;
/// So many of the first LINK_MIN transactions show a link that is worth counting.
const GLANCE_MIN: usize = 3;

/// A slot's value, as far as it can be compared with another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// NULL, a list, or not known.
    Absent,
    /// Its decimal form is the text.
    Number(i64),
    /// Its hash.
    Other(u64),
}

impl Value {
    pub fn of(value: &[u8]) -> Self {
        Self::new(value, hash(value))
    }

    pub fn new(value: &[u8], hash: u64) -> Self {
        let number = parsed(value).filter(|&number| itoa::Buffer::new().format(number).as_bytes() == value);
        number.map_or(Self::Other(hash), Self::Number)
    }

    /// By how much it exceeds `earlier`; 0 if it is the same.
    fn beyond(self, earlier: Self) -> Option<i64> {
        match (self, earlier) {
            (Self::Number(this), Self::Number(other)) => this.checked_sub(other),
            (Self::Other(this), Self::Other(other)) if this == other => Some(0),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shape {
    pub statements: Box<[u32]>,
    pub explicit: bool,
    pub rollback: bool,
}

impl Shape {
    /// A statement of this template that commits by itself.
    pub fn alone(id: u32) -> Self {
        Self { statements: [id].into(), explicit: false, rollback: false }
    }
}

/// A slot that repeats an earlier one, both counted over all statements of a transaction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    pub slot: usize,
    pub of: usize,
    pub difference: i64,
    pub share: f64,
}

/// A kind of transaction.
#[derive(Default)]
pub struct Kind {
    pub shape: Shape,
    pub count: u64,
    pub links: Vec<Link>,
    /// Slots that have one number in all transactions, or one text: its hash.
    pub constants: Vec<(usize, i64)>,
    pub texts: Vec<(usize, u64)>,
    /// Rows that each statement sent, of all transactions; empty: not known.
    pub rows: Vec<u64>,
}

/// A kind, as far as it was counted.
struct Counted {
    shape: Shape,
    sample: Sample<Box<[Value]>>,
    rows: Vec<u64>,
    /// The log has the BEGIN and the end of one of them.
    whole: bool,
}

/// All transactions, in bounded memory.
pub struct Sequences {
    places: HashMap<Shape, usize>,
    kinds: Vec<Counted>,
    /// Statements of the longest whole one.
    pub longest: usize,
    values_left: usize,
    rest: Sample<Shape>,
    stream: Stream,
}

impl Sequences {
    pub fn new(stream: Stream) -> Self {
        Self {
            places: HashMap::new(),
            kinds: Vec::new(),
            longest: 0,
            values_left: VALUES_MAX,
            rest: Sample::new(SAMPLED),
            stream,
        }
    }

    pub fn count(&mut self, shape: Shape, whole: bool, values: &[Value], rows: &[u64]) {
        if whole {
            self.longest = self.longest.max(shape.statements.len());
        }
        let place = match self.places.get(&shape) {
            Some(&place) => place,
            None if self.kinds.len() == KINDS_MAX => return self.rest.offer(&mut self.stream, || shape),
            None => {
                let needed = VALUED * values.len();
                let fits = needed <= self.values_left;
                self.values_left -= if fits { needed } else { 0 };
                self.places.insert(shape.clone(), self.kinds.len());
                let sample = Sample::new(if fits { VALUED } else { 0 });
                self.kinds.push(Counted { shape, sample, rows: vec![0; rows.len()], whole });
                self.kinds.len() - 1
            }
        };
        let kind = &mut self.kinds[place];
        kind.whole |= whole;
        for (sum, rows) in kind.rows.iter_mut().zip(rows) {
            *sum = sum.saturating_add(*rows);
        }
        kind.sample.offer(&mut self.stream, || values.into());
    }

    /// The longest of the whole ones that fit, the most frequent of several.
    pub fn whole(&self, fits: impl Fn(&Shape) -> bool) -> Option<&Shape> {
        let fitting = self.kinds.iter().filter(|kind| kind.whole && fits(&kind.shape));
        let longest = fitting.max_by_key(|kind| (kind.shape.statements.len(), kind.sample.seen));
        longest.map(|kind| &kind.shape)
    }

    /// Whether a statement of this template can commit by itself: one has, or no whole transaction has one.
    pub fn alone(&self, id: u32) -> bool {
        let has = |kind: &Counted| kind.whole && kind.shape.statements.contains(&id);
        self.places.contains_key(&Shape::alone(id)) || !self.kinds.iter().any(has)
    }

    /// Each kind with its count and links, the most frequent first; of sampled ones, `inner` has the links within
    /// statements, and the count is what the sample stands for.
    pub fn sorted(self, inner: impl Fn(&Shape) -> Vec<Link>) -> Vec<Kind> {
        let mut all: Vec<_> = self
            .kinds
            .into_iter()
            .map(|Counted { shape, sample, rows, .. }| {
                let links = if sample.kept.len() < LINK_MIN { inner(&shape) } else { links(&sample.kept) };
                let (constants, texts) = constants(&sample.kept);
                Kind { shape, count: sample.seen, links, constants, texts, rows }
            })
            .collect();
        let mut sampled: HashMap<Shape, u64> = HashMap::new();
        let (kept, seen) = (self.rest.kept.len() as u64, self.rest.seen);
        for (index, shape) in (0u64..).zip(self.rest.kept) {
            // Whole numbers whose sum is `seen`.
            *sampled.entry(shape).or_default() += seen * (index + 1) / kept - seen * index / kept;
        }
        all.extend(sampled.into_iter().map(|(shape, count)| {
            let links = inner(&shape);
            Kind { shape, count, links, ..Kind::default() }
        }));
        all.sort_by(|one, other| other.count.cmp(&one.count).then(one.shape.cmp(&other.shape)));
        all
    }
}

type Slots<T> = Vec<(usize, T)>;

/// The slots that have one number in all of the transactions, and those that have one text, if these are enough to tell.
fn constants(transactions: &[Box<[Value]>]) -> (Slots<i64>, Slots<u64>) {
    let (mut numbers, mut texts) = (Vec::new(), Vec::new());
    let Some((first, others)) = transactions.split_first().filter(|_| transactions.len() >= LINK_MIN) else {
        return (numbers, texts);
    };
    for (slot, &value) in first.iter().enumerate() {
        match value {
            _ if others.iter().any(|values| values[slot] != value) => {}
            Value::Number(number) => numbers.push((slot, number)),
            Value::Other(hash) => texts.push((slot, hash)),
            Value::Absent => {}
        }
    }
    (numbers, texts)
}

/// Finds slots of equal transactions that repeat an earlier one, or keep a distance from it.
///
/// A slot whose values are copies in all of them is no origin: the first one is. A share counts if it is far beyond
/// that of pairs from different transactions, so that few or constant values make no links.
pub fn links(transactions: &[Box<[Value]>]) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    if transactions.len() < LINK_MIN {
        return links;
    }
    let mut origins: Vec<usize> = Vec::new();
    let slots = transactions.first().map_or(0, |values| values.len());
    for slot in 0..slots {
        let mut best: Option<Link> = None;
        for &of in &origins {
            let rank = |link: &Link| (link.share, link.difference == 0);
            let better = |link: &Link| best.is_none_or(|best| rank(link) > rank(&best));
            best = link(transactions, slot, of).filter(better).or(best);
        }
        if best.is_none_or(|link| link.share < 1.0 || link.difference != 0) {
            origins.push(slot);
        }
        links.extend(best);
    }
    links
}

fn link(transactions: &[Box<[Value]>], slot: usize, of: usize) -> Option<Link> {
    let beyond = |values: &[Value], earlier: &[Value]| values[slot].beyond(earlier[of]);
    let glance = transactions.get(..LINK_MIN)?;
    commonest(glance.iter().filter_map(|values| beyond(values, values)).collect())
        .filter(|&(_, count)| count >= GLANCE_MIN)?;
    let absent = |values: &[Value]| values[slot] == Value::Absent || values[of] == Value::Absent;
    let both = transactions.iter().filter(|values| !absent(values)).count();
    let (difference, count) =
        commonest(transactions.iter().filter_map(|values| beyond(values, values)).collect())?;
    let others = transactions.iter().zip(transactions.iter().cycle().skip(1));
    let by_chance = others.filter(|(values, other)| beyond(values, other) == Some(difference)).count();
    let (share, chance) = (count as f64 / both as f64, by_chance as f64 / both as f64);
    let holds = 2 * both >= transactions.len() && share >= SHARE_MIN && share - chance >= BEYOND_CHANCE;
    holds.then_some(Link { slot, of, difference, share })
}

/// The most frequent number, the one nearest to 0 of several, and how often it is there.
fn commonest(mut numbers: Vec<i64>) -> Option<(i64, usize)> {
    numbers.sort_unstable();
    numbers
        .chunk_by(|one, other| one == other)
        .map(|same| (same[0], same.len()))
        .max_by_key(|&(number, count)| (count, std::cmp::Reverse(number.unsigned_abs())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_what_its_text_says() {
        assert_eq!(Value::of(b"-7"), Value::Number(-7));
        for text in ["007", "-0", "+7", "7.0", "18446744073709551615"] {
            assert_eq!(Value::of(text.as_bytes()), Value::Other(hash(text.as_bytes())), "{text}");
        }
    }
}
