//! Logs of statements: what a server ran, as templates, values and transactions, in memory that does not grow with
//! the log.
//!
//! `slow` and `general` find statements in lines; `statement` takes each apart; `control` tells those that begin and
//! end transactions. `learner` counts them in `templates`, whose `values` are sampled, and in `connections`, whose
//! transactions become `sequences`. `learned` writes all of it down. Only `python` knows Python.

pub mod connections;
pub mod control;
pub mod general;
pub mod learned;
pub mod learner;
pub mod lives;
#[cfg(feature = "python")]
pub mod python;
mod random;
pub mod sequences;
pub mod slow;
pub mod statement;
pub mod templates;
pub mod text;
pub mod values;

use general::General;
use learner::Learner;
use slow::Slow;
use statement::Options;

/// Longer statements are left out.
const STATEMENT_MAX: usize = 4 << 20;
/// A line of which no more is kept has too long a statement.
const LINE_MAX: usize = STATEMENT_MAX + 4096;
const CUT: &str = "cut off";
const OUTSIDE: &str = "a line outside of any statement";

/// A statement's lines.
#[derive(Default)]
struct Body {
    bytes: Vec<u8>,
    /// The bytes are an earlier statement's.
    taken: bool,
}

impl Body {
    fn is_empty(&self) -> bool {
        self.taken || self.bytes.is_empty()
    }

    fn push(&mut self, line: &[u8]) {
        if std::mem::take(&mut self.taken) {
            self.bytes.clear();
        }
        if !self.bytes.is_empty() {
            self.bytes.push(b'\n');
        }
        let room = (STATEMENT_MAX + 1).saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&line[..line.len().min(room)]);
    }

    /// The whole text, or why there is none.
    fn take(&mut self) -> Result<&[u8], &'static str> {
        let fits = self.bytes.len() <= STATEMENT_MAX;
        let text = if std::mem::replace(&mut self.taken, true) { &[][..] } else { &self.bytes };
        if fits { Ok(text) } else { Err("longer than 4 MiB") }
    }
}

enum Format {
    /// No line has told yet.
    Unknown,
    Slow(Slow),
    General(General),
}

/// Reads a log in pieces of any size.
pub struct Reader {
    learner: Learner,
    format: Format,
    /// The begin of a line whose end is in the next piece.
    line: Vec<u8>,
    /// Lines after a server's start that still belong to its banner.
    banner: u8,
}

impl Reader {
    pub fn new(options: Options) -> Self {
        Self { learner: Learner::new(options), format: Format::Unknown, line: Vec::new(), banner: 0 }
    }

    pub fn feed(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|&byte| byte == b'\n') {
            let piece;
            (piece, bytes) = (&bytes[..end], &bytes[end + 1..]);
            if self.line.is_empty() {
                self.read(piece);
            } else {
                self.keep(piece);
                let mut line = std::mem::take(&mut self.line);
                self.read(&line);
                line.clear();
                self.line = line;
            }
        }
        self.keep(bytes);
    }

    fn keep(&mut self, piece: &[u8]) {
        let room = LINE_MAX.saturating_sub(self.line.len());
        self.line.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    fn read(&mut self, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line); // copied by Windows, or sent so by a client
        if line.ends_with(b"started with:") && line.windows(11).any(|window| window == b", Version: ") {
            self.banner = 2;
            return self.flush();
        }
        if self.banner > 0 {
            self.banner -= 1;
            let known: [&[u8]; 3] = [b"Tcp port: ", b"TCP Port: ", b"Time"];
            if known.iter().any(|known| line.starts_with(known)) {
                return;
            }
        }
        if matches!(self.format, Format::Unknown) {
            if Slow::begins(line) {
                self.format = Format::Slow(Slow::default());
            } else if General::begins(line) {
                self.format = Format::General(General::default());
            }
        }
        let learner = &mut self.learner;
        match &mut self.format {
            Format::Unknown => learner.unreadable(OUTSIDE),
            Format::Slow(slow) => slow.line(line, learner),
            Format::General(general) => general.line(line, learner),
        }
    }

    /// Counts executions of a kind of statement instead, of which `text` may be one.
    pub fn digested(&mut self, text: &[u8], count: u64, cost: templates::Cost) {
        self.learner.digested(text, count, cost);
    }

    /// Ends a file: the next bytes begin a line and a statement.
    pub fn end_file(&mut self) {
        if !self.line.is_empty() {
            let line = std::mem::take(&mut self.line);
            self.read(&line);
        }
        self.flush();
    }

    fn flush(&mut self) {
        match &mut self.format {
            Format::Unknown => {}
            Format::Slow(slow) => slow.flush(&mut self.learner),
            Format::General(general) => general.flush(&mut self.learner),
        }
    }

    /// The JSON of a `Log`.
    pub fn finish(mut self) -> Vec<u8> {
        self.end_file();
        self.learner.finish(match self.format {
            Format::Unknown => "digests",
            Format::Slow(_) => "slow",
            Format::General(_) => "general",
        })
    }
}
