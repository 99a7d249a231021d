//! Whole logs, as servers write them, to what they say.

use std::fmt::Write as _;

use serde_json::{Value, json};
use shootout_learn::Reader;
use shootout_learn::statement::Options;

fn learned(log: &[u8]) -> Value {
    let mut reader = Reader::new(Options::default());
    reader.feed(log);
    serde_json::from_slice(&reader.finish()).unwrap()
}

/// Each template's text and count.
fn counts(log: &Value) -> Vec<(&str, u64)> {
    let templates = log["templates"].as_array().unwrap();
    templates.iter().map(|one| (one["sql"].as_str().unwrap(), one["count"].as_u64().unwrap())).collect()
}

/// Each sequence's templates, count, and whether it is explicit.
fn sequences(log: &Value) -> Vec<(Vec<u64>, u64, bool)> {
    let of = |one: &Value| {
        let statements = one["statements"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap());
        (statements.collect(), one["count"].as_u64().unwrap(), one["explicit"].as_bool().unwrap())
    };
    log["sequences"].as_array().unwrap().iter().map(of).collect()
}

/// Lists why something was left out, and how much.
fn left_out(log: &Value) -> Vec<(&str, u64)> {
    let left = log["left_out"].as_array().unwrap();
    left.iter().map(|one| (one["reason"].as_str().unwrap(), one["statements"].as_u64().unwrap())).collect()
}

/// A slow log of MySQL 5.7 on; each statement takes a millisecond and begins two after the one before.
fn slow<'a>(statements: impl IntoIterator<Item = (u64, &'a str)>) -> String {
    let mut log = String::new();
    for (index, (connection, text)) in statements.into_iter().enumerate() {
        let (second, ms) = (index / 500, index % 500 * 2 + 1);
        let time =
            format!("2026-11-25T{:02}:{:02}:{:02}.{ms:03}000Z", second / 3600, second / 60 % 60, second % 60);
        writeln!(log, "# Time: {time}\n# User@Host: root[root] @ localhost []  Id: {connection:5}").unwrap();
        log += "# Query_time: 0.001000  Lock_time: 0.000000 Rows_sent: 2  Rows_examined: 3\n";
        writeln!(log, "SET timestamp=1795574090;\n{text};").unwrap();
    }
    log
}

fn alone<'a>(statements: &[&'a str]) -> Vec<(u64, &'a str)> {
    statements.iter().map(|&text| (7, text)).collect()
}

const MARIADB: &str = "\
/usr/sbin/mariadbd, Version: 11.8.9-MariaDB (Debian). started with:
Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock
Time\t\t    Id Command\tArgument
# Time: 261125  2:35:49
# User@Host: app[app] @ localhost []
# Thread_id: 4  Schema: shop  QC_hit: No
# Query_time: 0.250000  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 10
# Rows_affected: 0  Bytes_sent: 69
use `shop`;
SET last_insert_id=4,insert_id=5,timestamp=1795574149;
SELECT a
FROM t WHERE b = 'x
# y';
# User@Host: app[app] @ localhost []
# Thread_id: 5  Schema:   QC_hit: No
# Query_time: 0.500000  Lock_time: 0.000000  Rows_sent: 2  Rows_examined: 20
# Rows_affected: 0  Bytes_sent: 69
SET timestamp=1795574150;
SELECT a FROM t WHERE b = 'z';
";

#[test]
fn a_slow_log_of_mariadb_is_read() {
    let log = learned(MARIADB.as_bytes());
    assert_eq!(counts(&log), [("SELECT a FROM t WHERE b = ?", 2)]);
    let template = &log["templates"][0];
    assert_eq!((&template["rows_examined"], &template["rows_sent"]), (&json!(30), &json!(3)));
    assert_eq!(
        (&log["seconds"], &log["span_s"], &log["fastest_s"]),
        (&json!(0.75), &json!(1.5), &json!(0.25))
    );
    assert_eq!((&log["connections"], &log["kind"]), (&json!(1), &json!("slow")));
    assert!(left_out(&log).is_empty());
}

