//! Fills a dataset's tables. Rows are generated while they are sent, so memory does not grow with the tables.
//!
//! Each worker has its own connection and sends whole tables, or ranges of one, by LOAD DATA LOCAL INFILE. It
//! starts a new statement every 64 MiB: one huge transaction would only create undo. Whatever file the server
//! asks for, it gets these rows. Where LOAD DATA LOCAL is off, multi-row INSERTs send them.

use std::cmp::Reverse;
use std::io::ErrorKind;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use rustix::net::{SendFlags, send};

use crate::address::connected;
use crate::connection::{Failure, Result, Target};
use crate::lane::CHECK_INTERVAL;
use crate::login::Login;
use crate::packet::{Assembler, HEADER, Malformed, Packet, seal};
use crate::rows::{Field, Table, Tables};
use crate::value::{Escapes, quote};
use crate::wire::{Outcome, begin_query, ok_body, refusal};

const PACKET: usize = 256 * 1024;
/// A statement, and its transaction, ends after this many bytes.
const STATEMENT: usize = 64 * 1024 * 1024;
/// Longest INSERT, whatever the server accepts.
const INSERT: usize = 1024 * 1024;
/// Bytes that a packet stays below the server's limit.
const SPARE: usize = 64;
const READ_SIZE: usize = 4096;
/// Fast loading of unchanged rows, in every version. `unique_checks` stays on: without it MariaDB from 10.6 on
/// locks an empty table as a whole, and rolls back one of two streams into it.
const SESSION: &str = "SET SESSION autocommit = 1, unique_checks = 1, foreign_key_checks = 0, \
                       sql_mode = 'NO_AUTO_VALUE_ON_ZERO'";
const NO_BINARY_LOG: &str = "SET SESSION sql_log_bin = 0";
/// Some accounts may not bypass the binary log.
const ACCESS_DENIED: u16 = 1227;

/// How rows are loaded.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadOptions {
    /// INSERT with packets of at most this many bytes, the server's `max_allowed_packet`; None: LOAD DATA LOCAL.
    pub insert: Option<usize>,
    /// Write to the binary log, for replicas; otherwise bypass it where the account may.
    pub logged: bool,
}

/// Fills the tables, which exist and are empty; returns the number of rows. `timeout` is the longest silence of
/// the server; `keep_going` runs on the calling thread every `CHECK_INTERVAL`, and ends the load by returning
/// false.
///
/// With at most as many workers as tables, one connection fills each table in row order, so its pages are laid
/// out the same way every time.
pub fn load(
    target: &Target,
    timeout: Duration,
    dataset: &dyn Tables,
    workers: usize,
    options: LoadOptions,
    keep_going: &dyn Fn() -> bool,
) -> Result<u64> {
    let tables = dataset.tables();
    let jobs = jobs(&tables, workers.max(1));
    let sessions = workers.max(1).min(jobs.len());
    let queue = Mutex::new(jobs.into_iter());
    let failure = OnceLock::new();
    let work = || -> Result<u64> {
        let mut session = Session::open(target, timeout, options, &failure)?;
        let mut rows = 0;
        loop {
            let job = queue.lock().expect("never held across a panic").next();
            let Some(job) = job else { return Ok(rows) };
            let table = &tables[job.table];
            rows += match options.insert {
                Some(longest) => session.insert(dataset, table, job, longest)?,
                None => session.fill(dataset, table, job)?,
            };
        }
    };
    let rows = thread::scope(|scope| {
        let (done, ended) = channel();
        for _ in 0..sessions {
            let (done, work, failure) = (done.clone(), &work, &failure);
            scope.spawn(move || match work() {
                Ok(rows) => done.send(rows).expect("the receiver outlives its senders"),
                // The first failure causes all others.
                Err(other) => failure.set(other).unwrap_or_default(),
            });
        }
        drop(done);
        let mut total = 0;
        loop {
            match ended.recv_timeout(CHECK_INTERVAL) {
                Ok(rows) => total += rows,
                Err(RecvTimeoutError::Disconnected) => return total,
                Err(RecvTimeoutError::Timeout) => {
                    if failure.get().is_none() && !keep_going() {
                        failure.set(Failure::interrupted()).unwrap_or_default();
                    }
                }
            }
        }
    });
    failure.into_inner().map_or(Ok(rows), Err)
}

