//! The bytes sent: prepared statements, and results that fill later statements.

mod fake;

use _engine::engine::Engine;
use _engine::program::Program;

use fake::*;

const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;

/// The commands of one slice on one connection.
fn sent(program: &str, answer: impl FnMut(&Command) -> Vec<u8> + Send + 'static) -> Vec<Command> {
    let mut answer = answer;
    let server = Server::of(vec![serving(move |command, stream| send(stream, &answer(command)))]);
    // Long enough for several transactions on a busy machine.
    run_once(Program::parse(program.as_bytes()).unwrap(), &server, 1, 4 * WINDOW, TIMEOUT).unwrap();
    server.received().concat()
}

fn texts(commands: &[Command]) -> Vec<&str> {
    commands.iter().map(Command::text).collect()
}

/// A program of one transaction; `fields` adds fields, each followed by a comma.
fn program(fields: &str, begin: bool, parameters: &str, steps: &str) -> String {
    format!(
        r#"{{"tables": 2, "rows": 9, "distribution": {{"type": "uniform"}}, {fields}
            "kinds": [{{"name": "a", "effect": "read"}}, {{"name": "b", "effect": "write"}},
                      {{"name": "begin", "effect": "other"}}, {{"name": "commit", "effect": "other"}}],
            "parameters": [{parameters}],
            "transactions": [{{"weight": 1, "begin": {begin}, "steps": [{steps}]}}]}}"#
    )
}

// --- results -------------------------------------------------------------------------------------

const INT24: u8 = 9;
const LONGLONG: u8 = 8;
const NEWDECIMAL: u8 = 0xF6;
const VAR_STRING: u8 = 0xFD;

/// A column's definition.
fn column(wire_type: u8) -> Vec<u8> {
    [&b"\x03def\x01s\x01t\x01t\x01c\x01c\x0C\x2D\0\x0A\0\0\0"[..], &[wire_type, 0, 0, 0, 0, 0]].concat()
}

/// A result of these column types and rows.
fn result(types: &[u8], rows: &[&[u8]]) -> Vec<u8> {
    let mut payloads = vec![vec![types.len() as u8]];
    payloads.extend(types.iter().map(|&wire_type| column(wire_type)));
    payloads.push(END.to_vec());
    payloads.extend(rows.iter().map(|row| row.to_vec()));
    payloads.push(END.to_vec());
    packets(&payloads)
}

fn prepared(id: u32, parameters: u8, columns: u8) -> Vec<u8> {
    let mut payloads = vec![[&[0], &id.to_le_bytes()[..], &[columns, 0, parameters, 0, 0, 0, 0]].concat()];
    for described in [parameters, columns] {
        if described > 0 {
            payloads.extend(std::iter::repeat_n(column(VAR_STRING), described.into()));
            payloads.push(END.to_vec());
        }
    }
    packets(&payloads)
}

/// Prepares every statement, with ids from 100 on; `answer` replies to executions.
fn preparing(mut answer: impl FnMut(u32) -> Vec<u8>) -> impl FnMut(&Command) -> Vec<u8> {
    let mut next = 100;
    move |command| {
        if command.code == PREPARE {
            next += 1;
            let parameters = command.body.iter().filter(|&&byte| byte == b'?').count();
            prepared(next - 1, parameters as u8, u8::from(command.body.starts_with(b"SELECT")))
        } else {
            answer(id(command))
        }
    }
}

fn id(command: &Command) -> u32 {
    u32::from_le_bytes(command.body[..4].try_into().unwrap())
}

#[test]
fn an_insert_has_its_rows_number_and_what_needs_a_missing_result_is_left_out() {
    let program = program(
        "",
        false,
        r#"{"type": "result", "number": true}, {"type": "result", "number": true, "required": true}"#,
        r#"{"repeat": 1, "statements": [
              {"kind": 1, "pieces": ["INSERT"], "into": [0]}, {"kind": 0, "pieces": ["CHILD ", 0]},
              {"kind": 0, "pieces": ["SELECT"], "into": [1]}, {"kind": 0, "pieces": ["NEEDS ", 1]},
              {"kind": 0, "pieces": ["LAST"]}]}"#,
    );
    let received = sent(&program, |command| match command.text() {
        "INSERT" => packets(&[vec![0, 1, 42, 2, 0, 0, 0]]),
        "SELECT" => result(&[LONGLONG], &[]),
        _ => ok(),
    });
    assert_eq!(texts(&received)[..5], ["INSERT", "CHILD 42", "SELECT", "LAST", "INSERT"]);
}

