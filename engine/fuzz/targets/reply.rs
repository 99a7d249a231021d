//! Any bytes for a reply: read or refused, in little memory, and the same however they are cut.

#![no_main]

use _engine::wire::{Malformed, Outcome, Reply};
use libfuzzer_sys::fuzz_target;
use shootout_fuzz::{Input, within};

/// The first 512 bytes of a packet, their message made UTF-8, and what vectors take in advance.
const MEMORY: usize = 4 * 1024;
const OK: &[u8] = &[7, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0];

fuzz_target!(|data: &[u8]| {
    let Some(input) = Input::of(data, 1) else { return };
    let mut reply = Reply::default();
    let whole = within(MEMORY, || reply.feed(&input.stream));
    reply.restart();
    assert_eq!(within(MEMORY, || read(&mut reply, input.pieces())), whole);
    reply.restart();
    assert_eq!(within(MEMORY, || read(&mut reply, input.bytes())), whole);
    reply.restart();
    assert_eq!(reply.feed(OK), Ok(Some(Outcome::Done)));
});

fn read<'a>(
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
