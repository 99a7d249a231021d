//! Statement parameters: how each is drawn and written.

use serde::Deserialize;

use crate::learned::{Form, Learned};
use crate::random::{Rows, Stream};
use crate::tpcc::last_name;
use crate::value::{Draws, Escapes, Value, Values, is_literal, quote};

// Parameter types of prepared statements.
const LONGLONG: u8 = 0x08;
const NEWDECIMAL: u8 = 0xF6;
const VAR_STRING: u8 = 0xFD;

/// How often a parameter is drawn.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// For each repetition of the step that uses it.
    #[default]
    Repetition,
    Transaction,
}

#[derive(Debug, Deserialize)]
pub struct Parameter {
    #[serde(default)]
    pub per: Per,
    #[serde(flatten)]
    pub source: Source,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Source {
    RowId {
        #[serde(default)]
        own_share: bool,
    },
    RangeEnd {
        of: usize,
        size: i64,
    },
    Integer {
        min: i64,
        max: i64,
    },
    Nurand {
        a: i64,
        c: i64,
        min: i64,
        max: i64,
    },
    /// The number of `of`, or in `percent` % another one from `min` to `max` if there is one.
    Remote {
        of: usize,
        min: i64,
        max: i64,
        percent: u64,
    },
    /// The last name for a number from 0 to 999 (TPC-C, clause 4.3.2.3).
    LastName {
        of: usize,
    },
    Text {
        pattern: String,
    },
    /// The connection's next number.
    Sequence,
    /// The connection's own number, from 1.
    Thread,
    /// The number of the step's repetition, from 1.
    Repetition,
    /// A value that an earlier statement read, or the number that the server gave to a row which it inserted.
    Result {
        number: bool,
        /// Statements that need it are left out while it is NULL.
        #[serde(default)]
        required: bool,
        /// The column whose new key it is.
        #[serde(default)]
        column: Option<usize>,
    },
    Learned(Box<Learned>),
}

impl Source {
    pub fn of(&self) -> Option<usize> {
        match *self {
            Self::RangeEnd { of, .. } | Self::Remote { of, .. } | Self::LastName { of } => Some(of),
            Self::Learned(ref learned) => learned.of,
            _ => None,
        }
    }

    /// Whether statements that need it are left out while it is NULL.
    pub fn is_required(&self) -> bool {
        match self {
            Self::Result { required, .. } => *required,
            Self::Learned(learned) => learned.needs_own(),
            _ => false,
        }
    }

    /// Draws a value; None for a result. `values` holds the parameters that it depends on.
    pub fn draw(&self, repetition: u32, rows: &Rows, draws: &mut Draws, values: &Values) -> Option<Value> {
        let number = |of: usize| if let Value::Number(number) = values[of] { number } else { 0 };
        let stream = &mut draws.stream;
        Some(Value::Number(match *self {
            Self::RowId { own_share: false } => rows.draw(stream),
            Self::RowId { own_share: true } => {
                let (rows, before) = draws.share.as_ref()?;
                before + rows.draw(stream)
            }
            Self::RangeEnd { of, size } => number(of).saturating_add(size - 1),
            Self::Integer { min, max } => stream.between(min, max),
            Self::Nurand { a, c, min, max } => stream.non_uniform(a, c, min, max),
            Self::Remote { of, min, max, percent } => {
                let own = number(of);
                if min < max && stream.below(100) < percent {
                    // Uniform over the other numbers.
                    let other = stream.between(min, max - 1);
                    if other >= own { other + 1 } else { other }
                } else {
                    own
                }
            }
            Self::LastName { of } => number(of),
            Self::Text { .. } => stream.bits() as i64,
            Self::Sequence => {
                draws.sequence += 1;
                draws.sequence
            }
            Self::Thread => draws.number as i64 + 1,
            Self::Repetition => i64::from(repetition) + 1,
            Self::Result { .. } => return None,
            Self::Learned(ref learned) => return Some(learned.draw(learned.of.map(|of| &values[of]), draws)),
        }))
    }

