//! The client's side of the MySQL protocol, as far as a load needs it: sending a query, skimming its reply.
//!
//! A `Reply` reads the stream in whatever pieces it comes and keeps only what it must know: where the reply
//! ends, and whether the server said OK or an error. Result rows are skipped, never stored. No length from the
//! wire is believed: nothing is allocated by it, and what breaks the protocol is an error, not a guess.

use std::fmt;

const COM_QUERY: u8 = 0x03;
const HEADER: usize = 4;
const LONGEST: u32 = 0xFF_FFFF;
const MORE_RESULTS: u16 = 0x0008;
/// Enough for an error's message; all other packets are understood from their first bytes.
const KEPT: usize = 512;

/// Starts a query packet in `out`; the statement's text follows, then `finish_query`.
pub fn begin_query(out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&[0, 0, 0, 0, COM_QUERY]);
}

/// Writes the packet's length. Fails for a text that would need more than one packet (16 MiB).
pub fn finish_query(out: &mut [u8]) -> Result<(), Malformed> {
    let length = out.len() - HEADER;
    if length >= LONGEST as usize {
        return Err(Malformed("a statement of 16 MiB or more"));
    }
    out[..3].copy_from_slice(&(length as u32).to_le_bytes()[..3]);
    Ok(())
}

/// How the server ended a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    Refused { code: u16, message: String },
}

/// What the protocol does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "not in the MySQL protocol: {}", self.0)
    }
}

#[derive(Clone, Copy, Debug)]
enum Expect {
    First,
    Columns(u64),
    ColumnsEnd,
    Rows,
}

/// The reply to one command, from its first byte to its last.
#[derive(Clone, Debug)]
pub struct Reply {
    expect: Expect,
    sequence: u8,
    header: [u8; HEADER],
    header_len: usize,
    /// Payload bytes still to come of the packet being read.
    remaining: usize,
    length: u32,
    /// The packet goes on one of 16 MiB - 1 bytes and means nothing of its own.
    continuation: bool,
    kept: Vec<u8>,
}

impl Default for Reply {
    fn default() -> Self {
        Self {
            expect: Expect::First,
            sequence: 1,
            header: [0; HEADER],
            header_len: 0,
            remaining: 0,
            length: 0,
            continuation: false,
            kept: Vec::new(),
        }
    }
}

impl Reply {
    /// Forgets everything, ready for the next command's reply.
    pub fn restart(&mut self) {
        let mut kept = std::mem::take(&mut self.kept);
        kept.clear();
        *self = Self { kept, ..Self::default() };
    }