/// A slow log of whole seconds: each statement's time, how long it took, and its text.
fn coarse(head: &str, statements: &[(u64, f64, &str)]) -> String {
    let entry = |&(time, took, text): &(u64, f64, &str)| {
        let head = format!("# User@Host: a[a] @ localhost []{head}\n# Query_time: {took:.6}");
        format!(
            "{head}  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0\nSET timestamp={time};\n{text};\n"
        )
    };
    statements.iter().map(entry).collect()
}

const MYSQL_5_6: &str = "  Id:     7";
const MARIADB_10_11: &str = "\n# Thread_id: 7  Schema:   QC_hit: No";

#[test]
fn whole_seconds_are_those_of_the_end_and_with_mariadb_of_the_begin() {
    for (head, times) in [(MYSQL_5_6, [100, 101, 103]), (MARIADB_10_11, [100, 100, 101])] {
        let [begin, update, commit] = times;
        let log = coarse(
            head,
            &[(begin, 0.0, "BEGIN"), (update, 1.0, "UPDATE t SET a = 1"), (commit, 2.0, "COMMIT")],
        );
        let log = learned(log.as_bytes());
        assert_eq!((&log["span_s"], &log["think_s"]), (&json!(3.0), &json!(0.0)), "{head}");
    }
}

#[test]
fn whole_seconds_are_in_order() {
    for (head, first, second) in [(MYSQL_5_6, 0.0, 0.9), (MARIADB_10_11, 0.9, 0.0)] {
        let pair = |time| [(time, first, "SELECT 1"), (time, second, "SELECT 2")];
        let log = coarse(head, &(100..110).flat_map(pair).collect::<Vec<_>>());
        assert_eq!(learned(log.as_bytes())["ordered"], true, "{head}");
    }
}

#[test]
fn a_plan_of_mariadb_is_part_of_the_header() {
    let log = learned(
        b"\
# Time: 140516 10:25:02
# User@Host: root[root] @ localhost []
# Thread_id: 4  Schema: shop  QC_hit: No
# Query_time: 0.500000  Lock_time: 0.000115  Rows_sent: 1  Rows_examined: 2
#
# explain: id\tselect_type\ttable\ttype\tpossible_keys\tkey\tkey_len\tref\trows\tExtra
# explain: 1\tSIMPLE\tt\tALL\tNULL\tNULL\tNULL\tNULL\t2\tUsing where
#
SET timestamp=1400225102;
SELECT a FROM t WHERE b = 5;
",
    );
    assert_eq!((counts(&log), left_out(&log)), (vec![("SELECT a FROM t WHERE b = ?", 1)], vec![]));
    assert_eq!((&log["seconds"], &log["templates"][0]["rows_examined"]), (&json!(0.5), &json!(2)));
}

#[test]
fn what_mysql_5_0_sets_before_a_statement_is_not_the_applications() {
    let log = learned(
        b"\
# Time: 080101 10:25:02
# User@Host: root[root] @ localhost []
# Query_time: 1  Lock_time: 0  Rows_sent: 0  Rows_examined: 0
use shop;
SET insert_id=5;
INSERT INTO t VALUES (NULL);
# User@Host: root[root] @ localhost []
# Query_time: 2  Lock_time: 0  Rows_sent: 0  Rows_examined: 0
SET last_insert_id=5,insert_id=18446744073709551615;
INSERT INTO t VALUES (LAST_INSERT_ID());
# User@Host: root[root] @ localhost []
# Query_time: 4  Lock_time: 0  Rows_sent: 0  Rows_examined: 0
SET insert_id=5,@a=1;
",
    );
    assert_eq!(
        counts(&log),
        [
            ("INSERT INTO t VALUES (?)", 1),
            ("INSERT INTO t VALUES (LAST_INSERT_ID())", 1),
            ("SET insert_id=?, @a=?", 1)
        ]
    );
    let seconds: Vec<_> = log["templates"].as_array().unwrap().iter().map(|one| &one["seconds"]).collect();
    assert_eq!(seconds, [&json!(1.0), &json!(2.0), &json!(4.0)]);
}

