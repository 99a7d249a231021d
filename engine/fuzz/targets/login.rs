//! Any bytes as a server's side of a login end or are refused, in bounded memory, with the same answers however
//! they are split.

#![no_main]

use _engine::login::{Account, Login};
use _engine::packet::Malformed;
use _engine::wire::Outcome;
use libfuzzer_sys::fuzz_target;
use shootout_fuzz::{Input, within};

/// Far less than a packet may claim: inputs have 4 KiB, and lengths from the wire are not trusted.
const MEMORY: usize = 64 * 1024;
const PASSWORD: &str = "do not tell";

const MORE: Malformed = Malformed("bytes after a login's end");

/// The login's outcome, and the bytes that it sent.
type Seen = (Result<Option<Outcome>, Malformed>, Vec<u8>);

fuzz_target!(|data: &[u8]| {
    let Some(input) = Input::of(data, 0) else { return };
    for secure in [false, true] {
        let whole = within(MEMORY, || log_in(secure, std::iter::once(&input.stream[..])));
        assert_agree(&within(MEMORY, || log_in(secure, input.pieces())), &whole);
        assert_agree(&within(MEMORY, || log_in(secure, input.bytes())), &whole);
        let leaked = whole.1.windows(PASSWORD.len()).any(|window| window == PASSWORD.as_bytes());
        assert!(secure || !leaked, "the password went out in clear");
    }
});

fn log_in<'a>(secure: bool, mut pieces: impl Iterator<Item = &'a [u8]>) -> Seen {
    let account = Account { user: "user".into(), password: PASSWORD.into(), schema: "schema".into() };
    let (mut login, mut out) = (Login::new(secure), Vec::new());
    while let Some(piece) = pieces.next() {
        match login.feed(piece, &account, &mut out) {
            Ok(None) => {}
            Ok(Some(Outcome::Done)) if pieces.next().is_some() => return (Err(MORE), out),
            end => return (end, out),
        }
    }
    (Ok(None), out)
}

/// After a refusal nothing is read: bytes behind it are noticed only in the same piece.
fn assert_agree(cut: &Seen, whole: &Seen) {
    let refused = matches!(cut.0, Ok(Some(Outcome::Refused { .. })));
    if refused && whole.0 == Err(MORE) {
        assert_eq!(cut.1, whole.1);
    } else {
        assert_eq!(cut, whole);
    }
}
