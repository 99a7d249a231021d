//! Rows of sysbench's `sbtestN` tables, each a function of (seed, table, id) alone.

use crate::random::{Distribution, Rows, Stream};
use crate::rows::{Field, Table, Tables};

pub const C_PATTERN: &[u8] =
    b"###########-###########-###########-###########-###########-###########-###########-###########-###########-###########";
pub const PAD_PATTERN: &[u8] = b"###########-###########-###########-###########-###########";

/// sysbench draws `k` with its default distribution.
const K: Distribution = Distribution::Special { iterations: 12, hot_range_percent: 1, hot_percent: 75 };

/// `tables` tables of `rows` rows each; a unit is a row.
#[derive(Debug)]
pub struct Sbtest {
    tables: usize,
    rows: u64,
    seed: u64,
    keys: Rows,
}

impl Sbtest {
    pub fn new(tables: usize, rows: u64, seed: u64) -> Self {
        Self { tables, rows, seed, keys: K.over(rows.max(1)) }
    }
}

impl Tables for Sbtest {
    fn tables(&self) -> Vec<Table> {
        let table = |number| Table {
            name: format!("sbtest{number}"),
            columns: &["id", "k", "c", "pad"],
            units: self.rows,
        };
        (1..=self.tables).map(table).collect()
    }

    fn write(&self, table: usize, unit: u64, row: &mut dyn FnMut(&[Field<'_>])) {
        let id = unit + 1;
        let Row { k, c, pad } = self::row(table as u64 + 1, id, &self.keys, self.seed);
        row(&[Field::Integer(id as i64), Field::Integer(k), Field::Text(&c), Field::Text(&pad)]);
    }
}

struct Row {
    k: i64,
    c: Vec<u8>,
    pad: Vec<u8>,
}

fn row(table: u64, id: u64, keys: &Rows, seed: u64) -> Row {
    let mut stream = Stream::new(seed ^ (table << 40), id);
    let k = keys.draw(&mut stream);
    let (mut c, mut pad) = (Vec::with_capacity(C_PATTERN.len()), Vec::with_capacity(PAD_PATTERN.len()));
    stream.fill(C_PATTERN, &mut c);
    stream.fill(PAD_PATTERN, &mut pad);
    Row { k, c, pad }
}

/// `(id,k,'c','pad'),…` for `count` rows from id `first`.
pub fn values(table: u64, first: u64, count: u64, rows: u64, seed: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(count as usize * 210);
    let keys = K.over(rows.max(1));
    for id in first..first + count {
        let Row { k, c, pad } = row(table, id, &keys, seed);
        if !out.is_empty() {
            out.push(b',');
        }
        out.extend_from_slice(format!("({id},{k},'").as_bytes());
        out.extend_from_slice(&c);
        out.extend_from_slice(b"','");
        out.extend_from_slice(&pad);
        out.extend_from_slice(b"')");
    }
    out
}

/// The sum of `CRC32(CONCAT_WS('#', id, k, c, pad))` over a whole table.
pub fn checksum(table: u64, rows: u64, seed: u64) -> u64 {
    let keys = K.over(rows.max(1));
    let of_row = |id| {
        let Row { k, c, pad } = row(table, id, &keys, seed);
        let mut crc = crc32fast::Hasher::new();
        crc.update(format!("{id}#{k}#").as_bytes());
        crc.update(&c);
        crc.update(b"#");
        crc.update(&pad);
        u64::from(crc.finalize())
    };
    (1..=rows).map(of_row).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_do_not_depend_on_how_they_are_cut() {
        let mut pieces = values(2, 1, 3, 10, 5);
        pieces.push(b',');
        pieces.extend(values(2, 4, 7, 10, 5));
        assert_eq!(pieces, values(2, 1, 10, 10, 5));
    }

    #[test]
    fn tables_and_seeds_differ() {
        let one = checksum(1, 100, 1);
        assert_ne!(one, checksum(2, 100, 1));
        assert_ne!(one, checksum(1, 100, 2));
        assert_eq!(one, checksum(1, 100, 1));
    }

    /// Written down once: datasets of past runs must stay comparable.
    #[test]
    fn the_generator_is_pinned() {
        assert_eq!(
            String::from_utf8(values(1, 1, 1, 10_000, 1)).unwrap(),
            include_str!("sbtest_row.golden").trim_end()
        );
    }
}
