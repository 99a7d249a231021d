//! All servers of a block: each one's connections spread over lanes, a thread for each lane.

use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Instant;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::connection::Failure;
use crate::lane::{Course, Lane, Tally};
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
    /// Set by a slice that failed: its connections are in the middle of something.
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
            let handles: Vec<_> = others
                .iter_mut()
                .map(|lane| scope.spawn(|| lane.run(program, start, course, &abandoned, &|| true)))
                .collect();
            let mut results = vec![own.run(program, start, course, &abandoned, look_around)];
            results.extend(handles.into_iter().map(|handle| {
                handle.join().unwrap_or_else(|_| Err(Failure::without_code("a lane of the engine panicked")))
            }));
            results
        });
        let mut tallies = Vec::with_capacity(results.len());
        let mut failures = Vec::new();
        for result in results {
            match result {
                Ok(tally) => tallies.push(tally),
                Err(failure) => failures.push(failure),
            }
        }
        // Lanes that were only told to stop come last: the first cause is what the user must read.
        failures.sort_by_key(|failure| failure.message == "abandoned");
        if let Some(failure) = failures.into_iter().next() {
            server.failure = Some(failure.clone());
            return Err(failure);
        }
        let mut tallies = tallies.into_iter();
        let mut total = tallies.next().unwrap_or_default();
        tallies.for_each(|tally| total.add(&tally));
        Ok(total)
    }
}