#[test]
fn errors_and_quits_are_read_where_the_log_has_them() {
    let log = "\
# Time: 2026-11-25T01:59:59.000000Z
# User@Host: a[a] @ localhost []  Id:     8
# Schema: d  Last_errno: 1592  Killed: 0
# Query_time: 0.1  Lock_time: 0.0  Rows_sent: 0  Rows_examined: 0  Rows_affected: 0
SET timestamp=1795574149;
SELECT 1;
# Time: 2026-11-25T02:00:00.000000Z
# User@Host: a[a] @ localhost []  Id:     8
# Schema: d  Last_errno: 1213  Killed: 0
# Query_time: 0.1  Lock_time: 0.0  Rows_sent: 0  Rows_examined: 0  Rows_affected: 0
SET timestamp=1795574149;
UPDATE t SET a = 1;
# Time: 2026-11-25T02:00:01.000000Z
# User@Host: a[a] @ localhost []  Id:     8
# Query_time: 0.1  Lock_time: 0.0 Rows_sent: 0  Rows_examined: 0 Thread_id: 8 Errno: 1062 Killed: 0
SET timestamp=1795574149;
INSERT INTO t VALUES (1);
# Time: 2026-11-25T02:00:02.000000Z
# User@Host: a[a] @ localhost []  Id:     8
# Query_time: 0.1  Lock_time: 0.0 Rows_sent: 0  Rows_examined: 0
SET timestamp=1795574149;
# administrator command: Quit;
";
    let log = learned(log.as_bytes());
    assert_eq!(left_out(&log), [("failed with an error", 2)]);
    assert_eq!((counts(&log), &log["connections"]), (vec![("SELECT ?", 1)], &json!(1)));
}

#[test]
fn general_logs_are_read() {
    let old = "\
/usr/sbin/mysqld, Version: 5.5.34-log (MySQL). started with:
Tcp port: 3306  Unix socket: /tmp/mysql.sock
Time                 Id Command    Argument
261125  2:34:40\t    2 Connect\troot@localhost on shop using Socket
\t\t    2 Query\tSELECT 1; SELECT
  'two'
\t\t    2 Prepare\tSELECT
 a FROM t WHERE id=?
\t\t    2 Query\tEXECUTE s USING @a
\t\t    2 Execute\tSELECT a FROM t WHERE id=5
261125  2:34:41\t    3 Query\tSELECT 3
\t\t    2 Init DB\tother
\t\t    2 Query\tSELECT 4
\t\t    2 Quit\t
";
    let older = "\
/usr/sbin/mysqld, Version: 5.0.96-log. started with:
Tcp port: 3306  Unix socket: /tmp/mysql.sock
Time                 Id Command    Argument
261125  2:34:40\t      2 Connect     root@localhost on shop
\t\t      2 Query       SELECT 1;\tSELECT
  'two'
\t\t      2 Prepare     [1] SELECT
 a FROM t WHERE id=?
\t\t      1 Register Sl\x20
\t\t      2 Query       EXECUTE s USING @a
\t\t      2 Execute     [1] SELECT a FROM t WHERE id=5
261125  2:34:41\t      3 Query       SELECT 3
\t\t      2 Init DB     other
\t\t      2 Query       \tSELECT 4
\t\t      2 Quit      \x20
";
    let new = "\
2026-11-25T02:34:40.000000Z\t    2 Connect\troot@localhost on shop using Socket
2026-11-25T02:34:40.100000Z\t    2 Query\tSELECT 1;
2026-11-25T03:34:40.200000+01:00\t    2 Query\tSELECT
  'two'
2026-11-25T02:34:40.300000Z\t    2 Execute\tSELECT a FROM t WHERE id=5
2026-11-25T02:34:40.400000Z\t    3 Query\tSELECT 3
2026-11-25T02:34:41.000000Z\t    2 Query\tUSE other
2026-11-25T02:34:41.000000Z\t    2 Query\tSELECT 4
2026-11-25T02:34:41.000000Z\t    2 Quit\t
";
    for log in [older, old, new] {
        let log = learned(log.as_bytes());
        assert_eq!(counts(&log), [("SELECT ?", 4), ("SELECT a FROM t WHERE id=?", 1)]);
        assert_eq!((&log["span_s"], &log["kind"]), (&json!(1.0), &json!("general")));
        assert_eq!((&log["seconds"], &log["connections"]), (&json!(0.0), &json!(2)));
        assert!(log["templates"][0]["rows_sent"].is_null() && left_out(&log).is_empty());
    }
}

