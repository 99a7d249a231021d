//! The workload program: parsed from JSON, laid out for execution.

use std::sync::Arc;

use serde::Deserialize;

use crate::learned::Column;
use crate::pace::Pace;
use crate::parameter::{self, Parameter, Per, Source};
use crate::random::{Distribution, Rows, Stream};
use crate::value::{Draws, Escapes, Value, Values};

pub type Error = String;

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    Read,
    Write,
    Other,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    pub name: String,
    pub effect: Effect,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum RawPiece {
    Literal(String),
    Reference(i64),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStatement {
    kind: usize,
    pieces: Vec<RawPiece>,
    #[serde(default)]
    into: Vec<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    repeat: u32,
    #[serde(default)]
    repeat_of: Option<usize>,
    statements: Vec<RawStatement>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTransaction {
    weight: u64,
    begin: bool,
    #[serde(default)]
    rollback: bool,
    steps: Vec<RawStep>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProgram {
    tables: u64,
    rows: u64,
    distribution: Distribution,
    #[serde(default)]
    prepared: bool,
    #[serde(default)]
    pace: Pace,
    #[serde(default)]
    reconnect: bool,
    #[serde(default)]
    connects: bool,
    #[serde(default)]
    session: Vec<String>,
    kinds: Vec<Kind>,
    parameters: Vec<Parameter>,
    #[serde(default)]
    columns: Vec<Column>,
    transactions: Vec<RawTransaction>,
}

#[derive(Debug)]
enum Piece {
    Literal(Vec<u8>),
    Table,
    Parameter(usize),
}

impl Piece {
    fn parameter(&self) -> Option<usize> {
        if let Self::Parameter(index) = *self { Some(index) } else { None }
    }
}

#[derive(Debug)]
pub struct Statement {
    pub kind: usize,
    /// The parameters that receive its first row's columns.
    pub into: Vec<usize>,
    /// Its first handle; it has one for each table that it can name.
    handle: usize,
    pieces: Vec<Piece>,
}

impl Statement {
    fn of_text(kind: usize, text: &str) -> Self {
        Self { kind, into: Vec::new(), handle: 0, pieces: vec![Piece::Literal(text.into())] }
    }

    fn write(&self, table: u64, out: &mut Vec<u8>, parameter: impl Fn(usize, &mut Vec<u8>)) {
        for piece in &self.pieces {
            match *piece {
                Piece::Literal(ref text) => out.extend_from_slice(text),
                Piece::Table => out.extend_from_slice(itoa::Buffer::new().format(table).as_bytes()),
                Piece::Parameter(index) => parameter(index, out),
            }
        }
    }

    fn names_table(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Table))
    }

    /// Its handle for this table.
    pub fn handle(&self, table: u64) -> usize {
        self.handle + if self.names_table() { table as usize - 1 } else { 0 }
    }
}

/// Statements on one table, sent repeatedly with freshly drawn parameters.
#[derive(Debug)]
pub struct Step {
    repeat: u32,
    repeat_of: Option<usize>,
    pub statements: Vec<Statement>,
    /// The parameters of each repetition, each after the one it depends on.
    draws: Vec<usize>,
}

impl Step {
    /// The number of repetitions; may be 0 if a parameter gives it.
    pub fn repeat(&self, values: &Values) -> u32 {
        match self.repeat_of.map(|index| &values[index]) {
            Some(Value::Number(number)) => u32::try_from(*number).unwrap_or(0),
            Some(_) => 0,
            None => self.repeat,
        }
    }
}

#[derive(Debug)]
pub struct Transaction {
    /// BEGIN, and COMMIT or ROLLBACK; None: autocommit.
    pub frame: Option<(Statement, Statement)>,
    pub steps: Vec<Step>,
    /// The parameters drawn once per transaction.
    draws: Vec<usize>,
    /// The parameters that its statements fill; NULL until then.
    results: Vec<usize>,
}

/// A workload program, shared by all connections.
#[derive(Debug)]
pub struct Program {
    tables: u64,
    rows: u64,
    distribution: Distribution,
    drawn_rows: Rows,
    pub prepared: bool,
    pub pace: Pace,
    pub reconnect: bool,
    /// Each transaction opens a connection of its own, as its first part.
    pub connects: bool,
    /// Sent once by each connection that is opened, before anything else.
    pub session: Vec<String>,
    pub kinds: Vec<Kind>,
    parameters: Vec<Parameter>,
    pub transactions: Vec<Transaction>,
    /// Cumulative weights of the transactions.
    weights: Vec<u64>,
    /// The number of a connection's handles.
    handles: usize,
}

impl Program {
    pub fn parse(json: &[u8]) -> Result<Self, Error> {
        let mut raw: RawProgram = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        if raw.tables == 0 || raw.rows == 0 || raw.transactions.is_empty() {
            return Err("tables, rows or transactions: expected at least one".into());
        }
        parameter::check(&raw.parameters)?;
        let columns: Vec<Arc<Column>> = std::mem::take(&mut raw.columns).into_iter().map(Arc::new).collect();
        for parameter in &mut raw.parameters {
            if let Source::Learned(learned) = &mut parameter.source {
                learned.bind(&columns)?;
            }
        }
        raw.pace.check()?;
        check_distribution(&raw.distribution)?;
        let mut layout = Layout { raw: &raw, handles: 0 };
        let mut weights = Vec::<u64>::new();
        let mut transactions = Vec::new();
        for transaction in &raw.transactions {
            let before = weights.last().copied().unwrap_or(0);
            weights.push(before.checked_add(transaction.weight).ok_or("the weights are too large")?);
            transactions.push(layout.transaction(transaction)?);
        }
        if weights.last() == Some(&0) {
            return Err("all weights are zero".into());
        }
        let handles = layout.handles;
        let RawProgram { tables, rows, distribution, prepared, pace, .. } = raw;
        let RawProgram { reconnect, connects, session, kinds, parameters, .. } = raw;
        let drawn_rows = distribution.over(rows);
        Ok(Self {
            tables,
            rows,
            distribution,
            drawn_rows,
            prepared,
            pace,
            reconnect,
            connects,
            session,
            kinds,
            parameters,
            transactions,
            weights,
            handles,
        })
    }

    /// The draws of connection `number` (from 0) of `connections`.
    pub fn draws(&self, seed: u64, number: u64, connections: u64) -> Draws {
        let own = |parameter: &Parameter| matches!(parameter.source, Source::RowId { own_share: true });
        let share = self.parameters.iter().any(own).then(|| {
            // As in sysbench, shares include both ends, so that neighbours share a row.
            let cut =
                |number: u64| (u128::from(self.rows) * u128::from(number) / u128::from(connections)) as u64;
            let (first, last) = (cut(number), cut(number + 1));
            (self.distribution.over(last - first + 1), first as i64 - 1)
        });
        // Apart for each seed, and short: the ends of new texts are made of it.
        let salt = Stream::new(seed, u64::MAX).below(1 << 36);
        Draws { connections, salt, share, ..Draws::new(Stream::new(seed, number), number) }
    }

    /// Draws the index of the next transaction.
    pub fn choose(&self, draws: &mut Draws) -> usize {
        if let [_] = self.weights[..] {
            return 0;
        }
        let point = draws.stream.below(self.weights[self.weights.len() - 1]);
        self.weights.partition_point(|&total| total <= point)
    }

    /// Draws a table's number, from 1.
    pub fn table(&self, draws: &mut Draws) -> u64 {
        if self.tables == 1 { 1 } else { draws.stream.below(self.tables) + 1 }
    }

    /// Whether a statement needs a result or a key that is not there.
    pub fn lacks(&self, statement: &Statement, values: &Values) -> bool {
        let mut indexes = statement.pieces.iter().filter_map(Piece::parameter);
        indexes.any(|index| self.parameters[index].source.is_required() && values[index] == Value::Null)
    }

    /// The column whose new key a result is.
    pub fn key_of(&self, result: usize) -> Option<usize> {
        match self.parameters[result].source {
            Source::Result { column, .. } => column,
            _ => None,
        }
    }

    pub fn values(&self) -> Values {
        vec![Value::Null; self.parameters.len()]
    }

    /// The number of statements that a connection prepares.
    pub fn handles(&self) -> usize {
        if self.prepared { self.handles } else { 0 }
    }

    /// The statement that a handle prepares.
    pub fn of_handle(&self, handle: usize) -> Option<&Statement> {
        let statements = self.transactions.iter().flat_map(|transaction| {
            let frame = transaction.frame.iter().flat_map(|(begin, end)| [begin, end]);
            frame.chain(transaction.steps.iter().flat_map(|step| &step.statements))
        });
        statements.filter(|statement| statement.handle <= handle).max_by_key(|statement| statement.handle)
    }

    /// Appends the text to prepare for a handle, with a question mark for each parameter.
    pub fn write_template(&self, handle: usize, out: &mut Vec<u8>) {
        let Some(statement) = self.of_handle(handle) else { return };
        let table = handle - statement.handle + 1;
        statement.write(table as u64, out, |_, out| out.push(b'?'));
    }

    /// Draws a transaction's parameters and resets its results.
    pub fn draw_transaction(&self, transaction: usize, draws: &mut Draws, values: &mut Values) {
        let transaction = &self.transactions[transaction];
        for &index in &transaction.results {
            values[index] = Value::Null;
        }
        self.draw(&transaction.draws, 0, draws, values);
    }

    /// Draws the parameters of repetition `number` (from 0) of `step`.
    pub fn draw_repetition(&self, step: &Step, number: u32, draws: &mut Draws, values: &mut Values) {
        self.draw(&step.draws, number, draws, values);
    }

    fn draw(&self, indexes: &[usize], repetition: u32, draws: &mut Draws, values: &mut Values) {
        for &index in indexes {
            let source = &self.parameters[index].source;
            if let Some(value) = source.draw(repetition, &self.drawn_rows, draws, values) {
                values[index] = value;
            }
        }
    }

    /// Appends a statement's text.
    pub fn write(
        &self,
        statement: &Statement,
        table: u64,
        values: &Values,
        escapes: Escapes,
        out: &mut Vec<u8>,
    ) {
        statement.write(table, out, |index, out| {
            self.parameters[index].source.write_text(&values[index], escapes, out);
        });
    }

    /// Appends the body of a COM_STMT_EXECUTE; `bound`: the server knows the types already.
    ///
    /// Returns `bound` for the next execution.
    pub fn write_values(
        &self,
        statement: &Statement,
        bound: bool,
        values: &Values,
        out: &mut Vec<u8>,
    ) -> bool {
        let parameters = || {
            let indexes = statement.pieces.iter().filter_map(Piece::parameter);
            indexes.map(|index| (&self.parameters[index].source, &values[index]))
        };
        let count = parameters().count();
        if count == 0 {
            return true;
        }
        let nulls = out.len();
        out.resize(nulls + count.div_ceil(8), 0);
        for (index, (_, value)) in parameters().enumerate() {
            if *value == Value::Null {
                out[nulls + index / 8] |= 1 << (index % 8);
            }
        }
        out.push(u8::from(!bound));
        if !bound {
            for (source, value) in parameters() {
                out.extend_from_slice(&[source.wire_type(value), 0]);
            }
        }
        for (source, value) in parameters() {
            source.write_binary(value, out);
        }
        // Results may have another type next time.
        !parameters().any(|(source, _)| matches!(source, Source::Result { .. }))
    }
}

/// Checks that rows can be drawn from the distribution.
fn check_distribution(distribution: &Distribution) -> Result<(), Error> {
    let possible = match *distribution {
        Distribution::Uniform => true,
        Distribution::Gaussian { iterations } => iterations > 0,
        Distribution::Special { iterations, hot_range_percent, hot_percent } => {
            iterations > 0 && hot_range_percent <= 100 && hot_percent <= 100
        }
        Distribution::Pareto { h } => h > 0.0 && h < 1.0,
        Distribution::Zipfian { exponent } => (0.0..=100.0).contains(&exponent),
    };
    if possible { Ok(()) } else { Err(format!("impossible distribution: {distribution:?}")) }
}

/// Lays out transactions and numbers their statements' handles.
struct Layout<'w> {
    raw: &'w RawProgram,
    handles: usize,
}

