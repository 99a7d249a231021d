//! The client's side of the MySQL protocol as far as a load needs it: sending commands, skimming replies.
//!
//! A `Reply` reads a stream that arrives in arbitrary pieces. It finds the reply's end, OK or error, and the
//! requested columns of the first row; it skips other rows without storing them. Lengths from the wire are never
//! trusted for allocation, and any violation of the protocol is an error.

use crate::packet::{HEADER, Malformed};

const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const LONGEST: u32 = 0xFF_FFFF;
const MORE_RESULTS: u16 = 0x0008;
/// Enough for an error's message; the first bytes of nearly all other packets suffice.
const HEAD_MAX: usize = 512;
/// Longest row whose columns can be read.
const ROW_MAX: usize = 64 * 1024;

/// Starts a query packet in `out`; append the statement's text, then call `packet::seal`.
pub fn begin_query(out: &mut Vec<u8>) {
    begin(COM_QUERY, out);
}

/// The whole packet that ends a connection.
pub const QUIT: [u8; 5] = [1, 0, 0, 0, 1];

/// Starts a packet that prepares a statement.
pub fn begin_prepare(out: &mut Vec<u8>) {
    begin(COM_STMT_PREPARE, out);
}

/// Starts a packet that executes a prepared statement; append the parameters' values.
pub fn begin_execute(id: u32, out: &mut Vec<u8>) {
    const NO_CURSOR: u8 = 0;
    begin(COM_STMT_EXECUTE, out);
    out.extend_from_slice(&id.to_le_bytes());
    out.extend_from_slice(&[NO_CURSOR, 1, 0, 0, 0]);
}

fn begin(command: u8, out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&[0, 0, 0, 0, command]);
}

/// How a reply ended; None: it has not yet.
pub type Ended = Result<Option<Outcome>, Malformed>;

/// How the server ended a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// A prepared statement's id.
    Prepared(u32),
    Refused {
        code: u16,
        message: String,
    },
}

/// The command a reply answers: rows are text after a query, binary after an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Request {
    #[default]
    Query,
    Execution,
    Preparation,
}

#[derive(Clone, Copy, Debug, Default)]
enum Expect {
    #[default]
    First,
    /// Definitions of a result's columns still to come.
    Columns(u64),
    ColumnsEnd,
    Rows,
    /// Definitions of a prepared statement's parameters, then columns: skipped.
    Described {
        id: u32,
        left: u64,
        columns: u64,
    },
    DescribedEnd {
        id: u32,
        columns: u64,
    },
    /// Only the error with which a server may end a session at any time.
    FinalError,
}

// Column types.
const TINY: u8 = 1;
const SHORT_INT: u8 = 2;
const LONG: u8 = 3;
const FLOAT: u8 = 4;
const DOUBLE: u8 = 5;
const TIMESTAMP: u8 = 7;
const LONGLONG: u8 = 8;
const INT24: u8 = 9;
const DATE: u8 = 10;
const TIME: u8 = 11;
const DATETIME: u8 = 12;
const YEAR: u8 = 13;

/// The part of a column's definition needed to read its values.
#[derive(Clone, Copy, Debug)]
struct Column {
    wire_type: u8,
    unsigned: bool,
}

/// A value in the server's text format; None for NULL.
pub type Read = Option<Vec<u8>>;

/// Rows and bytes of replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Returned {
    /// Rows of results, and rows that a statement changed.
    pub rows: u64,
    /// Bytes of the rows of results, without their headers.
    pub bytes: u64,
}

/// The reply to one command, from its first byte to its last.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    request: Request,
    /// The number of the first row's columns to read, and their definitions.
    wanted: usize,
    columns: Vec<Column>,
    /// The number of a row's columns.
    count: u64,
    row: Option<Vec<Read>>,
    returned: Returned,
    /// The number that the server gave to the row which the command inserted; 0: none.
    pub insert_id: u64,
    expect: Expect,
    /// The last packet's number.
    sequence: u8,
    header: [u8; HEADER],
    header_len: usize,
    /// The current packet's payload bytes still to come.
    remaining: usize,
    length: u32,
    /// The current packet continues one of 16 MiB - 1 bytes.
    continuation: bool,
    buffered: Vec<u8>,
}