#[test]
fn transactions_are_what_begins_and_ends() {
    let log = slow(alone(&[
        "SELECT 1",
        "BEGIN",
        "UPDATE t SET a = 1",
        "SELECT 2",
        "COMMIT",
        "START TRANSACTION READ ONLY",
        "SELECT 3",
        "ROLLBACK",
        "BEGIN",
        "SELECT 4",
        "BEGIN",
        "SELECT 5",
        "SAVEPOINT x7",
        "ROLLBACK TO x7",
        "RELEASE SAVEPOINT x7",
        "CREATE TABLE u (a INT)",
        "SELECT 6",
        "SET autocommit = 0",
        "SELECT 7",
        "COMMIT AND NO CHAIN",
        "SELECT 8",
        "SET @@session.autocommit=ON",
        "BEGIN",
        "COMMIT",
    ]));
    let log = learned(log.as_bytes());
    let found: Vec<_> = counts(&log).into_iter().map(|(sql, _)| sql).collect();
    let expected = [
        "SELECT ?",
        "UPDATE t SET a = ?",
        "SAVEPOINT s1",
        "ROLLBACK TO SAVEPOINT s1",
        "RELEASE SAVEPOINT s1",
        "CREATE TABLE u (a INT)",
    ];
    assert_eq!(found, expected);
    assert_eq!(
        sequences(&log),
        [
            (vec![0], 2, false), // SELECT 1, SELECT 6
            (vec![0], 2, true),  // SELECT 7, SELECT 8
            (vec![0], 1, true),  // SELECT 3
            (vec![0, 2, 3, 4], 1, true),
            (vec![1, 0], 1, true),
            (vec![5], 1, false),
        ]
    );
    assert_eq!(
        (&log["sequences"][2]["end"], &log["sequences"][1]["end"]),
        (&json!("rollback"), &json!("commit"))
    );
    assert_eq!(log["abandoned"], 1); // SELECT 4
    // A savepoint may be named by a string.
    let named = slow(alone(&["BEGIN", "SAVEPOINT a", "COMMIT", "BEGIN", "SAVEPOINT \"b\"", "COMMIT"]));
    assert_eq!(counts(&learned(named.as_bytes())), [("SAVEPOINT s1", 2)]);
    // Each takes 1 ms; the gaps in transactions have 1 ms.
    assert_eq!(log["think_s"], 0.001);
    assert_eq!((&log["statements"], &log["transactions"]), (&json!(13), &json!(8)));
}

/// Rounds of two kinds of transactions, on two connections, between statements that commit by themselves.
fn rounds() -> Vec<(u64, &'static str)> {
    let buys =
        ["SELECT a", "SELECT b", "BEGIN", "SELECT 1", "UPDATE t SET a = 1", "UPDATE u SET a = 1", "COMMIT"];
    let looks =
        ["BEGIN", "SELECT 1", "SELECT c", "COMMIT", "SELECT a", "BEGIN", "UPDATE u SET a = 1", "ROLLBACK"];
    (0..100)
        .flat_map(|round| {
            [buys.map(|text| (round % 2, text)).to_vec(), looks.map(|text| (round % 2, text)).to_vec()]
        })
        .flatten()
        .collect()
}

/// The rounds without every `nth` of a text, after the first ones.
fn without(text: &str, nth: usize) -> Vec<(u64, &'static str)> {
    let mut seen = 0;
    let mut lost = |&(_, other): &(u64, &str)| {
        seen += usize::from(other == text);
        other == text && seen > 10 && seen % nth == 0
    };
    rounds().into_iter().filter(|entry| !lost(entry)).collect()
}

fn lost(log: &Value) -> (u64, u64) {
    (log["lost_begins"].as_u64().unwrap(), log["lost_commits"].as_u64().unwrap_or(0))
}

