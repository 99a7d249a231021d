//! Servers that threads play: each listens on a socket in a directory of its own, and answers as it is told.

// Every test file plays with a part of this.
#![allow(dead_code)]

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use _engine::address::Address;
use _engine::connection::{Failure, Target};
use _engine::engine::Engine;
use _engine::lane::{Course, Tally};
use _engine::login::Account;
use _engine::program::Program;
use rustix::time::{ClockId, clock_gettime};

pub const WINDOW: Duration = Duration::from_millis(100);
/// Much longer than any slice here may take, but for those that must time out.
pub const TIMEOUT: Duration = Duration::from_secs(20);
pub const SOON: Duration = Duration::from_secs(2);

// --- what a server says --------------------------------------------------------------------------

pub fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = (payload.len() as u32).to_le_bytes().to_vec();
    packet[3] = sequence;
    packet.extend_from_slice(payload);
    packet
}

/// A reply of these packets.
pub fn packets<P: AsRef<[u8]>>(payloads: &[P]) -> Vec<u8> {
    payloads.iter().zip(1..).flat_map(|(payload, sequence)| packet(sequence, payload.as_ref())).collect()
}

pub const OK: &[u8] = &[0, 1, 0, 2, 0, 0, 0];
pub const END: &[u8] = &[0xFE, 0, 0, 2, 0];

pub fn done() -> Vec<u8> {
    packet(1, OK)
}

fn refusal(code: u16, words: &str) -> Vec<u8> {
    [&[0xFF], &code.to_le_bytes()[..], b"#HY000", words.as_bytes()].concat()
}

pub fn refused(code: u16, words: &str) -> Vec<u8> {
    packet(1, &refusal(code, words))
}

pub fn rows() -> Vec<u8> {
    packets(&[&[1], &b"\x03def"[..], END, b"\x05a row", END])
}

// --- what it hears -------------------------------------------------------------------------------

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub code: u8,
    pub body: Vec<u8>,
}

impl Command {
    /// A query's or a template's text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

fn read_packet(stream: &mut UnixStream) -> io::Result<Vec<u8>> {
    let mut header = [0; 4];
    stream.read_exact(&mut header)?;
    let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
    stream.read_exact(&mut payload)?;
    Ok(payload)
}

pub fn read_command(stream: &mut UnixStream) -> io::Result<Command> {
    let mut body = read_packet(stream)?;
    let code = body.remove(0);
    Ok(Command { code, body })
}

// --- what it does with one connection ------------------------------------------------------------

/// Plays one connection from its beginning; gives what it was sent.
pub type Role = Box<dyn FnOnce(UnixStream) -> Vec<Command> + Send>;

fn log_in(stream: &mut UnixStream) -> io::Result<()> {
    const CAPABILITIES: u32 = 0x000A_F7FF; // as a 5.7 server without TLS
    let [a, b, c, d] = CAPABILITIES.to_le_bytes();
    let greeting = [
        b"\x0A5.7.22\0\x07\0\0\0abcdefgh\0",
        &[a, b, 8, 2, 0, c, d, 21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..],
        b"ijklmnopqrst\0mysql_native_password\0",
    ];
    stream.write_all(&packet(0, &greeting.concat()))?;
    read_packet(stream)?;
    stream.write_all(&packet(2, OK))
}

/// Has the stream before the login.
pub fn unlogged(play: impl FnOnce(&mut UnixStream) + Send + 'static) -> Role {
    Box::new(|mut stream| {
        play(&mut stream);
        Vec::new()
    })
}

/// Has the stream after the login.
pub fn logged(play: impl FnOnce(&mut UnixStream) + Send + 'static) -> Role {
    unlogged(|stream| {
        if log_in(stream).is_ok() {
            play(stream);
        }
    })
}

/// Logs in, then replies to each command by `answer`.
pub fn serving(mut answer: impl FnMut(&Command, &mut UnixStream) + Send + 'static) -> Role {
    Box::new(move |mut stream| {
        let mut heard = Vec::new();
        if log_in(&mut stream).is_ok() {
            while let Ok(command) = read_command(&mut stream) {
                answer(&command, &mut stream);
                heard.push(command);
            }
        }
        heard
    })
}

pub fn obliging() -> Role {
    serving(|_, stream| say(stream, &done()))
}

/// Replies to the first command by these bytes, and to nothing more.
pub fn saying(bytes: Vec<u8>) -> Role {
    logged(move |stream| {
        read_command(stream).unwrap();
        say(stream, &bytes);
        wait_for_end(stream);
    })
}

/// Hears all, says nothing.
pub fn silent() -> Role {
    logged(wait_for_end)
}

pub fn refusing(code: u16, words: &'static str) -> Role {
    unlogged(move |stream| say(stream, &packet(0, &refusal(code, words))))
}

/// Writes to a client that may have left.
pub fn say(stream: &mut UnixStream, bytes: &[u8]) {
    stream.write_all(bytes).unwrap_or_default();
}

/// Leaves unread what comes, until the client has gone.
pub fn wait_for_end(stream: &mut UnixStream) {
    let closed = || rustix::event::PollFd::new(&*stream, rustix::event::PollFlags::RDHUP);
    rustix::event::poll(&mut [closed()], None).unwrap();
}

// --- the server ----------------------------------------------------------------------------------

/// A temporary directory.
pub struct Home(PathBuf);

impl Home {
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("shootout-played-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn socket(&self) -> PathBuf {
        self.0.join("s")
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap_or_default();
    }
}

pub fn target(socket: PathBuf) -> Target {
    let account = Account { user: "u".into(), password: "p".into(), schema: "s".into() };
    Target { address: Address::Unix(socket), account }
}

/// Listens until it is dropped; the connections it has then are played to their ends.
pub struct Server {
    socket: PathBuf,
    stopped: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
    played: Arc<Mutex<Vec<JoinHandle<Vec<Command>>>>>,
    home: Option<Home>,
}

impl Server {
    /// Plays these roles, in the order of connecting.
    pub fn of(roles: Vec<Role>) -> Self {
        let mut roles = roles.into_iter();
        Self::new(move |_| roles.next().expect("more connections than roles"))
    }

