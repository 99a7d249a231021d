//! One connection's walk through the program: what it sends next, and when a transaction is complete.

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::program::{Program, Statement, Values};
use crate::random::Stream;
use crate::wire::{Malformed, Outcome, Reply, begin_query, finish_query};

/// Duplicate key, lock wait timeout, deadlock: part of an OLTP load. Rolled back, counted, tried again.
pub const RETRIED: [u16; 3] = [1062, 1205, 1213];

/// Why a slice could not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The server's error code; 0 where it gave none.
    pub code: u16,
    pub message: String,
}

impl Failure {
    pub fn interrupted() -> Self {
        Self::without_code("a slice was interrupted")
    }

    pub fn without_code(message: impl fmt::Display) -> Self {
        Self { code: 0, message: message.to_string() }
    }
}

impl From<Malformed> for Failure {
    fn from(malformed: Malformed) -> Self {
        Self::without_code(malformed)
    }
}

/// What the reply that just came belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Nothing,
    Begin,
    Statement,
    Commit,
    Rollback,
}

/// What a complete reply led to.
#[derive(Debug, PartialEq, Eq)]
pub enum Progress {
    /// A command of this kind was answered; the next one is on its way.
    Answered { kind: usize },
    /// The same, and it was the transaction's last: the connection is idle.
    Finished { kind: usize },
    /// The server refused with a code that is retried; the transaction is being rolled back.
    Refused { code: u16 },
    /// The transaction was rolled back: the connection is idle.
    RolledBack,
}

#[derive(Debug)]
pub struct Connection {
    socket: OwnedFd,
    pub reply: Reply,
    stream: Stream,
    at: At,
    transaction: usize,
    step: usize,
    repetition: u32,
    statement: usize,
    table: u64,
    values: Values,
    /// When the transaction began, and when the command in flight was sent: nanoseconds of the lane's clock.
    pub began: u64,
    pub sent: u64,
    /// What the socket did not take yet.
    unsent: Vec<u8>,
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Connection {
    pub fn new(socket: OwnedFd, stream: Stream, program: &Program) -> Self {
        Self {
            socket,
            reply: Reply::default(),
            stream,
            at: At::Nothing,
            transaction: 0,
            step: 0,
            repetition: 0,
            statement: 0,
            table: 0,
            values: program.values(),
            began: 0,
            sent: 0,
            unsent: Vec::new(),
        }
    }

    pub fn is_idle(&self) -> bool {
        self.at == At::Nothing
    }

    pub fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Begins a new transaction; `scratch` is room for the text.
    pub fn begin(&mut self, program: &Program, now: u64, scratch: &mut Vec<u8>) -> Result<(), Failure> {
        self.transaction = program.choose(&mut self.stream);
        self.began = now;
        self.attempt(program, now, scratch)
    }

    /// Goes on after a complete reply.
    pub fn proceed(
        &mut self,
        program: &Program,
        outcome: Outcome,
        now: u64,
        scratch: &mut Vec<u8>,
    ) -> Result<Progress, Failure> {
        let refused = match outcome {
            Outcome::Done => None,
            Outcome::Refused { code, .. } if RETRIED.contains(&code) && self.at != At::Rollback => Some(code),
            Outcome::Refused { code, message } => return Err(Failure { code, message }),
        };
        if self.is_idle() || self.has_unsent() {
            return Err(Malformed("an answer to what was not asked").into());
        }
        if let Some(code) = refused {
            // Without a frame too: a workload may open transactions by statements of its own.
            self.at = At::Rollback;
            self.send(b"ROLLBACK", now, scratch)?;
            return Ok(Progress::Refused { code });
        }
        let frame = program.transactions[self.transaction].frame;
        let (kind, more) = match (self.at, frame) {
            (At::Begin, Some((begin, _))) => (begin, true),
            (At::Commit, Some((_, commit))) => (commit, false),
            (At::Rollback, _) => {
                self.at = At::Nothing;
                return Ok(Progress::RolledBack);
            }
            _ => (self.current(program).kind, self.advance(program)),
        };
        if more {
            self.at = At::Statement;
            self.send_statement(program, now, scratch)?;
        } else if self.at == At::Statement && frame.is_some() {
            self.at = At::Commit;
            self.send(b"COMMIT", now, scratch)?;
        } else {
            self.at = At::Nothing;
            return Ok(Progress::Finished { kind });
        }
        Ok(Progress::Answered { kind })
    }

    /// Sends what the socket did not take before.
    pub fn flush(&mut self) -> Result<(), Failure> {
        let unsent = std::mem::take(&mut self.unsent);
        self.transmit(&unsent)
    }

    /// Begins the transaction, or the one that was rolled back again: its time runs on.
    pub fn attempt(&mut self, program: &Program, now: u64, scratch: &mut Vec<u8>) -> Result<(), Failure> {
        (self.step, self.repetition, self.statement) = (0, 0, 0);
        self.enter_step(program);
        if program.transactions[self.transaction].frame.is_some() {
            self.at = At::Begin;
            self.send(b"BEGIN", now, scratch)
        } else {
            self.at = At::Statement;
            self.send_statement(program, now, scratch)
        }
    }

    fn current<'p>(&self, program: &'p Program) -> &'p Statement {
        &program.transactions[self.transaction].steps[self.step].statements[self.statement]
    }

    /// Moves to the next statement; false at the transaction's end.
    fn advance(&mut self, program: &Program) -> bool {
        let steps = &program.transactions[self.transaction].steps;
        let step = &steps[self.step];
        self.statement += 1;
        if self.statement < step.statements.len() {
            return true;
        }
        self.statement = 0;
        self.repetition += 1;
        if self.repetition < step.repeat {
            program.draw(step, &mut self.stream, &mut self.values);
            return true;
        }
        self.repetition = 0;
        self.step += 1;
        if self.step < steps.len() {
            self.enter_step(program);
            return true;
        }
        false
    }

    fn enter_step(&mut self, program: &Program) {
        let step = &program.transactions[self.transaction].steps[self.step];
        self.table = program.table(&mut self.stream);
        program.draw(step, &mut self.stream, &mut self.values);
    }

    fn send_statement(&mut self, program: &Program, now: u64, scratch: &mut Vec<u8>) -> Result<(), Failure> {
        begin_query(scratch);
        program.write(self.current(program), self.table, &self.values, scratch);
        self.finish(now, scratch)
    }

    fn send(&mut self, text: &[u8], now: u64, scratch: &mut Vec<u8>) -> Result<(), Failure> {
        begin_query(scratch);
        scratch.extend_from_slice(text);
        self.finish(now, scratch)
    }

    fn finish(&mut self, now: u64, packet: &mut [u8]) -> Result<(), Failure> {
        finish_query(packet)?;
        self.reply.restart();
        self.sent = now;
        self.transmit(packet)
    }

    fn transmit(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let mut done = 0;
        while done < bytes.len() {
            match send(&self.socket, &bytes[done..], SendFlags::NOSIGNAL) {
                Ok(taken) => done += taken,
                // A connection that the server closed is left to the reading side, which finds its last words.
                Err(Errno::AGAIN | Errno::PIPE | Errno::CONNRESET) => {
                    self.unsent = bytes[done..].to_vec();
                    break;
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(Failure::without_code(format!("lost the connection: {error}"))),
            }
        }
        Ok(())
    }
}
