//! A summary of many values: the frequent ones, a sample, and how many differ.

use std::hash::{DefaultHasher, Hasher};

use crate::random::Stream;

/// Longer values are cut.
const VALUE_MAX: usize = 256;
/// More lengths of lists count as the nearest below.
const SIZES_MAX: usize = 256;

/// A uniform sample of a stream of unknown length: Vitter's algorithm R.
pub struct Sample<T> {
    pub kept: Vec<T>,
    capacity: usize,
    pub seen: u64,
}

impl<T> Sample<T> {
    pub fn new(capacity: usize) -> Self {
        Self { kept: Vec::new(), capacity, seen: 0 }
    }

    /// Counts one more; takes it if chance says so.
    pub fn offer(&mut self, stream: &mut Stream, make: impl FnOnce() -> T) {
        self.seen += 1;
        if self.kept.len() < self.capacity {
            self.kept.push(make());
        } else if let Some(place) = self.kept.get_mut(stream.below(self.seen) as usize) {
            *place = make();
        }
    }
}

/// How many values differ: the k least of their hashes (Bar-Yossef et al. 2002), exact up to k.
pub struct Distinct {
    least: Vec<u64>,
    capacity: usize,
}

impl Distinct {
    pub fn new(capacity: usize) -> Self {
        Self { least: Vec::new(), capacity }
    }

    pub fn add(&mut self, hash: u64) {
        let full = self.least.len() == self.capacity;
        if full && self.least.last().is_some_and(|&most| hash >= most) {
            return;
        }
        if let Err(place) = self.least.binary_search(&hash) {
            if full {
                self.least.pop();
            }
            self.least.insert(place, hash);
        }
    }

    /// At most so many of the least hashes.
    pub fn least(&self, most: usize) -> Vec<u64> {
        self.least.iter().take(most).map(|&hash| written(hash)).collect()
    }

    pub fn estimate(&self) -> u64 {
        match self.least.last() {
            Some(&most) if self.least.len() == self.capacity => {
                ((self.capacity - 1) as f64 * (u64::MAX as f64 / most.max(1) as f64)) as u64
            }
            _ => self.least.len() as u64,
        }
    }
}

/// The most frequent values: space-saving (Metwally et al. 2005), exact while they are few.
pub struct Top {
    hashes: Vec<u64>,
    counts: Vec<u64>,
    /// By how much each count may be too high.
    errors: Vec<u64>,
    values: Vec<Box<[u8]>>,
    capacity: usize,
}

impl Top {
    pub fn new(capacity: usize) -> Self {
        Self { hashes: Vec::new(), counts: Vec::new(), errors: Vec::new(), values: Vec::new(), capacity }
    }

    pub fn add(&mut self, hash: u64, value: &[u8]) {
        if let Some(place) = self.hashes.iter().position(|&other| other == hash) {
            self.counts[place] += 1;
        } else if self.hashes.len() < self.capacity {
            self.hashes.push(hash);
            self.counts.push(1);
            self.errors.push(0);
            self.values.push(cut(value).into());
        } else {
            let (place, &least) =
                self.counts.iter().enumerate().min_by_key(|&(_, count)| count).expect("capacity is not 0");
            self.hashes[place] = hash;
            self.counts[place] = least + 1;
            self.errors[place] = least;
            self.values[place] = cut(value).into();
        }
    }

    /// The values whose counts are sure within a tenth, with what is sure, the most frequent first.
    pub fn sure(&self) -> Vec<(&[u8], u64)> {
        let mut sure: Vec<_> = (0..self.values.len())
            .filter(|&place| self.errors[place] <= self.counts[place] / 10)
            .map(|place| (&*self.values[place], self.counts[place] - self.errors[place]))
            .collect();
        sure.sort_by(|(value, count), (other, others)| others.cmp(count).then(value.cmp(other)));
        sure
    }
}

/// How often lists have which length.
#[derive(Default)]
pub struct Sizes(pub Vec<(u64, u64)>);

impl Sizes {
    pub fn add(&mut self, size: u64) {
        match self.0.binary_search_by_key(&size, |&(size, _)| size) {
            Ok(place) => self.0[place].1 += 1,
            Err(place) if self.0.len() < SIZES_MAX => self.0.insert(place, (size, 1)),
            Err(place) => self.0[place.saturating_sub(1)].1 += 1,
        }
    }
}

/// The same in every process.
pub fn hash(value: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(value);
    hasher.finish()
}

/// A hash as documents have it, whose numbers have a sign.
pub fn written(hash: u64) -> u64 {
    hash >> 1
}

pub fn cut(value: &[u8]) -> &[u8] {
    &value[..value.len().min(VALUE_MAX)]
}