// --- prepared statements -------------------------------------------------------------------------

const PREPARED: &str = r#""prepared": true,"#;

#[test]
fn each_statement_is_prepared_once_per_table() {
    let program = program(
        PREPARED,
        true,
        r#"{"type": "integer", "min": 258, "max": 258}, {"type": "text", "pattern": "a-b"}"#,
        r#"{"repeat": 2, "statements": [
              {"kind": 0, "pieces": ["SELECT c FROM t", -1, " WHERE id=", 0]},
              {"kind": 1, "pieces": ["UPDATE u SET c=", 1, " WHERE id=", 0]}]}"#,
    );
    let received = sent(&program, preparing(|_| ok()));
    let (templates, executed) = received.split_at(5);
    assert!(templates.iter().all(|command| command.code == PREPARE));
    assert_eq!(
        texts(templates),
        [
            "BEGIN",
            "COMMIT",
            "SELECT c FROM t1 WHERE id=?",
            "SELECT c FROM t2 WHERE id=?",
            "UPDATE u SET c=? WHERE id=?"
        ]
    );
    assert!(executed.iter().all(|command| command.code == EXECUTE));
    assert!(executed.len() > 12 && executed.len() % 6 == 0, "{}", executed.len());
    let mut bound = [false; 5];
    for transaction in executed.chunks(6) {
        let select = id(&transaction[1]);
        assert!([102, 103].contains(&select));
        let ids: Vec<u32> = transaction.iter().map(id).collect();
        // One table for the whole step.
        assert_eq!(ids, [100, select, 104, select, 104, 101]);
        for command in transaction {
            let begin = [&id(command).to_le_bytes()[..], &[0, 1, 0, 0, 0]].concat();
            let was_bound = std::mem::replace(&mut bound[id(command) as usize - 100], true);
            let number = [2, 1, 0, 0, 0, 0, 0, 0];
            let (types, values) = match id(command) {
                100 | 101 => (vec![], vec![]),
                104 => (vec![VAR_STRING, 0, LONGLONG, 0], [&b"\x03a-b"[..], &number].concat()),
                _ => (vec![LONGLONG, 0], number.to_vec()),
            };
            let rest = match (types.is_empty(), was_bound) {
                (true, _) => vec![],
                (false, false) => [vec![0, 1], types, values].concat(),
                (false, true) => [vec![0, 0], values].concat(),
            };
            assert_eq!(command.body, [begin, rest].concat());
        }
    }
    assert_eq!(bound, [true; 5]);
}

