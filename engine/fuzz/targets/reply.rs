//! Any bytes for a reply: read or refused, in little memory, and the same however they are cut.

#![no_main]

use _engine::wire::{Asked, Malformed, Outcome, Read, Reply};
use libfuzzer_sys::fuzz_target;
use shootout_fuzz::{Input, within};

/// The first 512 bytes of a packet, their message made UTF-8, and what vectors take in advance.
const MEMORY: usize = 4 * 1024;
/// The same where columns are read: of inputs of 4 KiB, and of nothing that the wire only claims.
const MEMORY_OF_ROW: usize = 32 * 1024;
const OK: &[u8] = &[7, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0];

/// How the reply ended, and what was read of its first row.
type Seen = (Result<Option<Outcome>, Malformed>, Option<Vec<Read>>);

fuzz_target!(|data: &[u8]| {
    let Some(input) = Input::of(data, 1) else { return };
    // Bits of the first byte that say nothing about the cuts.
    let asked =
        [Asked::Query, Asked::Execution, Asked::Preparation, Asked::Query][usize::from(data[0] >> 4 & 3)];
    let wanted = if data[0] & 0x40 == 0 { 0 } else { 3 };
    let memory = if wanted == 0 { MEMORY } else { MEMORY_OF_ROW };
    let mut reply = Reply::default();
    reply.restart(asked, wanted);
    let whole = within(memory, || read(&mut reply, std::iter::once(&input.stream[..])));
    reply.restart(asked, wanted);
    assert_eq!(within(memory, || read(&mut reply, input.pieces())), whole);
    reply.restart(asked, wanted);
    assert_eq!(within(memory, || read(&mut reply, input.bytes())), whole);
    assert!(whole.1.is_none_or(|row| row.len() == wanted));
    reply.restart(Asked::Query, 0);
    assert_eq!(reply.feed(OK), Ok(Some(Outcome::Done)));
});

fn read<'a>(reply: &mut Reply, pieces: impl Iterator<Item = &'a [u8]>) -> Seen {
    let end = read_to_end(reply, pieces);
    (end, reply.take_row())
}

fn read_to_end<'a>(
    reply: &mut Reply,
    mut pieces: impl Iterator<Item = &'a [u8]>,
) -> Result<Option<Outcome>, Malformed> {
    while let Some(piece) = pieces.next() {
        if let Some(outcome) = reply.feed(piece)? {
            return match pieces.next() {
                None => Ok(Some(outcome)),
                Some(_) => Err(Malformed("bytes after a reply's end")),
            };
        }
    }
    Ok(None)
}
