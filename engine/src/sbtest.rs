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
        let mut stream = Stream::new(self.seed ^ ((table as u64 + 1) << 40), id);
        let k = self.keys.draw(&mut stream);
        let (mut c, mut pad) = (Vec::with_capacity(C_PATTERN.len()), Vec::with_capacity(PAD_PATTERN.len()));
        stream.fill(C_PATTERN, &mut c);
        stream.fill(PAD_PATTERN, &mut pad);
        row(&[Field::Integer(id as i64), Field::Integer(k), Field::Text(&c), Field::Text(&pad)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::checksum;

    #[test]
    fn tables_and_seeds_differ() {
        let sum = |seed, table| checksum(&Sbtest::new(2, 100, seed), table, 100);
        assert_ne!(sum(1, 0), sum(1, 1));
        assert_ne!(sum(1, 0), sum(2, 0));
        assert_eq!(sum(1, 0), sum(1, 0));
        assert_eq!(sum(1, 0).0, 100);
    }

    /// Golden row: datasets of past runs must stay comparable.
    #[test]
    fn generated_rows_never_change() {
        Sbtest::new(1, 10_000, 1).write(0, 0, &mut |fields| {
            let [Field::Integer(id), Field::Integer(k), Field::Text(c), Field::Text(pad)] = fields else {
                panic!("{fields:?}");
            };
            let (c, pad) = (String::from_utf8_lossy(c), String::from_utf8_lossy(pad));
            let golden = include_str!("sbtest_row.golden").trim_end();
            assert_eq!(format!("({id},{k},'{c}','{pad}')"), golden);
        });
    }
}