impl Reply {
    /// Resets for the reply to the next command; `wanted` is how many of the first row's columns to read.
    pub fn restart(&mut self, request: Request, wanted: usize) {
        let mut buffered = std::mem::take(&mut self.buffered);
        buffered.clear();
        *self = Self { request, wanted, buffered, ..Self::default() };
    }

    /// The requested columns of the first row; None without a row.
    pub fn take_row(&mut self) -> Option<Vec<Read>> {
        self.row.take()
    }

    /// Returns the rows and bytes of the reply so far.
    pub fn returned(&self) -> Returned {
        self.returned
    }

    /// Limits a packet's bytes to those that may be needed.
    fn bound(&self) -> usize {
        if self.wanted > 0 { ROW_MAX } else { HEAD_MAX }
    }

    /// Processes bytes from the server. `Some` when the reply is complete or the server ends the session; no other
    /// packet may follow a reply.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Ended {
        while !bytes.is_empty() {
            if self.header_len < HEADER {
                let taken = bytes.len().min(HEADER - self.header_len);
                self.header[self.header_len..self.header_len + taken].copy_from_slice(&bytes[..taken]);
                self.header_len += taken;
                bytes = &bytes[taken..];
                if self.header_len < HEADER {
                    break;
                }
                self.begin_packet()?;
            }
            let taken = bytes.len().min(self.remaining);
            let (payload, rest) = bytes.split_at(taken);
            bytes = rest;
            self.remaining -= taken;
            if self.remaining > 0 {
                self.buffer(payload);
                break;
            }
            self.header_len = 0;
            let outcome = if self.continuation {
                None
            } else if self.buffered.is_empty() {
                self.packet(&payload[..payload.len().min(self.bound())])?
            } else {
                self.buffer(payload);
                let mut buffered = std::mem::take(&mut self.buffered);
                let outcome = self.packet(&buffered);
                buffered.clear();
                self.buffered = buffered;
                outcome?
            };
            self.continuation = self.length == LONGEST;
            if let Some(outcome) = outcome {
                self.expect = Expect::FinalError;
                if bytes.is_empty() {
                    return Ok(Some(outcome));
                }
            }
        }
        Ok(None)
    }

    fn begin_packet(&mut self) -> Result<(), Malformed> {
        let [a, b, c, sequence] = self.header;
        if sequence == self.sequence.wrapping_add(1) {
            self.sequence = sequence;
        } else if sequence == 0 && !self.continuation {
            // A server that ends a session of its own accord begins to count anew.
            self.expect = Expect::FinalError;
        } else {
            return Err(Malformed("packets out of order"));
        }
        self.length = u32::from_le_bytes([a, b, c, 0]);
        self.remaining = self.length as usize;
        Ok(())
    }

    fn buffer(&mut self, payload: &[u8]) {
        if !self.continuation {
            let room = self.bound() - self.buffered.len();
            self.buffered.extend_from_slice(&payload[..payload.len().min(room)]);
        }
    }

    /// Processes one packet by its first bytes; `self.length` is its whole length.
    fn packet(&mut self, head: &[u8]) -> Ended {
        if head.first() == Some(&0xFF) {
            return refusal(head).map(Some);
        }
        let ends_here = head.first() == Some(&0xFE) && self.length < 9;
        match self.expect {
            Expect::First if self.request == Request::Preparation => self.prepared(head),
            Expect::First => match head.first() {
                Some(0x00) => {
                    let (changed, status, _) = ok_body(&head[1..])?;
                    self.returned.rows = self.returned.rows.wrapping_add(changed);
                    (self.insert_id, _) = length_encoded(length_encoded(&head[1..])?.1)?;
                    Ok(self.end_of_result(status))
                }
                Some(0xFB) => Err(Malformed("an unexpected request for a local file")),
                Some(_) => {
                    let (columns, _) = length_encoded(head)?;
                    if columns == 0 || columns > 0xFFFF {
                        return Err(Malformed("an impossible number of columns"));
                    }
                    self.columns.clear();
                    self.count = columns;
                    self.expect = Expect::Columns(columns);
                    Ok(None)
                }
                None => Err(Malformed("an empty packet")),
            },
            Expect::Columns(left) => {
                if self.columns.len() < self.wanted {
                    self.columns.push(Column::read(head)?);
                }
                self.expect = if left > 1 { Expect::Columns(left - 1) } else { Expect::ColumnsEnd };
                Ok(None)
            }
            Expect::ColumnsEnd | Expect::DescribedEnd { .. } if !ends_here => {
                Err(Malformed("no end of the column list"))
            }
            Expect::ColumnsEnd => {
                self.expect = Expect::Rows;
                Ok(None)
            }
            Expect::Rows if ends_here => {
                let warnings = 2;
                Ok(self.end_of_result(status(head.get(1 + warnings..).unwrap_or_default())?))
            }
            Expect::Rows => {
                self.returned.rows += 1;
                self.returned.bytes += u64::from(self.length);
                if self.wanted > 0 && self.row.is_none() {
                    self.row = Some(self.read_row(head)?);
                }
                Ok(None)
            }
            Expect::Described { id, left, columns } => {
                self.expect = if left > 1 {
                    Expect::Described { id, left: left - 1, columns }
                } else {
                    Expect::DescribedEnd { id, columns }
                };
                Ok(None)
            }
            Expect::DescribedEnd { id, columns } => Ok(self.describe(id, columns, 0)),
            Expect::FinalError => Err(Malformed("an unexpected reply")),
        }
    }

    fn prepared(&mut self, head: &[u8]) -> Ended {
        let [0x00, a, b, c, d, columns_low, columns_high, parameters_low, parameters_high, ..] = *head else {
            return Err(Malformed("an unexpected reply to a prepare command"));
        };
        let columns = u64::from(u16::from_le_bytes([columns_low, columns_high]));
        let parameters = u64::from(u16::from_le_bytes([parameters_low, parameters_high]));
        Ok(self.describe(u32::from_le_bytes([a, b, c, d]), parameters, columns))
    }

    /// Expects the first non-empty list of definitions of a prepared statement.
    fn describe(&mut self, id: u32, first: u64, then: u64) -> Option<Outcome> {
        let (left, columns) = if first > 0 { (first, then) } else { (then, 0) };
        if left == 0 {
            return Some(Outcome::Prepared(id));
        }
        self.expect = Expect::Described { id, left, columns };
        None
    }

    fn read_row(&self, head: &[u8]) -> Result<Vec<Read>, Malformed> {
        if self.length as usize > ROW_MAX {
            return Err(Malformed("a row of more than 64 KiB, too long to read columns from"));
        }
        if self.columns.len() < self.wanted {
            return Err(Malformed("fewer columns than the statement reads"));
        }
        if self.request == Request::Execution {
            binary_row(&self.columns, self.count, head)
        } else {
            text_row(self.wanted, head)
        }
    }

    fn end_of_result(&mut self, status: u16) -> Option<Outcome> {
        if status & MORE_RESULTS == 0 {
            return Some(Outcome::Done);
        }
        self.expect = Expect::First;
        None
    }
}

