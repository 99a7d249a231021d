//! One connection: login, its position in the program, and the end of each transaction.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::address::{self, Address};
use crate::login::{Account, Login};
use crate::packet::{Malformed, seal};
use crate::program::{Program, Statement, Step, Transaction};
use crate::random::Stream;
use crate::value::{Draws, Escapes, Value, Values};
use crate::wire::{Outcome, QUIT, Reply, Request, Returned, begin_execute, begin_prepare, begin_query};

/// Errors of an OLTP load's conflicts (record changed, lock wait timeout, deadlock), and of values that a row may
/// not have (duplicate, NULL, out of range, too long, without a parent, …): counted, rolled back and retried.
const RETRIED: [u16; 26] = [
    1020, 1048, 1062, 1172, 1205, 1213, 1216, 1217, 1242, 1264, 1265, 1292, 1365, 1366, 1406, 1411, 1441,
    1451, 1452, 1526, 1586, 1644, 1690, 3140, 3819, 4025,
];
/// Errors that a new connection may cure: the server is full, shuts down or has ended the session.
const ENDED: [u16; 11] = [1040, 1053, 1152, 1158, 1159, 1160, 1161, 1317, 1927, 3169, 4031];
// The client library's error numbers, for failures that the server does not report.
const NO_SOCKET: u16 = 2002;
const NO_HOST: u16 = 2003;
const LOST: u16 = 2013;
const UNSUPPORTED_PREPARED: u16 = 1295;

pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why a slice stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The server's error code, or 0.
    pub code: u16,
    pub message: String,
    /// Set where a new connection may help: the error number to count it under.
    pub lost: Option<u16>,
}

impl Failure {
    pub fn interrupted() -> Self {
        Self::without_code("a slice was interrupted")
    }

    pub fn without_code(message: impl fmt::Display) -> Self {
        Self { code: 0, message: message.to_string(), lost: None }
    }

    pub fn of_server(code: u16, message: String) -> Self {
        Self { code, message, lost: ENDED.contains(&code).then_some(code) }
    }

    /// The server refused a statement of this kind.
    fn of_statement(program: &Program, kind: Option<usize>, code: u16, message: &str) -> Self {
        let name = kind.map_or("ROLLBACK", |kind| &program.kinds[kind].name);
        Self::of_server(code, format!("statement `{name}`: {message}"))
    }

    pub fn lost(message: impl fmt::Display) -> Self {
        Self { lost: Some(LOST), ..Self::without_code(message) }
    }

    pub fn unknown_host(error: impl fmt::Display) -> Self {
        Self { code: NO_HOST, ..Self::without_code(error) }
    }

    pub fn unreachable(address: &Address, error: &io::Error) -> Self {
        let code = if address.is_secure() { NO_SOCKET } else { NO_HOST };
        // Out of file descriptors, a retry fails as well.
        let lost = (error.raw_os_error() != Some(Errno::MFILE.raw_os_error())).then_some(code);
        Self { code, message: format!("{address}: {error}"), lost }
    }
}

impl From<Malformed> for Failure {
    fn from(malformed: Malformed) -> Self {
        Self::without_code(malformed)
    }
}

/// The server's address, and the account that every connection uses.
pub struct Target {
    pub address: Address,
    pub account: Account,
}

impl fmt::Debug for Target {
    /// Omits the password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Target").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Target {
    /// Tries a server's addresses until a host answers; returns what `attempt` does for that one, or else the last.
    pub fn reach<T>(
        addresses: Vec<Address>,
        account: &Account,
        attempt: &mut dyn FnMut(Self) -> Result<T>,
    ) -> Result<T> {
        let mut result = Err(Failure::unknown_host("the host has no address"));
        for address in addresses {
            result = attempt(Self { address, account: account.clone() });
            if !matches!(result, Err(Failure { code: NO_HOST, .. })) {
                break;
            }
        }
        result
    }
}

