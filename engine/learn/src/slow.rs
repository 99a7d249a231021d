//! The slow query log of MySQL, MariaDB and Percona Server.

use super::connections::Times;
use super::learner::{DEADLOCK, Entry, Learner};
use super::templates::Cost;
use super::text::{digits, parsed, seconds_us, time_us};
use super::{Body, CUT, OUTSIDE};

/// The header of an entry, as far as it was read.
#[derive(Default)]
struct Head {
    /// MySQL before 5.6 does not tell.
    connection: Option<u64>,
    cost: Cost,
    /// Whether Query_time was there.
    costed: bool,
    error: u32,
    /// From SET timestamp.
    timestamp_us: Option<i64>,
    /// Its times are those of the statement's begin from some version between 10.5 and 10.11 on, and are taken for
    /// that: no header tells the version. Other servers' are those of the end.
    mariadb: bool,
    /// The header is complete: all that follows is the statement.
    complete: bool,
}

impl Head {
    /// Completes the header by `SET last_insert_id=…,insert_id=…,timestamp=…;`, of which MySQL before 5.1 writes only
    /// what the statement depends on; None if the line is another.
    fn set(&mut self, line: &[u8]) -> Option<()> {
        let mut timestamp_us = None;
        for assignment in line.strip_prefix(b"SET ")?.strip_suffix(b";")?.split(|&byte| byte == b',') {
            let (name, value) = assignment.split_at(assignment.iter().position(|&byte| byte == b'=')? + 1);
            match name {
                b"timestamp=" => timestamp_us = Some(seconds_us(value)?),
                b"insert_id=" | b"last_insert_id=" => drop(parsed::<u64>(value)?),
                _ => return None,
            }
        }
        (self.timestamp_us, self.complete) = (timestamp_us, true);
        Some(())
    }
}

#[derive(Default)]
pub struct Slow {
    head: Option<Head>,
    body: Body,
    /// The time of the next entries; a server of whole seconds writes it when it changes.
    written_us: Option<i64>,
    /// Whether `written_us` has a fraction: then it is the end of one statement.
    precise: bool,
}

impl Slow {
    pub fn begins(line: &[u8]) -> bool {
        line.strip_prefix(b"# Time: ").is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_digit))
            || line.starts_with(b"# User@Host: ") && line.windows(4).any(|window| window == b"] @ ")
    }

    pub fn line(&mut self, line: &[u8], learner: &mut Learner) {
        if Self::begins(line) {
            let fresh = self.head.as_ref().is_some_and(|head| !head.costed && !head.complete);
            if !fresh || !self.body.is_empty() {
                self.flush(learner);
                self.head = Some(Head::default());
            }
            match line.strip_prefix(b"# Time: ") {
                Some(time) => {
                    self.written_us = time_us(time).map(|(us, _)| us);
                    self.precise = time.contains(&b'T');
                }
                None => self.fields(line, learner),
            }
            return;
        }
        match &mut self.head {
            None => learner.unreadable(OUTSIDE),
            Some(head) if head.complete || !self.body.is_empty() => self.body.push(line),
            // MariaDB puts bare `#` lines around a plan.
            Some(_) if line.starts_with(b"#") && !line.starts_with(b"# administrator command") => {
                self.fields(line, learner);
            }
            // The connection may be any: the server writes it when it changes.
            Some(_) if line.starts_with(b"use ") && line.ends_with(b";") => {}
            Some(head) => {
                if head.set(line).is_none() {
                    self.body.push(line);
                }
            }
        }
    }

    /// `Key: value` pairs of a header's line.
    fn fields(&mut self, line: &[u8], learner: &mut Learner) {
        let Some(head) = &mut self.head else { return };
        let mut key: &[u8] = b"";
        for word in line.split(|&byte| byte == b' ').filter(|word| !word.is_empty()) {
            if word.ends_with(b":") {
                key = &word[..word.len() - 1];
                continue;
            }
            let number = || digits(word).map_or(0, |(number, _)| number);
            match std::mem::take(&mut key) {
                b"Id" | b"Thread_id" => head.connection = Some(number()),
                b"QC_hit" => head.mariadb = true,
                b"Query_time" => {
                    let seconds = parsed(word).filter(|seconds| (0.0..1e9).contains(seconds));
                    head.cost.seconds = seconds.unwrap_or(0.0);
                    head.costed = seconds.is_some();
                }
                b"Rows_sent" => head.cost.rows_sent = number(),
                b"Rows_examined" => head.cost.rows_examined = number(),
                b"Log_slow_rate_type" => learner.sampled.sessions = word == b"session",
                b"Log_slow_rate_limit" => learner.sampled.of = learner.sampled.of.max(number()),
                b"Errno" => head.error = u32::try_from(number()).unwrap_or(0),
                // Percona Server's can be a warning's.
                b"Last_errno" if number() == u64::from(DEADLOCK) => head.error = DEADLOCK,
                _ => {}
            }
        }
    }

    /// Ends the entry.
    pub fn flush(&mut self, learner: &mut Learner) {
        let Some(head) = self.head.take() else { return };
        let text = match self.body.take() {
            Err(reason) => return learner.unreadable(reason),
            Ok(text) => text.trim_ascii_end(),
        };
        let Some(text) = text.strip_suffix(b";").filter(|_| head.costed) else {
            return learner.unreadable(CUT);
        };
        if let Some(command) = text.strip_prefix(b"# administrator command: ") {
            if let Some(connection) = head.connection.filter(|_| command == b"Quit") {
                learner.disconnected(connection);
            }
            return;
        }
        if let Some(count) = suppressed(text) {
            return learner.left_out("suppressed by log_throttle_queries_not_using_indexes", count);
        }
        let took_us = (head.cost.seconds * 1e6) as i64;
        let written_us = if self.precise { None } else { head.timestamp_us }.or(self.written_us);
        let times = written_us.map(|us| {
            let start_us = if head.mariadb { us } else { us - took_us };
            Times { start_us, end_us: start_us + took_us }
        });
        if head.connection.is_none() {
            learner.mixed = true;
        }
        learner.ran(&Entry {
            connection: head.connection.unwrap_or(0),
            times,
            text,
            cost: Some(head.cost),
            error: head.error,
        });
    }
}

/// Reads how many statements an entry stands for that were not written: `throttle: 5 'index not used' warning(s)
/// suppressed.`
fn suppressed(text: &[u8]) -> Option<u64> {
    let rest = text.strip_prefix(b"throttle:")?.trim_ascii_start();
    text.ends_with(b"suppressed.").then(|| digits(rest).map(|(count, _)| count))?
}
