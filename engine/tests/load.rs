//! Loading rows into fake servers.

mod fake;

use std::io::{self, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use _engine::connection::{Failure, Result, Target};
use _engine::load::{LoadOptions, load};
use _engine::rows::{Field, Table, Tables};

use fake::{OK, TIMEOUT, TempDir, error, log_in, packet, read_packet, target};

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

/// How a fake server handles a statement's rows.
#[derive(Clone, Copy, PartialEq)]
enum Behaviour {
    Accepts,
    LosesARow,
    RefusesStatements,
    RefusesRows,
    Closes,
    ClosesWithError,
    IsSilent,
    StopsReading,
    /// Its binary log must be written.
    HasReplicas,
}

/// Each statement and its rows, in the order of their ends.
type Received = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

struct FakeServer {
    target: Target,
    received: Received,
    _directory: TempDir,
}

/// A server whose connections, by number, behave as `behaviour` says.
fn fake_server(behaviour: impl Fn(usize) -> Behaviour + Send + 'static) -> FakeServer {
    let directory = TempDir::new();
    let listener = UnixListener::bind(directory.socket()).unwrap();
    let received = Received::default();
    let ours = Arc::clone(&received);
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let (received, behaviour) = (Arc::clone(&ours), behaviour(number));
            thread::spawn(move || serve(stream.unwrap(), behaviour, &received));
        }
    });
    FakeServer { target: target(directory.socket()), received, _directory: directory }
}

fn serve(mut stream: UnixStream, behaviour: Behaviour, received: &Received) -> io::Result<()> {
    log_in(&mut stream)?;
    loop {
        let (_, statement) = read_packet(&mut stream)?;
        let statement = String::from_utf8(statement[1..].to_vec()).unwrap();
        if statement.contains("sql_log_bin") {
            assert!(behaviour != Behaviour::HasReplicas);
            stream.write_all(&packet(1, &error(REFUSED, "Access denied; you need SUPER")))?;
            continue;
        }
        if let Some((head, rows)) = statement.split_once(" VALUES ") {
            let count = rows.matches("),(").count() + 1 - usize::from(behaviour == Behaviour::LosesARow);
            received.lock().unwrap().push((head.into(), rows.into()));
            let reply = [&[0, 0xFD], &(count as u32).to_le_bytes()[..3], &[0, 2, 0, 0, 0], b"Records: some"];
            stream.write_all(&packet(1, &reply.concat()))?;
            continue;
        }
        if !statement.starts_with("LOAD DATA LOCAL INFILE") {
            assert!(statement.starts_with("SET SESSION"), "{statement}");
            stream.write_all(&packet(1, OK))?;
            continue;
        }
        match behaviour {
            Behaviour::RefusesStatements => {
                stream.write_all(&packet(1, &error(1148, "The used command is not allowed")))?;
                continue;
            }
            Behaviour::IsSilent => {
                thread::sleep(TIMEOUT);
                return Ok(());
            }
            // The client sends its rows, whatever the file.
            _ => stream.write_all(&packet(1, b"\xFB/etc/passwd"))?,
        }
        match behaviour {
            Behaviour::ClosesWithError => stream.write_all(&packet(3, &error(1053, "Server shutdown")))?,
            Behaviour::StopsReading => thread::sleep(TIMEOUT),
            _ => {}
        }
        if matches!(behaviour, Behaviour::Closes | Behaviour::ClosesWithError) {
            return Ok(());
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
        let count = rows.iter().filter(|&&byte| byte == b'\n').count()
            - usize::from(behaviour == Behaviour::LosesARow);
        received.lock().unwrap().push((statement, rows));
        let reply = if behaviour == Behaviour::RefusesRows {
            error(1114, "The table 't0' is full")
        } else {
            [&[0, 0xFD], &(count as u32).to_le_bytes()[..3], &[0, 2, 0, 1, 0], b"Records: some  Skipped: 1"]
                .concat()
        };
        stream.write_all(&packet(end, &reply))?;
    }
}

fn load_within(server: &FakeServer, dataset: &Pairs, workers: usize, timeout: Duration) -> Result<u64> {
    let began = Instant::now();
    let result = load(&server.target, timeout, dataset, workers, LoadOptions::default(), &|| true);
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    result
}

/// Checks that a table's rows arrived once each, from what each statement to it had.
fn assert_all<'a>(table: usize, rows: impl Iterator<Item = (&'a str, &'a str)>) {
    let mut rows: Vec<(u64, &str)> = rows.map(|(id, text)| (id.parse().unwrap(), text)).collect();
    rows.sort_unstable();
    let text = ["a", "b", "c"][table].repeat(100);
    assert!(rows.into_iter().eq((0..2000).map(|id| (id, &text[..]))));
}

const FEW: Pairs = Pairs { tables: 1, units: 1000, width: 100 };

#[test]
fn every_row_arrives_once_with_any_number_of_workers() {
    for (tables, workers) in [(1, 1), (1, 3), (3, 2), (3, 3), (2, 5)] {
        let server = fake_server(|_| Behaviour::Accepts);
        let dataset = Pairs { tables, ..FEW };
        assert_eq!(load_within(&server, &dataset, workers, TIMEOUT), Ok(2000 * tables as u64));
        let received = server.received.lock().unwrap();
        if workers <= tables {
            assert_eq!(received.len(), tables);
        }
        for table in 0..tables {
            let head = format!("LOAD DATA LOCAL INFILE 't{table}' INTO TABLE `t{table}`");
            let of_table = format!("{head} /*!50117 CHARACTER SET binary */ (`id`,`text`)");
            let own = received.iter().filter(|(statement, _)| *statement == of_table);
            let lines = own.flat_map(|(_, rows)| str::from_utf8(rows).unwrap().lines());
            assert_all(table, lines.map(|row| row.split_once('\t').unwrap()));
        }
    }
}