#[derive(Debug)]
enum Stage {
    Down,
    Connecting,
    LoggingIn(Box<Login>),
    /// Waiting for the answer to this statement of the session.
    OpeningSession(usize),
    /// Preparing the statement of this handle.
    Preparing(usize),
    Up,
}

impl Stage {
    fn login(target: &Target) -> Self {
        Self::LoggingIn(Box::new(Login::new(target.address.is_secure())))
    }
}

/// The command in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Nothing,
    /// Connecting, as a part of the transaction.
    Opening,
    Begin,
    Statement,
    End,
    Rollback,
}

/// How a statement is sent.
#[derive(Clone, Copy, Debug)]
enum Handle {
    /// As text: the server cannot prepare it.
    Text,
    Prepared {
        id: u32,
        bound: bool,
    },
}

/// The effect of bytes from the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The reply is incomplete.
    Waiting,
    /// The connection is up and idle.
    Ready,
    /// A command of this kind was answered, and the next one sent.
    Answered { kind: usize },
    /// A transaction's last command, of this kind, was answered: the connection is idle.
    Finished { kind: usize },
    /// The server refused with a retried code, and the rollback was sent.
    Refused { code: u16 },
    /// The transaction is rolled back: the connection is idle.
    RolledBack,
}

#[derive(Debug)]
pub struct Connection {
    socket: Option<OwnedFd>,
    stage: Stage,
    reply: Reply,
    escapes: Escapes,
    draws: Draws,
    at: At,
    transaction: usize,
    step: usize,
    repetition: u32,
    repetitions: u32,
    statement: usize,
    table: u64,
    values: Values,
    handles: Vec<Handle>,
    /// The transaction's intended and actual start; all times here are nanoseconds of the lane's clock.
    pub intended: u64,
    pub began: u64,
    /// When the command in flight was sent.
    pub sent: u64,
    /// When the last answered command was sent, and when its answer came.
    pub requested: u64,
    pub answered: u64,
    /// Rows and bytes of that answer.
    pub returned: Returned,
    /// Bytes that the socket has not accepted yet.
    unsent: Vec<u8>,
    /// Losses since the last finished transaction.
    pub attempts: u32,
    /// How often the server refused this transaction, and the last refusal: kind and message.
    pub refusals: u32,
    pub refused: (Option<usize>, String),
}

impl Connection {
    pub fn new(draws: Draws, program: &Program) -> Self {
        Self {
            socket: None,
            stage: Stage::Down,
            reply: Reply::default(),
            escapes: Escapes::default(),
            draws,
            at: At::Nothing,
            transaction: 0,
            step: 0,
            repetition: 0,
            repetitions: 0,
            statement: 0,
            table: 0,
            values: program.values(),
            handles: Vec::new(),
            intended: 0,
            began: 0,
            sent: 0,
            requested: 0,
            answered: 0,
            returned: Returned::default(),
            unsent: Vec::new(),
            attempts: 0,
            refusals: 0,
            refused: (None, String::new()),
        }
    }

