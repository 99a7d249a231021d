//! Loads into servers that a thread plays, behind a socket file.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use _engine::address::Address;
use _engine::connection::{Failure, Target};
use _engine::load::load;
use _engine::login::Account;
use _engine::rows::{Field, Table, Tables};

/// Much longer than any load here may take, but for those that must time out.
const TIMEOUT: Duration = Duration::from_secs(20);
const SOON: Duration = Duration::from_secs(10);
const REFUSED: u16 = 1227;

/// `tables` tables of `units` units, each of two rows with `width` bytes of text.
struct Pairs {
    tables: usize,
    units: u64,
    width: usize,
}

impl Tables for Pairs {
    fn tables(&self) -> Vec<Table> {
        let table =
            |number| Table { name: format!("t{number}"), columns: &["id", "text"], units: self.units };
        (0..self.tables).map(table).collect()
    }

    fn write(&self, table: usize, unit: u64, row: &mut dyn FnMut(&[Field<'_>])) {
        let text = vec![b'a' + table as u8; self.width];
        for id in [2 * unit, 2 * unit + 1] {
            row(&[Field::Integer(id as i64), Field::Text(&text)]);
        }
    }
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = (payload.len() as u32).to_le_bytes().to_vec();
    packet[3] = sequence;
    packet.extend_from_slice(payload);
    packet
}

fn error(code: u16, words: &str) -> Vec<u8> {
    [&[0xFF], &code.to_le_bytes()[..], b"#HY000", words.as_bytes()].concat()
}

fn greeting() -> Vec<u8> {
    let capabilities = [0xFF, 0xF7, 8, 2, 0, 0x0A, 0x00, 21];
    [
        b"\x0A5.7.22\0\x01\0\0\0saltsalt\0",
        &capabilities[..],
        &[0; 10],
        b"saltsaltsalt\0mysql_native_password\0",
    ]
    .concat()
}

fn read_packet(stream: &mut UnixStream) -> Option<(u8, Vec<u8>)> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).ok()?;
    let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
    stream.read_exact(&mut payload).ok()?;
    Some((header[3], payload))
}

/// What a played server does with the rows of a statement.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    Takes,
    TakesOneLess,
    RefusesStatements,
    RefusesRows,
    Closes,
    ClosesWithWords,
    IsSilent,
    StopsReading,
}

/// What was loaded: each statement with the rows it brought, in the order of their ends.
type Heard = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

struct Played {
    target: Target,
    heard: Heard,
    directory: PathBuf,
}

impl Drop for Played {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.directory).unwrap();
    }
}

/// A server; `manner` is told the number of a connection.
fn played(manner: impl Fn(usize) -> Manner + Send + 'static) -> Played {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let name = format!("shootout-load-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let directory = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let heard = Heard::default();
    let ours = Arc::clone(&heard);
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let (heard, manner) = (Arc::clone(&ours), manner(number));
            thread::spawn(move || serve(stream.unwrap(), manner, &heard));
        }
    });
    Played { target: target(path), heard, directory }
}

/// None at the connection's end.
fn serve(mut stream: UnixStream, manner: Manner, heard: &Heard) -> Option<()> {
    let ok = [0, 0, 0, 2, 0, 0, 0];
    stream.write_all(&packet(0, &greeting())).ok()?;
    read_packet(&mut stream)?;
    stream.write_all(&packet(2, &ok)).ok()?;
    loop {
        let (_, statement) = read_packet(&mut stream)?;
        let statement = String::from_utf8(statement[1..].to_vec()).unwrap();
        if statement.contains("sql_log_bin") {
            stream.write_all(&packet(1, &error(REFUSED, "Access denied; you need SUPER"))).ok()?;
            continue;
        }
        if !statement.starts_with("LOAD DATA LOCAL INFILE") {
            assert!(statement.starts_with("SET SESSION"), "{statement}");
            stream.write_all(&packet(1, &ok)).ok()?;
            continue;
        }
        match manner {
            Manner::RefusesStatements => {
                stream.write_all(&packet(1, &error(1148, "The used command is not allowed"))).ok()?;
                continue;
            }
            Manner::IsSilent => {
                thread::sleep(TIMEOUT);
                return None;
            }
            // Whatever it asks for, it gets rows.
            _ => stream.write_all(&packet(1, b"\xFB/etc/passwd")).ok()?,
        }
        match manner {
            Manner::ClosesWithWords => stream.write_all(&packet(3, &error(1053, "Server shutdown"))).ok()?,
            Manner::StopsReading => thread::sleep(TIMEOUT),
            _ => {}
        }
        if matches!(manner, Manner::Closes | Manner::ClosesWithWords) {
            return None;
        }
        let (mut rows, mut expected) = (Vec::new(), 2u8);
        let end = loop {
            let (sequence, lines) = read_packet(&mut stream)?;
            assert_eq!(sequence, expected);
            expected = expected.wrapping_add(1);
            if lines.is_empty() {
                break expected;
            }
            rows.extend(lines);
        };
        let count =
            rows.iter().filter(|&&byte| byte == b'\n').count() - usize::from(manner == Manner::TakesOneLess);
        heard.lock().unwrap().push((statement, rows));
        let reply = if manner == Manner::RefusesRows {
            error(1114, "The table 't0' is full")
        } else {
            [&[0, 0xFD], &(count as u32).to_le_bytes()[..3], &[0, 2, 0, 1, 0], b"Records: some  Skipped: 1"]
                .concat()
        };
        stream.write_all(&packet(end, &reply)).ok()?;
    }
}