/// A range of a table's units.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Job {
    table: usize,
    units: Range<u64>,
}

/// Whole tables if there are enough for all workers, otherwise one range per worker of each. Large tables come
/// first, so that no worker begins one when the others are done.
fn jobs(tables: &[Table], workers: usize) -> Vec<Job> {
    let mut order: Vec<usize> = (0..tables.len()).collect();
    order.sort_by_key(|&table| Reverse(tables[table].units));
    let parts = if tables.len() < workers { workers as u64 } else { 1 };
    let cut = |table: usize| {
        let units = tables[table].units;
        let edge = move |part: u64| (u128::from(units) * u128::from(part) / u128::from(parts)) as u64;
        (0..parts).map(move |part| Job { table, units: edge(part)..edge(part + 1) })
    };
    order.into_iter().flat_map(cut).filter(|job| !job.units.is_empty()).collect()
}

/// A connection that sends one command at a time and waits for its end.
struct Session<'a> {
    socket: OwnedFd,
    /// The next packet's number, whichever side sends it.
    sequence: u8,
    timeout: Duration,
    /// Set once any worker failed or the load was interrupted.
    failure: &'a OnceLock<Failure>,
}

impl<'a> Session<'a> {
    fn open(
        target: &Target,
        timeout: Duration,
        options: LoadOptions,
        failure: &'a OnceLock<Failure>,
    ) -> Result<Self> {
        let Target { address, account } = target;
        let unreachable = |error| Failure::unreachable(address, &error);
        let begun = Instant::now();
        let (socket, done) = loop {
            match address.connect_nonblocking() {
                Err(error) if error.kind() == ErrorKind::WouldBlock && begun.elapsed() < timeout => {
                    thread::sleep(Duration::from_millis(10));
                }
                begun => break begun.map_err(unreachable)?,
            }
        };
        let mut session = Self { socket, sequence: 0, timeout, failure };
        if !done {
            session.wait(PollFlags::OUT)?;
            connected(&session.socket).map_err(unreachable)?;
        }
        let mut login = Login::new(address.is_secure());
        if options.insert.is_none() {
            login = login.with_local_files();
        }
        let mut incoming = [0; READ_SIZE];
        let mut answer = Vec::new();
        loop {
            let length = session.receive(&mut incoming)?;
            let outcome = login.feed(&incoming[..length], account, &mut answer)?;
            session.transmit(&answer)?;
            answer.clear();
            match outcome {
                Some(Outcome::Refused { code, message }) => return Err(Failure::of_server(code, message)),
                Some(_) => break,
                None => {}
            }
        }
        session.execute(SESSION)?;
        if options.logged {
            return Ok(session);
        }
        match session.execute(NO_BINARY_LOG) {
            Ok(()) | Err(Failure { code: ACCESS_DENIED, .. }) => Ok(session),
            Err(failure) => Err(failure),
        }
    }

    /// Sends a job's rows by LOAD DATA LOCAL; returns their number.
    fn fill(&mut self, dataset: &dyn Tables, table: &Table, job: Job) -> Result<u64> {
        let statement = statement(table);
        let (mut units, mut total) = (job.units, 0);
        let mut lines = Vec::new();
        while !units.is_empty() {
            self.query(&statement)?;
            if self.reply()?.first() != Some(&0xFB) {
                return Err(Malformed("no request for the local file").into());
            }
            let (mut sent, mut rows) = (0, 0);
            while sent < STATEMENT && !units.is_empty() {
                lines.clear();
                lines.extend_from_slice(&[0; HEADER]);
                while lines.len() < PACKET {
                    let Some(unit) = units.next() else { break };
                    dataset.write(job.table, unit, &mut |fields| {
                        line(fields, &mut lines);
                        rows += 1;
                    });
                }
                sent += lines.len();
                self.send(&mut lines)?;
            }
            self.send(&mut [0; HEADER])?;
            self.confirm(table, rows)?;
            total += rows;
        }
        Ok(total)
    }

