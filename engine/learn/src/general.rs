//! The general query log of MySQL and MariaDB.

use super::connections::Times;
use super::learner::{Entry, Learner};
use super::statement::one_of;
use super::text::{digits, time_us};
use super::{Body, OUTSIDE};

/// Commands as servers write them; another word in their place is a statement's further line.
const COMMANDS: &str = "Sleep|Quit|Init DB|Query|Field List|Create DB|Drop DB|Refresh|Shutdown|Statistics|Processlist|\
    Connect|Kill|Debug|Ping|Time|Delayed insert|Change user|Binlog Dump|Table Dump|Connect Out|\
    Register Slave|Register Sl|Register Replica|Prepare|Execute|Long Data|Close stmt|Reset stmt|Set option|\
    Fetch|Daemon|Binlog Dump GTID|Reset Connection|Reset connection|clone|\
    Subscribe Group Replication Stream|Error|Bulk_execute|Slave_worker|Slave_IO";

/// Where a time would stand, in spaces.
const BLANK_TIME: usize = 15;

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
    /// `TIME⇥ID COMMAND⇥ARGUMENT`; MariaDB and MySQL before 5.7 leave the time out within a second, or blank. Early 5.7
    /// has spaces behind the time; MySQL before 5.1, and a copy with expanded tabs, behind the command, too.
    fn of(line: &'a [u8]) -> Option<Self> {
        let (time_us, rest) = time_us(line).map_or((None, line), |(us, rest)| (Some(us), rest));
        let blank = rest.iter().take_while(|&&byte| byte == b' ' || byte == b'\t').count();
        let padded =
            rest.starts_with(b"\t\t") || rest.iter().take_while(|&&byte| byte == b' ').count() >= BLANK_TIME;
        if blank == 0 || time_us.is_none() && !padded {
            return None;
        }
        let (connection, rest) = digits(&rest[blank..])?;
        let rest = rest.strip_prefix(b" ")?;
        let end = rest.iter().position(|&byte| byte == b'\t').unwrap_or(rest.len());
        let command = rest[..end].trim_ascii_end();
        if one_of(command, COMMANDS) {
            let argument = rest.get(end + 1..).unwrap_or_default();
            return Some(Self { time_us, connection, command, argument });
        }
        let begins =
            |name: &&str| rest.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b" "));
        let name = COMMANDS.split('|').filter(begins).max_by_key(|name| name.len())?;
        let (command, argument) = rest.split_at(name.len());
        Some(Self { time_us, connection, command, argument: argument.trim_ascii_start() })
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
