//! Any bytes as a reply are read or refused, in bounded memory, the same however they are split.

#![no_main]

use _engine::wire::{Ended, Outcome, Read, Reply, Request};
use libfuzzer_sys::fuzz_target;
use shootout_fuzz::{Input, within};

/// The first 512 bytes of a packet, their message in UTF-8, and spare capacity.
const MEMORY: usize = 4 * 1024;
/// With columns read: inputs have 4 KiB, and lengths from the wire are not trusted.
const MEMORY_OF_ROW: usize = 32 * 1024;
const OK: &[u8] = &[7, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0];

/// The reply's outcome, and the columns read from its first row.
type Seen = (Ended, Option<Vec<Read>>);

fuzz_target!(|data: &[u8]| {
    let Some(input) = Input::of(data, 1) else { return };
    // The first byte's bits that `Input` does not use.
    let request = [Request::Query, Request::Execution, Request::Preparation, Request::Query]
        [usize::from(data[0] >> 4 & 3)];
    let wanted = if data[0] & 0x40 == 0 { 0 } else { 3 };
    let memory = if wanted == 0 { MEMORY } else { MEMORY_OF_ROW };
    let mut reply = Reply::default();
    reply.restart(request, wanted);
    let whole = within(memory, || read(&mut reply, std::iter::once(&input.stream[..])));
    reply.restart(request, wanted);
    assert_eq!(within(memory, || read(&mut reply, input.pieces())), whole);
    reply.restart(request, wanted);
    assert_eq!(within(memory, || read(&mut reply, input.bytes())), whole);
    assert!(whole.1.is_none_or(|row| row.len() == wanted));
    reply.restart(Request::Query, 0);
    assert_eq!(reply.feed(OK), Ok(Some(Outcome::Done)));
});

fn read<'a>(reply: &mut Reply, pieces: impl Iterator<Item = &'a [u8]>) -> Seen {
    let end = read_to_end(reply, pieces);
    (end, reply.take_row())
}

fn read_to_end<'a>(reply: &mut Reply, pieces: impl Iterator<Item = &'a [u8]>) -> Ended {
    let mut outcome = None;
    for piece in pieces {
        outcome = reply.feed(piece)?;
    }
    Ok(outcome)
}