#[test]
fn a_dataset_without_tables_is_loaded_without_a_server() {
    let nobody = target("/nonexistent".into());
    assert_eq!(
        load(&nobody, TIMEOUT, &Pairs { tables: 0, ..FEW }, 2, LoadOptions::default(), &|| true),
        Ok(0)
    );
    let failure = load(&nobody, TIMEOUT, &FEW, 2, LoadOptions::default(), &|| true).unwrap_err();
    assert_eq!(failure.message, "/nonexistent: No such file or directory (os error 2)");
}

#[test]
fn a_large_table_takes_several_statements() {
    let server = fake_server(|_| Behaviour::Accepts);
    let large = Pairs { tables: 1, units: 33, width: 1 << 20 };
    assert_eq!(load_within(&server, &large, 1, TIMEOUT), Ok(66));
    let received = server.received.lock().unwrap();
    let lines = |rows: &[u8]| rows.iter().filter(|&&byte| byte == b'\n').count();
    assert_eq!(received.iter().map(|(_, rows)| lines(rows)).collect::<Vec<_>>(), [64, 2]);
}

#[test]
fn a_refusal_carries_the_servers_message() {
    for (behaviour, code, message) in [
        (Behaviour::RefusesStatements, 1148, "The used command is not allowed"),
        (Behaviour::RefusesRows, 1114, "The table 't0' is full"),
        (Behaviour::ClosesWithError, 1053, "Server shutdown"),
        (Behaviour::Closes, 0, "lost the connection: Broken pipe (os error 32)"),
        (Behaviour::LosesARow, 0, "t0 stored 1999 of 2000 rows: Records: some  Skipped: 1"),
    ] {
        let server = fake_server(move |_| behaviour);
        // Wide rows: the connection ends while they are being sent.
        let wide = if code == 1053 || message.starts_with("lost") { 5000 } else { 100 };
        let failure = load_within(&server, &Pairs { width: wide, ..FEW }, 1, TIMEOUT).unwrap_err();
        assert_eq!((failure.code, &failure.message[..]), (code, message));
    }
}

#[test]
fn a_failure_ends_the_other_workers_and_is_reported() {
    let server =
        fake_server(|number| if number == 0 { Behaviour::RefusesStatements } else { Behaviour::IsSilent });
    let failure = load_within(&server, &FEW, 4, TIMEOUT).unwrap_err();
    assert_eq!(failure.code, 1148);
}

#[test]
fn silence_ends_a_load() {
    for behaviour in [Behaviour::IsSilent, Behaviour::StopsReading] {
        let server = fake_server(move |_| behaviour);
        let wide = Pairs { width: 5000, ..FEW };
        let failure = load_within(&server, &wide, 1, Duration::from_millis(300)).unwrap_err();
        assert_eq!(failure, Failure::without_code("no answer within 0.3 s"));
    }
}

#[test]
fn an_interrupt_ends_a_load() {
    let server = fake_server(|_| Behaviour::StopsReading);
    let began = Instant::now();
    let wide = Pairs { width: 5000, ..FEW };
    let failure =
        load(&server.target, TIMEOUT, &wide, 2, LoadOptions::default(), &|| began.elapsed() < SOON / 20)
            .unwrap_err();
    assert_eq!(failure, Failure::interrupted());
    assert!(began.elapsed() < SOON);
}

#[test]
fn inserts_respect_the_packet_limit() {
    for (tables, workers, longest) in
        [(1, 1, 4096), (1, 3, 4096), (2, 2, 1024), (1, 1, usize::MAX), (1, 1, 0)]
    {
        let server = fake_server(|_| Behaviour::HasReplicas);
        let options = LoadOptions { insert: Some(longest), logged: true };
        let dataset = Pairs { tables, ..FEW };
        let loaded = load(&server.target, TIMEOUT, &dataset, workers, options, &|| true);
        assert_eq!(loaded, Ok(2000 * tables as u64));
        let received = server.received.lock().unwrap();
        for table in 0..tables {
            let of_table = format!("INSERT INTO `t{table}` (`id`,`text`)");
            let own = received.iter().filter(|(head, _)| *head == of_table);
            let lists: Vec<&str> = own.map(|(_, rows)| str::from_utf8(rows).unwrap()).collect();
            for rows in &lists {
                let length = 1 + of_table.len() + " VALUES ".len() + rows.len();
                assert!(length <= longest || !rows.contains("),("), "{length}");
            }
            let rows = lists.iter().flat_map(|rows| rows[1..rows.len() - 1].split("),("));
            assert_all(
                table,
                rows.map(|row| row.split_once(',').unwrap()).map(|(id, text)| (id, text.trim_matches('\''))),
            );
        }
        let each = 2000 * tables / received.len();
        assert!(if longest == 0 { each == 1 } else { each > 5 }, "{each}");
    }
}

#[test]
fn rows_lost_by_an_insert_are_noticed() {
    let server = fake_server(|_| Behaviour::LosesARow);
    let options = LoadOptions { insert: Some(4096), logged: false };
    let failure = load(&server.target, TIMEOUT, &FEW, 1, options, &|| true).unwrap_err();
    assert!(failure.message.starts_with("t0 stored "), "{}", failure.message);
    assert!(failure.message.ends_with(" rows: Records: some"), "{}", failure.message);
}
