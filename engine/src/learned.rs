//! Values as a log had them: drawn from a column's values by their positions in its order.

use std::sync::Arc;

use serde::Deserialize;

use crate::random::Stream;
use crate::value::{Draws, Escapes, Value, is_literal, quote};

/// Numbers that no row has are this close to the column's end.
const BEYOND: u64 = 1 << 20;
/// Draws until a value is one that the transaction does not have.
const DRAWS_MAX: usize = 256;

/// The values that parameters are drawn from, in order.
#[derive(Debug, Default, Deserialize, PartialEq)]
pub struct Column {
    values: Values,
    /// The first number beyond all values of the column; None: they are texts.
    next: Option<i64>,
    /// For a column whose values stand beside another one's: the n-th has those from starts[n] to starts[n + 1].
    #[serde(default)]
    starts: Vec<usize>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(untagged)]
enum Values {
    /// All numbers from the first to the last.
    Range {
        min: i64,
        max: i64,
    },
    /// In form `Bytes`: hexadecimal.
    Texts(Vec<String>),
    Numbers(Vec<i64>),
}

impl Default for Values {
    fn default() -> Self {
        Self::Texts(Vec::new())
    }
}

impl Column {
    /// The place of a drawn number in the column's order.
    fn place(&self, number: i64) -> Option<usize> {
        match &self.values {
            Values::Range { min, max } if (*min..=*max).contains(&number) => {
                Some(number.wrapping_sub(*min) as u64 as usize)
            }
            Values::Range { .. } => None,
            Values::Numbers(numbers) => numbers.binary_search(&number).ok(),
            Values::Texts(_) => usize::try_from(number).ok(),
        }
    }

    /// A number for one of the values that stand beside the other column's at `place`.
    fn beside(&self, place: usize, stream: &mut Stream) -> Option<i64> {
        let (from, to) = (*self.starts.get(place)?, *self.starts.get(place + 1)?);
        let at = from + stream.below(to.checked_sub(from).filter(|&count| count > 0)? as u64) as usize;
        match &self.values {
            Values::Range { .. } => None,
            Values::Numbers(numbers) => numbers.get(at).copied(),
            Values::Texts(texts) => texts.get(at).map(|_| at as i64),
        }
    }
}

/// How a value is written.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    Number,
    Text,
    Bytes,
}

/// A draw is a number: itself, or the index of a text, or less than 0 and the seed of a text that no row has.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Learned {
    /// Index into the program's columns.
    pub column: usize,
    #[serde(skip)]
    from: Arc<Column>,
    pub form: Form,
    /// Positions, 0 to 1, at equal steps of probability: a line connects each with the next.
    positions: Vec<f64>,
    /// Positions of frequent values, with the share of draws up to and including each.
    hot: Vec<(f64, f64)>,
    absent: f64,
    nulls: f64,
    /// Absent values are new to the column, on every connection.
    fresh: bool,
    /// Share of keys that this connection's earlier transactions have inserted, as far as there are any; `taken`:
    /// each is drawn once.
    keys: usize,
    own: f64,
    taken: bool,
    /// No value of the column comes twice in a transaction, as far as there are others.
    distinct: bool,
    /// The parameter whose number it repeats, in this share of draws, and the distance to it.
    pub of: Option<usize>,
    share: f64,
    difference: i64,
    /// The column of that parameter: the value is one that stands beside its value, in a row of the same table.
    beside: Option<usize>,
    #[serde(skip)]
    anchor: Option<Arc<Column>>,
    /// Lengths of texts that no row has, as `positions`.
    lengths: Vec<f64>,
    /// For a list: the number of its values, as `positions`; empty: no list.
    counts: Vec<f64>,
    /// For a LIKE pattern: the text around the first `lengths` characters of the value, or around all of them.
    around: Option<(String, String)>,
}

/// The place at `unit` on the line through these points.
fn along(points: &[f64], unit: f64) -> f64 {
    let [first, .., last] = *points else { return points.first().copied().unwrap_or(0.0) };
    let x = unit * (points.len() - 1) as f64;
    let at = x as usize;
    match points.get(at..at + 2) {
        Some(&[low, high]) => low + (x - at as f64) * (high - low),
        _ if at == 0 => first,
        _ => last,
    }
}