impl Column {
    fn read(definition: &[u8]) -> Result<Self, Malformed> {
        const UNSIGNED: u8 = 32;
        const SHORT: Malformed = Malformed("a column definition cut short");
        let mut rest = definition;
        for _catalog_schema_table_table_column_column in 0..6 {
            rest = length_encoded_bytes(rest)?.1;
        }
        // Length of the rest, character set, width, type, flags.
        let &[_, _, _, _, _, _, _, wire_type, flags_low, _, ..] = rest else { return Err(SHORT) };
        Ok(Self { wire_type, unsigned: flags_low & UNSIGNED != 0 })
    }
}

fn text_row(wanted: usize, mut rest: &[u8]) -> Result<Vec<Read>, Malformed> {
    let mut row = Vec::with_capacity(wanted);
    for _ in 0..wanted {
        row.push(if rest.first() == Some(&0xFB) {
            rest = &rest[1..];
            None
        } else {
            let (bytes, after) = length_encoded_bytes(rest)?;
            rest = after;
            Some(bytes.to_vec())
        });
    }
    Ok(row)
}

/// The first of a binary row's `count` columns, in text format.
fn binary_row(columns: &[Column], count: u64, row: &[u8]) -> Result<Vec<Read>, Malformed> {
    const SHORT: Malformed = Malformed("a row cut short");
    // A zero byte, then the null bitmap: two unused bits, then one per column.
    let nulls = row.get(1..).ok_or(SHORT)?;
    let (nulls, mut rest) = nulls.split_at_checked((count as usize + 2).div_ceil(8)).ok_or(SHORT)?;
    let mut read = Vec::with_capacity(columns.len());
    for (index, column) in columns.iter().enumerate() {
        let bit = index + 2;
        if nulls[bit / 8] & (1 << (bit % 8)) != 0 {
            read.push(None);
            continue;
        }
        let width = match column.wire_type {
            TINY => 1,
            SHORT_INT | YEAR => 2,
            LONG | INT24 | FLOAT => 4,
            LONGLONG | DOUBLE => 8,
            DATE | DATETIME | TIMESTAMP | TIME => {
                return Err(Malformed("a binary date or time, which is not read: cast it to CHAR"));
            }
            _ => {
                let (bytes, after) = length_encoded_bytes(rest)?;
                rest = after;
                read.push(Some(bytes.to_vec()));
                continue;
            }
        };
        let (bytes, after) = rest.split_at_checked(width).ok_or(SHORT)?;
        rest = after;
        read.push(Some(number(*column, bytes).into_bytes()));
    }
    Ok(read)
}

