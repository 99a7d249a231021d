//! The initial rows of TPC-C's nine tables (clause 4.3.3), each a function of (seed, table, unit) alone.

use std::ops::RangeInclusive;

use crate::random::Stream;
use crate::rows::{Field, Table, Tables};

const ITEMS: u64 = 100_000;
const DISTRICTS: u64 = 10; // per warehouse
const CUSTOMERS: u64 = 3_000; // per district, and as many orders
const DELIVERED: u64 = 2_100; // orders per district, the first ones

/// NURand's constant for customers' names. The constant of workloads must differ from it by 65 to 119, but not
/// by 96 or 112 (clause 2.1.6.1).
const NAME_CONSTANT: i64 = 123;

const LOADED_AT: &[u8] = b"2025-01-01 00:00:00"; // fixed, so that rows are the same every day

const WAREHOUSE: usize = 0;
const DISTRICT: usize = 1;
const CUSTOMER: usize = 2;
const HISTORY: usize = 3;
const NEW_ORDER: usize = 4;
const ORDERS: usize = 5;
const ORDER_LINE: usize = 6;
const ITEM: usize = 7;
const STOCK: usize = 8;
/// A stream of its own for the orders' customers, not a table.
const PERMUTATION: usize = 9;

/// Names and columns, as in fixtures/datasets/tpcc.sql.
#[rustfmt::skip] // to keep several columns on a line
const TABLES: [(&str, &[&str]); 9] = [
    ("warehouse", &[
        "w_id", "w_name", "w_street_1", "w_street_2", "w_city", "w_state", "w_zip", "w_tax", "w_ytd",
    ]),
    ("district", &[
        "d_id", "d_w_id", "d_name", "d_street_1", "d_street_2", "d_city", "d_state", "d_zip", "d_tax", "d_ytd",
        "d_next_o_id",
    ]),
    ("customer", &[
        "c_id", "c_d_id", "c_w_id", "c_first", "c_middle", "c_last", "c_street_1", "c_street_2", "c_city",
        "c_state", "c_zip", "c_phone", "c_since", "c_credit", "c_credit_lim", "c_discount", "c_balance",
        "c_ytd_payment", "c_payment_cnt", "c_delivery_cnt", "c_data",
    ]),
    ("history", &[
        "h_c_id", "h_c_d_id", "h_c_w_id", "h_d_id", "h_w_id", "h_date", "h_amount", "h_data",
    ]),
    ("new_order", &["no_o_id", "no_d_id", "no_w_id"]),
    ("orders", &[
        "o_id", "o_d_id", "o_w_id", "o_c_id", "o_entry_d", "o_carrier_id", "o_ol_cnt", "o_all_local",
    ]),
    ("order_line", &[
        "ol_o_id", "ol_d_id", "ol_w_id", "ol_number", "ol_i_id", "ol_supply_w_id", "ol_delivery_d",
        "ol_quantity", "ol_amount", "ol_dist_info",
    ]),
    ("item", &["i_id", "i_im_id", "i_name", "i_price", "i_data"]),
    ("stock", &[
        "s_i_id", "s_w_id", "s_quantity", "s_dist_01", "s_dist_02", "s_dist_03", "s_dist_04", "s_dist_05",
        "s_dist_06", "s_dist_07", "s_dist_08", "s_dist_09", "s_dist_10", "s_ytd", "s_order_cnt", "s_remote_cnt",
        "s_data",
    ]),
];

const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// The three syllables of last name `number`, 0 to 999 (clause 4.3.2.3).
pub fn last_name(number: u64) -> [&'static str; 3] {
    [number / 100, number / 10, number].map(|digits| SYLLABLES[(digits % 10) as usize])
}

/// The dataset of a number of warehouses.
pub struct Tpcc {
    warehouses: u64,
    seed: u64,
}

impl Tables for Tpcc {
    fn tables(&self) -> Vec<Table> {
        let table = |(index, &(name, columns)): (usize, &(&str, _))| Table {
            name: name.into(),
            columns,
            units: self.units(index),
        };
        TABLES.iter().enumerate().map(table).collect()
    }

