//! All servers of a block: each one's connections spread over lanes, a thread for each lane.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Instant;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::connection::Failure;
use crate::lane::{Course, LOOK_AROUND, Lane, Tally};
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

    /// Takes over authenticated connections to one server; returns its number.
    ///
    /// Equal positions get equal random numbers on every server, so that servers are asked for the same rows.
    pub fn connect(&mut self, sockets: Vec<OwnedFd>) -> Result<usize, Failure> {
        let count = sockets.len();
        let mut shares: Vec<Vec<(u64, OwnedFd)>> = (0..self.workers.min(count)).map(|_| Vec::new()).collect();
        for (number, socket) in sockets.into_iter().enumerate() {
            let flags = fcntl_getfl(&socket).map_err(Failure::without_code)?;
            fcntl_setfl(&socket, flags | OFlags::NONBLOCK).map_err(Failure::without_code)?;
            let lane = number % shares.len();
            shares[lane].push((number as u64, socket));
        }
        let lanes = shares
            .into_iter()
            .map(|share| Lane::new(&self.program, self.seed, share))
            .collect::<Result<_, _>>()?;
        self.servers.push(Server { lanes, failure: None });
        Ok(self.servers.len() - 1)
    }

    /// Loads one server for one slice. `look_around` runs on the calling thread now and then.
    pub fn slice(
        &mut self,
        server: usize,
        course: Course,
        look_around: &dyn Fn() -> bool,
    ) -> Result<Tally, Failure> {
        let program = &self.program;
        let Some(server) = self.servers.get_mut(server) else {
            return Err(Failure::without_code("no such server"));
        };
        if let Some(failure) = &server.failure {
            return Err(failure.clone());
        }
        let Some((own, others)) = server.lanes.split_first_mut() else {
            return Err(Failure::without_code("no connections"));
        };
        let abandoned = AtomicBool::new(false);
        let start = Instant::now();
        let results = thread::scope(|scope| {
            let (done, ended) = channel();
            for lane in others {
                let (done, abandoned) = (done.clone(), &abandoned);
                scope.spawn(move || done.send(lane.run(program, start, course, abandoned, &|| true)).ok());
            }
            drop(done);
            let mut results = vec![own.run(program, start, course, &abandoned, look_around)];
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