impl Layout<'_> {
    fn transaction(&mut self, transaction: &RawTransaction) -> Result<Transaction, Error> {
        let frame = if transaction.begin {
            let end = if transaction.rollback { "rollback" } else { "commit" };
            Some((self.frame("begin")?, self.frame(end)?))
        } else if transaction.rollback {
            return Err("rollback without begin".into());
        } else {
            None
        };
        let steps = transaction.steps.iter().filter(|step| step.repeat > 0).map(|step| self.step(step));
        let steps = steps.collect::<Result<Vec<_>, _>>()?;
        let fixed = |step: &Step| step.repeat_of.is_none();
        if !steps.iter().any(fixed) {
            return Err("a transaction without a step of fixed repetitions".into());
        }
        let statements = || steps.iter().flat_map(|step| &step.statements);
        let named = statements().flat_map(|statement| &statement.pieces).filter_map(Piece::parameter);
        let needed = self.closure(named.chain(steps.iter().filter_map(|step| step.repeat_of)));
        let draws = self.drawn(&needed, Per::Transaction);
        let results = statements().flat_map(|statement| statement.into.iter().copied()).collect();
        Ok(Transaction { frame, steps, draws, results })
    }

    fn frame(&mut self, name: &str) -> Result<Statement, Error> {
        let kind = self.raw.kinds.iter().position(|kind| kind.name == name);
        let kind = kind.ok_or_else(|| format!("begin needs a kind named {name}"))?;
        self.with_handles(Statement::of_text(kind, &name.to_ascii_uppercase()))
    }

    fn with_handles(&mut self, mut statement: Statement) -> Result<Statement, Error> {
        statement.handle = self.handles;
        let own = if statement.names_table() { self.raw.tables as usize } else { 1 };
        self.handles = self.handles.checked_add(own).ok_or("too many tables")?;
        Ok(statement)
    }

    fn step(&mut self, step: &RawStep) -> Result<Step, Error> {
        if step.statements.is_empty() {
            return Err("a step without statements".into());
        }
        match step.repeat_of {
            Some(index) if self.parameter(index)?.per == Per::Repetition => {
                return Err(format!("parameter {index} counts repetitions, but is drawn in each of them"));
            }
            _ => {}
        }
        let statements = step.statements.iter().map(|statement| self.statement(statement));
        let statements = statements.collect::<Result<Vec<_>, _>>()?;
        let named = statements.iter().flat_map(|statement| &statement.pieces).filter_map(Piece::parameter);
        let needed = self.closure(named);
        let draws = self.drawn(&needed, Per::Repetition);
        Ok(Step { repeat: step.repeat, repeat_of: step.repeat_of, statements, draws })
    }

    fn statement(&mut self, statement: &RawStatement) -> Result<Statement, Error> {
        let &RawStatement { kind, ref pieces, ref into } = statement;
        if kind >= self.raw.kinds.len() {
            return Err(format!("no such kind: {kind}"));
        }
        for &index in into {
            if !matches!(self.parameter(index)?.source, Source::Result { .. }) {
                return Err(format!("parameter {index} is not a result"));
            }
        }
        let pieces = pieces.iter().map(|piece| {
            Ok(match *piece {
                RawPiece::Literal(ref text) => Piece::Literal(text.clone().into_bytes()),
                RawPiece::Reference(-1) => Piece::Table,
                RawPiece::Reference(index) => {
                    let index = usize::try_from(index).map_err(|_| format!("no such parameter: {index}"))?;
                    self.parameter(index)?;
                    Piece::Parameter(index)
                }
            })
        });
        let pieces = pieces.collect::<Result<Vec<_>, Error>>()?;
        self.with_handles(Statement { kind, into: into.clone(), handle: 0, pieces })
    }

    fn parameter(&self, index: usize) -> Result<&Parameter, Error> {
        self.raw.parameters.get(index).ok_or_else(|| format!("no such parameter: {index}"))
    }

    /// The named parameters and all that they depend on.
    fn closure(&self, named: impl Iterator<Item = usize>) -> Vec<bool> {
        let parameters = &self.raw.parameters;
        let mut needed = vec![false; parameters.len()];
        named.for_each(|index| needed[index] = true);
        // Dependencies come first, so one pass from the back finds all.
        for index in (0..parameters.len()).rev() {
            if let (true, Some(of)) = (needed[index], parameters[index].source.of()) {
                needed[of] = true;
            }
        }
        needed
    }

    fn drawn(&self, needed: &[bool], per: Per) -> Vec<usize> {
        let drawn = |parameter: &Parameter| {
            parameter.per == per && !matches!(parameter.source, Source::Result { .. })
        };
        let parameters = self.raw.parameters.iter().enumerate();
        parameters.filter(|&(index, parameter)| needed[index] && drawn(parameter)).map(|(i, _)| i).collect()
    }
}

