//! All servers of a block. Each server's connections spread over lanes, one thread per lane.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::connection::{Failure, Target};
use crate::lane::{CHECK_INTERVAL, Course, Lane, Tally, Task};
use crate::program::Program;

#[derive(Debug)]
pub struct Engine {
    pub program: Program,
    seed: u64,
    workers: usize,
    servers: Vec<Server>,
}

#[derive(Debug)]
struct Server {
    target: Target,
    lanes: Vec<Lane>,
    /// Set once a slice failed; its connections were closed.
    failure: Option<Failure>,
}

impl Engine {
    pub fn new(program: Program, seed: u64, workers: usize) -> Self {
        Self { program, seed, workers: workers.max(1), servers: Vec::new() }
    }

    /// The number of connected servers.
    pub fn servers(&self) -> usize {
        self.servers.len()
    }

    /// Opens `connections` to one server; returns the server's number. `keep_going` is as for `slice`.
    ///
    /// Connections in equal positions draw equal random numbers, so all servers are asked for the same rows.
    pub fn connect(
        &mut self,
        target: Target,
        connections: usize,
        timeout: Duration,
        keep_going: &dyn Fn() -> bool,
    ) -> Result<usize, Failure> {
        let mut lanes = Vec::new();
        let workers = self.workers.min(connections);
        for worker in 0..workers {
            let numbers: Vec<u64> =
                (worker..connections).step_by(workers).map(|number| number as u64).collect();
            let mut lane = Lane::new(&self.program, self.seed, &numbers, connections as u64)?;
            let abandoned = AtomicBool::new(false);
            let task =
                Task { program: &self.program, target: &target, timeout, abandoned: &abandoned, keep_going };
            let connected = lane.connect(task);
            lanes.push(lane);
            if let Err(failure) = connected {
                let up: usize = lanes.iter().map(Lane::up).sum();
                let message = format!("{up} of {connections} connections opened: {}", failure.message);
                return Err(Failure { message, ..failure });
            }
        }
        self.servers.push(Server { target, lanes, failure: None });
        Ok(self.servers.len() - 1)
    }

    /// Loads one server for one slice. `keep_going` runs on the calling thread every `CHECK_INTERVAL`, and ends
    /// the slice by returning false.
    pub fn slice(
        &mut self,
        server: usize,
        course: Course,
        timeout: Duration,
        keep_going: &dyn Fn() -> bool,
    ) -> Result<Tally, Failure> {
        let program = &self.program;
        let Some(server) = self.servers.get_mut(server) else {
            return Err(Failure::without_code("no such server"));
        };
        if let Some(failure) = &server.failure {
            return Err(failure.clone());
        }
        let target = &server.target;
        let Some((own, others)) = server.lanes.split_first_mut() else {
            return Err(Failure::without_code("no connections"));
        };
        let abandoned = AtomicBool::new(false);
        let start = Instant::now();
        let results = thread::scope(|scope| {
            let (done, ended) = channel();
            for lane in others {
                let (done, abandoned) = (done.clone(), &abandoned);
                scope.spawn(move || {
                    let task = Task { program, target, timeout, abandoned, keep_going: &|| true };
                    done.send(lane.run(task, start, course)).ok()
                });
            }
            drop(done);
            let task = Task { program, target, timeout, abandoned: &abandoned, keep_going };
            let mut results = vec![own.run(task, start, course)];
            loop {
                match ended.recv_timeout(CHECK_INTERVAL) {
                    Ok(result) => results.push(result),
                    Err(RecvTimeoutError::Disconnected) => return results,
                    Err(RecvTimeoutError::Timeout) => {
                        if !abandoned.load(Ordering::Relaxed) && !keep_going() {
                            abandoned.store(true, Ordering::Relaxed);
                            results.push(Err(Failure::interrupted()));
                        }
                    }
                }
            }
        });
        let total = results.into_iter().reduce(|total, tally| {
            let (mut total, tally) = (total?, tally?);
            total.add(&tally);
            Ok(total)
        });
        let result = total.unwrap_or_else(|| Ok(Tally::default()));
        if let Err(failure) = &result {
            server.failure = Some(failure.clone());
            server.lanes.clear();
        }
        result
    }
}