/// Returns the rest of a draw that is not below `share`, as a new draw.
fn rest(unit: f64, share: f64) -> f64 {
    (unit - share) / (1.0 - share)
}

impl Learned {
    pub fn check(&self) -> Result<(), String> {
        let shares = [self.absent, self.nulls, self.share, self.own];
        let ordered = self.hot.windows(2).all(|pair| pair[0].1 <= pair[1].1);
        let positions = self.positions.iter().chain(self.hot.iter().map(|(position, _)| position));
        if shares
            .iter()
            .chain(self.hot.iter().map(|(_, share)| share))
            .any(|share| !(0.0..=1.0).contains(share))
            || positions.into_iter().any(|position| !(0.0..=1.0).contains(position))
            || !ordered
            || self.positions.is_empty()
            || self.lengths.iter().chain(&self.counts).any(|size| !(0.0..1e9).contains(size))
        {
            return Err("impossible shares or positions".into());
        }
        Ok(())
    }

    /// Takes its column from the program's.
    pub fn bind(&mut self, columns: &[Arc<Column>]) -> Result<(), String> {
        let from = columns.get(self.column).ok_or_else(|| format!("no such column: {}", self.column))?;
        self.from = Arc::clone(from);
        self.anchor = self.beside.and_then(|index| columns.get(index)).map(Arc::clone);
        Ok(())
    }

    pub fn is_number(&self) -> bool {
        self.form == Form::Number && self.counts.is_empty() && self.from.next.is_some()
    }

    /// Draws a value; `of` is that of the parameter which it may repeat.
    pub fn draw(&self, of: Option<&Value>, draws: &mut Draws) -> Value {
        if let (Some(anchor), Some(Value::Number(number))) = (&self.anchor, of) {
            let place = anchor.place(*number);
            if let Some(number) = place.and_then(|place| self.from.beside(place, &mut draws.stream)) {
                return Value::Number(number);
            }
        }
        let mut unit = draws.stream.unit();
        if let Some(of) = of.filter(|_| self.beside.is_none()) {
            if unit < self.share {
                return match of {
                    Value::Number(number) => Value::Number(number.saturating_add(self.difference)),
                    other => other.clone(),
                };
            }
            unit = rest(unit, self.share);
        }
        if !self.counts.is_empty() {
            return Value::Number(draws.stream.bits() as i64);
        }
        if unit < self.nulls {
            return Value::Null;
        }
        unit = rest(unit, self.nulls);
        if self.own > 0.0 && draws.stream.unit() < self.own {
            if let Some(key) = draws.keys.draw(self.keys, self.taken, &mut draws.stream) {
                return key;
            }
            if self.needs_own() {
                return Value::Null;
            }
        }
        if self.fresh && unit < self.absent {
            return self.new_key(draws);
        }
        let mut number = self.pick(unit, &mut draws.stream);
        for _ in 0..if self.distinct { DRAWS_MAX } else { 0 } {
            if draws.keys.is_first(self.column, number) {
                break;
            }
            let again = draws.stream.unit();
            number = self.pick(again, &mut draws.stream);
        }
        Value::Number(number)
    }

    /// Whether it is nothing but keys that earlier transactions have inserted.
    pub fn needs_own(&self) -> bool {
        self.taken && self.own >= 1.0
    }

    /// A value that no row has, and no other connection draws.
    fn new_key(&self, draws: &mut Draws) -> Value {
        draws.fresh += 1;
        let own =
            (draws.fresh - 1).saturating_mul(draws.connections as i64).saturating_add(draws.number as i64);
        let (number, key) = if let Some(next) = self.from.next {
            let number = next.saturating_add(own);
            (number, Value::Number(number))
        } else {
            let number = (draws.salt.wrapping_add(own as u64) as i64) | i64::MIN;
            let mut text = Vec::new();
            self.write_value(number, &mut text);
            (number, Value::Bytes(text))
        };
        draws.keys.insert(self.keys, key);
        Value::Number(number)
    }