fn target(path: PathBuf) -> Target {
    let account = Account { user: "u".into(), password: "p".into(), schema: "s".into() };
    Target { address: Address::Unix(path), account }
}

fn load_within(server: &Played, dataset: &Pairs, workers: usize, timeout: Duration) -> Result<u64, Failure> {
    let began = Instant::now();
    let result = load(&server.target, timeout, dataset, workers, &|| true);
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    result
}

const FEW: Pairs = Pairs { tables: 1, units: 1000, width: 100 };

#[test]
fn every_row_arrives_once_however_many_workers_send_them() {
    for (tables, workers) in [(1, 1), (1, 3), (3, 2), (3, 3), (2, 5)] {
        let server = played(|_| Manner::Takes);
        let dataset = Pairs { tables, ..FEW };
        assert_eq!(load_within(&server, &dataset, workers, TIMEOUT), Ok(2000 * tables as u64));
        let heard = server.heard.lock().unwrap();
        if workers <= tables {
            assert_eq!(heard.len(), tables);
        }
        for table in 0..tables {
            let mut lines: Vec<(u64, &str)> = Vec::new();
            for (statement, rows) in heard.iter() {
                let of_table = format!(
                    "LOAD DATA LOCAL INFILE 't{table}' INTO TABLE `t{table}` /*!50117 CHARACTER SET binary */ (`id`,`text`)"
                );
                if *statement == of_table {
                    let rows = str::from_utf8(rows).unwrap().lines();
                    lines.extend(
                        rows.map(|row| row.split_once('\t').unwrap())
                            .map(|(id, text)| (id.parse().unwrap(), text)),
                    );
                }
            }
            lines.sort_unstable();
            let text = ["a", "b", "c"][table].repeat(100);
            assert!(lines.into_iter().eq((0..2000).map(|id| (id, &text[..]))));
        }
    }
}

#[test]
fn a_dataset_without_tables_is_loaded_without_a_server() {
    let nobody = target("/nonexistent".into());
    assert_eq!(load(&nobody, TIMEOUT, &Pairs { tables: 0, ..FEW }, 2, &|| true), Ok(0));
    let failure = load(&nobody, TIMEOUT, &FEW, 2, &|| true).unwrap_err();
    assert_eq!(failure.message, "/nonexistent: No such file or directory (os error 2)");
}

#[test]
fn a_large_table_is_sent_by_several_statements() {
    let server = played(|_| Manner::Takes);
    let large = Pairs { tables: 1, units: 33, width: 1 << 20 };
    assert_eq!(load_within(&server, &large, 1, TIMEOUT), Ok(66));
    let rows: Vec<usize> = server
        .heard
        .lock()
        .unwrap()
        .iter()
        .map(|(_, rows)| rows.iter().filter(|&&byte| byte == b'\n').count())
        .collect();
    assert_eq!(rows, [64, 2]);
}

#[test]
fn what_a_server_refuses_is_told_in_its_words() {
    for (manner, code, words) in [
        (Manner::RefusesStatements, 1148, "The used command is not allowed"),
        (Manner::RefusesRows, 1114, "The table 't0' is full"),
        (Manner::ClosesWithWords, 1053, "Server shutdown"),
        (Manner::Closes, 0, "lost the connection: Broken pipe (os error 32)"),
        (Manner::TakesOneLess, 0, "t0 took 1999 of 2000 rows: Records: some  Skipped: 1"),
    ] {
        let server = played(move |_| manner);
        // Wide enough that a connection's end comes while rows are being sent.
        let wide = if code == 1053 || words.starts_with("lost") { 5000 } else { 100 };
        let failure = load_within(&server, &Pairs { width: wide, ..FEW }, 1, TIMEOUT).unwrap_err();
        assert_eq!((failure.code, &failure.message[..]), (code, words));
    }
}

#[test]
fn a_failure_ends_the_other_workers_and_is_the_one_that_is_told() {
    let server = played(|number| if number == 0 { Manner::RefusesStatements } else { Manner::IsSilent });
    let failure = load_within(&server, &FEW, 4, TIMEOUT).unwrap_err();
    assert_eq!(failure.code, 1148);
}

#[test]
fn silence_ends_a_load() {
    for manner in [Manner::IsSilent, Manner::StopsReading] {
        let server = played(move |_| manner);
        let wide = Pairs { width: 5000, ..FEW };
        let failure = load_within(&server, &wide, 1, Duration::from_millis(300)).unwrap_err();
        assert_eq!(failure, Failure::without_code("no answer within 0.3 s"));
    }
}

#[test]
fn an_interrupt_ends_a_load() {
    let server = played(|_| Manner::StopsReading);
    let began = Instant::now();
    let wide = Pairs { width: 5000, ..FEW };
    let failure = load(&server.target, TIMEOUT, &wide, 2, &|| began.elapsed() < SOON / 20).unwrap_err();
    assert_eq!(failure, Failure::interrupted());
    assert!(began.elapsed() < SOON);
}