    /// Appends a value as SQL text.
    pub fn write_text(&self, value: &Value, escapes: Escapes, out: &mut Vec<u8>) {
        match value {
            Value::Number(number) if self.is_number() => {
                out.extend_from_slice(itoa::Buffer::new().format(*number).as_bytes());
            }
            Value::Null => out.extend_from_slice(b"NULL"),
            Value::Number(number) => {
                if let Self::Learned(learned) = self {
                    return learned.write_text(*number, escapes, out);
                }
                out.push(b'\'');
                generate(self, *number, out);
                out.push(b'\'');
            }
            Value::Bytes(bytes) => match self {
                Self::Result { number: true, .. } if is_literal(bytes) => out.extend_from_slice(bytes),
                Self::Learned(learned) => learned.write_bytes(bytes, escapes, out),
                _ => quote(bytes, escapes, out),
            },
        }
    }

    /// Appends a prepared statement's value; nothing for NULL, which is a bit in the bitmap.
    pub fn write_binary(&self, value: &Value, out: &mut Vec<u8>) {
        match value {
            Value::Null => {}
            Value::Number(number) if self.is_number() => out.extend_from_slice(&number.to_le_bytes()),
            Value::Number(number) => length_prefixed(out, |out| generate(self, *number, out)),
            Value::Bytes(bytes) => match (self.wire_type(value), integer(bytes)) {
                (LONGLONG, Some(number)) => out.extend_from_slice(&number.to_le_bytes()),
                _ => length_prefixed(out, |out| out.extend_from_slice(bytes)),
            },
        }
    }

    /// The type that `write_binary` writes.
    pub fn wire_type(&self, value: &Value) -> u8 {
        match (self, value) {
            (Self::Result { number: true, .. }, Value::Bytes(bytes)) if integer(bytes).is_none() => {
                NEWDECIMAL
            }
            (Self::Result { number: true, .. }, _) => LONGLONG,
            _ if self.is_number() => LONGLONG,
            (Self::Learned(learned), _) if learned.form == Form::Number => NEWDECIMAL,
            _ => VAR_STRING,
        }
    }