/// Formats a little-endian number of 1, 2, 4 or 8 bytes.
fn number(column: Column, bytes: &[u8]) -> String {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let raw = u64::from_le_bytes(wide);
    match column.wire_type {
        FLOAT => f32::from_bits(raw as u32).to_string(),
        DOUBLE => f64::from_bits(raw).to_string(),
        _ if column.unsigned => raw.to_string(),
        _ => {
            let unused = 64 - 8 * bytes.len() as u32;
            ((raw << unused) as i64 >> unused).to_string()
        }
    }
}

fn status(bytes: &[u8]) -> Result<u16, Malformed> {
    match bytes {
        [low, high, ..] => Ok(u16::from_le_bytes([*low, *high])),
        _ => Err(Malformed("a packet without status")),
    }
}

/// An OK packet's row count and status flags, and the rest: warnings and message.
pub fn ok_body(body: &[u8]) -> Result<(u64, u16, &[u8]), Malformed> {
    let (rows, rest) = length_encoded(body)?;
    let (_insert_id, rest) = length_encoded(rest)?;
    Ok((rows, status(rest)?, &rest[2..]))
}

/// A length-encoded number (one to nine bytes), and the rest.
pub fn length_encoded(bytes: &[u8]) -> Result<(u64, &[u8]), Malformed> {
    const SHORT: Malformed = Malformed("a number cut short");
    let (&first, rest) = bytes.split_first().ok_or(SHORT)?;
    let width = match first {
        0..=0xFA => return Ok((u64::from(first), rest)),
        0xFC => 2,
        0xFD => 3,
        0xFE => 8,
        0xFB | 0xFF => return Err(Malformed("an invalid length-encoded number")),
    };
    let (digits, rest) = rest.split_at_checked(width).ok_or(SHORT)?;
    let mut number = [0; 8];
    number[..width].copy_from_slice(digits);
    Ok((u64::from_le_bytes(number), rest))
}

/// A length-encoded text, and the rest.
fn length_encoded_bytes(bytes: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    let (length, rest) = length_encoded(bytes)?;
    let length = usize::try_from(length).ok().filter(|&length| length <= rest.len());
    Ok(rest.split_at(length.ok_or(Malformed("a text longer than its packet"))?))
}