    /// Reads what came. `Some` when the reply is complete; bytes after its end are an error.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<Option<Outcome>, Malformed> {
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
                self.keep(payload);
                break;
            }
            self.header_len = 0;
            let outcome = if self.continuation {
                None
            } else if self.kept.is_empty() {
                self.packet(&payload[..payload.len().min(KEPT)])?
            } else {
                self.keep(payload);
                let mut kept = std::mem::take(&mut self.kept);
                let outcome = self.packet(&kept);
                kept.clear();
                self.kept = kept;
                outcome?
            };
            self.continuation = self.length == LONGEST;
            if let Some(outcome) = outcome {
                return if bytes.is_empty() {
                    Ok(Some(outcome))
                } else {
                    Err(Malformed("bytes after a reply's end"))
                };
            }
        }
        Ok(None)
    }

    fn begin_packet(&mut self) -> Result<(), Malformed> {
        let [a, b, c, sequence] = self.header;
        if sequence != self.sequence {
            return Err(Malformed("packets out of order"));
        }
        self.sequence = self.sequence.wrapping_add(1);
        self.length = u32::from_le_bytes([a, b, c, 0]);
        self.remaining = self.length as usize;
        Ok(())
    }

    fn keep(&mut self, payload: &[u8]) {
        if !self.continuation {
            let room = KEPT - self.kept.len();
            self.kept.extend_from_slice(&payload[..payload.len().min(room)]);
        }
    }

    /// Takes in one packet by its first bytes; `self.length` is its whole length.
    fn packet(&mut self, head: &[u8]) -> Result<Option<Outcome>, Malformed> {
        if head.first() == Some(&0xFF) {
            return error(head).map(Some);
        }
        let ends_here = head.first() == Some(&0xFE) && self.length < 9;
        match self.expect {
            Expect::First => match head.first() {
                Some(0x00) => {
                    let (_affected_rows, rest) = length_encoded(&head[1..])?;
                    let (_insert_id, rest) = length_encoded(rest)?;
                    Ok(self.end_of_result(status(rest)?))
                }
                Some(0xFB) => Err(Malformed("a request for a local file")),
                Some(_) => {
                    let (columns, _) = length_encoded(head)?;
                    if columns == 0 || columns > 0xFFFF {
                        return Err(Malformed("an impossible number of columns"));
                    }
                    self.expect = Expect::Columns(columns);
                    Ok(None)
                }
                None => Err(Malformed("an empty packet")),
            },
            Expect::Columns(left) => {
                self.expect = if left > 1 { Expect::Columns(left - 1) } else { Expect::ColumnsEnd };
                Ok(None)
            }
            Expect::ColumnsEnd if ends_here => {
                self.expect = Expect::Rows;
                Ok(None)
            }
            Expect::ColumnsEnd => Err(Malformed("no end of the column list")),
            Expect::Rows if ends_here => {
                let warnings = 2;
                Ok(self.end_of_result(status(head.get(1 + warnings..).unwrap_or_default())?))
            }
            Expect::Rows => Ok(None),
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

fn status(bytes: &[u8]) -> Result<u16, Malformed> {
    match bytes {
        [low, high, ..] => Ok(u16::from_le_bytes([*low, *high])),
        _ => Err(Malformed("a packet without status")),
    }
}

fn length_encoded(bytes: &[u8]) -> Result<(u64, &[u8]), Malformed> {
    const SHORT: Malformed = Malformed("a number cut short");
    let (&first, rest) = bytes.split_first().ok_or(SHORT)?;
    let width = match first {
        0..=0xFA => return Ok((u64::from(first), rest)),
        0xFC => 2,
        0xFD => 3,
        0xFE => 8,
        0xFB | 0xFF => return Err(Malformed("a number that is none")),
    };
    let (digits, rest) = rest.split_at_checked(width).ok_or(SHORT)?;
    let mut number = [0; 8];
    number[..width].copy_from_slice(digits);
    Ok((u64::from_le_bytes(number), rest))
}

fn error(head: &[u8]) -> Result<Outcome, Malformed> {
    let [_, low, high, rest @ ..] = head else { return Err(Malformed("an error without a number")) };
    let message = match rest {
        [b'#', state_and_message @ ..] if state_and_message.len() >= 5 => &state_and_message[5..],
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
        for (index, payload) in payloads.iter().enumerate() {
            stream.extend_from_slice(&(payload.len() as u32).to_le_bytes()[..3]);
            stream.push((index + 1) as u8);
            stream.extend_from_slice(payload);
        }
        stream
    }

    const OK: &[u8] = &[0, 1, 0, 2, 0, 0, 0];
    const OK_AND_MORE: &[u8] = &[0, 1, 0, 8, 0, 0, 0];
    const END: &[u8] = &[0xFE, 0, 0, 2, 0];
    const COLUMN: &[u8] = b"\x03def definition";

    fn read(stream: &[u8]) -> Result<Option<Outcome>, Malformed> {
        Reply::default().feed(stream)
    }

    #[test]
    fn ok_ends_a_reply() {
        assert_eq!(read(&packets(&[OK])), Ok(Some(Outcome::Done)));
    }

    #[test]
    fn rows_are_skipped_to_the_end_packet() {
        let long_row = [b'x'; 3000];
        let stream = packets(&[&[2], COLUMN, COLUMN, END, b"\x01a\x01b", &long_row, &[0xFB], END]);
        assert_eq!(read(&stream), Ok(Some(Outcome::Done)));
    }

    #[test]
    fn a_row_that_begins_like_an_end_packet_is_a_row() {
        let row = [0xFE, 9, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3];
        assert_eq!(read(&packets(&[&[1], COLUMN, END, &row])), Ok(None));
    }

    #[test]
    fn more_results_are_waited_for() {
        assert_eq!(read(&packets(&[OK_AND_MORE])), Ok(None));
        assert_eq!(read(&packets(&[OK_AND_MORE, OK])), Ok(Some(Outcome::Done)));
    }

    #[test]
    fn an_error_carries_its_number_and_words() {
        let refused = Outcome::Refused { code: 1213, message: "Deadlock found".into() };
        assert_eq!(read(&packets(&[b"\xff\xbd\x04#40001Deadlock found"])), Ok(Some(refused.clone())));
        let among_rows = packets(&[&[1], COLUMN, END, b"\x01a", b"\xff\xbd\x04#40001Deadlock found"]);
        assert_eq!(read(&among_rows), Ok(Some(refused)));
    }

    #[test]
    fn a_packet_of_the_longest_length_goes_on_in_the_next() {
        let mut row = vec![b'x'; LONGEST as usize];
        row[0] = 0xFD;
        let continued = [0xFE, 0, 0, 2, 0]; // looks like an end, is the row's rest
        assert_eq!(read(&packets(&[&[1], COLUMN, END, &row, &continued])), Ok(None));
        assert_eq!(read(&packets(&[&[1], COLUMN, END, &row, &continued, END])), Ok(Some(Outcome::Done)));
    }

    #[test]
    fn what_is_not_the_protocol_is_refused() {
        for stream in [
            packets(&[b""]),
            packets(&[&[0xFB, b'/', b'e']]),
            packets(&[&[0xFC, 1]]),
            packets(&[&[0xFF]]),
            packets(&[&[0, 1]]),
            packets(&[&[1], COLUMN, COLUMN]),
            packets(&[OK, OK]),
            b"\x01\x00\x00\x07\x00".to_vec(),
        ] {
            assert!(read(&stream).is_err(), "{stream:?}");
        }
    }

    #[test]
    fn restart_forgets_a_half_read_reply() {
        let mut reply = Reply::default();
        assert_eq!(reply.feed(&packets(&[&[1], COLUMN])[..9]), Ok(None));
        reply.restart();
        assert_eq!(reply.feed(&packets(&[OK])), Ok(Some(Outcome::Done)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(stream in prop::collection::vec(any::<u8>(), 0..2000)) {
            let mut reply = Reply::default();
            let _ = reply.feed(&stream);
            prop_assert!(reply.kept.len() <= KEPT);
        }

        #[test]
        fn cutting_the_stream_changes_nothing(
            rows in prop::collection::vec(prop::collection::vec(0u8..0xFB, 1..700), 0..6),
            cuts in prop::collection::vec(0usize..5000, 0..12),
        ) {
            let mut payloads: Vec<&[u8]> = vec![&[1], COLUMN, END];
            payloads.extend(rows.iter().map(Vec::as_slice));
            payloads.push(END);
            let stream = packets(&payloads);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % stream.len()).collect();
            cuts.sort_unstable();
            let (mut reply, mut from, mut outcome) = (Reply::default(), 0, None);
            for cut in cuts.into_iter().chain([stream.len()]) {
                prop_assert_eq!(&outcome, &None);
                outcome = reply.feed(&stream[from..cut]).unwrap();
                from = cut;
            }
            prop_assert_eq!(outcome, Some(Outcome::Done));
        }
    }
}