    /// Sends a job's rows by INSERT, in packets of at most `longest` bytes unless one row is longer.
    fn insert(&mut self, dataset: &dyn Tables, table: &Table, job: Job, longest: usize) -> Result<u64> {
        let longest = longest.saturating_sub(SPARE).min(INSERT);
        let head = insert_head(table);
        let mut packet = head.clone();
        let (mut rows, mut total) = (0, 0);
        // One unit's rows, and where each ends.
        let (mut made, mut ends) = (Vec::new(), Vec::new());
        for unit in job.units {
            made.clear();
            ends.clear();
            dataset.write(job.table, unit, &mut |fields| {
                tuple(fields, &mut made);
                ends.push(made.len());
            });
            let mut begin = 0;
            for &end in &ends {
                let row = &made[begin..end];
                begin = end;
                if rows > 0 && packet.len() - HEADER + 1 + row.len() > longest {
                    total += self.send_insert(table, &mut packet, rows)?;
                    packet.truncate(head.len());
                    rows = 0;
                }
                if rows > 0 {
                    packet.push(b',');
                }
                packet.extend_from_slice(row);
                rows += 1;
            }
        }
        if rows > 0 {
            total += self.send_insert(table, &mut packet, rows)?;
        }
        Ok(total)
    }

    fn send_insert(&mut self, table: &Table, packet: &mut [u8], rows: u64) -> Result<u64> {
        self.sequence = 0;
        self.send(packet)?;
        self.confirm(table, rows)?;
        Ok(rows)
    }

    /// Waits for the end of a statement that sent `rows` rows.
    fn confirm(&mut self, table: &Table, rows: u64) -> Result<()> {
        let (stored, message) = read_ok(&self.reply()?)?;
        if stored == rows {
            return Ok(());
        }
        Err(Failure::without_code(format!("{} stored {stored} of {rows} rows: {message}", table.name)))
    }

    fn execute(&mut self, statement: &str) -> Result<()> {
        self.query(statement)?;
        read_ok(&self.reply()?)?;
        Ok(())
    }

    fn query(&mut self, statement: &str) -> Result<()> {
        self.sequence = 0;
        self.send(&mut query_packet(statement))
    }

    /// The payload of the only packet of a reply. If an error packet follows it at once, that is the failure.
    fn reply(&mut self) -> Result<Vec<u8>> {
        let mut assembler = Assembler::default();
        let mut incoming = [0; READ_SIZE];
        let mut answer = None;
        loop {
            let length = self.receive(&mut incoming)?;
            let mut bytes = &incoming[..length];
            while let Some(Packet { sequence, payload }) = assembler.take(&mut bytes)? {
                if let Some(failure) = refused(&payload) {
                    return Err(failure);
                }
                if answer.is_some() || sequence != self.sequence {
                    return Err(Malformed("packets out of order").into());
                }
                answer = Some(payload);
            }
            if let Some(payload) = answer {
                self.sequence = self.sequence.wrapping_add(1);
                return Ok(payload);
            }
        }
    }

    /// Sends a packet whose first bytes are reserved for the header.
    fn send(&mut self, packet: &mut [u8]) -> Result<()> {
        self.check_failure()?;
        seal(packet, self.sequence)?;
        self.sequence = self.sequence.wrapping_add(1);
        self.transmit(packet)
    }

