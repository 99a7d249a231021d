//! Any bytes as a log are read in bounded memory, to the same however they are split; nothing is lost silently.

#![no_main]

use libfuzzer_sys::fuzz_target;
use shootout_fuzz::{Input, within};
use shootout_learn::Reader;
use shootout_learn::statement::{Options, Statement};

/// What a reader of so short a log may hold: inputs have 4 KiB, and samples and sums are bounded.
const MEMORY: usize = 4 * 1024 * 1024;

fuzz_target!(|data: &[u8]| {
    let Some(input) = Input::of(data, 0) else { return };
    let options = Options { families: [b"t".to_vec()].into() };
    take_apart(&input.stream, &options);
    let whole = within(MEMORY, || read(std::iter::once(&input.stream[..]), &options));
    assert!(whole == read(input.pieces(), &options), "pieces differ");
    assert!(whole == read(input.bytes(), &options), "bytes differ");
    let log: serde_json::Value = serde_json::from_slice(&whole).expect("JSON");
    let counted = |of: &str, count: &str| -> u64 {
        log[of].as_array().expect("a list").iter().map(|one| one[count].as_u64().expect("a count")).sum()
    };
    assert_eq!(counted("templates", "count") + counted("left_out", "statements"), log["statements"]);
    assert_eq!(counted("sequences", "count"), log["transactions"]);
});

fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>, options: &Options) -> Vec<u8> {
    let mut reader = Reader::new(options.clone());
    pieces.for_each(|piece| reader.feed(piece));
    reader.finish()
}

/// Every `?` of a template is a slot, if the text had none; each statement is read to its end.
fn take_apart(mut text: &[u8], options: &Options) {
    let mut statement = Statement::default();
    while let Ok(read) = statement.read(text, options) {
        let slots = statement.marks.len();
        assert!(statement.literals.iter().all(|literal| (literal.slot as usize) < slots));
        statement.literals.iter().for_each(|literal| assert!(statement.value(literal).len() <= text.len()));
        assert!(read > 0 || text.is_empty());
        text = &text[read..];
        if text.is_empty() {
            break;
        }
    }
}