    fn write(&self, table: usize, unit: u64, row: &mut dyn FnMut(&[Field<'_>])) {
        let mut made = Row::new();
        let stream = &mut self.stream(table, unit);
        match table {
            WAREHOUSE => warehouse(unit, stream, &mut made),
            DISTRICT => district(unit, stream, &mut made),
            CUSTOMER => customer(unit, stream, &mut made),
            HISTORY => history(unit, stream, &mut made),
            NEW_ORDER => new_order(unit, &mut made),
            ORDERS => self.order(unit, stream, &mut made),
            ORDER_LINE => return self.order_lines(unit, stream, &mut made, row),
            ITEM => item(unit, stream, &mut made),
            STOCK => stock(unit, stream, &mut made),
            _ => unreachable!("there are {} tables", TABLES.len()),
        }
        made.hand_to(row);
    }
}

impl Tpcc {
    pub fn new(warehouses: u64, seed: u64) -> Self {
        Self { warehouses, seed }
    }

    fn units(&self, table: usize) -> u64 {
        let each = match table {
            WAREHOUSE => 1,
            DISTRICT => DISTRICTS,
            CUSTOMER | HISTORY | ORDERS | ORDER_LINE => DISTRICTS * CUSTOMERS,
            NEW_ORDER => DISTRICTS * (CUSTOMERS - DELIVERED),
            ITEM => return ITEMS,
            _ => ITEMS,
        };
        self.warehouses * each
    }

    fn stream(&self, table: usize, unit: u64) -> Stream {
        Stream::new(self.seed ^ ((table as u64) << 40), unit)
    }

    fn order(&self, unit: u64, stream: &mut Stream, row: &mut Row) {
        let (warehouse, district, order) = in_district(unit, CUSTOMERS);
        let lines = line_count(stream);
        row.integers([order, district, warehouse, self.customer_of(unit / CUSTOMERS, order)]);
        row.text(LOADED_AT);
        if order <= DELIVERED {
            row.integers([between(1..=10, stream)]);
        } else {
            row.add(Slot::Null);
        }
        row.integers([lines, 1]);
    }

    fn order_lines(&self, unit: u64, stream: &mut Stream, row: &mut Row, take: &mut dyn FnMut(&[Field<'_>])) {
        let (warehouse, district, order) = in_district(unit, CUSTOMERS);
        for number in 1..=line_count(&mut self.stream(ORDERS, unit)) {
            row.integers([order, district, warehouse, number, between(1..=ITEMS, stream), warehouse]);
            if order <= DELIVERED {
                row.text(LOADED_AT);
                row.integers([5]);
                row.text(b"0.00");
            } else {
                row.add(Slot::Null);
                row.integers([5]);
                row.decimal(between(1..=999_999, stream), 2);
            }
            row.alphanumeric(24..=24, stream);
            row.hand_to(take);
        }
    }

    /// The customer of a district's order, both from 1: a permutation, so that each customer has one order.
    fn customer_of(&self, district: u64, order: u64) -> u64 {
        // A Feistel network permutes 12-bit numbers; cycle walking restricts it to the small enough ones.
        let mut stream = self.stream(PERMUTATION, district);
        let keys = [(); 4].map(|()| stream.bits());
        let mut place = order - 1;
        loop {
            let (left, right) = keys.iter().fold((place >> 6, place & 63), |(left, right), key| {
                (right, left ^ ((right + 1).wrapping_mul(key | 1) >> 58))
            });
            place = left << 6 | right;
            if place < CUSTOMERS {
                return place + 1;
            }
        }
    }
}

fn warehouse(unit: u64, stream: &mut Stream, row: &mut Row) {
    row.integers([unit + 1]);
    row.alphanumeric(6..=10, stream);
    row.address(stream);
    row.decimal(between(0..=2_000, stream), 4);
    row.text(b"300000.00");
}

fn district(unit: u64, stream: &mut Stream, row: &mut Row) {
    row.integers([unit % DISTRICTS + 1, unit / DISTRICTS + 1]);
    row.alphanumeric(6..=10, stream);
    row.address(stream);
    row.decimal(between(0..=2_000, stream), 4);
    row.text(b"30000.00");
    row.integers([CUSTOMERS + 1]);
}

fn customer(unit: u64, stream: &mut Stream, row: &mut Row) {
    let (warehouse, district, customer) = in_district(unit, CUSTOMERS);
    let name =
        if customer <= 1_000 { customer - 1 } else { stream.non_uniform(255, NAME_CONSTANT, 0, 999) as u64 };
    row.integers([customer, district, warehouse]);
    row.alphanumeric(8..=16, stream);
    row.text(b"OE");
    row.texts(last_name(name));
    row.address(stream);
    row.pattern(b"################", stream);
    row.text(LOADED_AT);
    row.text(if stream.below(10) == 0 { b"BC" } else { b"GC" });
    row.text(b"50000.00");
    row.decimal(between(0..=5_000, stream), 4);
    row.text(b"-10.00");
    row.text(b"10.00");
    row.integers([1, 0]);
    row.alphanumeric(300..=500, stream);
}

fn history(unit: u64, stream: &mut Stream, row: &mut Row) {
    let (warehouse, district, customer) = in_district(unit, CUSTOMERS);
    row.integers([customer, district, warehouse, district, warehouse]);
    row.text(LOADED_AT);
    row.text(b"10.00");
    row.alphanumeric(12..=24, stream);
}

fn new_order(unit: u64, row: &mut Row) {
    let (warehouse, district, order) = in_district(unit, CUSTOMERS - DELIVERED);
    row.integers([DELIVERED + order, district, warehouse]);
}

fn item(unit: u64, stream: &mut Stream, row: &mut Row) {
    row.integers([unit + 1, between(1..=10_000, stream)]);
    row.alphanumeric(14..=24, stream);
    row.decimal(between(100..=10_000, stream), 2);
    row.data(stream);
}

fn stock(unit: u64, stream: &mut Stream, row: &mut Row) {
    row.integers([unit % ITEMS + 1, unit / ITEMS + 1, between(10..=100, stream)]);
    for _ in 0..DISTRICTS {
        row.alphanumeric(24..=24, stream);
    }
    row.integers([0, 0, 0]);
    row.data(stream);
}

/// A unit's warehouse, district and number within it, all from 1, with `each` units per district.
fn in_district(unit: u64, each: u64) -> (u64, u64, u64) {
    (unit / (each * DISTRICTS) + 1, unit / each % DISTRICTS + 1, unit % each + 1)
}

/// An order's first draw, the same for ORDERS and ORDER_LINE.
fn line_count(order: &mut Stream) -> u64 {
    between(5..=15, order)
}

/// Uniform, inclusive.
fn between(range: RangeInclusive<u64>, stream: &mut Stream) -> u64 {
    let (least, most) = range.into_inner();
    least + stream.below(most - least + 1)
}

const COLUMNS_MAX: usize = 21; // customer's
const TEXT_MAX: usize = 1_024; // customer needs 730

/// A row under construction on the stack: its fields, and their texts in one buffer.
struct Row {
    fields: [Slot; COLUMNS_MAX],
    count: usize,
    text: [u8; TEXT_MAX],
    used: usize,
}

#[derive(Clone, Copy)]
enum Slot {
    Null,
    Integer(i64),
    Text { from: usize, to: usize },
}

impl Row {
    fn new() -> Self {
        Self { fields: [Slot::Null; COLUMNS_MAX], count: 0, text: [0; TEXT_MAX], used: 0 }
    }

    /// Passes the row on and begins the next.
    fn hand_to(&mut self, take: &mut dyn FnMut(&[Field<'_>])) {
        let mut fields = [Field::Null; COLUMNS_MAX];
        for (field, slot) in fields.iter_mut().zip(&self.fields[..self.count]) {
            *field = match *slot {
                Slot::Null => Field::Null,
                Slot::Integer(number) => Field::Integer(number),
                Slot::Text { from, to } => Field::Text(&self.text[from..to]),
            };
        }
        take(&fields[..self.count]);
        (self.count, self.used) = (0, 0);
    }

    fn integers<const N: usize>(&mut self, numbers: [u64; N]) {
        for number in numbers {
            self.add(Slot::Integer(number as i64));
        }
    }

    fn text(&mut self, text: &[u8]) {
        self.write(|row| row.push(text));
    }

    fn texts(&mut self, texts: [&str; 3]) {
        self.write(|row| texts.iter().for_each(|text| row.push(text.as_bytes())));
    }

    /// A decimal, given as a multiple of its last place.
    fn decimal(&mut self, number: u64, places: u32) {
        let one = 10_u64.pow(places);
        self.write(|row| {
            row.push(itoa::Buffer::new().format(number / one).as_bytes());
            // The leading 1 preserves the zeros after the point, and becomes the point.
            let at = row.used;
            row.push(itoa::Buffer::new().format(one + number % one).as_bytes());
            row.text[at] = b'.';
        });
    }

    /// A random a-string (clause 4.3.2.2).
    fn alphanumeric(&mut self, length: RangeInclusive<u64>, stream: &mut Stream) {
        let length = between(length, stream);
        self.write(|row| row.push_alphanumeric(length as usize, stream));
    }

    /// Digits for `#` and letters for `@`, as in a workload's texts.
    fn pattern(&mut self, pattern: &[u8], stream: &mut Stream) {
        self.write(|row| {
            for &byte in pattern {
                row.push(&[match byte {
                    b'#' => b'0' + stream.below(10) as u8,
                    b'@' => b'A' + stream.below(26) as u8,
                    other => other,
                }]);
            }
        });
    }

    /// Two streets, city, state and zip code (clause 4.3.2.7).
    fn address(&mut self, stream: &mut Stream) {
        for length in [10..=20, 10..=20, 10..=20] {
            self.alphanumeric(length, stream);
        }
        self.pattern(b"@@", stream);
        self.pattern(b"####11111", stream);
    }

    /// The data column of an item or its stock: every tenth is "ORIGINAL".
    fn data(&mut self, stream: &mut Stream) {
        const MARK: &[u8] = b"ORIGINAL";
        let from = self.used;
        self.alphanumeric(26..=50, stream);
        if stream.below(10) == 0 {
            let room = self.used - from - MARK.len();
            let at = from + stream.below(room as u64 + 1) as usize;
            self.text[at..at + MARK.len()].copy_from_slice(MARK);
        }
    }

    fn add(&mut self, field: Slot) {
        self.fields[self.count] = field;
        self.count += 1;
    }

    fn write(&mut self, text: impl FnOnce(&mut Self)) {
        let from = self.used;
        text(self);
        self.add(Slot::Text { from, to: self.used });
    }

    fn push(&mut self, bytes: &[u8]) {
        self.text[self.used..self.used + bytes.len()].copy_from_slice(bytes);
        self.used += bytes.len();
    }

    fn push_alphanumeric(&mut self, length: usize, stream: &mut Stream) {
        const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        // As in Stream::fill, one draw serves a group: nine characters use 54 bits of it.
        const PER_DRAW: usize = 9;
        let end = self.used + length;
        for group in self.text[self.used..end].chunks_mut(PER_DRAW) {
            let mut fraction = stream.bits();
            for byte in group {
                let product = u128::from(fraction) * ALPHABET.len() as u128;
                fraction = product as u64;
                *byte = ALPHABET[(product >> 64) as usize];
            }
        }
        self.used = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::checksum;
    use std::collections::HashSet;

    const DDL: &str = include_str!("../../fixtures/datasets/tpcc.sql");

    fn dataset() -> Tpcc {
        Tpcc::new(2, 1)
    }

    /// The rows of some units.
    fn rows(table: usize, units: std::ops::Range<u64>) -> Vec<Vec<Option<String>>> {
        let mut rows = Vec::new();
        for unit in units {
            dataset().write(table, unit, &mut |fields| {
                let text = |field: &Field<'_>| match field {
                    Field::Null => None,
                    Field::Integer(number) => Some(number.to_string()),
                    Field::Text(text) => Some(String::from_utf8(text.to_vec()).unwrap()),
                };
                rows.push(fields.iter().map(text).collect());
            });
        }
        rows
    }

    /// One column of the rows of some units.
    fn numbers(table: usize, units: std::ops::Range<u64>, column: &str) -> Vec<u64> {
        let at = TABLES[table].1.iter().position(|&name| name == column).unwrap();
        let number = |row: Vec<Option<String>>| row[at].as_ref().unwrap().replace('.', "").parse().unwrap();
        rows(table, units).into_iter().map(number).collect()
    }

    /// Units of the last district of the second warehouse.
    fn district_units(each: u64) -> std::ops::Range<u64> {
        19 * each..20 * each
    }

    /// The tables' columns and types in the DDL.
    fn declared() -> Vec<(&'static str, Vec<(&'static str, &'static str)>)> {
        DDL.split("CREATE TABLE ")
            .skip(1)
            .map(|statement| {
                let (name, rest) = statement.split_once(" (\n").unwrap();
                let lines = rest.split(",\n").map(str::trim).take_while(|line| !line.starts_with("PRIMARY"));
                let lines = lines.map(|line| line.split(");").next().unwrap());
                let column = |line: &'static str| {
                    let mut words = line.split_whitespace();
                    (words.next().unwrap(), words.next().unwrap())
                };
                (name, lines.map(column).collect())
            })
            .collect()
    }

    #[test]
    fn tables_match_the_ddl() {
        let declared = declared();
        assert_eq!(declared.len(), TABLES.len());
        for ((name, columns), (table, fields)) in declared.iter().zip(&TABLES) {
            assert_eq!(name, table);
            assert_eq!(&columns.iter().map(|column| column.0).collect::<Vec<_>>(), fields);
        }
    }

    #[test]
    fn every_field_fits_its_column() {
        for (table, (name, columns)) in declared().iter().enumerate() {
            for row in rows(table, 0..dataset().units(table).min(2_000)) {
                assert_eq!(row.len(), columns.len(), "{name}");
                for (field, (column, kind)) in row.iter().zip(columns) {
                    let Some(field) = field else {
                        assert!(["o_carrier_id", "ol_delivery_d"].contains(column), "{column}");
                        continue;
                    };
                    let size = kind.split(['(', ')', ',']).nth(1).map(|size| size.parse::<usize>().unwrap());
                    let fits = match kind.split('(').next().unwrap() {
                        "CHAR" => Some(field.len()) == size,
                        "VARCHAR" => field.len() <= size.unwrap() && !field.is_empty(),
                        "DECIMAL" => {
                            let places: usize =
                                kind.trim_end_matches(')').split(',').nth(1).unwrap().parse().unwrap();
                            let (whole, fraction) = field.split_once('.').unwrap();
                            fraction.len() == places
                                && (whole == "0" || whole.len() + places <= size.unwrap())
                        }
                        "DATETIME" => field.len() == 19,
                        "TINYINT" => field.parse::<i8>().is_ok(),
                        "SMALLINT" => field.parse::<i16>().is_ok(),
                        "INTEGER" => field.parse::<i32>().is_ok(),
                        other => panic!("{other}"),
                    };
                    assert!(fits, "{column} {kind}: {field}");
                }
            }
        }
    }

    #[test]
    fn primary_keys_ascend() {
        let keys: [(usize, u64, &[usize]); 6] = [
            (DISTRICT, 20, &[1, 0]),
            (CUSTOMER, 60_000, &[2, 1, 0]),
            (NEW_ORDER, 18_000, &[2, 1, 0]),
            (ORDERS, 60_000, &[2, 1, 0]),
            (ORDER_LINE, 6_100, &[2, 1, 0, 3]),
            (STOCK, 200_000, &[1, 0]),
        ];
        for (table, units, key) in keys {
            let from = units.saturating_sub(6_100);
            let found: Vec<Vec<u64>> = rows(table, from..units)
                .iter()
                .map(|row| key.iter().map(|&at| row[at].as_ref().unwrap().parse().unwrap()).collect())
                .collect();
            assert!(found.is_sorted_by(|one, next| one < next), "{}", TABLES[table].0);
        }
    }

    /// Clause 3.3.2, conditions 1 to 4, for one district or warehouse.
    #[test]
    fn the_initial_rows_are_consistent() {
        let warehouse = numbers(WAREHOUSE, 1..2, "w_ytd")[0];
        assert_eq!(warehouse, numbers(DISTRICT, 10..20, "d_ytd").iter().sum::<u64>());

        let next = numbers(DISTRICT, 19..20, "d_next_o_id")[0];
        let orders = numbers(ORDERS, district_units(CUSTOMERS), "o_id");
        let new = numbers(NEW_ORDER, district_units(CUSTOMERS - DELIVERED), "no_o_id");
        assert_eq!(orders.iter().max(), Some(&(next - 1)));
        assert_eq!(new.iter().max(), Some(&(next - 1)));
        assert_eq!(new.iter().max().unwrap() - new.iter().min().unwrap() + 1, new.len() as u64);

        let lines = rows(ORDER_LINE, district_units(CUSTOMERS));
        assert_eq!(
            numbers(ORDERS, district_units(CUSTOMERS), "o_ol_cnt").iter().sum::<u64>(),
            lines.len() as u64
        );
    }

    #[test]
    fn orders_and_their_lines_agree_on_delivery() {
        let orders = rows(ORDERS, district_units(CUSTOMERS));
        let delivered: Vec<_> = orders.iter().map(|row| row[5].is_some()).collect();
        assert_eq!(delivered.iter().filter(|&&is| is).count() as u64, DELIVERED);
        for line in rows(ORDER_LINE, district_units(CUSTOMERS)) {
            let order: usize = line[0].as_ref().unwrap().parse().unwrap();
            assert_eq!(line[6].is_some(), delivered[order - 1]);
            assert_eq!(line[8].as_deref() == Some("0.00"), delivered[order - 1]);
        }
    }

    #[test]
    fn each_customer_has_one_order_and_districts_differ() {
        let last = numbers(ORDERS, district_units(CUSTOMERS), "o_c_id");
        assert_eq!(last.iter().collect::<HashSet<_>>().len() as u64, CUSTOMERS);
        let first = numbers(ORDERS, 0..CUSTOMERS, "o_c_id");
        let same = last.iter().zip(&first).filter(|(one, other)| one == other).count();
        assert!(same < 20, "{same}");
        let in_place = (1..).zip(&last).filter(|(order, customer)| order == *customer).count();
        assert!(in_place < 20, "{in_place}");
    }

    #[test]
    fn workloads_use_an_allowed_nurand_constant() {
        let workload = include_str!("../../fixtures/workloads/tpcc.toml");
        let line = workload.lines().find(|line| line.starts_with("name = { type = \"nurand\"")).unwrap();
        let constant = line.split(" c = ").nth(1).unwrap().split(',').next().unwrap();
        let difference = constant.parse::<i64>().unwrap().abs_diff(NAME_CONSTANT);
        assert!((65..=119).contains(&difference) && ![96, 112].contains(&difference), "{difference}");
    }

    /// Golden checksums: datasets of past runs must stay comparable.
    #[test]
    fn generated_rows_never_change() {
        let sum = |table| checksum(&dataset(), table, dataset().units(table).min(3_000));
        let found: Vec<_> = (0..TABLES.len()).map(sum).collect();
        let pinned = [
            (2, 1_425_942_387),
            (20, 45_747_739_304),
            (3_000, 6_470_781_048_029),
            (3_000, 6_563_019_910_550),
            (3_000, 6_436_564_891_431),
            (3_000, 6_490_364_892_197),
            (30_140, 64_590_286_192_852),
            (3_000, 6_421_948_840_767),
            (3_000, 6_475_890_995_524),
        ];
        assert_eq!(found, pinned);
    }
}