#[test]
fn unsupported_statements_are_sent_as_text() {
    let program = program(
        PREPARED,
        false,
        r#"{"type": "integer", "min": 7, "max": 7}"#,
        r#"{"repeat": 1, "statements": [{"kind": 0, "pieces": ["DO ", 0]}, {"kind": 1, "pieces": ["SET @a=", 0]}]}"#,
    );
    let received = sent(&program, |command| match command.text() {
        "DO ?" => refused(1295, "This command is not supported in the prepared statement protocol yet"),
        "SET @a=?" => prepared(4, 1, 0),
        _ => ok(),
    });
    let codes: Vec<u8> = received.iter().map(|command| command.code).collect();
    assert_eq!(codes[..6], [PREPARE, PREPARE, QUERY, EXECUTE, QUERY, EXECUTE]);
    assert_eq!(received[2].text(), "DO 7");
    assert_eq!(received[3].body, [4, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, LONGLONG, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn connecting_reports_statements_that_fail_to_prepare() {
    let program =
        program(PREPARED, false, "", r#"{"repeat": 1, "statements": [{"kind": 0, "pieces": ["S"]}]}"#);
    let server = Server::of(vec![replying_once(refused(1146, "No such table"))]);
    let mut engine = Engine::new(Program::parse(program.as_bytes()).unwrap(), 1, 1);
    let failure = engine.connect(server.target(), 1, TIMEOUT, &|| true).unwrap_err();
    let message = "0 of 1 connections opened: statement `a`: No such table";
    assert_eq!((failure.code, &failure.message[..]), (1146, message));
}

#[test]
fn a_new_connection_prepares_again() {
    let program = program(
        r#""prepared": true, "reconnect": true,"#,
        false,
        r#"{"type": "integer", "min": 1, "max": 1}"#,
        r#"{"repeat": 1, "statements": [{"kind": 0, "pieces": ["A", 0]}, {"kind": 1, "pieces": ["B", 0]}]}"#,
    );
    let server = Server::new(|number| {
        let (mut answer, mut left) = (preparing(|_| ok()), if number == 0 { 5 } else { u32::MAX });
        serving(move |command, stream| {
            if left == 0 {
                stream.shutdown(std::net::Shutdown::Both).unwrap();
            } else {
                left -= 1;
                send(stream, &answer(command));
            }
        })
    });
    let mut engine = Engine::new(Program::parse(program.as_bytes()).unwrap(), 1, 1);
    connect(&mut engine, &server, 1);
    let tally = run(&mut engine, WINDOW, TIMEOUT).unwrap();
    drop(engine);
    let received = server.received();
    assert_eq!(tally.errors, [(2013, 1)].into());
    for commands in &received {
        assert_eq!(texts(&commands[..2]), ["A?", "B?"]);
        // The types are sent again.
        for (command, id) in commands[2..4].iter().zip(100..) {
            let bound = [id, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, LONGLONG, 0, 1, 0, 0, 0, 0, 0, 0, 0];
            assert_eq!((command.code, &command.body[..]), (EXECUTE, &bound[..]));
        }
    }
    // On the first connection: two prepared, three answered, one lost.
    assert_eq!(received[0].len(), 6);
    assert_eq!(tally.reads + tally.writes, 3 + received[1].len() as u64 - 2);
    assert_eq!(tally.completed, 1 + (received[1].len() as u64 - 2) / 2);
}

// --- results that fill parameters ----------------------------------------------------------------

const TWO_RESULTS: &str = r#"{"type": "result", "number": true}, {"type": "result", "number": false}"#;
const READ_AND_WRITE: &str = r#"{"repeat": 1, "statements": [
    {"kind": 0, "pieces": ["SELECT"], "into": [0, 1]},
    {"kind": 1, "pieces": ["(", 0, ",", 1, ")"]}]}"#;

#[test]
fn the_first_row_fills_later_texts() {
    let program = program("", false, TWO_RESULTS, READ_AND_WRITE);
    let mut number = 0;
    let received = sent(&program, move |command| {
        if command.text() != "SELECT" {
            return ok();
        }
        number += 1;
        let types = [LONGLONG, VAR_STRING, INT24];
        match number {
            1 => result(&types, &[b"\x0212\x0ait's \\ or\0\x0133", b"\x0299\x01x\x0133"]),
            2 => result(&types, &[b"\xFB\xFB\xFB"]),
            3 => result(&types, &[b"\x05-1.50\0\xFB"]),
            4 => result(&types, &[]),
            5 => result(&types, &[&[b"\x014\xC8", &[b'y'; 200][..], b"\xFB"].concat()]),
            _ => ok(),
        }
    });
    let written: Vec<&str> = texts(&received).into_iter().skip(1).step_by(2).collect();
    assert_eq!(written[..4], [r"(12,'it''s \\ or\0')", "(NULL,NULL)", "(-1.50,'')", "(NULL,NULL)"]);
    assert_eq!(written[4], format!("(4,'{}')", "y".repeat(200)));
    // Results of an earlier transaction are gone.
    assert_eq!(written[5], "(NULL,NULL)");
}

#[test]
fn results_are_bound_with_their_types() {
    let program = program(PREPARED, false, TWO_RESULTS, READ_AND_WRITE);
    let mut number = 0;
    let received = sent(
        &program,
        preparing(move |id| {
            if id != 100 {
                return ok();
            }
            number += 1;
            let wide = [0, 0, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, b'x'];
            match number {
                1 => result(&[LONGLONG, VAR_STRING], &[&wide]),
                2 => result(&[LONGLONG, VAR_STRING], &[&[0, 0b1100]]),
                3 => result(&[NEWDECIMAL, VAR_STRING], &[b"\0\0\x041.50\x00"]),
                _ => result(&[LONGLONG, VAR_STRING], &[]),
            }
        }),
    );
    let executed: Vec<&[u8]> =
        received[2..].iter().filter(|command| id(command) == 101).map(|command| &command.body[9..]).collect();
    let number = [0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF];
    assert_eq!(executed[0], [&[0, 1, LONGLONG, 0, VAR_STRING, 0][..], &number, b"\x01x"].concat());
    assert_eq!(executed[1], [0b11, 1, LONGLONG, 0, VAR_STRING, 0]);
    assert_eq!(executed[2], [&[0, 1, NEWDECIMAL, 0, VAR_STRING, 0][..], b"\x041.50", b"\0"].concat());
    assert_eq!(executed[3], [0b11, 1, LONGLONG, 0, VAR_STRING, 0]);
}

#[test]
fn an_unreadable_result_ends_the_slice() {
    let row = [&[0xFD, 0, 0, 1][..], &vec![b'x'; 1 << 16]].concat();
    for (answer, message) in [
        (result(&[LONGLONG], &[b"\x017"]), "fewer columns than the statement reads"),
        (result(&[LONGLONG, VAR_STRING], &[b"\x017"]), "a number cut short"),
        (
            result(&[VAR_STRING, VAR_STRING], &[&row]),
            "a row of more than 64 KiB, too long to read columns from",
        ),
    ] {
        let program = program("", false, TWO_RESULTS, READ_AND_WRITE);
        let server = Server::of(vec![replying_once(answer)]);
        let program = Program::parse(program.as_bytes()).unwrap();
        let failure = one_slice(program, &server, 1, TIMEOUT).unwrap_err();
        assert_eq!(failure.message, format!("MySQL protocol error: {message}"));
    }
}

// --- repetitions and draws -----------------------------------------------------------------------

#[test]
fn a_parameter_gives_the_repetitions() {
    let program = program(
        "",
        true,
        r#"{"type": "integer", "min": 0, "max": 3, "per": "transaction"}, {"type": "repetition"}"#,
        r#"{"repeat": 1, "repeat_of": 0, "statements": [{"kind": 0, "pieces": ["LINE ", 1, " OF ", 0]}]},
           {"repeat": 1, "statements": [{"kind": 1, "pieces": ["END ", 0]}]}"#,
    );
    let received = sent(&program, |_| ok());
    let received = texts(&received);
    let mut seen = [0; 4];
    for transaction in received.split_inclusive(|text| *text == "COMMIT") {
        let lines = transaction.len() - 3;
        let mut expected = vec!["BEGIN".to_string()];
        expected.extend((1..=lines).map(|line| format!("LINE {line} OF {lines}")));
        expected.extend([format!("END {lines}"), "COMMIT".into()]);
        assert_eq!(transaction, expected);
        seen[lines] += 1;
    }
    assert!(seen.iter().all(|&times| times > 0), "{seen:?}");
}

#[test]
fn draws_last_for_a_repetition_or_a_transaction() {
    let program = program(
        "",
        false,
        r#"{"type": "integer", "min": 0, "max": 999999999, "per": "transaction"},
           {"type": "integer", "min": 0, "max": 999999999}, {"type": "sequence"}, {"type": "thread"}"#,
        r#"{"repeat": 2, "statements": [{"kind": 0, "pieces": ["", 0, " ", 1, " ", 2, " ", 3]},
                                        {"kind": 0, "pieces": ["", 0, " ", 1, " ", 2, " ", 3]}]}"#,
    );
    let received = sent(&program, |_| ok());
    let drawn: Vec<Vec<u64>> = texts(&received)
        .into_iter()
        .map(|text| text.split(' ').map(|number| number.parse().unwrap()).collect())
        .collect();
    assert!(drawn.len() > 8);
    for (transaction, number) in drawn.chunks_exact(4).zip(1..) {
        let [first, second, third, fourth] = transaction else { unreachable!() };
        assert_eq!((first, third), (second, fourth));
        assert_eq!(first[0], third[0]);
        assert_ne!(first[1], third[1]);
        assert_eq!((first[2], third[2]), (2 * number - 1, 2 * number));
        assert_eq!(first[3], 1);
    }
    assert!(drawn.windows(5).step_by(4).all(|drawn| drawn[0][0] != drawn[4][0]));
}

#[test]
fn sequences_continue_over_slices_and_threads_count_over_lanes() {
    let program = program(
        "",
        false,
        r#"{"type": "sequence"}, {"type": "thread"}"#,
        r#"{"repeat": 1, "statements": [{"kind": 0, "pieces": ["", 1, " ", 0]}]}"#,
    );
    let server = Server::new(|_| all_ok());
    let mut engine = Engine::new(Program::parse(program.as_bytes()).unwrap(), 1, 2);
    connect(&mut engine, &server, 3);
    for _ in 0..2 {
        run(&mut engine, WINDOW, TIMEOUT).unwrap();
    }
    drop(engine);
    // The first lane has the first and third connection.
    for (commands, thread) in server.received().iter().zip([1, 3, 2]) {
        let expected: Vec<String> = (1..=commands.len()).map(|number| format!("{thread} {number}")).collect();
        assert_eq!(texts(commands), expected);
    }
}
