//! Fake servers: threads that listen on a socket in a temporary directory, and reply by scripts.

#![allow(dead_code)] // every test file uses a part of this

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use _engine::address::Address;
use _engine::connection::{Result, Target};
use _engine::engine::Engine;
use _engine::lane::{Course, Tally};
use _engine::login::Account;
use _engine::program::Program;
use rustix::time::{ClockId, clock_gettime};

pub const WINDOW: Duration = Duration::from_millis(100);
/// Longer than anything here may take that must not time out.
pub const TIMEOUT: Duration = Duration::from_secs(20);
pub const SOON: Duration = Duration::from_secs(2);

// --- replies -------------------------------------------------------------------------------------

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

pub fn ok() -> Vec<u8> {
    packet(1, OK)
}

pub fn error(code: u16, message: &str) -> Vec<u8> {
    [&[0xFF], &code.to_le_bytes()[..], b"#HY000", message.as_bytes()].concat()
}

pub fn refused(code: u16, message: &str) -> Vec<u8> {
    packet(1, &error(code, message))
}

pub fn rows() -> Vec<u8> {
    packets(&[&[1], &b"\x03def"[..], END, b"\x05a row", END])
}

// --- commands ------------------------------------------------------------------------------------

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub code: u8,
    pub body: Vec<u8>,
}