    fn transmit(&self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            match send(&self.socket, bytes, SendFlags::NOSIGNAL) {
                Ok(taken) => bytes = &bytes[taken..],
                Err(Errno::AGAIN) => self.wait(PollFlags::OUT)?,
                Err(Errno::INTR) => {}
                // The server's final error says more.
                Err(error) => return Err(self.pending_error().unwrap_or_else(|| lost(error))),
            }
        }
        Ok(())
    }

    fn pending_error(&self) -> Option<Failure> {
        let mut incoming = [0; READ_SIZE];
        let length = read(&self.socket, &mut incoming[..]).ok()?;
        let packet = Assembler::default().take(&mut &incoming[..length]).ok()??;
        refused(&packet.payload)
    }

    fn receive(&self, incoming: &mut [u8]) -> Result<usize> {
        loop {
            match read(&self.socket, &mut *incoming) {
                Ok(0) => return Err(Failure::lost("the server closed the connection")),
                Ok(length) => return Ok(length),
                Err(Errno::AGAIN) => self.wait(PollFlags::IN)?,
                Err(Errno::INTR) => {}
                Err(error) => return Err(lost(error)),
            }
        }
    }

    fn check_failure(&self) -> Result<()> {
        if self.failure.get().is_some() { Err(Failure::interrupted()) } else { Ok(()) }
    }

    /// Waits for the socket. A stall of this machine counts as at most two intervals of the server's silence.
    fn wait(&self, what: PollFlags) -> Result<()> {
        let tick = Timespec { tv_sec: 0, tv_nsec: i64::from(CHECK_INTERVAL.subsec_nanos()) };
        let mut waited = Duration::ZERO;
        while waited < self.timeout {
            self.check_failure()?;
            let checked = Instant::now();
            match poll(&mut [PollFd::new(&self.socket, what)], Some(&tick)) {
                Ok(0) | Err(Errno::INTR) => waited += checked.elapsed().min(2 * CHECK_INTERVAL),
                Ok(_) => return Ok(()),
                Err(error) => return Err(Failure::without_code(error)),
            }
        }
        Err(Failure::without_code(format!("no answer within {} s", self.timeout.as_secs_f64())))
    }
}

fn lost(error: Errno) -> Failure {
    Failure::lost(format!("lost the connection: {error}"))
}

/// The failure that an error packet reports.
fn refused(payload: &[u8]) -> Option<Failure> {
    match (payload.first(), refusal(payload)) {
        (Some(0xFF), Ok(Outcome::Refused { code, message })) => Some(Failure::of_server(code, message)),
        _ => None,
    }
}

/// An OK packet's row count and message.
fn read_ok(payload: &[u8]) -> Result<(u64, String), Malformed> {
    const WARNINGS: usize = 2;
    let [0, rest @ ..] = payload else { return Err(Malformed("no OK at a statement's end")) };
    let (rows, _status, rest) = ok_body(rest)?;
    let message = match rest.get(WARNINGS..).unwrap_or_default() {
        // Contrary to the manual, servers put its length before it.
        [length, message @ ..] if usize::from(*length) == message.len() => message,
        message => message,
    };
    Ok((rows, String::from_utf8_lossy(message).into_owned()))
}

/// Before MySQL 5.0.38 and 5.1.17 servers always read rows in the schema's character set.
fn statement(table: &Table) -> String {
    format!(
        "LOAD DATA LOCAL INFILE '{name}' INTO TABLE `{name}` /*!50117 CHARACTER SET binary */ ({columns})",
        name = table.name,
        columns = columns(table)
    )
}

fn columns(table: &Table) -> String {
    let quoted: Vec<String> = table.columns.iter().map(|column| format!("`{column}`")).collect();
    quoted.join(",")
}

/// An INSERT packet up to its first row.
fn insert_head(table: &Table) -> Vec<u8> {
    query_packet(&format!("INSERT INTO `{}` ({}) VALUES ", table.name, columns(table)))
}

fn query_packet(text: &str) -> Vec<u8> {
    let mut packet = Vec::new();
    begin_query(&mut packet);
    packet.extend_from_slice(text.as_bytes());
    packet
}