    /// A number for `unit`.
    fn pick(&self, mut unit: f64, stream: &mut Stream) -> i64 {
        let values = &self.from.values;
        let count = match values {
            Values::Range { min, max } => max.wrapping_sub(*min) as u64 as f64 + 1.0,
            Values::Numbers(numbers) => numbers.len() as f64,
            Values::Texts(texts) => texts.len() as f64,
        };
        if unit < self.absent || count == 0.0 {
            return match self.from.next {
                None => stream.bits() as i64 | i64::MIN,
                Some(next) => next.saturating_add(stream.below(BEYOND) as i64),
            };
        }
        unit = rest(unit, self.absent);
        let hot = self.hot.last().map_or(0.0, |&(_, share)| share);
        let position = if unit < hot {
            self.hot[self.hot.partition_point(|&(_, share)| share <= unit)].0
        } else {
            along(&self.positions, rest(unit, hot))
        };
        let index = ((position * count) as u64).min(count as u64 - 1);
        match values {
            Values::Range { min, .. } => min.wrapping_add(index as i64),
            Values::Numbers(numbers) => numbers[index as usize],
            Values::Texts(_) => index as i64,
        }
    }

    /// Appends a drawn value, or a list of them, as SQL text.
    pub fn write_text(&self, number: i64, escapes: Escapes, out: &mut Vec<u8>) {
        if self.counts.is_empty() {
            return self.write_one(number, escapes, out);
        }
        let mut stream = Stream::new(number as u64, 0);
        let count = along(&self.counts, stream.unit()).round().max(1.0) as u64;
        for at in 0..count {
            if at > 0 {
                out.extend_from_slice(b", ");
            }
            let unit = stream.unit();
            let picked = self.pick(unit, &mut stream);
            self.write_one(picked, escapes, out);
        }
    }

    fn write_one(&self, number: i64, escapes: Escapes, out: &mut Vec<u8>) {
        let mut value = Vec::new();
        self.write_value(number, &mut value);
        self.write_bytes(&value, escapes, out);
    }

    /// Appends a value's bytes in its form.
    pub fn write_bytes(&self, value: &[u8], escapes: Escapes, out: &mut Vec<u8>) {
        match self.form {
            Form::Number if self.from.next.is_some() || is_literal(value) => out.extend_from_slice(value),
            Form::Bytes => {
                let digit = |of: u8| b"0123456789ABCDEF"[usize::from(of)];
                out.extend_from_slice(b"X'");
                out.extend(value.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]));
                out.push(b'\'');
            }
            _ => quote(value, escapes, out),
        }
    }

    /// Appends the value itself.
    pub fn write_value(&self, number: i64, out: &mut Vec<u8>) {
        let from = out.len();
        match &self.from.values {
            Values::Texts(texts) if self.from.next.is_none() => match texts.get(number as usize) {
                Some(text) if self.form == Form::Bytes => unhex(text, out),
                Some(text) => out.extend_from_slice(text.as_bytes()),
                None => self.invent(number, out),
            },
            _ => out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()),
        }
        if let Some((before, after)) = &self.around {
            let value = out.split_off(from);
            let length = match self.lengths[..] {
                [] => usize::MAX,
                _ => along(&self.lengths, Stream::new(number as u64, 1).unit()).round() as usize,
            };
            let plain = |other: &char| !matches!(other, '%' | '_' | '\\');
            out.extend_from_slice(before.as_bytes());
            if self.form == Form::Bytes {
                out.extend(value.into_iter().filter(|&byte| plain(&byte.into())).take(length));
            } else {
                let kept =
                    String::from_utf8_lossy(&value).chars().filter(plain).take(length).collect::<String>();
                out.extend_from_slice(kept.as_bytes());
            }
            out.extend_from_slice(after.as_bytes());
        }
    }

    /// Appends a random text; its end tells a new one from all others, as far as its length allows.
    fn invent(&self, seed: i64, out: &mut Vec<u8>) {
        let from = out.len();
        let mut stream = Stream::new(seed as u64, 0);
        let length = along(&self.lengths, stream.unit()).round() as usize;
        match self.form {
            Form::Bytes => out.extend((0..length).map(|_| stream.below(256) as u8)),
            Form::Number => stream.fill(&b"#".repeat(length.max(1)), out),
            Form::Text => stream.fill(&b"@".repeat(length), out),
        }
        let (radix, digits): (u64, &[u8]) = match self.form {
            Form::Bytes => (256, &[]),
            Form::Number => (10, b"0123456789"),
            Form::Text => (36, b"0123456789abcdefghijklmnopqrstuvwxyz"),
        };
        let mut left = (seed & i64::MAX) as u64;
        for place in out[from..].iter_mut().rev().take_while(|_| self.fresh) {
            let digit = left % radix;
            *place = digits.get(digit as usize).copied().unwrap_or(digit as u8);
            left /= radix;
            if left == 0 {
                break;
            }
        }
    }
}