    /// None while the connection is down.
    pub fn socket(&self) -> Option<BorrowedFd<'_>> {
        self.socket.as_ref().map(AsFd::as_fd)
    }

    pub fn is_down(&self) -> bool {
        matches!(self.stage, Stage::Down)
    }

    pub fn is_connecting(&self) -> bool {
        matches!(self.stage, Stage::Connecting)
    }

    /// Connecting, logging in or preparing.
    pub fn is_pending(&self) -> bool {
        !matches!(self.stage, Stage::Down | Stage::Up)
    }

    /// In the middle of a transaction.
    pub fn is_busy(&self) -> bool {
        self.at != At::Nothing
    }

    pub fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    pub fn stream(&mut self) -> &mut Stream {
        &mut self.draws.stream
    }

    // --- opening and closing -----------------------------------------------------------------------

    /// Opens a socket; false while the server's accept queue is full.
    pub fn open(&mut self, target: &Target, now: u64) -> Result<bool> {
        let (socket, done) = match target.address.connect_nonblocking() {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(Failure::unreachable(&target.address, &error)),
        };
        self.socket = Some(socket);
        self.sent = now;
        self.stage = if done { Stage::login(target) } else { Stage::Connecting };
        Ok(true)
    }

    /// Continues once the socket is writable.
    pub fn writable(&mut self, target: &Target) -> Result<()> {
        if let (Stage::Connecting, Some(socket)) = (&self.stage, &self.socket) {
            address::connected(socket).map_err(|error| Failure::unreachable(&target.address, &error))?;
            self.stage = Stage::login(target);
        }
        let unsent = std::mem::take(&mut self.unsent);
        self.transmit(&unsent)
    }

    /// Takes leave of the server, and closes the socket.
    pub fn quit(&mut self) -> Result<()> {
        self.transmit(&QUIT)?;
        self.close();
        Ok(())
    }

    /// Closes the socket. The command in flight is counted nowhere.
    pub fn close(&mut self) {
        self.socket = None;
        self.stage = Stage::Down;
        self.at = At::Nothing;
        self.unsent = Vec::new();
        self.handles.clear();
    }

    // --- reading -----------------------------------------------------------------------------------

    /// Processes bytes from the server.
    pub fn feed(
        &mut self,
        program: &Program,
        target: &Target,
        bytes: &[u8],
        now: &dyn Fn() -> u64,
        scratch: &mut Vec<u8>,
    ) -> Result<Progress> {
        if let Stage::LoggingIn(login) = &mut self.stage {
            scratch.clear();
            let outcome = login.feed(bytes, &target.account, scratch)?;
            self.escapes = login.escapes();
            // `sent` stays the moment of opening: a login has one deadline, however slowly its bytes drip.
            self.answered = now();
            self.transmit(scratch)?;
            return match outcome {
                None => Ok(Progress::Waiting),
                Some(Outcome::Refused { code, message }) => Err(Failure::of_server(code, message)),
                Some(_) => self.open_session(program, 0, scratch),
            };
        }
        let Some(outcome) = self.reply.feed(bytes)? else { return Ok(Progress::Waiting) };
        (self.requested, self.answered) = (self.sent, now());
        self.returned = self.reply.returned();
        if let Stage::OpeningSession(number) = self.stage {
            return match outcome {
                Outcome::Refused { code, message } => Err(Failure::of_server(code, message)),
                _ => self.open_session(program, number + 1, scratch),
            };
        }
        if let Stage::Preparing(handle) = self.stage {
            self.handles.push(match outcome {
                Outcome::Prepared(id) => Handle::Prepared { id, bound: false },
                Outcome::Refused { code: UNSUPPORTED_PREPARED, .. } => Handle::Text,
                Outcome::Refused { code, message } => {
                    let kind = program.of_handle(handle).map(|statement| statement.kind);
                    return Err(Failure::of_statement(program, kind, code, &message));
                }
                Outcome::Done => return Err(Malformed("a prepare command answered by OK").into()),
            });
            return self.prepare(program, handle + 1, scratch);
        }
        self.proceed(program, outcome, scratch)
    }

    fn open_session(&mut self, program: &Program, number: usize, scratch: &mut Vec<u8>) -> Result<Progress> {
        let Some(statement) = program.session.get(number) else { return self.prepare(program, 0, scratch) };
        self.stage = Stage::OpeningSession(number);
        begin_query(scratch);
        scratch.extend_from_slice(statement.as_bytes());
        self.send(Request::Query, 0, self.answered, scratch)?;
        Ok(Progress::Waiting)
    }

    fn prepare(&mut self, program: &Program, handle: usize, scratch: &mut Vec<u8>) -> Result<Progress> {
        if handle == program.handles() {
            self.stage = Stage::Up;
            return Ok(Progress::Ready);
        }
        self.stage = Stage::Preparing(handle);
        begin_prepare(scratch);
        program.write_template(handle, scratch);
        self.send(Request::Preparation, 0, self.answered, scratch)?;
        Ok(Progress::Waiting)
    }

    fn proceed(&mut self, program: &Program, outcome: Outcome, scratch: &mut Vec<u8>) -> Result<Progress> {
        let now = self.answered;
        let refused = match outcome {
            Outcome::Done => None,
            Outcome::Refused { code, message } if !self.is_busy() => {
                return Err(Failure::of_server(code, message));
            }
            Outcome::Refused { code, message } if RETRIED.contains(&code) && self.at != At::Rollback => {
                self.refused = (self.kind(program), message);
                self.refusals += 1;
                Some(code)
            }
            Outcome::Refused { code, message } => {
                return Err(Failure::of_statement(program, self.kind(program), code, &message));
            }
            Outcome::Prepared(_) => {
                return Err(Malformed("an unexpected prepared statement").into());
            }
        };
        if !self.is_busy() || self.has_unsent() {
            return Err(Malformed("an unexpected reply").into());
        }
        if let Some(code) = refused {
            // Even without a frame: a workload's own statements may open transactions.
            self.at = At::Rollback;
            begin_query(scratch);
            scratch.extend_from_slice(b"ROLLBACK");
            self.send(Request::Query, 0, now, scratch)?;
            return Ok(Progress::Refused { code });
        }
        let transaction = self.transaction(program);
        let kind = match (self.at, &transaction.frame) {
            (At::Rollback, _) => {
                self.at = At::Nothing;
                return Ok(Progress::RolledBack);
            }
            (At::Begin, Some((begin, _))) => {
                self.at = At::Statement;
                self.send_statement(program, self.current(program), now, scratch)?;
                return Ok(Progress::Answered { kind: begin.kind });
            }
            (At::End, Some((_, end))) => end.kind,
            _ => {
                let statement = self.current(program);
                self.read_results(program, statement);
                if self.advance(program) {
                    self.send_statement(program, self.current(program), now, scratch)?;
                    return Ok(Progress::Answered { kind: statement.kind });
                }
                if let Some((_, end)) = &transaction.frame {
                    self.at = At::End;
                    self.send_statement(program, end, now, scratch)?;
                    return Ok(Progress::Answered { kind: statement.kind });
                }
                statement.kind
            }
        };
        self.draws.keys.end(true);
        self.at = At::Nothing;
        self.attempts = 0;
        Ok(Progress::Finished { kind })
    }

    fn read_results(&mut self, program: &Program, statement: &Statement) {
        if statement.into.is_empty() {
            return;
        }
        let number = self.reply.insert_id;
        let inserted = || (number > 0).then(|| vec![Some(number.to_string().into_bytes())]);
        let mut row = self.reply.take_row().or_else(inserted).unwrap_or_default().into_iter();
        for &index in &statement.into {
            self.values[index] = row.next().flatten().map_or(Value::Null, Value::Bytes);
            if let Some(column) = program.key_of(index).filter(|_| number > 0) {
                self.draws.keys.insert(column, Value::Number(number as i64));
            }
        }
    }

    // --- stepping through the program ----------------------------------------------------------------

    /// Begins a new transaction that was due at `intended`; `scratch` is a reusable text buffer.
    ///
    /// One that opens its own connection waits for that to be up.
    pub fn begin(&mut self, program: &Program, intended: u64, now: u64, scratch: &mut Vec<u8>) -> Result<()> {
        self.transaction = program.choose(&mut self.draws);
        (self.intended, self.began, self.refusals) = (intended, now, 0);
        if program.connects {
            (self.at, self.sent) = (At::Opening, now);
            return Ok(());
        }
        self.attempt(program, now, scratch)
    }

    /// Begins the chosen transaction, or restarts it after a rollback; its time runs on.
    pub fn attempt(&mut self, program: &Program, now: u64, scratch: &mut Vec<u8>) -> Result<()> {
        self.draws.keys.end(false);
        program.draw_transaction(self.transaction, &mut self.draws, &mut self.values);
        (self.step, self.repetition, self.statement) = (0, 0, 0);
        self.enter_step(program);
        if let Some((begin, _)) = &self.transaction(program).frame {
            self.at = At::Begin;
            self.send_statement(program, begin, now, scratch)
        } else {
            self.at = At::Statement;
            self.send_statement(program, self.current(program), now, scratch)
        }
    }

    fn transaction<'p>(&self, program: &'p Program) -> &'p Transaction {
        &program.transactions[self.transaction]
    }

    /// The kind of the statement in flight; None: a rollback.
    fn kind(&self, program: &Program) -> Option<usize> {
        match (self.at, &self.transaction(program).frame) {
            (At::Rollback, _) => None,
            (At::Begin, Some((begin, _))) => Some(begin.kind),
            (At::End, Some((_, end))) => Some(end.kind),
            _ => Some(self.current(program).kind),
        }
    }

    fn current<'p>(&self, program: &'p Program) -> &'p Statement {
        &self.transaction(program).steps[self.step].statements[self.statement]
    }

    /// Moves to the next statement that lacks no result; false at the transaction's end.
    fn advance(&mut self, program: &Program) -> bool {
        while self.step_on(program) {
            if !program.lacks(self.current(program), &self.values) {
                return true;
            }
        }
        false
    }

    /// Moves to the next statement; false at the transaction's end.
    fn step_on(&mut self, program: &Program) -> bool {
        let step: &Step = &self.transaction(program).steps[self.step];
        self.statement += 1;
        if self.statement < step.statements.len() {
            return true;
        }
        self.statement = 0;
        self.repetition += 1;
        if self.repetition < self.repetitions {
            program.draw_repetition(step, self.repetition, &mut self.draws, &mut self.values);
            return true;
        }
        self.repetition = 0;
        self.step += 1;
        self.enter_step(program)
    }

    /// Enters the first step from this one on that is sent at all; false at the transaction's end.
    fn enter_step(&mut self, program: &Program) -> bool {
        while let Some(step) = self.transaction(program).steps.get(self.step) {
            self.repetitions = step.repeat(&self.values);
            if self.repetitions > 0 {
                self.table = program.table(&mut self.draws);
                program.draw_repetition(step, 0, &mut self.draws, &mut self.values);
                return true;
            }
            self.step += 1;
        }
        false
    }

    // --- sending -------------------------------------------------------------------------------------

    fn send_statement(
        &mut self,
        program: &Program,
        statement: &Statement,
        now: u64,
        scratch: &mut Vec<u8>,
    ) -> Result<()> {
        let request = match self.handles.get_mut(statement.handle(self.table)) {
            Some(Handle::Prepared { id, bound }) => {
                begin_execute(*id, scratch);
                *bound = program.write_values(statement, *bound, &self.values, scratch);
                Request::Execution
            }
            Some(Handle::Text) | None => {
                begin_query(scratch);
                program.write(statement, self.table, &self.values, self.escapes, scratch);
                Request::Query
            }
        };
        self.send(request, statement.into.len(), now, scratch)
    }

    fn send(&mut self, request: Request, wanted: usize, now: u64, packet: &mut [u8]) -> Result<()> {
        seal(packet, 0)?;
        self.reply.restart(request, wanted);
        self.sent = now;
        self.transmit(packet)
    }

    fn transmit(&mut self, bytes: &[u8]) -> Result<()> {
        let Some(socket) = &self.socket else { return Err(Failure::lost("the connection is closed")) };
        let mut done = 0;
        while done < bytes.len() {
            match send(socket, &bytes[done..], SendFlags::NOSIGNAL) {
                Ok(taken) => done += taken,
                // On a closed connection the read side finds the server's final error.
                Err(Errno::AGAIN | Errno::PIPE | Errno::CONNRESET) => {
                    self.unsent = bytes[done..].to_vec();
                    break;
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(Failure::lost(format!("lost the connection: {error}"))),
            }
        }
        Ok(())
    }
}