/// Reads an error packet. It has no SQL state if the server did not know its client yet.
pub fn refusal(head: &[u8]) -> Result<Outcome, Malformed> {
    let [_, low, high, rest @ ..] = head else { return Err(Malformed("an error without a number")) };
    let message = match rest {
        [b'#', _, _, _, _, _, message @ ..] => message,
        other => other,
    };
    Ok(Outcome::Refused {
        code: u16::from_le_bytes([*low, *high]),
        message: String::from_utf8_lossy(message).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packets(payloads: &[&[u8]]) -> Vec<u8> {
        let mut stream = Vec::new();
        for (payload, sequence) in payloads.iter().zip(1..) {
            crate::packet::write(sequence, payload, &mut stream);
        }
        stream
    }

    const OK: &[u8] = &[0, 1, 0, 2, 0, 0, 0];
    const OK_AND_MORE: &[u8] = &[0, 1, 0, 8, 0, 0, 0];
    const END: &[u8] = &[0xFE, 0, 0, 2, 0];
    const COLUMN: &[u8] = b"\x03def definition";

    fn read(stream: &[u8]) -> Ended {
        Reply::default().feed(stream)
    }

    #[test]
    fn length_encoded_numbers_are_read() {
        for (bytes, number) in [
            (&[0xFA][..], 250),
            (&[0xFC, 1, 2], 0x0201),
            (&[0xFD, 1, 2, 3], 0x03_0201),
            (&[0xFE, 1, 0, 0, 0, 0, 0, 0, 0x80], 0x8000_0000_0000_0001),
        ] {
            assert_eq!(length_encoded(&[bytes, b"rest"].concat()), Ok((number, &b"rest"[..])));
            assert!(length_encoded(&bytes[..bytes.len() - 1]).is_err());
        }
        assert!(length_encoded(&[0xFB]).is_err());
    }

    #[test]
    fn an_error_is_read_with_and_without_its_state() {
        let refused = |message: &str| Ok(Outcome::Refused { code: 1040, message: message.into() });
        assert_eq!(refusal(b"\xFF\x10\x04#08004Too many"), refused("Too many"));
        assert_eq!(refusal(b"\xFF\x10\x04Too many"), refused("Too many"));
        assert_eq!(refusal(b"\xFF\x10\x04"), refused(""));
        assert_eq!(refusal(b"\xFF\x10\x04#0800"), refused("#0800"));
        assert!(refusal(b"\xFF\x10").is_err());
    }

    #[test]
    fn rows_are_skipped() {
        let long_row = [b'x'; 3000];
        let stream = packets(&[&[2], COLUMN, COLUMN, END, b"\x01a\x01b", &long_row, &[0xFB], END]);
        let mut reply = Reply::default();
        assert_eq!(reply.feed(&stream), Ok(Some(Outcome::Done)));
        assert_eq!(reply.returned(), Returned { rows: 3, bytes: 4 + 3000 + 1 });
        reply.restart(Request::Query, 0);
        assert_eq!(reply.feed(&packets(&[&[0, 7, 0, 2, 0, 0, 0]])), Ok(Some(Outcome::Done)));
        assert_eq!(reply.returned(), Returned { rows: 7, bytes: 0 });
        reply.restart(Request::Query, 0);
        assert_eq!(reply.feed(&packets(&[&[1], COLUMN])[..9]), Ok(None));
        reply.restart(Request::Query, 0); // forgets what is half read
        assert_eq!(reply.feed(&packets(&[OK])), Ok(Some(Outcome::Done)));
    }

    #[test]
    fn a_row_that_begins_like_an_end_packet_is_a_row() {
        let row = [0xFE, 9, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3];
        assert_eq!(read(&packets(&[&[1], COLUMN, END, &row])), Ok(None));
    }

    #[test]
    fn all_results_are_read() {
        assert_eq!(read(&packets(&[OK_AND_MORE])), Ok(None));
        assert_eq!(read(&packets(&[OK_AND_MORE, OK])), Ok(Some(Outcome::Done)));
    }

    #[test]
    fn an_error_has_a_code_and_a_message() {
        let refused = Outcome::Refused { code: 1213, message: "Deadlock found".into() };
        assert_eq!(read(&packets(&[b"\xff\xbd\x04#40001Deadlock found"])), Ok(Some(refused.clone())));
        let among_rows = packets(&[&[1], COLUMN, END, b"\x01a", b"\xff\xbd\x04#40001Deadlock found"]);
        assert_eq!(read(&among_rows), Ok(Some(refused)));
    }

    #[test]
    fn a_server_may_end_a_session_at_any_time() {
        let killed = Ok(Some(Outcome::Refused { code: 1927, message: "Connection was killed".into() }));
        let mut last = packets(&[b"\xff\x87\x07#70100Connection was killed"]);
        last[3] = 0;
        for before in [packets(&[]), packets(&[&[1], COLUMN, END]), packets(&[OK])] {
            assert_eq!(read(&[&before[..], &last].concat()), killed);
            let mut reply = Reply::default();
            reply.feed(&before).unwrap();
            assert_eq!(reply.feed(&last), killed);
        }
        last[4] = 0;
        assert_eq!(read(&last), Err(Malformed("an unexpected reply")));
    }

    #[test]
    fn a_packet_of_maximal_length_continues() {
        let mut row = vec![b'x'; LONGEST as usize];
        row[0] = 0xFD;
        let continued = [0xFE, 0, 0, 2, 0]; // looks like an end, is the row's rest
        assert_eq!(read(&packets(&[&[1], COLUMN, END, &row, &continued])), Ok(None));
        assert_eq!(read(&packets(&[&[1], COLUMN, END, &row, &continued, END])), Ok(Some(Outcome::Done)));
    }

    #[test]
    fn malformed_replies_fail() {
        for stream in [
            packets(&[b""]),
            packets(&[&[0xFB, b'/', b'e']]),
            packets(&[&[0xFC, 1]]),
            packets(&[&[0xFF]]),
            packets(&[&[0, 1]]),
            packets(&[&[1], COLUMN, COLUMN]),
            packets(&[OK, OK]),
            [b"\x07\x00\x00\x07", OK].concat(),
        ] {
            assert!(read(&stream).is_err(), "{stream:?}");
        }
    }

    // --- reading columns -------------------------------------------------------------------------

    const VAR_STRING: u8 = 0xFD;
    const NEWDECIMAL: u8 = 0xF6;
    const SIGNED: u8 = 0;
    const UNSIGNED: u8 = 32;

    fn column(wire_type: u8, flags: u8) -> Vec<u8> {
        [&b"\x03def\x01s\x01t\x01t\x01c\x01c\x0C\x2D\0\x0A\0\0\0"[..], &[wire_type, flags, 0, 0, 0, 0]]
            .concat()
    }

    fn result(columns: &[(u8, u8)], rows: &[&[u8]]) -> Vec<u8> {
        let definitions: Vec<Vec<u8>> =
            columns.iter().map(|&(wire_type, flags)| column(wire_type, flags)).collect();
        let count = [columns.len() as u8];
        let mut payloads: Vec<&[u8]> = vec![&count];
        payloads.extend(definitions.iter().map(Vec::as_slice));
        payloads.push(END);
        payloads.extend(rows);
        payloads.push(END);
        packets(&payloads)
    }

    /// The first row as texts; `~` stands for NULL.
    fn captured(request: Request, wanted: usize, stream: &[u8]) -> Result<Option<Vec<String>>, Malformed> {
        let mut reply = Reply::default();
        reply.restart(request, wanted);
        assert_eq!(reply.feed(stream)?, Some(Outcome::Done));
        let text = |read: Read| read.map_or("~".into(), |bytes| String::from_utf8(bytes).unwrap());
        Ok(reply.take_row().map(|row| row.into_iter().map(text).collect()))
    }

    #[test]
    fn the_first_text_row_is_read() {
        let stream =
            result(&[(LONG, 0), (VAR_STRING, 0), (LONG, 0)], &[b"\x0212\xFB\x013", b"\x014\x015\x016"]);
        let row = |wanted| captured(Request::Query, wanted, &stream).unwrap();
        assert_eq!(row(0), None);
        assert_eq!(row(1).unwrap(), ["12"]);
        assert_eq!(row(3).unwrap(), ["12", "~", "3"]);
        assert_eq!(captured(Request::Query, 1, &result(&[(LONG, 0)], &[])), Ok(None));
        assert_eq!(captured(Request::Query, 1, &packets(&[OK])), Ok(None));
    }

    #[test]
    fn binary_values_are_read_by_type() {
        for (wire_type, flags, bytes, text) in [
            (TINY, SIGNED, &[0xFF][..], "-1"),
            (TINY, UNSIGNED, &[0xFF], "255"),
            (SHORT_INT, SIGNED, &[0, 0x80], "-32768"),
            (SHORT_INT, UNSIGNED, &[0, 0x80], "32768"),
            (YEAR, UNSIGNED, &[0xEA, 7], "2026"),
            (INT24, SIGNED, &[0xFF, 0xFF, 0x7F, 0], "8388607"),
            (INT24, SIGNED, &[0, 0, 0x80, 0xFF], "-8388608"),
            (INT24, UNSIGNED, &[0xFF, 0xFF, 0xFF, 0], "16777215"),
            (LONG, SIGNED, &[0, 0, 0, 0x80], "-2147483648"),
            (LONG, UNSIGNED, &[0xFF, 0xFF, 0xFF, 0xFF], "4294967295"),
            (LONGLONG, SIGNED, &[0, 0, 0, 0, 0, 0, 0, 0x80], "-9223372036854775808"),
            (LONGLONG, UNSIGNED, &[0xFF; 8], "18446744073709551615"),
            (FLOAT, SIGNED, &[0, 0, 0xC0, 0xBF], "-1.5"),
            (DOUBLE, SIGNED, &[0, 0, 0, 0, 0, 0, 0xE0, 0x3F], "0.5"),
            (NEWDECIMAL, SIGNED, b"\x0512.50", "12.50"),
            (VAR_STRING, SIGNED, b"\0", ""),
            (VAR_STRING, SIGNED, b"\x02ab", "ab"),
        ] {
            // A second column follows, so that the first must consume exactly its own bytes.
            let row = [&[0, 0], bytes, b"\x03end"].concat();
            let stream = result(&[(wire_type, flags), (VAR_STRING, 0)], &[&row]);
            assert_eq!(
                captured(Request::Execution, 2, &stream).unwrap().unwrap(),
                [text, "end"],
                "{wire_type}"
            );
        }
    }

    #[test]
    fn binary_nulls_are_read() {
        // Ten columns take two bytes of bits; the 1st, the 6th, the 7th and the 10th are NULL.
        let columns = [(TINY, SIGNED); 10];
        let row = [0, 0b1000_0100, 0b0000_1001, 2, 3, 4, 5, 8, 9];
        let read = captured(Request::Execution, 10, &result(&columns, &[&row])).unwrap().unwrap();
        assert_eq!(read, ["~", "2", "3", "4", "5", "~", "~", "8", "9", "~"]);
        let first = captured(Request::Execution, 2, &result(&columns, &[&row])).unwrap().unwrap();
        assert_eq!(first, ["~", "2"]);
    }

    #[test]
    fn unreadable_rows_fail_with_a_reason() {
        let refused = |request, wanted, columns: &[(u8, u8)], row: &[u8]| {
            captured(request, wanted, &result(columns, &[row])).unwrap_err().0
        };
        let few = "fewer columns than the statement reads";
        assert_eq!(refused(Request::Query, 2, &[(LONG, 0)], b"\x011"), few);
        assert_eq!(refused(Request::Execution, 2, &[(TINY, 0)], &[0, 0, 1]), few);
        let long = "a row of more than 64 KiB, too long to read columns from";
        let mut row = vec![b'x'; ROW_MAX + 1];
        row[..2].copy_from_slice(b"\x01a");
        assert_eq!(refused(Request::Query, 1, &[(LONG, 0)], &row), long);
        for date in [DATE, TIME, DATETIME, TIMESTAMP] {
            let words = "a binary date or time, which is not read: cast it to CHAR";
            assert_eq!(refused(Request::Execution, 1, &[(date, 0)], &[0, 0, 0]), words);
        }
        let short = "a row cut short";
        for row in [&[][..], &[0], &[0, 0], &[0, 0, 1, 2, 3]] {
            assert_eq!(refused(Request::Execution, 1, &[(LONG, 0)], row), short);
        }
        assert_eq!(refused(Request::Query, 1, &[(LONG, 0)], b"\x05abc"), "a text longer than its packet");
    }

    #[test]
    fn the_longest_row_is_read_and_later_rows_skipped() {
        let text = vec![b'x'; ROW_MAX - 3];
        let mut row = b"\xFC\0\0".to_vec();
        row[1..3].copy_from_slice(&(text.len() as u16).to_le_bytes());
        row.extend_from_slice(&text);
        let longer = vec![b'y'; 2 * ROW_MAX];
        let stream = result(&[(VAR_STRING, 0)], &[&row, &longer]);
        let read = captured(Request::Query, 1, &stream).unwrap().unwrap();
        assert_eq!(read[0].as_bytes(), text);
    }

    #[test]
    fn statements_of_any_shape_are_prepared() {
        let prepared = |columns: u8, parameters: u8| [0, 4, 3, 2, 1, columns, 0, parameters, 0, 0, 0, 0];
        let read = |payloads: &[&[u8]]| {
            let mut reply = Reply::default();
            reply.restart(Request::Preparation, 0);
            reply.feed(&packets(payloads))
        };
        let number = Ok(Some(Outcome::Prepared(0x0102_0304)));
        assert_eq!(read(&[&prepared(0, 0)]), number);
        assert_eq!(read(&[&prepared(0, 0)[..9]]), number); // of MySQL 4.1
        assert_eq!(read(&[&prepared(0, 2), COLUMN, COLUMN, END]), number);
        assert_eq!(read(&[&prepared(1, 0), COLUMN, END]), number);
        assert_eq!(read(&[&prepared(1, 1), COLUMN, END, COLUMN, END]), number);
        assert_eq!(read(&[&prepared(1, 1), COLUMN, END]), Ok(None));
        let unsupported = Outcome::Refused { code: 1295, message: "no".into() };
        assert_eq!(read(&[b"\xff\x0f\x05#HY000no"]), Ok(Some(unsupported)));
        assert!(read(&[OK]).is_err());
        assert!(read(&[&prepared(0, 1), COLUMN, COLUMN]).is_err());
    }

    /// The outcome, the first row and the most memory held when a reply is read in these pieces.
    fn read_in_pieces(
        request: Request,
        wanted: usize,
        pieces: &[&[u8]],
    ) -> (Ended, Option<Vec<Read>>, usize) {
        let (mut reply, mut outcome, mut most) = (Reply::default(), Ok(None), 0);
        reply.restart(request, wanted);
        for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
            outcome = reply.feed(piece);
            most = most.max(reply.buffered.capacity() + reply.columns.capacity() * size_of::<Column>());
            if outcome.is_err() {
                break;
            }
        }
        (outcome, reply.take_row(), most)
    }

    fn request() -> impl Strategy<Value = Request> {
        prop::sample::select(vec![Request::Query, Request::Execution, Request::Preparation])
    }

    /// Payloads that are often valid: counts, definitions, ends, rows.
    fn payload() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            Just(OK.to_vec()),
            Just(OK_AND_MORE.to_vec()),
            Just(END.to_vec()),
            (1u8..5).prop_map(|count| vec![count]),
            (any::<u8>(), any::<u8>()).prop_map(|(wire_type, flags)| column(wire_type, flags)),
            prop::collection::vec(any::<u8>(), 0..40),
            prop::collection::vec(0u8..5, 0..40),
            (any::<u8>(), 0usize..70_000).prop_map(|(byte, length)| vec![byte; length]),
        ]
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_fail(
            stream in prop::collection::vec(any::<u8>(), 0..2000),
            request in request(),
            wanted in 0usize..5,
        ) {
            let (_, _, most) = read_in_pieces(request, wanted, &[&stream]);
            prop_assert!(most <= 2 * ROW_MAX);
        }

        #[test]
        fn splitting_packets_changes_nothing(
            payloads in prop::collection::vec(payload(), 0..10),
            request in request(),
            wanted in 0usize..5,
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let payloads: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
            let stream = packets(&payloads);
            let whole = read_in_pieces(request, wanted, &[&stream]);
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|ends| &stream[ends[0]..ends[1]]).collect();
            let cut = read_in_pieces(request, wanted, &pieces);
            prop_assert_eq!(&cut.0, &whole.0);
            if whole.0.is_ok() {
                prop_assert_eq!(cut.1, whole.1);
            }
            // A vector may hold twice what it needs.
            let bound = if wanted > 0 { ROW_MAX } else { HEAD_MAX };
            prop_assert!(cut.2.max(whole.2) <= 2 * bound + 64, "{}", cut.2.max(whole.2));
        }

        #[test]
        fn reading_a_row_round_trips(
            row in prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..400)), 1..7),
            wanted in 1usize..7,
            binary: bool,
        ) {
            let wanted = wanted.min(row.len());
            let mut payload = Vec::new();
            if binary {
                payload.resize(1 + (row.len() + 2).div_ceil(8), 0);
            }
            for (index, value) in row.iter().enumerate() {
                match value {
                    Some(bytes) if bytes.len() < 0xFB => {
                        payload.push(bytes.len() as u8);
                        payload.extend_from_slice(bytes);
                    }
                    Some(bytes) => {
                        payload.push(0xFC);
                        payload.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
                        payload.extend_from_slice(bytes);
                    }
                    None if binary => payload[1 + (index + 2) / 8] |= 1 << ((index + 2) % 8),
                    None => payload.push(0xFB),
                }
            }
            let stream = result(&vec![(VAR_STRING, 0); row.len()], &[&payload]);
            let request = if binary { Request::Execution } else { Request::Query };
            let (outcome, read, _) = read_in_pieces(request, wanted, &[&stream]);
            prop_assert_eq!(outcome, Ok(Some(Outcome::Done)));
            prop_assert_eq!(read.unwrap(), &row[..wanted]);
        }
    }
}