#[test]
fn a_transaction_whose_begin_the_log_lost_is_whole() {
    let whole = learned(slow(rounds()).as_bytes());
    assert_eq!((lost(&whole), &whole["ordered"], &whole["abandoned"]), ((0, 0), &json!(true), &json!(0)));
    for (nth, count) in [(50, 6), (7, 41), (4, 73)] {
        let log = learned(slow(without("BEGIN", nth)).as_bytes());
        assert_eq!((sequences(&log), lost(&log)), (sequences(&whole), (count, 0)), "{nth}");
    }
}

#[test]
fn a_transaction_whose_commit_the_log_lost_is_whole() {
    let whole = learned(slow(rounds()).as_bytes());
    for (nth, count) in [(50, 4), (7, 27)] {
        let log = learned(slow(without("COMMIT", nth)).as_bytes());
        assert_eq!((sequences(&log), lost(&log)), (sequences(&whole), (0, count)), "{nth}");
        assert_eq!(log["abandoned"], 0);
    }
    // A transaction that is not whole was given up, as after a deadlock.
    let retried = ["BEGIN", "SELECT 1", "UPDATE t SET a = 1", "COMMIT", "BEGIN", "SELECT 1", "BEGIN"];
    let log = learned(slow(alone(&retried)).as_bytes());
    assert_eq!((lost(&log), &log["abandoned"]), ((0, 0), &json!(1)));
}

#[test]
fn an_unknown_transaction_without_begin_is_all_since_the_last_end() {
    let begun = ["BEGIN", "SELECT a", "COMMIT"];
    let log = |rest: &[&str]| learned(slow(alone(&[&begun, rest].concat())).as_bytes());
    let found = log(&["SELECT b", "SELECT c", "ROLLBACK", "SELECT d"]);
    assert_eq!(sequences(&found), [(vec![0], 1, true), (vec![1, 2], 1, true), (vec![3], 1, false)]);
    assert_eq!((lost(&found), &found["sequences"][1]["end"]), ((1, 0), &json!("rollback")));
    // The longest whole one, not the first.
    let found =
        log(&["BEGIN", "SELECT b", "SELECT a", "COMMIT", "SELECT c", "SELECT b", "SELECT a", "COMMIT"]);
    assert_eq!(sequences(&found), [(vec![1, 0], 2, true), (vec![0], 1, true), (vec![2], 1, false)]);
    // A statement that is only known from transactions is in one.
    let found =
        log(&["BEGIN", "SELECT b", "SELECT a", "COMMIT", "SELECT b", "SELECT b", "SELECT a", "COMMIT"]);
    assert_eq!(sequences(&found)[2], (vec![1, 1, 0], 1, true));
    // A client that ends nothing does so elsewhere, too.
    let found = log(&["ROLLBACK", "SELECT b", "SELECT c", "ROLLBACK"]);
    assert_eq!(sequences(&found), [(vec![0], 1, true), (vec![1], 1, false), (vec![2], 1, false)]);
    // Nor does one that never begins anything lose a BEGIN.
    let single = vec!["SELECT b"; 100];
    let other = single.iter().chain(&["COMMIT", "SELECT b", "SELECT c", "ROLLBACK"]).map(|&text| (8, text));
    let found = learned(slow(alone(&begun).into_iter().chain(other)).as_bytes());
    assert_eq!(sequences(&found), [(vec![1], 101, false), (vec![0], 1, true), (vec![2], 1, false)]);
    // A connection whose first BEGIN is lost.
    let other = [(8, "SELECT b"), (8, "SELECT a"), (8, "COMMIT")];
    let found = learned(slow(alone(&begun).into_iter().chain(other)).as_bytes());
    assert_eq!(sequences(&found), [(vec![0], 2, true), (vec![1], 1, false)]);
}

#[test]
fn a_transaction_without_begin_is_found_behind_any_number_of_others() {
    let begun = ["BEGIN", "SELECT a", "SELECT b", "COMMIT"];
    for singles in [150, 990] {
        let texts = [&begun[..], &vec!["SELECT c"; singles], &begun[1..]].concat();
        let found = learned(slow(alone(&texts)).as_bytes());
        assert_eq!(sequences(&found), [(vec![2], singles as u64, false), (vec![0, 1], 2, true)]);
        assert_eq!(lost(&found), (1, 0));
    }
    // They are too many to be a transaction themselves.
    let texts = [&begun[..], &["SELECT c"; 500], &["COMMIT"]].concat();
    assert_eq!(sequences(&learned(slow(alone(&texts)).as_bytes()))[0], (vec![2], 500, false));
}

