//! Shared by the targets: a stream split into pieces, and an allocator that counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// An input: a stream and how to split it.
///
/// The first byte's low half counts the bytes that follow it and give the lengths of pieces, less one; they are
/// cycled until the stream ends. Its highest bit says that the stream is a sequence of packets without headers,
/// which are then added: inputs get beyond the first wrong length or number.
pub struct Input<'a> {
    lengths: &'a [u8],
    pub stream: Cow<'a, [u8]>,
}

impl<'a> Input<'a> {
    /// `first` is the first packet's number.
    pub fn of(data: &'a [u8], first: u8) -> Option<Self> {
        let (&how, rest) = data.split_first()?;
        let (lengths, rest) = rest.split_at_checked(usize::from(how & 0x0F))?;
        let stream = if how & 0x80 == 0 { Cow::Borrowed(rest) } else { Cow::Owned(packets(rest, first)) };
        Some(Self { lengths, stream })
    }

    /// The stream in pieces; in one piece if the input gives no lengths.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let mut lengths = self.lengths.iter().cycle();
        let mut rest = &self.stream[..];
        std::iter::from_fn(move || {
            let length = lengths.next().map_or(rest.len(), |&length| usize::from(length) + 1);
            let piece;
            (piece, rest) = rest.split_at(length.min(rest.len()));
            (!piece.is_empty()).then_some(piece)
        })
    }

    /// The same stream in single bytes.
    pub fn bytes(&self) -> impl Iterator<Item = &[u8]> {
        self.stream.chunks(1)
    }
}

/// Packets, each given as a byte and its payload: seven bits for the length, and one that skips a packet number,
/// as if the other side had answered.
fn packets(mut written: &[u8], mut number: u8) -> Vec<u8> {
    let mut stream = Vec::with_capacity(4 * written.len());
    while let Some((&byte, rest)) = written.split_first() {
        let (payload, rest) = rest.split_at(usize::from(byte & 0x7F).min(rest.len()));
        number = number.wrapping_add(byte >> 7);
        stream.extend_from_slice(&[payload.len() as u8, 0, 0, number]);
        stream.extend_from_slice(payload);
        number = number.wrapping_add(1);
        written = rest;
    }
    stream
}

/// Runs `work`; panics if it ever holds more than `limit` additional bytes of memory.
pub fn within<T>(limit: usize, work: impl FnOnce() -> T) -> T {
    let before = HELD.load(Relaxed);
    MOST.store(before, Relaxed);
    let result = work();
    let most = MOST.load(Relaxed).saturating_sub(before);
    assert!(most <= limit, "{most} bytes of memory were held; the limit is {limit}");
    result
}

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: passes every call on to the system's allocator unchanged.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(held, Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(memory, layout) }
    }
}