#[cfg(test)]
pub mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use proptest::prelude::*;

    /// One transaction: two range reads, then an update.
    pub const SAMPLE: &str = r#"{
        "tables": 3, "rows": 100, "distribution": {"type": "uniform"},
        "kinds": [{"name": "range", "effect": "read"}, {"name": "update", "effect": "write"},
                  {"name": "begin", "effect": "other"}, {"name": "commit", "effect": "other"}],
        "parameters": [{"type": "row_id"}, {"type": "range_end", "of": 0, "size": 10},
                       {"type": "text", "pattern": "\u0023\u0023-@"}],
        "transactions": [{"weight": 1, "begin": true, "steps": [
            {"repeat": 2, "statements": [{"kind": 0, "pieces": ["SELECT c FROM sbtest", -1, " WHERE id BETWEEN ", 0, " AND ", 1]}]},
            {"repeat": 0, "statements": [{"kind": 0, "pieces": ["never"]}]},
            {"repeat": 1, "statements": [{"kind": 1, "pieces": ["UPDATE sbtest", -1, " SET c=", 2]}]}
        ]}]}"#;

    fn drawn(program: &Program) -> (Draws, Values) {
        (program.draws(1, 1, 2), program.values())
    }

    fn text(program: &Program, statement: &Statement, table: u64, values: &Values) -> String {
        let mut text = Vec::new();
        program.write(statement, table, values, Escapes::Backslash, &mut text);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn statements_are_filled_in() {
        let program = Program::parse(SAMPLE.as_bytes()).unwrap();
        let (mut draws, mut values) = drawn(&program);
        let step = &program.transactions[0].steps[0];
        program.draw_repetition(step, 0, &mut draws, &mut values);
        let [Value::Number(first), Value::Number(last), ..] = values[..] else { panic!("{values:?}") };
        assert_eq!(last, first + 9);
        let expected = format!("SELECT c FROM sbtest2 WHERE id BETWEEN {first} AND {last}");
        assert_eq!(text(&program, &step.statements[0], 2, &values), expected);
    }

    #[test]
    fn a_text_is_the_same_throughout_a_repetition() {
        let program = Program::parse(SAMPLE.as_bytes()).unwrap();
        let (mut draws, mut values) = drawn(&program);
        let step = &program.transactions[0].steps[1];
        program.draw_repetition(step, 0, &mut draws, &mut values);
        let one = text(&program, &step.statements[0], 1, &values);
        assert_eq!(one, text(&program, &step.statements[0], 1, &values));
        assert_eq!(one.len(), "UPDATE sbtest1 SET c='12-a'".len());
    }

    #[test]
    fn steps_of_zero_repetitions_are_dropped() {
        assert_eq!(Program::parse(SAMPLE.as_bytes()).unwrap().transactions[0].steps.len(), 2);
    }

    #[test]
    fn transactions_are_chosen_by_weight() {
        let two = SAMPLE.replace("\"transactions\": [", "\"transactions\": [{\"weight\": 3, \"begin\": false, \"steps\": [{\"repeat\": 1, \"statements\": [{\"kind\": 0, \"pieces\": [\"x\"]}]}]},");
        let program = Program::parse(two.as_bytes()).unwrap();
        let mut draws = program.draws(1, 1, 2);
        let first = (0..10_000).filter(|_| program.choose(&mut draws) == 0).count();
        assert!((7_300..7_700).contains(&first), "{first}");
    }

    #[test]
    fn inconsistent_programs_are_refused() {
        for (from, to) in [
            ("\"of\": 0", "\"of\": 1"),
            ("\"kind\": 1,", "\"kind\": 9,"),
            (" SET c=\", 2", " SET c=\", 7"),
            ("\"name\": \"commit\"", "\"name\": \"end\""),
            ("\"weight\": 1", "\"weight\": 0"),
            ("\"tables\": 3", "\"tables\": 0"),
            ("\"tables\"", "\"tabels\""),
        ] {
            assert!(Program::parse(SAMPLE.replace(from, to).as_bytes()).is_err(), "{from}");
        }
    }

    /// A program with every feature.
    const FULL: &str = r#"{
        "tables": 2, "rows": 100, "distribution": {"type": "special", "iterations": 12, "hot_range_percent": 1, "hot_percent": 75},
        "prepared": true, "pace": {"type": "open", "rate": 10.5, "poisson": true}, "session": ["SET @a = 1"], "reconnect": true,
        "kinds": [{"name": "read", "effect": "read"}, {"name": "write", "effect": "write"},
                  {"name": "begin", "effect": "other"}, {"name": "commit", "effect": "other"},
                  {"name": "rollback", "effect": "other"}],
        "parameters": [
            {"type": "row_id", "own_share": true}, {"type": "range_end", "of": 0, "size": 10},
            {"type": "integer", "min": 1, "max": 9, "per": "transaction"},
            {"type": "nurand", "a": 255, "c": 7, "min": 0, "max": 999}, {"type": "last_name", "of": 3},
            {"type": "remote", "of": 2, "min": 1, "max": 9, "percent": 15},
            {"type": "text", "pattern": "@"}, {"type": "sequence"}, {"type": "thread"}, {"type": "repetition"},
            {"type": "result", "number": true}],
        "transactions": [
            {"weight": 45, "begin": true, "steps": [
                {"repeat": 1, "statements": [
                    {"kind": 0, "pieces": ["SELECT ", -1, " ", 0, " ", 1, " ", 4], "into": [10]},
                    {"kind": 1, "pieces": ["UPDATE ", 5, " ", 6, " ", 7, " ", 8, " ", 10]}]},
                {"repeat": 1, "repeat_of": 2, "statements": [{"kind": 1, "pieces": ["INSERT ", 9]}]}]},
            {"weight": 43, "begin": true, "rollback": true, "steps": [
                {"repeat": 2, "statements": [{"kind": 0, "pieces": ["SELECT"]}]}]}]}"#;

    #[test]
    fn a_program_may_use_every_feature() {
        let program = Program::parse(FULL.as_bytes()).unwrap();
        assert!(program.prepared && program.reconnect);
        assert_eq!(program.session, ["SET @a = 1"]);
        assert_eq!(program.pace, Pace::Open { rate: 10.5, poisson: true });
        // Two for the SELECT that names a table, one for each other statement; BEGIN and the end twice.
        assert_eq!(program.handles(), 9);
        let template = |handle| {
            let mut text = Vec::new();
            program.write_template(handle, &mut text);
            String::from_utf8(text).unwrap()
        };
        let templates =
            ["BEGIN", "COMMIT", "SELECT 1 ? ? ?", "SELECT 2 ? ? ?", "UPDATE ? ? ? ? ?", "INSERT ?"];
        assert_eq!([0, 1, 2, 3, 4, 5].map(template), templates);
        assert_eq!([6, 7, 8].map(template), ["BEGIN", "ROLLBACK", "SELECT"]);
        assert_eq!(program.transactions[1].steps[0].statements[0].handle(2), 8);
    }

    #[test]
    fn own_shares_are_cut_as_in_sysbench() {
        // rlen = 100 / 3 rows; a thread draws from rlen * number to rlen * (number + 1), truncated, inclusive.
        let uniform = FULL.replace(
            r#""type": "special", "iterations": 12, "hot_range_percent": 1, "hot_percent": 75"#,
            r#""type": "uniform""#,
        );
        let program = Program::parse(uniform.as_bytes()).unwrap();
        for (number, first, last) in [(0, 0, 33), (1, 33, 66), (2, 66, 100)] {
            let (mut draws, source) = (program.draws(1, number, 3), &program.parameters[0].source);
            let rows = Distribution::Uniform.over(100);
            let row = |_| match source.draw(0, &rows, &mut draws, &program.values()) {
                Some(Value::Number(row)) => row,
                other => panic!("{other:?}"),
            };
            let found: BTreeSet<i64> = (0..5000).map(row).collect();
            assert_eq!((found.first(), found.last()), (Some(&first), Some(&last)));
            assert_eq!(found.len() as i64, last - first + 1);
        }
        // More connections than rows: each still has a share.
        let mut draws = program.draws(1, 299, 300);
        let row = program.parameters[0].source.draw(0, &program.drawn_rows, &mut draws, &program.values());
        assert!(matches!(row, Some(Value::Number(99..=100))), "{row:?}");
    }

    #[test]
    fn impossible_programs_are_refused() {
        for (from, to) in [
            ("\"iterations\": 12", "\"iterations\": 0"),
            ("\"hot_percent\": 75", "\"hot_percent\": 101"),
            ("\"hot_range_percent\": 1", "\"hot_range_percent\": 101"),
            ("\"weight\": 45", "\"weight\": 18446744073709551615"),
            ("\"into\": [10]", "\"into\": [9]"),
            ("\"into\": [10]", "\"into\": [11]"),
            ("\"repeat_of\": 2", "\"repeat_of\": 3"),
            ("\"repeat_of\": 2", "\"repeat_of\": 11"),
            ("\"rate\": 10.5", "\"rate\": 0"),
            ("\"begin\": true, \"rollback\"", "\"begin\": false, \"rollback\""),
            (
                "{\"name\": \"rollback\", \"effect\": \"other\"}",
                "{\"name\": \"other\", \"effect\": \"other\"}",
            ),
            ("{\"repeat\": 2, \"statements\"", "{\"repeat\": 1, \"repeat_of\": 2, \"statements\""),
            ("{\"kind\": 0, \"pieces\": [\"SELECT\"]}", ""),
        ] {
            let changed = FULL.replace(from, to);
            assert_ne!(changed, FULL, "{from}");
            assert!(Program::parse(changed.as_bytes()).is_err(), "{from} -> {to}");
        }
        for (name, field, wrong) in
            [("pareto", "h", "1.0"), ("pareto", "h", "0"), ("zipfian", "exponent", "-1")]
        {
            let distribution = format!(r#"{{"type": "{name}", "{field}": {wrong}}}"#);
            let changed = SAMPLE.replace(r#"{"type": "uniform"}"#, &distribution);
            assert!(Program::parse(changed.as_bytes()).is_err(), "{distribution}");
        }
    }

    /// The positions of a text's numbers and words.
    fn tokens(text: &str) -> Vec<(usize, usize)> {
        let inside = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        let bytes = text.as_bytes();
        let begins = (0..bytes.len()).filter(|&at| inside(bytes[at]) && (at == 0 || !inside(bytes[at - 1])));
        begins.map(|at| (at, at + bytes[at..].iter().take_while(|&&byte| inside(byte)).count())).collect()
    }

    proptest! {
        #[test]
        fn mutated_programs_are_parsed_or_refused(
            mutations in prop::collection::vec(
                (any::<prop::sample::Index>(), prop::sample::select(vec![
                    "0", "1", "-1", "2", "11", "101", "65536", "4294967296", "9223372036854775807",
                    "-9223372036854775808", "18446744073709551615", "0.5", "1e308", "1e-308", "null", "true",
                    "false", "transaction", "uniform", "zipfian", "pareto", "closed", "result", "text", "{}", "[]",
                ])),
                1..4,
            ),
            cut in prop::option::of((any::<prop::sample::Index>(), 0usize..30)),
        ) {
            let mut text = FULL.to_string();
            for (at, other) in mutations {
                let tokens = tokens(&text);
                let (from, to) = tokens[at.index(tokens.len())];
                text.replace_range(from..to, other);
            }
            if let Some((at, length)) = cut {
                let from = at.index(text.len());
                text.replace_range(from..(from + length).min(text.len()), "");
            }
            if let Ok(program) = Program::parse(text.as_bytes()) {
                for handle in (0..program.handles().min(10)).chain(program.handles().checked_sub(1)) {
                    program.write_template(handle, &mut Vec::new());
                }
                program.draws(1, 2, 3);
            }
        }
    }
}
