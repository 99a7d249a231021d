//! All servers of a block: each one's connections spread over lanes, a thread for each lane.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::connection::{Failure, Target};
use crate::lane::{Course, LOOK_AROUND, Lane, Tally, Task};
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
    /// Set by a slice that failed; its connections, in the middle of something, were closed.
    failure: Option<Failure>,
}

impl Engine {
    pub fn new(program: Program, seed: u64, workers: usize) -> Self {
        Self { program, seed, workers: workers.max(1), servers: Vec::new() }
    }

    /// How many servers are connected.
    pub fn servers(&self) -> usize {
        self.servers.len()
    }

    /// Brings up `connections` to one server; returns its number.
    ///
    /// Equal positions get equal random numbers on every server, so that servers are asked for the same rows.
    pub fn connect(
        &mut self,
        target: Target,
        connections: usize,
        timeout: Duration,
        look_around: &dyn Fn() -> bool,
    ) -> Result<usize, Failure> {
        let mut lanes = Vec::new();
        let workers = self.workers.min(connections);
        for worker in 0..workers {
            let numbers: Vec<u64> =
                (worker..connections).step_by(workers).map(|number| number as u64).collect();
            let mut lane = Lane::new(&self.program, self.seed, &numbers, connections as u64)?;
            let abandoned = AtomicBool::new(false);
            let task =
                Task { program: &self.program, target: &target, timeout, abandoned: &abandoned, look_around };
            let connected = lane.connect(task);
            lanes.push(lane);
            if let Err(failure) = connected {
                let up: usize = lanes.iter().map(Lane::up).sum();
                let message = format!("{up} of {connections} connections were made: {}", failure.message);
                return Err(Failure { message, ..failure });
            }
        }
        self.servers.push(Server { target, lanes, failure: None });
        Ok(self.servers.len() - 1)
    }

    /// Loads one server for one slice. `look_around` runs on the calling thread now and then.
    pub fn slice(
        &mut self,
        server: usize,
        course: Course,
        timeout: Duration,
        look_around: &dyn Fn() -> bool,
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
                    let task = Task { program, target, timeout, abandoned, look_around: &|| true };
                    done.send(lane.run(task, start, course)).ok()
                });
            }
            drop(done);
            let task = Task { program, target, timeout, abandoned: &abandoned, look_around };
            let mut results = vec![own.run(task, start, course)];
            loop {
                match ended.recv_timeout(LOOK_AROUND) {
                    Ok(result) => results.push(result),
                    Err(RecvTimeoutError::Disconnected) => return results,
                    Err(RecvTimeoutError::Timeout) => {
                        if !abandoned.load(Ordering::Relaxed) && !look_around() {
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