impl Command {
    /// The text of a query or of a statement to prepare.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

/// A packet's number and payload.
pub fn read_packet(stream: &mut UnixStream) -> io::Result<(u8, Vec<u8>)> {
    let mut header = [0; 4];
    stream.read_exact(&mut header)?;
    let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
    stream.read_exact(&mut payload)?;
    Ok((header[3], payload))
}

pub fn read_command(stream: &mut UnixStream) -> io::Result<Command> {
    let (_, mut body) = read_packet(stream)?;
    let code = body.remove(0);
    Ok(Command { code, body })
}

// --- scripts -------------------------------------------------------------------------------------

/// Serves one connection; returns the commands received.
pub type Script = Box<dyn FnOnce(UnixStream) -> Vec<Command> + Send>;

pub fn log_in(stream: &mut UnixStream) -> io::Result<()> {
    const CAPABILITIES: u32 = 0x000A_F7FF; // those of a 5.7 server without TLS
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

/// Takes the stream before the login.
pub fn before_login(play: impl FnOnce(&mut UnixStream) + Send + 'static) -> Script {
    Box::new(|mut stream| {
        play(&mut stream);
        Vec::new()
    })
}

/// Takes the stream after the login.
pub fn after_login(play: impl FnOnce(&mut UnixStream) + Send + 'static) -> Script {
    before_login(|stream| {
        if log_in(stream).is_ok() {
            play(stream);
        }
    })
}

/// Accepts the login, then answers each command.
pub fn serving(mut answer: impl FnMut(&Command, &mut UnixStream) + Send + 'static) -> Script {
    Box::new(move |mut stream| {
        let mut received = Vec::new();
        if log_in(&mut stream).is_ok() {
            while let Ok(command) = read_command(&mut stream) {
                answer(&command, &mut stream);
                received.push(command);
            }
        }
        received
    })
}

pub fn all_ok() -> Script {
    serving(|_, stream| send(stream, &ok()))
}

/// Answers the first command with these bytes, and no other.
pub fn replying_once(bytes: Vec<u8>) -> Script {
    after_login(move |stream| {
        read_command(stream).unwrap();
        send(stream, &bytes);
        wait_for_end(stream);
    })
}

/// Accepts the login, then is silent.
pub fn silent() -> Script {
    after_login(wait_for_end)
}

pub fn refusing(code: u16, message: &'static str) -> Script {
    before_login(move |stream| send(stream, &packet(0, &error(code, message))))
}

/// Writes to a client that may have gone.
pub fn send(stream: &mut UnixStream, bytes: &[u8]) {
    stream.write_all(bytes).unwrap_or_default();
}

/// Reads nothing until the client has gone.
pub fn wait_for_end(stream: &mut UnixStream) {
    let closed = || rustix::event::PollFd::new(&*stream, rustix::event::PollFlags::RDHUP);
    rustix::event::poll(&mut [closed()], None).unwrap();
}

// --- the server ----------------------------------------------------------------------------------

/// A temporary directory.
pub struct TempDir(PathBuf);

impl TempDir {
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("shootout-fake-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn socket(&self) -> PathBuf {
        self.0.join("s")
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap_or_default();
    }
}

pub fn target(socket: PathBuf) -> Target {
    let account = Account { user: "u".into(), password: "p".into(), schema: "s".into() };
    Target { address: Address::Unix(socket), account }
}

/// Listens until dropped; open connections run to their ends.
pub struct Server {
    socket: PathBuf,
    stopped: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
    threads: Arc<Mutex<Vec<JoinHandle<Vec<Command>>>>>,
    directory: Option<TempDir>,
}

impl Server {
    /// Runs these scripts in the order of connecting.
    pub fn of(scripts: Vec<Script>) -> Self {
        let mut scripts = scripts.into_iter();
        Self::new(move |_| scripts.next().expect("more connections than scripts"))
    }

    /// Serves any number of connections; `script` gets each one's number, from 0.
    pub fn new(script: impl FnMut(usize) -> Script + Send + 'static) -> Self {
        let directory = TempDir::new();
        let mut server = Self::at(&directory.socket(), script);
        server.directory = Some(directory);
        server
    }

    /// As `new`, on a socket path that outlives the server.
    pub fn at(socket: &Path, script: impl FnMut(usize) -> Script + Send + 'static) -> Self {
        Self::on(UnixListener::bind(socket).unwrap(), script)
    }

    pub fn on(listener: UnixListener, mut script: impl FnMut(usize) -> Script + Send + 'static) -> Self {
        let socket = listener.local_addr().unwrap().as_pathname().unwrap().to_path_buf();
        let (stopped, threads) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (stopping, handles) = (Arc::clone(&stopped), Arc::clone(&threads));
        let accepting = thread::spawn(move || {
            for number in 0.. {
                let (stream, _) = listener.accept().unwrap();
                if stopping.load(Ordering::Relaxed) {
                    return;
                }
                let script = script(number);
                handles.lock().unwrap().push(thread::spawn(|| script(stream)));
            }
        });
        Self { socket, stopped, accepting: Some(accepting), threads, directory: None }
    }

    pub fn target(&self) -> Target {
        target(self.socket.clone())
    }

    /// The number of connections accepted so far.
    pub fn accepted(&self) -> usize {
        self.threads.lock().unwrap().len()
    }

    /// Each connection's commands, once the clients have gone.
    pub fn received(mut self) -> Vec<Vec<Command>> {
        self.stop();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap());
        threads.into_iter().map(|script| script.join().unwrap()).collect()
    }

    /// The commands' texts.
    pub fn received_texts(self) -> Vec<String> {
        self.received().concat().iter().map(|command| command.text().into()).collect()
    }

    fn stop(&mut self) {
        if let Some(accepting) = self.accepting.take() {
            self.stopped.store(true, Ordering::Relaxed);
            // Wakes the listener, unless a script panicked and closed it.
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

/// CPU time of this thread, which drives the first lane.
pub fn thread_cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

// --- the engine ----------------------------------------------------------------------------------

/// A program of one statement; `extra` adds fields, each followed by a comma.
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

pub const COURSE: Course = Course { ramp: Duration::ZERO, window: WINDOW, transactions: None };

/// A slice of the engine's first server, which must end soon.
pub fn run(engine: &mut Engine, window: Duration, timeout: Duration) -> Result<Tally> {
    let began = Instant::now();
    let result = engine.slice(0, Course { window, ..COURSE }, timeout, &|| began.elapsed() < SOON);
    assert!(began.elapsed() < SOON, "{result:?}");
    result
}

/// One slice of `window` over new connections, which are closed afterwards.
pub fn run_once(
    program: Program,
    server: &Server,
    connections: usize,
    window: Duration,
    timeout: Duration,
) -> Result<Tally> {
    let mut engine = Engine::new(program, 1, 1);
    connect(&mut engine, server, connections);
    run(&mut engine, window, timeout)
}

pub fn one_slice(program: Program, server: &Server, connections: usize, timeout: Duration) -> Result<Tally> {
    run_once(program, server, connections, WINDOW, timeout)
}
