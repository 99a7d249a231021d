//! What is filled into statements: how each parameter is drawn, and how it is written.

use serde::Deserialize;

use crate::random::{Rows, Stream};

/// The types that values have in prepared statements.
const LONGLONG: u8 = 0x08;
const NEWDECIMAL: u8 = 0xF6;
const VAR_STRING: u8 = 0xFD;

/// When a parameter is drawn.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// For each repetition of the step that needs it.
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

#[derive(Debug, Deserialize, PartialEq, Eq)]
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
    /// TPC-C, clause 2.1.6: a non-uniform number.
    Nurand {
        a: i64,
        c: i64,
        min: i64,
        max: i64,
    },
    /// In `percent` % another number than that of `of`, where there is one.
    Remote {
        of: usize,
        min: i64,
        max: i64,
        percent: u64,
    },
    /// TPC-C, clause 4.3.2.3: the name that a number from 0 to 999 stands for.
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
    /// Which repetition of the step this is, from 1.
    Repetition,
    /// What a statement before has read.
    Result {
        number: bool,
    },
}

impl Source {
    pub fn of(&self) -> Option<usize> {
        match *self {
            Self::RangeEnd { of, .. } | Self::Remote { of, .. } | Self::LastName { of } => Some(of),
            _ => None,
        }
    }

    /// Draws a number; None for what is not drawn. `values` holds what it is computed from, `rows` the table's.
    pub fn draw(&self, repetition: u32, rows: &Rows, draws: &mut Draws, values: &Values) -> Option<i64> {
        let number = |of: usize| if let Value::Number(number) = values[of] { number } else { 0 };
        let stream = &mut draws.stream;
        Some(match *self {
            Self::RowId { own_share: false } => rows.draw(stream),
            Self::RowId { own_share: true } => {
                let (rows, before) = draws.share.as_ref()?;
                before + rows.draw(stream)
            }
            Self::RangeEnd { of, size } => number(of).saturating_add(size - 1),
            Self::Integer { min, max } => stream.between(min, max),
            Self::Nurand { a, c, min, max } => {
                let skewed = stream.between(0, a) | stream.between(min, max);
                let span = i128::from(max) - i128::from(min) + 1;
                ((i128::from(skewed) + i128::from(c)).rem_euclid(span) + i128::from(min)) as i64
            }
            Self::Remote { of, min, max, percent } => {
                let own = number(of);
                if min < max && stream.below(100) < percent {
                    // One of the others, each equally likely.
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
        })
    }

    /// Appends a value as SQL text.
    pub fn write_text(&self, value: &Value, out: &mut Vec<u8>) {
        match value {
            Value::Null => out.extend_from_slice(b"NULL"),
            Value::Number(number) if self.is_number() => {
                out.extend_from_slice(itoa::Buffer::new().format(*number).as_bytes());
            }
            Value::Number(number) => {
                out.push(b'\'');
                generate(self, *number, out);
                out.push(b'\'');
            }
            Value::Bytes(bytes) if *self == (Self::Result { number: true }) => out.extend_from_slice(bytes),
            Value::Bytes(bytes) => quote(bytes, out),
        }
    }

    /// Appends a value as a prepared statement takes it; nothing for NULL, which is a bit elsewhere.
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
            (Self::Result { number: true }, Value::Bytes(bytes)) if integer(bytes).is_none() => NEWDECIMAL,
            (Self::Result { number: true }, _) => LONGLONG,
            _ if self.is_number() => LONGLONG,
            _ => VAR_STRING,
        }
    }

    /// Whether its numbers are numbers to the server, too.
    fn is_number(&self) -> bool {
        !matches!(self, Self::LastName { .. } | Self::Text { .. } | Self::Result { .. })
    }
}

/// A parameter's value. Generated texts are the number that makes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Number(i64),
    Bytes(Vec<u8>),
    Null,
}

/// One for each parameter.
pub type Values = Vec<Value>;

/// What numbers a connection draws from, and who it is.
#[derive(Debug)]
pub struct Draws {
    pub stream: Stream,
    pub number: u64,
    pub sequence: i64,
    /// Its own part of a table, and what stands before it.
    pub share: Option<(Rows, i64)>,
}

fn integer(bytes: &[u8]) -> Option<i64> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

/// The text that `number` stands for.
fn generate(source: &Source, number: i64, out: &mut Vec<u8>) {
    const SYLLABLES: [&str; 10] =
        ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
    match source {
        Source::LastName { .. } => {
            let number = number.unsigned_abs();
            for digit in [number / 100, number / 10, number] {
                out.extend_from_slice(SYLLABLES[(digit % 10) as usize].as_bytes());
            }
        }
        Source::Text { pattern } => Stream::new(number as u64, 0).fill(pattern.as_bytes(), out),
        _ => {}
    }
}

/// Appends a string literal.
fn quote(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    for &byte in bytes {
        match byte {
            // Doubled, as that is understood in every sql_mode.
            b'\'' => out.extend_from_slice(b"''"),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0 => out.extend_from_slice(b"\\0"),
            _ => out.push(byte),
        }
    }
    out.push(b'\'');
}

/// Appends what `write` writes, after its length-encoded length.
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

/// Whether parameters can be drawn in their order.
pub fn check(parameters: &[Parameter]) -> Result<(), String> {
    for (index, parameter) in parameters.iter().enumerate() {
        if let Some(of) = parameter.source.of() {
            if of >= index {
                return Err(format!("parameter {index} is computed from a later one"));
            }
            if parameter.per == Per::Transaction && parameters[of].per == Per::Repetition {
                return Err(format!("parameter {index} lasts longer than what it is computed from"));
            }
        }
        if let Source::Integer { min, max }
        | Source::Nurand { min, max, .. }
        | Source::Remote { min, max, .. } = parameter.source
            && min > max
        {
            return Err(format!("parameter {index}: min is greater than max"));
        }
        if let Source::Nurand { a, .. } = parameter.source
            && a < 0
        {
            return Err(format!("parameter {index}: a is less than 0"));
        }
    }
    Ok(())
}