/// Appends the bytes that a text in hexadecimal stands for.
fn unhex(text: &str, out: &mut Vec<u8>) {
    let digit = |byte: u8| (byte as char).to_digit(16).unwrap_or(0) as u8;
    out.extend(text.as_bytes().chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLAIN: &str = r#"{"column": 0, "form": "number", "positions": [0.0, 1.0], "hot": [], "absent": 0.0,
        "nulls": 0.0, "fresh": false, "keys": 0, "own": 0.0, "taken": false, "distinct": false, "of": null, "share": 1.0, "difference": 0, "beside": null, "lengths": [], "counts": [],
        "around": null}"#;

    /// A parameter over these values; `changes` replace texts of `PLAIN`.
    fn learned(values: &str, changes: &[(&str, &str)]) -> Learned {
        let text = changes.iter().fold(PLAIN.to_string(), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        });
        let next = if values == "[]" || values.starts_with("[\"") { "null" } else { "1000" };
        let column = format!(r#"{{"values": {values}, "next": {next}}}"#);
        let column: Column = serde_json::from_str(&column).unwrap();
        let mut learned: Learned = serde_json::from_str(&text).unwrap();
        learned.bind(&[Arc::new(column)]).unwrap();
        learned.check().unwrap();
        learned
    }

    fn draws(number: u64, connections: u64) -> Draws {
        Draws { connections, ..Draws::new(Stream::new(9, number), number) }
    }

    fn texts(learned: &Learned, times: usize) -> Vec<String> {
        let mut draws = draws(0, 1);
        let mut text = || match learned.draw(None, &mut draws) {
            Value::Number(number) => {
                let mut out = Vec::new();
                learned.write_text(number, Escapes::Backslash, &mut out);
                String::from_utf8(out).unwrap()
            }
            other => format!("{other:?}"),
        };
        (0..times).map(|_| text()).collect()
    }

    fn share(found: &[String], of: impl Fn(&str) -> bool) -> f64 {
        found.iter().filter(|text| of(text)).count() as f64 / found.len() as f64
    }

    #[test]
    fn positions_and_shares_are_as_learned() {
        let mixed = learned(
            "[10, 20, 30, 40]",
            &[("[0.0, 1.0]", "[0.5, 0.5, 1.0]"), (r#""hot": []"#, r#""hot": [[0.0, 0.3]]"#)],
        );
        let found = texts(&mixed, 40_000);
        for (number, expected) in [("10", 0.3), ("20", 0.0), ("30", 0.525), ("40", 0.175)] {
            let found = share(&found, |text| text == number);
            assert!((found - expected).abs() < 0.01, "{number}: {found}, not {expected}");
        }
        let absent = learned(
            "[10, 20]",
            &[(r#""absent": 0.0"#, r#""absent": 0.25"#), (r#""nulls": 0.0"#, r#""nulls": 0.2"#)],
        );
        let found = texts(&absent, 40_000);
        assert!((share(&found, |text| text == "Null") - 0.2).abs() < 0.01);
        assert!((share(&found, |text| text.len() > 2 && text != "Null") - 0.2).abs() < 0.01);
    }

    #[test]
    fn new_numbers_are_nobody_elses() {
        let fresh = learned(
            r#"{"min": 1, "max": 9}"#,
            &[(r#""absent": 0.0"#, r#""absent": 1.0"#), (r#""fresh": false"#, r#""fresh": true"#)],
        );
        let mut every = std::collections::BTreeSet::new();
        for number in 0..3 {
            let mut draws = draws(number, 3);
            for _ in 0..100 {
                assert!(
                    matches!(fresh.draw(None, &mut draws), Value::Number(new) if new >= 1000 && every.insert(new))
                );
            }
        }
    }

    #[test]
    fn new_texts_are_nobody_elses_and_as_long_as_those_of_the_log() {
        for (form, length) in [("text", 6), ("bytes", 8), ("number", 9)] {
            let fresh = learned(
                r#"["61"]"#,
                &[
                    (r#""number""#, &format!("\"{form}\"")),
                    (r#""absent": 0.0"#, r#""absent": 1.0"#),
                    (r#""fresh": false"#, r#""fresh": true"#),
                    (r#""lengths": []"#, &format!(r#""lengths": [{length}.0]"#)),
                ],
            );
            let mut every = std::collections::BTreeSet::new();
            for number in 0..3 {
                let mut draws = draws(number, 3);
                for _ in 0..1000 {
                    let Value::Number(new) = fresh.draw(None, &mut draws) else { panic!("no number") };
                    let mut text = Vec::new();
                    fresh.write_value(new, &mut text);
                    assert_eq!(text.len(), length);
                    assert!(every.insert(text));
                }
            }
        }
    }

    #[test]
    fn own_keys_are_those_of_earlier_transactions() {
        let new = learned(
            "[10]",
            &[(r#""absent": 0.0"#, r#""absent": 1.0"#), (r#""fresh": false"#, r#""fresh": true"#)],
        );
        let own = (r#""own": 0.0"#, r#""own": 1.0"#);
        let (any, taken) =
            (learned("[10]", &[own]), learned("[10]", &[own, (r#""taken": false"#, r#""taken": true"#)]));
        let mut draws = draws(0, 1);
        assert_eq!(any.draw(None, &mut draws), Value::Number(10), "there is none yet");
        let keys: Vec<Value> = (0..3).map(|_| new.draw(None, &mut draws)).collect();
        assert_eq!(any.draw(None, &mut draws), Value::Number(10), "nothing is committed yet");
        draws.keys.end(true);
        new.draw(None, &mut draws);
        draws.keys.end(false);
        assert!((0..50).all(|_| keys.contains(&any.draw(None, &mut draws))));
        for key in &keys {
            assert_eq!(taken.draw(None, &mut draws), *key);
        }
        assert_eq!(any.draw(None, &mut draws), Value::Number(10), "all are taken, or were rolled back");
        assert_eq!(taken.draw(None, &mut draws), Value::Null, "the dump has none to delete");
    }

    #[test]
    fn distinct_values_come_once_in_a_transaction() {
        let distinct = learned("[10, 20, 30]", &[(r#""distinct": false"#, r#""distinct": true"#)]);
        let mut draws = draws(0, 1);
        for _ in 0..50 {
            let values: Vec<Value> = (0..3).map(|_| distinct.draw(None, &mut draws)).collect();
            assert!(values[0] != values[1] && values[1] != values[2] && values[0] != values[2], "{values:?}");
            distinct.draw(None, &mut draws); // there is no fourth
            draws.keys.end(true);
        }
    }

    #[test]
    fn a_number_is_repeated_at_a_distance() {
        let repeated = learned(
            r#"{"min": 1, "max": 9}"#,
            &[(r#""of": null"#, r#""of": 0"#), (r#""difference": 0"#, r#""difference": 99"#)],
        );
        let mut draws = draws(0, 1);
        assert_eq!(repeated.draw(Some(&Value::Number(1)), &mut draws), Value::Number(100));
        assert_eq!(repeated.draw(Some(&Value::Null), &mut draws), Value::Null);
    }

    #[test]
    fn a_value_beside_another_is_of_one_of_its_rows() {
        let column = |text: &str| Arc::new(serde_json::from_str::<Column>(text).unwrap());
        let anchor = column(r#"{"values": [10, 20, 30], "next": 31}"#);
        let texts = column(r#"{"values": ["a", "b", "c"], "next": null, "starts": [0, 2, 2, 3]}"#);
        let mut beside: Learned =
            serde_json::from_str(&PLAIN.replace(r#""beside": null"#, r#""beside": 1"#)).unwrap();
        beside.bind(&[texts, anchor]).unwrap();
        let mut draws = draws(0, 1);
        for _ in 0..50 {
            let mut of = |number| beside.draw(Some(&Value::Number(number)), &mut draws);
            assert!(matches!(of(10), Value::Number(0 | 1)));
            assert!(matches!(of(20), Value::Number(0..3)), "no row has it: any value");
            assert_eq!(of(30), Value::Number(2));
        }
    }

    #[test]
    fn two_numbers_are_no_range() {
        assert_eq!(serde_json::from_str::<Values>("[10, 20]").unwrap(), Values::Numbers(vec![10, 20]));
    }

    #[test]
    fn values_are_written_in_their_form() {
        let text = (r#""number""#, r#""text""#);
        let bytes = (r#""number""#, r#""bytes""#);
        let two = (r#""lengths": []"#, r#""lengths": [2.0]"#);
        let part = (r#""around": null"#, r#""around": ["%", "%"]"#);
        for (learned, expected) in [
            (learned(r#"["it's"]"#, &[text]), "'it''s'"),
            (learned(r#"["1.50"]"#, &[]), "1.50"),
            (learned(r#"["1 OR 1"]"#, &[]), "'1 OR 1'"),
            (learned("[5]", &[text]), "'5'"),
            (learned(r#"["4A00"]"#, &[bytes]), "X'4A00'"),
            (learned("[5]", &[bytes]), "X'35'"),
            (learned("[5]", &[(r#""counts": []"#, r#""counts": [3.0]"#)]), "5, 5, 5"),
            (learned(r#"["a%bcd"]"#, &[text, two, part]), "'%ab%'"),
            (learned(r#"["a%bcd"]"#, &[text, part]), "'%abcd%'"),
            (learned(r#"["FF25004A"]"#, &[bytes, two, part]), "X'25FF0025'"),
        ] {
            assert_eq!(texts(&learned, 1), [expected]);
        }
    }

    #[test]
    fn made_up_values_have_the_form_and_length_of_those_of_the_log() {
        let three = (r#""lengths": []"#, r#""lengths": [3.0]"#);
        for (form, before, digits, length) in [
            ("number", "", "0123456789", 3),
            ("text", "'", "abcdefghijklmnopqrstuvwxyz", 3),
            ("bytes", "X'", "0123456789ABCDEF", 6),
        ] {
            let form = (r#""number""#, &*format!("\"{form}\""));
            for (values, absent) in [("[]", "0.0"), (r#"["x"]"#, "1.0")] {
                let absent = (r#""absent": 0.0"#, &*format!(r#""absent": {absent}"#));
                let made = &texts(&learned(values, &[form, three, absent]), 1)[0];
                let inner = made.strip_prefix(before).unwrap().trim_end_matches('\'');
                assert!(inner.len() == length && inner.chars().all(|digit| digits.contains(digit)), "{made}");
            }
        }
    }

    proptest! {
        #[test]
        fn draws_stay_in_the_column(min: i64, span in 0u64.., from in 0.0f64..=1.0, to in 0.0f64..=1.0) {
            let max = min.saturating_add_unsigned(span);
            let positions = format!("[{from:?}, {to:?}]");
            let any = learned(&format!(r#"{{"min": {min}, "max": {max}}}"#), &[("[0.0, 1.0]", &positions)]);
            let mut draws = draws(0, 1);
            for _ in 0..20 {
                prop_assert!(matches!(any.draw(None, &mut draws), Value::Number(n) if (min..=max).contains(&n)));
            }
        }
    }

    #[test]
    fn impossible_curves_are_refused() {
        for (from, to) in [
            ("[0.0, 1.0]", "[]"),
            ("[0.0, 1.0]", "[0.0, 1.5]"),
            (r#""absent": 0.0"#, r#""absent": 2.0"#),
            (r#""hot": []"#, r#""hot": [[0.5, 0.4], [0.5, 0.3]]"#),
            (r#""lengths": []"#, r#""lengths": [-1.0]"#),
        ] {
            let learned: Learned = serde_json::from_str(&PLAIN.replace(from, to)).unwrap();
            assert!(learned.check().is_err(), "{to}");
        }
    }
}