#[test]
fn a_general_log_loses_nothing() {
    let texts =
        ["BEGIN", "SELECT a", "COMMIT", "SELECT a", "COMMIT", "BEGIN", "SELECT a", "BEGIN", "SELECT b"];
    let line = |text: &&str| format!("2026-11-25T02:34:40.000000Z\t    2 Query\t{text}\n");
    let log = learned(texts.iter().map(line).collect::<String>().as_bytes());
    assert_eq!(sequences(&log), [(vec![0], 1, false), (vec![0], 1, true)]);
    assert_eq!((lost(&log), &log["abandoned"]), ((0, 0), &json!(2)));
}

#[test]
fn transactions_without_begin_are_known_by_their_commits() {
    let log = learned(slow(alone(&["SELECT 1", "COMMIT", "SELECT 2", "SELECT 3", "COMMIT"])).as_bytes());
    assert_eq!(sequences(&log), [(vec![0, 0], 1, true)]);
    assert_eq!(log["abandoned"], 1); // it may have begun before the log
    let log = learned(slow(alone(&["SELECT 1", "COMMIT", "SELECT 2", "BEGIN", "SELECT 3"])).as_bytes());
    assert_eq!(sequences(&log), [(vec![0], 1, false)]);
    assert_eq!(log["abandoned"], 2);
}

#[test]
fn repeated_values_are_links() {
    let mut texts = Vec::new();
    for round in 0..100u64 {
        let id = round * 7919 % 1009;
        texts.push("BEGIN".into());
        texts.push(format!("SELECT a FROM t WHERE id BETWEEN {id} AND {} AND b = {}", id + 99, round % 2));
        texts.push(format!("SELECT a FROM u WHERE name = 'n{id}' AND c = {}", round * 31 % 17));
        // One customer in ten is another.
        texts.push(format!(
            "UPDATE u SET c = 1 WHERE id = {id} AND name = 'n{}'",
            if round % 10 == 0 { 5 } else { id }
        ));
        texts.push("COMMIT".into());
    }
    let log = learned(slow(texts.iter().map(|text| (7, &**text))).as_bytes());
    let links: Vec<_> = log["sequences"][0]["links"]
        .as_array()
        .unwrap()
        .iter()
        .map(|link| {
            let number = |key: &str| link[key].as_i64().unwrap();
            (
                (number("statement"), number("slot")),
                (number("of_statement"), number("of_slot")),
                number("difference"),
            )
        })
        .collect();
    assert_eq!(links, [((0, 1), (0, 0), 99), ((2, 1), (0, 0), 0), ((2, 2), (1, 0), 0)]);
    let share = log["sequences"][0]["links"][2]["share"].as_f64().unwrap();
    assert!((0.8..1.0).contains(&share), "{share}");
}

/// Statements that differ in more than a literal, drawn from `words`, with a fixed generator.
fn draws(count: usize, words: &[String]) -> Vec<&str> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    // The first word is as frequent as all others.
    (0..count).map(|_| if next() % 2 == 0 { &*words[0] } else { &*words[next() % words.len()] }).collect()
}

#[test]
fn the_shares_of_ten_thousand_kinds_of_transactions_are_unbiased() {
    let words: Vec<_> = (0..10).map(|word| format!("SELECT a{word}")).collect();
    let drawn = draws(20_000, &words);
    let texts =
        drawn.chunks(4).flat_map(|four| ["BEGIN"].into_iter().chain(four.iter().copied()).chain(["COMMIT"]));
    let log = learned(slow(texts.map(|text| (7, text))).as_bytes());
    let (mut first, mut all) = (0, 0);
    for (statements, count, _) in sequences(&log) {
        first +=
            count * statements.iter().filter(|&&id| counts(&log)[id as usize].0 == words[0]).count() as u64;
        all += count * statements.len() as u64;
    }
    assert_eq!((&log["transactions"], all), (&json!(5_000), 20_000));
    let share = drawn.iter().filter(|&&text| text == words[0]).count() as f64 / 20_000.0;
    assert!((first as f64 / all as f64 - share).abs() < 0.01, "{first} of {all}, not {share}");
}

