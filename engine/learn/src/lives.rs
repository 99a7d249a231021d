//! How many connections there were at once, from their first and last statements.

/// Counted in the order of the log: times are too coarse on some servers.
#[derive(Default)]
pub struct Lives {
    /// Entries of the log, and +1 or −1, in any order.
    changes: Vec<(u64, i64)>,
    level: i64,
    most: i64,
}

impl Lives {
    pub fn begun(&mut self, entry: u64) {
        self.changes.push((entry, 1));
    }

    pub fn ended(&mut self, last: u64) {
        self.changes.push((last, -1));
    }

    /// Counts what is final: before an entry that no connection ends before any more.
    pub fn settle(&mut self, before: u64) {
        self.changes.sort_unstable_by_key(|&(entry, change)| (entry, -change));
        let settled = self.changes.partition_point(|&(entry, _)| entry < before);
        for (_, change) in self.changes.drain(..settled) {
            self.level += change;
            self.most = self.most.max(self.level);
        }
    }

    pub fn most(&self) -> u64 {
        self.most.unsigned_abs()
    }
}
