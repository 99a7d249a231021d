//! Values of parameters: what a connection draws them from, and how SQL spells them.

use std::collections::{BTreeMap, VecDeque};

use crate::random::{Rows, Stream};

/// A parameter's value. A generated text is stored as the number that generates it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Number(i64),
    Bytes(Vec<u8>),
    Null,
}

/// One for each parameter.
pub type Values = Vec<Value>;

/// A connection's random stream and counters.
#[derive(Debug)]
pub struct Draws {
    pub stream: Stream,
    pub number: u64,
    pub sequence: i64,
    /// How many new numbers it has drawn, and how many connections draw them.
    pub fresh: i64,
    pub connections: u64,
    /// Where new texts are counted from.
    pub salt: u64,
    pub keys: Keys,
    /// Its own share of a table, and the number of rows before it.
    pub share: Option<(Rows, i64)>,
}

impl Draws {
    /// Begins the state of connection `number` of a stream.
    pub fn new(stream: Stream, number: u64) -> Self {
        Self {
            stream,
            number,
            sequence: 0,
            fresh: 0,
            connections: 1,
            salt: 0,
            keys: Keys::default(),
            share: None,
        }
    }
}

/// The keys that a connection has inserted, by the column's index, the oldest first.
#[derive(Debug, Default)]
pub struct Keys {
    committed: BTreeMap<usize, VecDeque<Value>>,
    /// Values of the running transaction.
    open: Vec<(usize, Value)>,
    /// Numbers drawn by the running transaction that come once in it.
    drawn: Vec<(usize, i64)>,
}

impl Keys {
    /// Keys of a column that are kept.
    const MOST: usize = 256;

    pub fn insert(&mut self, column: usize, key: Value) {
        self.open.push((column, key));
    }

    /// Whether the running transaction draws a number of a column for the first time; from now on it has.
    pub fn is_first(&mut self, column: usize, number: i64) -> bool {
        let first = !self.drawn.contains(&(column, number));
        if first {
            self.drawn.push((column, number));
        }
        first
    }

    /// Ends the running transaction.
    pub fn end(&mut self, committed: bool) {
        self.drawn.clear();
        for (column, key) in self.open.drain(..).filter(|_| committed) {
            let keys = self.committed.entry(column).or_default();
            if keys.len() == Self::MOST {
                keys.pop_front();
            }
            keys.push_back(key);
        }
    }

    /// One of a column's keys, the newest in half of the draws, the one before it in half of the others, …; `taken`:
    /// the oldest, which is then gone.
    pub fn draw(&mut self, column: usize, taken: bool, stream: &mut Stream) -> Option<Value> {
        let keys = self.committed.get_mut(&column).filter(|keys| !keys.is_empty())?;
        if taken {
            return keys.pop_front();
        }
        let age = stream.bits().trailing_zeros() as usize % keys.len();
        keys.get(keys.len() - 1 - age).cloned()
    }
}

/// Whether SQL reads these bytes as one number: a server may send anything as one.
pub fn is_literal(bytes: &[u8]) -> bool {
    let plain = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'+' | b'-'); // neither inf nor nan
    bytes.iter().all(plain) && std::str::from_utf8(bytes).is_ok_and(|text| text.parse::<f64>().is_ok())
}

/// How a session reads string literals, by its sql_mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Escapes {
    #[default]
    Backslash,
    /// NO_BACKSLASH_ESCAPES: only quotes are escaped, by doubling.
    None,
}

/// Appends a string literal.
pub fn quote(bytes: &[u8], escapes: Escapes, out: &mut Vec<u8>) {
    out.push(b'\'');
    for &byte in bytes {
        match (byte, escapes) {
            (b'\'', _) => out.extend_from_slice(b"''"),
            (b'\\', Escapes::Backslash) => out.extend_from_slice(b"\\\\"),
            (0, Escapes::Backslash) => out.extend_from_slice(b"\\0"),
            _ => out.push(byte),
        }
    }
    out.push(b'\'');
}