#[test]
fn a_mangled_log_is_told_from_a_true_one() {
    let mut texts = Vec::new();
    for round in 0..400u64 {
        texts.extend([(round % 4, "BEGIN"), (round % 4, "SELECT 1"), (round % 4, "UPDATE t SET a = 1")]);
        // One in four is retried after a deadlock.
        texts.push((round % 4, if round % 4 == 3 { "BEGIN" } else { "COMMIT" }));
    }
    assert_eq!(learned(slow(texts.iter().copied()).as_bytes())["ordered"], true);
    let mut shuffled = texts.clone();
    for place in (1..shuffled.len()).rev() {
        shuffled.swap(place, place * 7_919 % (place + 1));
    }
    let mangled = learned(slow(shuffled).as_bytes()); // times are in order, transactions are not
    assert_eq!(mangled["ordered"], false);
    assert!(sequences(&mangled).iter().all(|(statements, _, explicit)| statements.len() == 1 && !explicit));
    assert_eq!(mangled["transactions"], mangled["statements"]);
    let singles = slow((0..300).map(|_| (7, "SELECT 1")));
    assert_eq!(learned(singles.as_bytes())["ordered"], true);
    let entries: Vec<_> = singles.split_inclusive("SELECT 1;\n").collect();
    let backwards: String = entries.into_iter().rev().collect(); // no transactions, but times
    assert_eq!(learned(backwards.as_bytes())["ordered"], false);
    let anonymous = slow(alone(&["SELECT 1", "SELECT 2"])).replace("  Id:     7", "");
    assert_eq!(learned(anonymous.as_bytes())["ordered"], false);
}

#[test]
fn what_cannot_be_read_is_counted() {
    let whole = slow(alone(&["SELECT 1", "SELECT 'secret'", "SELECT 2"]));
    let torn = whole.replace("secret';", "secret");
    let log = learned(torn.as_bytes());
    assert_eq!((counts(&log), left_out(&log)), (vec![("SELECT ?", 2)], vec![("cut off", 1)]));
    let log = learned(whole.replace("secret'", "secret").as_bytes());
    assert_eq!(left_out(&log), [("cut off within a string, name or comment", 1)]);
    assert_eq!(log["left_out"][0]["example"], "SELECT");
    let tail = &whole[whole.find("SELECT 1").unwrap()..];
    assert_eq!(left_out(&learned(tail.as_bytes())), [("a line outside of any statement", 1)]);
    let huge = format!("SELECT '{}'", "x".repeat(5 << 20));
    let log = learned(slow(alone(&[&huge, "SELECT 2"])).as_bytes());
    assert_eq!((counts(&log), left_out(&log)), (vec![("SELECT ?", 1)], vec![("longer than 4 MiB", 1)]));
    let many: Vec<_> = (0..4_100).map(|number| format!("SELECT a{number}")).collect();
    let log = learned(slow(many.iter().map(|text| (7, &**text))).as_bytes());
    assert_eq!(left_out(&log), [("a kind of statement beyond the 4000 that are kept", 100)]);
    assert_eq!(log["statements"], 4_100);
    let sum = |values: usize| format!("SELECT {}a", "1+".repeat(values));
    let log = learned(slow(alone(&[&sum(1_000), &sum(1_001)])).as_bytes());
    assert_eq!(
        (counts(&log).len(), left_out(&log)),
        (1, vec![("more than 1000 values outside of lists", 1)])
    );
    let log = slow(alone(&["SELECT 1", "throttle:          5 'index not used' warning(s) suppressed."]));
    let log = learned(log.as_bytes());
    let suppressed = ("suppressed by log_throttle_queries_not_using_indexes", 5);
    assert_eq!((counts(&log), left_out(&log)), (vec![("SELECT ?", 1)], vec![suppressed]));
    let latin = slow(alone(&["SELECT ~"]))
        .into_bytes()
        .iter()
        .map(|&byte| if byte == b'~' { 0xE4 } else { byte })
        .collect::<Vec<_>>();
    let log = learned(&latin);
    assert_eq!(left_out(&log), [("not UTF-8 outside of strings", 1)]);
    assert_eq!(log["left_out"][0]["example"], "SELECT");
}