    /// Whether the server gets a number; otherwise a text generated from one.
    fn is_number(&self) -> bool {
        match self {
            Self::LastName { .. } | Self::Text { .. } | Self::Result { .. } => false,
            Self::Learned(learned) => learned.is_number(),
            _ => true,
        }
    }
}

fn integer(bytes: &[u8]) -> Option<i64> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

/// Appends the text that `number` generates.
fn generate(source: &Source, number: i64, out: &mut Vec<u8>) {
    match source {
        Source::LastName { .. } => {
            for syllable in last_name(number.unsigned_abs()) {
                out.extend_from_slice(syllable.as_bytes());
            }
        }
        Source::Text { pattern } => Stream::new(number as u64, 0).fill(pattern.as_bytes(), out),
        Source::Learned(learned) => learned.write_value(number, out),
        _ => {}
    }
}

/// Appends the output of `write`, prefixed with its length-encoded length.
fn length_prefixed(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    write(out);
    let length = out.len() - at;
    let mut prefix = [0; 9];
    let width = match length {
        0..=0xFA => {
            prefix[0] = length as u8;
            1
        }
        0xFB..=0xFFFF => {
            prefix[0] = 0xFC;
            3
        }
        0x1_0000..=0xFF_FFFF => {
            prefix[0] = 0xFD;
            4
        }
        _ => {
            prefix[0] = 0xFE;
            9
        }
    };
    if width > 1 {
        prefix[1..width].copy_from_slice(&(length as u64).to_le_bytes()[..width - 1]);
    }
    out.splice(at..at, prefix[..width].iter().copied());
}

/// Checks that parameters can be drawn in order.
pub fn check(parameters: &[Parameter]) -> Result<(), String> {
    for (index, parameter) in parameters.iter().enumerate() {
        if let Some(of) = parameter.source.of() {
            if of >= index {
                return Err(format!("parameter {index} depends on a later one"));
            }
            if parameter.per == Per::Transaction && parameters[of].per == Per::Repetition {
                return Err(format!("parameter {index} is drawn less often than the one it depends on"));
            }
            if matches!(parameters[of].source, Source::Text { .. } | Source::Result { .. }) {
                return Err(format!("parameter {index} depends on one that is not a number"));
            }
        }
        if let Source::Learned(learned) = &parameter.source {
            learned.check().map_err(|what| format!("parameter {index}: {what}"))?;
        }
        if let Source::RangeEnd { size: ..=0, .. } = parameter.source {
            return Err(format!("parameter {index}: size is not positive"));
        }
        match parameter.source {
            Source::Integer { min, max }
            | Source::Nurand { min, max, .. }
            | Source::Remote { min, max, .. }
                if min > max =>
            {
                return Err(format!("parameter {index}: min is greater than max"));
            }
            Source::Nurand { a: ..0, .. } => return Err(format!("parameter {index}: a is less than 0")),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Distribution;
    use proptest::prelude::*;

    fn draws(number: u64) -> Draws {
        Draws::new(Stream::new(3, number), number)
    }

    #[allow(clippy::needless_pass_by_value)]
    fn number(value: Option<Value>) -> i64 {
        if let Some(Value::Number(number)) = value { number } else { panic!("{value:?}") }
    }

    /// `times` draws that depend on these values.
    fn drawn(source: &Source, times: usize, values: &[i64]) -> Vec<i64> {
        let (rows, mut draws) = (Distribution::Uniform.over(10), draws(4));
        let values: Values = values.iter().map(|&number| Value::Number(number)).collect();
        (0..times).map(|_| number(source.draw(0, &rows, &mut draws, &values))).collect()
    }

    fn share(numbers: &[i64], hit: impl Fn(i64) -> bool) -> f64 {
        numbers.iter().filter(|&&number| hit(number)).count() as f64 / numbers.len() as f64
    }

    fn text(source: &Source, value: &Value) -> String {
        let mut out = Vec::new();
        source.write_text(value, Escapes::Backslash, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn binary(source: &Source, value: &Value) -> Vec<u8> {
        let mut out = Vec::new();
        source.write_binary(value, &mut out);
        out
    }

    #[test]
    fn nurand_is_in_range_and_non_uniform() {
        // Customer numbers of TPC-C, clause 2.1.6.
        let numbers = drawn(&Source::Nurand { a: 1023, c: 259, min: 1, max: 3000 }, 100_000, &[]);
        assert!(numbers.iter().all(|number| (1..=3000).contains(number)));
        // Expected shares from counting all pairs: x | y for x to 1023 and y from 1 to 3000.
        let mut times = vec![0u64; 3001];
        for x in 0..=1023i64 {
            for y in 1..=3000 {
                times[(((x | y) + 259) % 3000 + 1) as usize] += 1;
            }
        }
        for (from, to) in [(1, 300), (301, 1000), (1001, 1500), (1501, 2300), (2301, 3000)] {
            let expected = times[from..=to].iter().sum::<u64>() as f64 / (1024.0 * 3000.0);
            let found = share(&numbers, |number| (from as i64..=to as i64).contains(&number));
            assert!((found - expected).abs() < 0.006, "{from} to {to}: {found}, not {expected}");
        }
    }

    proptest! {
        #[test]
        fn nurand_stays_in_its_range(a in 0..i64::MAX, c: i64, min: i64, span in 0u64..) {
            let max = min.saturating_add_unsigned(span);
            for number in drawn(&Source::Nurand { a, c, min, max }, 20, &[]) {
                prop_assert!((min..=max).contains(&number), "{number}");
            }
        }

        #[test]
        fn integers_stay_in_their_range(min: i64, span in 0u64..) {
            let max = min.saturating_add_unsigned(span);
            for number in drawn(&Source::Integer { min, max }, 20, &[]) {
                prop_assert!((min..=max).contains(&number), "{number}");
            }
        }

        #[test]
        fn a_remote_number_is_in_range_and_not_its_own(min in -5i64..5, span in 1i64..6, own in 0i64..6) {
            let (max, own) = (min + span, min + own.min(span));
            let others = drawn(&Source::Remote { of: 0, min, max, percent: 100 }, 50, &[own]);
            prop_assert!(others.iter().all(|&number| number != own && (min..=max).contains(&number)));
        }

        #[test]
        fn range_ends_never_overflow(first: i64, size in 1..=i64::MAX) {
            let ends = drawn(&Source::RangeEnd { of: 0, size }, 1, &[first]);
            prop_assert_eq!(ends[0], (i128::from(first) + i128::from(size) - 1)
                .clamp(i64::MIN.into(), i64::MAX.into()) as i64);
        }

        /// The server's rules read a quoted text back unchanged.
        #[test]
        fn quoting_round_trips(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let mut out = Vec::new();
            let source = Source::Result { number: false, required: false, column: None };
            source.write_text(&Value::Bytes(bytes.clone()), Escapes::Backslash, &mut out);
            let (mut read, mut rest) = (Vec::new(), &out[1..out.len() - 1]);
            while let Some((&first, mut after)) = rest.split_first() {
                let second = after.first().copied();
                if first == b'\'' || first == b'\\' {
                    read.push(match (first, second) {
                        (b'\\', Some(b'0')) => 0,
                        (quote, Some(same)) if quote == same => same,
                        other => panic!("{other:?}"),
                    });
                    after = &after[1..];
                } else {
                    prop_assert_ne!(first, 0);
                    read.push(first);
                }
                rest = after;
            }
            prop_assert_eq!((out[0], out[out.len() - 1], read), (b'\'', b'\'', bytes));
        }
    }

    #[test]
    fn without_escapes_only_quotes_are_doubled() {
        let mut out = Vec::new();
        quote(b"it's\\\0", Escapes::None, &mut out);
        assert_eq!(out, b"'it''s\\\0'");
    }

    #[test]
    fn remote_numbers_have_their_share_and_are_uniform() {
        let remote = |percent| drawn(&Source::Remote { of: 0, min: 1, max: 5, percent }, 100_000, &[3]);
        assert!(remote(0).iter().all(|&number| number == 3));
        let numbers = remote(15);
        for (number, expected) in [(1, 0.0375), (2, 0.0375), (3, 0.85), (4, 0.0375), (5, 0.0375)] {
            let found = share(&numbers, |other| other == number);
            assert!((found - expected).abs() < 0.004, "{number}: {found}");
        }
        // With one warehouse there is no other.
        let only = drawn(&Source::Remote { of: 0, min: 1, max: 1, percent: 100 }, 100, &[1]);
        assert!(only.iter().all(|&number| number == 1));
    }

    #[test]
    fn impossible_parameters_are_refused() {
        let parameter = |per, source| Parameter { per, source };
        let number = || parameter(Per::Repetition, Source::Integer { min: 0, max: 0 });
        let computed = |of, per| parameter(per, Source::RangeEnd { of, size: 1 });
        assert_eq!(check(&[number(), computed(0, Per::Repetition)]), Ok(()));
        for parameters in [
            vec![computed(0, Per::Repetition)],
            vec![number(), computed(2, Per::Repetition), number()],
            vec![number(), computed(0, Per::Transaction)],
            vec![
                parameter(Per::Repetition, Source::Text { pattern: "#".into() }),
                computed(0, Per::Repetition),
            ],
            vec![
                parameter(Per::Repetition, Source::Result { number: true, required: false, column: None }),
                computed(0, Per::Repetition),
            ],
            vec![number(), parameter(Per::Repetition, Source::RangeEnd { of: 0, size: 0 })],
            vec![number(), parameter(Per::Repetition, Source::RangeEnd { of: 0, size: i64::MIN })],
            vec![parameter(Per::Repetition, Source::Integer { min: 1, max: 0 })],
            vec![parameter(Per::Repetition, Source::Nurand { a: 0, c: 0, min: 1, max: 0 })],
            vec![parameter(Per::Repetition, Source::Nurand { a: -1, c: 0, min: 0, max: 1 })],
            vec![number(), parameter(Per::Repetition, Source::Remote { of: 0, min: 1, max: 0, percent: 1 })],
        ] {
            assert!(check(&parameters).is_err(), "{parameters:?}");
        }
    }

    #[test]
    fn last_names_have_three_syllables() {
        for (number, name) in [
            (0, "BARBARBAR"),
            (1, "BARBAROUGHT"),
            (20, "BARABLEBAR"),
            (371, "PRICALLYOUGHT"),
            (468, "PRESANTIATION"),
            (999, "EINGEINGEING"),
            (555, "ESEESEESE"),
        ] {
            let source = Source::LastName { of: 0 };
            assert_eq!(drawn(&source, 1, &[number]), [number]);
            assert_eq!(text(&source, &Value::Number(number)), format!("'{name}'"));
            let prefixed = [&[name.len() as u8], name.as_bytes()].concat();
            assert_eq!(binary(&source, &Value::Number(number)), prefixed);
        }
    }

    #[test]
    fn sequence_thread_and_repetition_count() {
        assert_eq!(drawn(&Source::Sequence, 3, &[]), [1, 2, 3]);
        assert_eq!(drawn(&Source::Thread, 2, &[]), [5, 5]);
        let (rows, mut draws) = (Distribution::Uniform.over(1), draws(0));
        let repetition = |at| number(Source::Repetition.draw(at, &rows, &mut draws, &Values::new()));
        assert_eq!([0, 1, u32::MAX].map(repetition), [1, 2, 1 << 32]);
    }

    #[test]
    fn own_shares_stay_in_their_rows() {
        let mut draws = Draws { share: Some((Distribution::Uniform.over(26), 24)), ..draws(0) };
        let rows = Distribution::Uniform.over(100);
        let source = Source::RowId { own_share: true };
        let numbers: Vec<i64> =
            (0..2000).map(|_| number(source.draw(0, &rows, &mut draws, &Values::new()))).collect();
        assert_eq!((numbers.iter().min(), numbers.iter().max()), (Some(&25), Some(&50)));
    }

    #[test]
    fn values_are_written_by_their_type() {
        let (number, words) = (
            Source::Result { number: true, required: false, column: None },
            Source::Result { number: false, required: false, column: None },
        );
        let bytes = |bytes: &[u8]| Value::Bytes(bytes.to_vec());
        assert_eq!(text(&number, &bytes(b"-12.50")), "-12.50");
        for literal in ["0", "1e-5", "-1.5e+300", ".5", "18446744073709551615"] {
            assert_eq!(text(&number, &bytes(literal.as_bytes())), literal);
        }
        for other in ["", "-", "--1", "1--1", "1 OR 1", "2026-11-24", "inf", "0x1", "1;", "1'", "e5"] {
            let quoted = format!("'{}'", other.replace('\'', "''"));
            assert_eq!(text(&number, &bytes(other.as_bytes())), quoted);
        }
        assert_eq!(text(&words, &bytes(b"-12.50")), "'-12.50'");
        assert_eq!(text(&words, &bytes(b"it's a \\ and \0")), r"'it''s a \\ and \0'");
        assert_eq!(text(&Source::Thread, &Value::Number(-7)), "-7");
        for source in [&number, &words, &Source::Thread] {
            assert_eq!(text(source, &Value::Null), "NULL");
            assert!(binary(source, &Value::Null).is_empty());
        }
        assert_eq!(
            (number.wire_type(&bytes(b"12")), binary(&number, &bytes(b"12"))),
            (LONGLONG, 12i64.to_le_bytes().to_vec())
        );
        let most = bytes(b"18446744073709551615");
        assert_eq!((number.wire_type(&most), binary(&number, &most).len()), (NEWDECIMAL, 21));
        assert_eq!(
            (words.wire_type(&bytes(b"12")), binary(&words, &bytes(b"12"))),
            (VAR_STRING, b"\x0212".to_vec())
        );
        assert_eq!(binary(&Source::Thread, &Value::Number(-1)), [0xFF; 8]);
    }

    #[test]
    fn lengths_are_length_encoded() {
        for (length, head) in [
            (0, &[0][..]),
            (0xFA, &[0xFA]),
            (0xFB, &[0xFC, 0xFB, 0]),
            (0xFFFF, &[0xFC, 0xFF, 0xFF]),
            (0x1_0000, &[0xFD, 0, 0, 1]),
            (0x100_0000, &[0xFE, 0, 0, 0, 1, 0, 0, 0, 0]),
        ] {
            let mut out = b"before".to_vec();
            length_prefixed(&mut out, |out| out.resize(out.len() + length, b'x'));
            assert_eq!(&out[..6 + head.len()], [b"before", head].concat());
            assert_eq!(out.len(), 6 + head.len() + length);
        }
    }
}