/// Appends a row for INSERT.
fn tuple(fields: &[Field<'_>], out: &mut Vec<u8>) {
    let mut digits = itoa::Buffer::new();
    let mut before = b'(';
    for field in fields {
        out.push(before);
        before = b',';
        match field {
            Field::Null => out.extend_from_slice(b"NULL"),
            Field::Integer(number) => out.extend_from_slice(digits.format(*number).as_bytes()),
            Field::Text(text) => quote(text, Escapes::Backslash, out), // as SESSION's sql_mode allows
        }
    }
    out.push(b')');
}

/// Appends a row in LOAD DATA's default format.
fn line(fields: &[Field<'_>], out: &mut Vec<u8>) {
    let mut digits = itoa::Buffer::new();
    for field in fields {
        match field {
            Field::Null => out.extend_from_slice(b"\\N"),
            Field::Integer(number) => out.extend_from_slice(digits.format(*number).as_bytes()),
            Field::Text(text) => escape(text, out),
        }
        out.push(b'\t');
    }
    out.pop();
    out.push(b'\n');
}

fn escape(text: &[u8], out: &mut Vec<u8>) {
    let special = |byte: &u8| matches!(byte, b'\\' | b'\t' | b'\n' | 0);
    if !text.iter().any(special) {
        out.extend_from_slice(text);
        return;
    }
    for &byte in text {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            0 => out.extend_from_slice(b"\\0"),
            _ => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tables(units: &[u64]) -> Vec<Table> {
        let table = |(number, &units)| Table { name: format!("t{number}"), columns: &["a"], units };
        units.iter().enumerate().map(table).collect()
    }

    #[test]
    fn load_data_lines_are_escaped() {
        let mut lines = Vec::new();
        line(&[Field::Integer(-5), Field::Null, Field::Text(b""), Field::Text(b"plain")], &mut lines);
        line(&[Field::Text(b"\\N"), Field::Text(b"tab\tnew\nzero\0back\\")], &mut lines);
        let expected = b"-5\t\\N\t\tplain\n\\\\N\ttab\\tnew\\nzero\\0back\\\\\n";
        assert_eq!(String::from_utf8(lines).unwrap(), str::from_utf8(expected).unwrap());
    }

    #[test]
    fn insert_tuples_are_quoted() {
        let mut rows = Vec::new();
        tuple(&[Field::Integer(-5), Field::Null, Field::Text(b"")], &mut rows);
        tuple(&[Field::Text(b"it's\\")], &mut rows);
        assert_eq!(String::from_utf8(rows).unwrap(), r"(-5,NULL,'')('it''s\\')");
        let table = Table { name: "t".into(), columns: &["a", "b"], units: 0 };
        assert_eq!(&insert_head(&table)[HEADER..], b"\x03INSERT INTO `t` (`a`,`b`) VALUES ");
    }

    #[test]
    fn few_workers_get_whole_tables_largest_first() {
        let expected = [(1, 0..9), (2, 0..9), (0, 0..5)].map(|(table, units)| Job { table, units });
        assert_eq!(jobs(&tables(&[5, 9, 9]), 3), expected);
        assert_eq!(jobs(&tables(&[5, 0]), 1), [Job { table: 0, units: 0..5 }]);
        assert_eq!(jobs(&[], 4), []);
    }

    #[test]
    fn an_ok_packet_has_a_row_count_and_a_message() {
        for length in [&b""[..], b"\x0A"] {
            let payload = [&[0, 5, 0, 2, 0, 2, 0], length, b"Records: 7"].concat();
            assert_eq!(read_ok(&payload), Ok((5, "Records: 7".into())));
        }
        assert_eq!(read_ok(&[0, 0xFC, 0x10, 0x27, 0, 2, 0, 0, 0]), Ok((10_000, String::new())));
        assert!(read_ok(&[0xFE, 0, 0]).is_err());
        assert!(read_ok(&[0, 5]).is_err());
    }

    proptest! {
        /// Every unit is in exactly one job, in order.
        #[test]
        fn jobs_cover_all_units_once(units in prop::collection::vec(0u64..1000, 0..6), workers in 1usize..20) {
            let jobs = jobs(&tables(&units), workers);
            for (table, &units) in units.iter().enumerate() {
                let mut next = 0;
                for job in jobs.iter().filter(|job| job.table == table) {
                    prop_assert_eq!(job.units.start, next);
                    prop_assert!(job.units.end > next);
                    next = job.units.end;
                }
                prop_assert_eq!(next, units);
            }
            let busy = units.iter().filter(|&&units| units >= workers as u64).count();
            prop_assert!(busy == 0 || jobs.len() >= workers.min(units.len()).min(busy));
        }
    }
}