#[test]
fn connections_are_counted_at_once() {
    let texts =
        (0..100).flat_map(|round| [(round, "SELECT 1"), (round + 1, "SELECT 2"), (round, "SELECT 3")]);
    let log = learned(slow(texts).as_bytes());
    assert_eq!(log["connections"], 2);
}

#[test]
fn any_pieces_make_the_same_of_a_log() {
    let mut whole = slow(alone(&["SELECT 'a\nb'", "BEGIN", "SELECT 2", "COMMIT"]));
    whole += MARIADB;
    let once = learned(whole.as_bytes());
    for size in [1, 7, 64] {
        let mut reader = Reader::new(Options::default());
        for piece in whole.as_bytes().chunks(size) {
            reader.feed(piece);
        }
        assert_eq!(serde_json::from_slice::<Value>(&reader.finish()).unwrap(), once);
    }
}

#[test]
fn general_logs_with_spaces_in_place_of_tabs_or_times_are_read() {
    let logs = [
        // MySQL 5.7.2 to 5.7.12
        "2016-06-07T19:07:01.558338Z    4 Query\tSELECT 1\n2016-06-07T19:07:02.558338Z   14 Query\tSELECT 2\n",
        // A blank time within a second.
        "210211  0:55:24\t     51 Query\tSELECT 1\n               \t     51 Query\tSELECT 2\n",
        // Expanded tabs.
        "210211  0:55:24     51 Query     SELECT 1\n                    51 Query     SELECT 2\n",
        "2024-05-06T10:00:00.000300Z         8 Query     SELECT 1\n2024-05-06T10:00:00.000300Z       128 Query     SELECT 2\n",
        "2024-05-06T10:00:00.000300Z         8 Init DB   shop\n2024-05-06T10:00:00.000300Z         8 Execute   SELECT 1\n\
         2024-05-06T10:00:00.000300Z         8 Query     SELECT 2\n",
    ];
    for log in logs {
        let read = learned(log.as_bytes());
        assert_eq!((counts(&read), &read["kind"]), (vec![("SELECT ?", 2)], &json!("general")), "{log}");
        assert!(left_out(&read).is_empty(), "{log}");
    }
}

#[test]
fn a_statement_s_indented_lines_are_no_commands() {
    let log = "210211  0:55:24\t     51 Query\tSELECT a,\n    5 Query\n FROM t\n\t\t     51 Quit\t\n";
    assert_eq!(counts(&learned(log.as_bytes())), [("SELECT a, ? Query FROM t", 1)]);
}

#[test]
fn line_ends_of_windows_are_line_ends() {
    let text = format!("{MARIADB}{}", slow(alone(&["SELECT 1", "COMMIT", "SELECT 'a\nb'"])));
    let mixed = text.replace("timestamp=1795574150;\n", "timestamp=1795574150;\r\n");
    let expected = learned(text.as_bytes());
    for log in [text.replace('\n', "\r\n"), mixed] {
        assert_eq!(learned(log.as_bytes()), expected);
    }
    let general = b"2024-05-06T10:00:00.000300Z\t    8 Query\tSELECT 1\r\n2024-05-06T10:00:00.000300Z\t    8 Quit\t\r\n";
    assert_eq!(counts(&learned(general)), [("SELECT ?", 1)]);
}

#[test]
fn a_sample_of_statements_has_no_transactions_and_one_of_sessions_has() {
    let of = |kind: &str| {
        let limit = format!("# Log_slow_rate_type: {kind}  Log_slow_rate_limit: 10\nSET timestamp");
        let log = slow(alone(&["BEGIN", "SELECT 1", "COMMIT"])).replace("SET timestamp", &limit);
        learned(log.as_bytes())
    };
    let (statements, sessions) = (of("query"), of("session"));
    for (log, whole) in [(&statements, false), (&sessions, true)] {
        assert_eq!(
            (&log["sampled"], &log["sampled_sessions"], &log["ordered"]),
            (&json!(10), &json!(whole), &json!(whole))
        );
    }
    assert_eq!(learned(MARIADB.as_bytes())["sampled"], 1);
}
