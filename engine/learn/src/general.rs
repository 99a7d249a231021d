//! The general query log of MySQL and MariaDB.

use super::connections::Times;
use super::learner::{Entry, Learner};
use super::statement::one_of;
use super::text::{digits, time_us};
use super::{Body, OUTSIDE};

/// What the servers write as commands; another word in its place is a statement's further line.
const COMMANDS: &str = "Sleep|Quit|Init DB|Query|Field List|Create DB|Drop DB|Refresh|Shutdown|Statistics|Processlist|\
    Connect|Kill|Debug|Ping|Time|Delayed insert|Change user|Binlog Dump|Table Dump|Connect Out|\
    Register Slave|Register Sl|Register Replica|Prepare|Execute|Long Data|Close stmt|Reset stmt|Set option|\
    Fetch|Daemon|Binlog Dump GTID|Reset Connection|Reset connection|clone|\
    Subscribe Group Replication Stream|Error|Bulk_execute|Slave_worker|Slave_IO";

/// A command's length in logs of MySQL before 5.1.
const FITTED: usize = 11;

#[derive(Default)]
pub struct General {
    /// A line that is no command belongs to the one before.
    begun: bool,
    /// The connection whose statement is in the body.
    connection: Option<u64>,
    body: Body,
    times: Option<Times>,
}

struct Head<'a> {
    time_us: Option<i64>,
    connection: u64,
    command: &'a [u8],
    argument: &'a [u8],
}

impl<'a> Head<'a> {
    /// `TIME⇥ID COMMAND⇥ARGUMENT`; MariaDB and MySQL before 5.7 leave the time out within a second. MySQL before 5.1
    /// cuts or pads the command to a fixed length, and a space follows.
    fn of(line: &'a [u8]) -> Option<Self> {
        let (time_us, rest) = if let Some(rest) = line.strip_prefix(b"\t\t") {
            (None, rest)
        } else {
            let (us, rest) = time_us(line)?;
            (Some(us), rest.strip_prefix(b"\t")?)
        };
        let (connection, rest) = digits(rest.trim_ascii_start())?;
        let rest = rest.strip_prefix(b" ")?;
        let end = rest.iter().position(|&byte| byte == b'\t').unwrap_or(rest.len());
        let cut = |end: usize| {
            let command = rest[..end].trim_ascii_end();
            let argument = rest.get(end + 1..).unwrap_or_default();
            one_of(command, COMMANDS).then_some(Self { time_us, connection, command, argument })
        };
        cut(end).or_else(|| if rest.get(FITTED) == Some(&b' ') { cut(FITTED) } else { None })
    }
}

impl General {
    pub fn begins(line: &[u8]) -> bool {
        Head::of(line).is_some()
    }

    pub fn line(&mut self, line: &[u8], learner: &mut Learner) {
        let Some(head) = Head::of(line) else {
            match self.connection {
                Some(_) => self.body.push(line),
                // A PREPARE has lines, too.
                None if self.begun => {}
                None => learner.unreadable(OUTSIDE),
            }
            return;
        };
        self.flush(learner);
        self.begun = true;
        if let Some(us) = head.time_us {
            self.times = Some(Times { start_us: us, end_us: us });
        }
        match head.command {
            b"Query" | b"Execute" => {
                self.connection = Some(head.connection);
                self.body.push(unnumbered(head.argument));
            }
            b"Connect" | b"Change user" => learner.connected(head.connection, self.times),
            b"Quit" => learner.disconnected(head.connection),
            _ => {}
        }
    }

    /// Ends the statement.
    pub fn flush(&mut self, learner: &mut Learner) {
        let Some(connection) = self.connection.take() else { return };
        match self.body.take() {
            Err(reason) => learner.unreadable(reason),
            Ok(text) => learner.ran(&Entry { connection, times: self.times, text, cost: None, error: 0 }),
        }
    }
}

/// A statement without its number, `[1] `, which MySQL before 5.1 puts in front of those that were prepared.
fn unnumbered(argument: &[u8]) -> &[u8] {
    let number = argument.strip_prefix(b"[").and_then(digits);
    number.and_then(|(_, rest)| rest.strip_prefix(b"] ")).unwrap_or(argument)
}
