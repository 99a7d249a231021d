//! What a connection sends: a workload program, read from JSON and laid out for running.

use serde::Deserialize;

use crate::random::{Distribution, Rows, Stream};

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
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Parameter {
    RowId,
    RangeEnd { of: usize, size: i64 },
    Integer { min: i64, max: i64 },
    Text { pattern: String },
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum WrittenPiece {
    Literal(String),
    Reference(i64),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenStatement {
    kind: usize,
    pieces: Vec<WrittenPiece>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenStep {
    repeat: u32,
    statements: Vec<WrittenStatement>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTransaction {
    weight: u64,
    begin: bool,
    steps: Vec<WrittenStep>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    tables: u64,
    rows: u64,
    distribution: Distribution,
    kinds: Vec<Kind>,
    parameters: Vec<Parameter>,
    transactions: Vec<WrittenTransaction>,
}

#[derive(Debug)]
enum Piece {
    Literal(Vec<u8>),
    Table,
    Parameter(usize),
}

#[derive(Debug)]
pub struct Statement {
    pub kind: usize,
    pieces: Vec<Piece>,
}

/// Statements that share a table; they are sent `repeat` times, each time with parameters drawn afresh.
#[derive(Debug)]
pub struct Step {
    pub repeat: u32,
    pub statements: Vec<Statement>,
    /// The parameters its statements need, each after those that it is computed from.
    draws: Vec<usize>,
}

#[derive(Debug)]
pub struct Transaction {
    /// Kinds of BEGIN and COMMIT; none: every statement commits itself.
    pub frame: Option<(usize, usize)>,
    pub steps: Vec<Step>,
}

/// A workload program; never changes, shared by all connections.
#[derive(Debug)]
pub struct Program {
    tables: u64,
    rows: Rows,
    pub kinds: Vec<Kind>,
    parameters: Vec<Parameter>,
    pub transactions: Vec<Transaction>,
    /// Running totals of the transactions' weights.
    weights: Vec<u64>,
}

/// One value for each parameter: numbers as they are, texts as the seed that makes them.
pub type Values = Vec<i64>;

impl Program {
    pub fn parse(json: &[u8]) -> Result<Self, Error> {
        let written: Written = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        let Written { tables, rows, distribution, kinds, parameters, transactions } = written;
        if tables == 0 || rows == 0 || transactions.is_empty() {
            return Err("tables, rows and transactions must not be zero".into());
        }
        for (index, parameter) in parameters.iter().enumerate() {
            match parameter {
                Parameter::RangeEnd { of, .. } if *of >= index => {
                    return Err(format!("parameter {index} ends a range that begins with a later one"));
                }
                Parameter::Integer { min, max } if min > max => {
                    return Err(format!("parameter {index}: min is greater than max"));
                }
                _ => {}
            }
        }
        let kind = |name| kinds.iter().position(|kind| kind.name == name);
        let frame = kind("begin").zip(kind("commit"));
        let mut weights = Vec::new();
        let mut laid_out = Vec::new();
        for transaction in transactions {
            let frame = if transaction.begin {
                Some(frame.ok_or("a transaction begins, but the kinds lack begin and commit")?)
            } else {
                None
            };
            let steps = transaction
                .steps
                .into_iter()
                .filter(|step| step.repeat > 0)
                .map(|step| lay_out(step, kinds.len(), &parameters))
                .collect::<Result<Vec<_>, _>>()?;
            if steps.is_empty() {
                return Err("a transaction sends nothing".into());
            }
            weights.push(weights.last().unwrap_or(&0) + transaction.weight);
            laid_out.push(Transaction { frame, steps });
        }
        if weights.last() == Some(&0) {
            return Err("all weights are zero".into());
        }
        Ok(Self { tables, rows: distribution.over(rows), kinds, parameters, transactions: laid_out, weights })
    }

    /// The index of the next transaction to run.
    pub fn choose(&self, stream: &mut Stream) -> usize {
        if let [_] = self.weights[..] {
            return 0;
        }
        let point = stream.below(self.weights[self.weights.len() - 1]);
        self.weights.partition_point(|&total| total <= point)
    }

    /// A table's number, from 1.
    pub fn table(&self, stream: &mut Stream) -> u64 {
        if self.tables == 1 { 1 } else { stream.below(self.tables) + 1 }
    }

    pub fn values(&self) -> Values {
        vec![0; self.parameters.len()]
    }

    /// Draws the parameters that `step` needs.
    pub fn draw(&self, step: &Step, stream: &mut Stream, values: &mut Values) {
        for &index in &step.draws {
            values[index] = match self.parameters[index] {
                Parameter::RowId => self.rows.draw(stream),
                Parameter::RangeEnd { of, size } => values[of].saturating_add(size - 1),
                Parameter::Integer { min, max } => {
                    min.wrapping_add(stream.below((max.wrapping_sub(min) as u64).saturating_add(1)) as i64)
                }
                Parameter::Text { .. } => stream.bits() as i64,
            };
        }
    }

    /// Appends a statement's text.
    pub fn write(&self, statement: &Statement, table: u64, values: &Values, out: &mut Vec<u8>) {
        let mut number = itoa::Buffer::new();
        for piece in &statement.pieces {
            match *piece {
                Piece::Literal(ref text) => out.extend_from_slice(text),
                Piece::Table => out.extend_from_slice(number.format(table).as_bytes()),
                Piece::Parameter(index) => match &self.parameters[index] {
                    Parameter::Text { pattern } => {
                        Stream::new(values[index] as u64, 0).fill(pattern.as_bytes(), out);
                    }
                    _ => out.extend_from_slice(number.format(values[index]).as_bytes()),
                },
            }
        }
    }
}

fn lay_out(step: WrittenStep, kinds: usize, parameters: &[Parameter]) -> Result<Step, Error> {
    let mut needed = vec![false; parameters.len()];
    let mut statements = Vec::new();
    for statement in step.statements {
        if statement.kind >= kinds {
            return Err(format!("there is no kind {}", statement.kind));
        }
        let mut pieces = Vec::new();
        for piece in statement.pieces {
            pieces.push(match piece {
                WrittenPiece::Literal(text) => Piece::Literal(text.into_bytes()),
                WrittenPiece::Reference(-1) => Piece::Table,
                WrittenPiece::Reference(index) => {
                    let index = usize::try_from(index)
                        .ok()
                        .filter(|&index| index < parameters.len())
                        .ok_or_else(|| format!("there is no parameter {index}"))?;
                    needed[index] = true;
                    Piece::Parameter(index)
                }
            });
        }
        statements.push(Statement { kind: statement.kind, pieces });
    }
    if statements.is_empty() {
        return Err("a step without statements".into());
    }
    // A range's end needs its start, which stands before it: one pass from the back finds all.
    for index in (0..parameters.len()).rev() {
        if let (true, Parameter::RangeEnd { of, .. }) = (needed[index], &parameters[index]) {
            needed[*of] = true;
        }
    }
    let draws = (0..parameters.len()).filter(|&index| needed[index]).collect();
    Ok(Step { repeat: step.repeat, statements, draws })
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A row is read twice, then written with a text, in one transaction.
    pub const SAMPLE: &str = r#"{
        "tables": 3, "rows": 100, "distribution": {"type": "uniform"},
        "kinds": [{"name": "range", "effect": "read"}, {"name": "update", "effect": "write"},
                  {"name": "begin", "effect": "other"}, {"name": "commit", "effect": "other"}],
        "parameters": [{"type": "row_id"}, {"type": "range_end", "of": 0, "size": 10},
                       {"type": "text", "pattern": "\u0023\u0023-@"}],
        "transactions": [{"weight": 1, "begin": true, "steps": [
            {"repeat": 2, "statements": [{"kind": 0, "pieces": ["SELECT c FROM sbtest", -1, " WHERE id BETWEEN ", 0, " AND ", 1]}]},
            {"repeat": 0, "statements": [{"kind": 0, "pieces": ["never"]}]},
            {"repeat": 1, "statements": [{"kind": 1, "pieces": ["UPDATE sbtest", -1, " SET c='", 2, "'"]}]}
        ]}]}"#;

    #[test]
    fn statements_are_filled_in() {
        let program = Program::parse(SAMPLE.as_bytes()).unwrap();
        let (mut stream, mut values, mut text) = (Stream::new(1, 1), program.values(), Vec::new());
        let step = &program.transactions[0].steps[0];
        program.draw(step, &mut stream, &mut values);
        assert_eq!(values[1], values[0] + 9);
        program.write(&step.statements[0], 2, &values, &mut text);
        let expected = format!("SELECT c FROM sbtest2 WHERE id BETWEEN {} AND {}", values[0], values[0] + 9);
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn a_text_is_the_same_wherever_it_stands_in_a_repetition() {
        let program = Program::parse(SAMPLE.as_bytes()).unwrap();
        let (mut stream, mut values) = (Stream::new(1, 1), program.values());
        let step = &program.transactions[0].steps[1];
        program.draw(step, &mut stream, &mut values);
        let (mut one, mut two) = (Vec::new(), Vec::new());
        program.write(&step.statements[0], 1, &values, &mut one);
        program.write(&step.statements[0], 1, &values, &mut two);
        assert_eq!(one, two);
        assert_eq!(one.len(), "UPDATE sbtest1 SET c='12-a'".len());
    }

    #[test]
    fn steps_that_repeat_zero_times_are_gone() {
        assert_eq!(Program::parse(SAMPLE.as_bytes()).unwrap().transactions[0].steps.len(), 2);
    }

    #[test]
    fn weights_are_kept() {
        let two = SAMPLE.replace("\"transactions\": [", "\"transactions\": [{\"weight\": 3, \"begin\": false, \"steps\": [{\"repeat\": 1, \"statements\": [{\"kind\": 0, \"pieces\": [\"x\"]}]}]},");
        let program = Program::parse(two.as_bytes()).unwrap();
        let mut stream = Stream::new(1, 1);
        let first = (0..10_000).filter(|_| program.choose(&mut stream) == 0).count();
        assert!((7_300..7_700).contains(&first), "{first}");
    }

    #[test]
    fn what_does_not_hold_together_is_refused() {
        for (from, to) in [
            ("\"of\": 0", "\"of\": 1"),
            ("\"kind\": 1,", "\"kind\": 9,"),
            (" SET c='\", 2", " SET c='\", 7"),
            ("\"name\": \"commit\"", "\"name\": \"end\""),
            ("\"weight\": 1", "\"weight\": 0"),
            ("\"tables\": 3", "\"tables\": 0"),
            ("\"tables\"", "\"tabels\""),
        ] {
            assert!(Program::parse(SAMPLE.replace(from, to).as_bytes()).is_err(), "{from}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = Program::parse(&bytes);
        }
    }
}