    /// Plays as many as come; `role` gets each one's number, from 0.
    pub fn new(role: impl FnMut(usize) -> Role + Send + 'static) -> Self {
        let home = Home::new();
        let mut server = Self::at(&home.socket(), role);
        server.home = Some(home);
        server
    }

    /// The same on a socket that outlives it.
    pub fn at(socket: &Path, role: impl FnMut(usize) -> Role + Send + 'static) -> Self {
        Self::on(UnixListener::bind(socket).unwrap(), role)
    }

    pub fn on(listener: UnixListener, mut role: impl FnMut(usize) -> Role + Send + 'static) -> Self {
        let socket = listener.local_addr().unwrap().as_pathname().unwrap().to_path_buf();
        let (stopped, played) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (stopping, playing) = (Arc::clone(&stopped), Arc::clone(&played));
        let accepting = thread::spawn(move || {
            for number in 0.. {
                let (stream, _) = listener.accept().unwrap();
                if stopping.load(Ordering::Relaxed) {
                    return;
                }
                let role = role(number);
                playing.lock().unwrap().push(thread::spawn(|| role(stream)));
            }
        });
        Self { socket, stopped, accepting: Some(accepting), played, home: None }
    }

    pub fn target(&self) -> Target {
        target(self.socket.clone())
    }

    /// How many connections were accepted so far.
    pub fn accepted(&self) -> usize {
        self.played.lock().unwrap().len()
    }

    /// What each connection was sent, once the clients have gone.
    pub fn heard(mut self) -> Vec<Vec<Command>> {
        self.stop();
        let played = std::mem::take(&mut *self.played.lock().unwrap());
        played.into_iter().map(|role| role.join().unwrap()).collect()
    }

    /// The texts that a server of one connection was sent.
    pub fn heard_texts(self) -> Vec<String> {
        self.heard().concat().iter().map(|command| command.text().into()).collect()
    }

    fn stop(&mut self) {
        if let Some(accepting) = self.accepting.take() {
            self.stopped.store(true, Ordering::Relaxed);
            // Wakes it up. Its role may have panicked, and closed the listener.
            let woken = UnixStream::connect(&self.socket);
            std::fs::remove_file(&self.socket).unwrap_or_default();
            drop(woken);
            accepting.join().unwrap();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.stop();
        }
    }
}

/// CPU time of this thread, which drives a server's first lane.
pub fn thread_cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

// --- the engine against it -----------------------------------------------------------------------

/// A program of one statement; `extra` are further fields of it, each with a comma behind it.
pub fn program_with(extra: &str, begin: bool, statement: &str) -> Program {
    let json = format!(
        r#"{{"tables": 1, "rows": 9, "distribution": {{"type": "uniform"}}, "parameters": [], {extra}
            "kinds": [{{"name": "write", "effect": "write"}},
                      {{"name": "begin", "effect": "other"}}, {{"name": "commit", "effect": "other"}}],
            "transactions": [{{"weight": 1, "begin": {begin}, "steps": [
                {{"repeat": 1, "statements": [{{"kind": 0, "pieces": ["{statement}"]}}]}}]}}]}}"#
    );
    Program::parse(json.as_bytes()).unwrap()
}

pub fn program(begin: bool, statement: &str) -> Program {
    program_with("", begin, statement)
}

pub fn connect(engine: &mut Engine, server: &Server, connections: usize) {
    engine.connect(server.target(), connections, TIMEOUT, &|| true).unwrap();
}

pub const COURSE: Course = Course { ramp: Duration::ZERO, window: WINDOW };

/// One slice that must end soon.
pub fn slice(engine: &mut Engine, server: usize, timeout: Duration) -> Result<Tally, Failure> {
    let began = Instant::now();
    let result = engine.slice(server, COURSE, timeout, &|| true);
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    result
}

pub fn one_slice(
    program: Program,
    server: &Server,
    connections: usize,
    timeout: Duration,
) -> Result<Tally, Failure> {
    let mut engine = Engine::new(program, 1, 1);
    connect(&mut engine, server, connections);
    slice(&mut engine, 0, timeout)
}
