//! Rows of a dataset's tables, each a function of the dataset alone: for loading, and for the checksum of the
//! loaded tables.

/// One column's value in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field<'a> {
    Null,
    Integer(i64),
    /// Any other type, as the server prints it.
    Text(&'a [u8]),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub name: String,
    pub columns: &'static [&'static str],
    /// How many units its rows are generated in: single rows, or rows that belong together.
    pub units: u64,
}

/// A dataset's tables and their rows.
pub trait Tables: Sync {
    fn tables(&self) -> Vec<Table>;

    /// Passes the rows of a table's unit (from 0) to `row`. Rows and units are in primary key order.
    fn write(&self, table: usize, unit: u64, row: &mut dyn FnMut(&[Field<'_>]));
}

/// The number of rows in a table's first `units`, and their sum of `CRC32(CONCAT_WS('#', columns…))`.
pub fn checksum(dataset: &dyn Tables, table: usize, units: u64) -> (u64, u64) {
    let (mut rows, mut sum) = (0, 0);
    let mut digits = itoa::Buffer::new();
    for unit in 0..units {
        dataset.write(table, unit, &mut |fields| {
            let mut crc = crc32fast::Hasher::new();
            let mut between: &[u8] = b"";
            for field in fields {
                let text = match field {
                    Field::Null => continue,
                    Field::Integer(number) => digits.format(*number).as_bytes(),
                    Field::Text(text) => text,
                };
                crc.update(between);
                crc.update(text);
                between = b"#";
            }
            rows += 1;
            sum += u64::from(crc.finalize());
        });
    }
    (rows, sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Few(Vec<Vec<Field<'static>>>);

    impl Tables for Few {
        fn tables(&self) -> Vec<Table> {
            vec![Table { name: "few".into(), columns: &["a", "b", "c"], units: self.0.len() as u64 }]
        }

        fn write(&self, _table: usize, unit: u64, row: &mut dyn FnMut(&[Field<'_>])) {
            row(&self.0[unit as usize]);
        }
    }

    #[test]
    fn a_checksum_skips_nulls_as_concat_ws_does() {
        let few = Few(vec![
            vec![Field::Integer(-7), Field::Null, Field::Text(b"x")],
            vec![Field::Null, Field::Text(b""), Field::Integer(1)],
            vec![Field::Null, Field::Null, Field::Null],
        ]);
        let sum = u64::from(crc32fast::hash(b"-7#x")) + u64::from(crc32fast::hash(b"#1"));
        assert_eq!(checksum(&few, 0, 3), (3, sum));
        assert_eq!(checksum(&few, 0, 1), (1, u64::from(crc32fast::hash(b"-7#x"))));
    }
}
