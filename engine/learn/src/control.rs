//! A statement's meaning for transactions.

use super::statement::{Statement, one_of};

#[derive(Debug, PartialEq, Eq)]
pub enum Act {
    /// No control: what a workload has.
    Plain,
    /// Plain, and commits before.
    Definition,
    Begin,
    Commit {
        chain: bool,
    },
    Rollback {
        chain: bool,
    },
    Autocommit(bool),
    Savepoint,
    Release,
    RollbackTo,
    /// USE; PREPARE and the like: a log has what they execute.
    Aside,
}

/// Commit implicitly (the manual's section 15.3.3), if they are not about temporary tables.
const DEFINITIONS: &str = "alter|create|drop|rename|truncate|grant|revoke|lock|analyze|optimize|repair|flush|install|\
    uninstall";

impl Act {
    pub fn of(statement: &Statement) -> Self {
        let template = &statement.template[..];
        let mut words = words(template);
        let first = words.next().unwrap_or_default();
        let second = || words.clone().next().unwrap_or_default();
        let is = |word: &[u8], other: &[u8]| word.eq_ignore_ascii_case(other);
        match first.first().map(u8::to_ascii_lowercase) {
            Some(b'b') if is(first, b"begin") && !is(second(), b"not") => Self::Begin,
            Some(b's') if is(first, b"start") && is(second(), b"transaction") => Self::Begin,
            Some(b's') if is(first, b"savepoint") => Self::Savepoint,
            Some(b's') if is(first, b"set") => autocommit(statement).map_or(Self::Plain, Self::Autocommit),
            Some(b'c') if is(first, b"commit") => Self::Commit { chain: chains(template) },
            Some(b'r') if is(first, b"release") && is(second(), b"savepoint") => Self::Release,
            Some(b'r') if is(first, b"rollback") => {
                if words.clone().any(|word| is(word, b"to")) {
                    Self::RollbackTo
                } else {
                    Self::Rollback { chain: chains(template) }
                }
            }
            Some(b'u') if is(first, b"use") => Self::Aside,
            Some(b'p') if is(first, b"prepare") => Self::Aside,
            Some(b'e') if is(first, b"execute") => Self::Aside,
            Some(b'd') if is(first, b"deallocate") => Self::Aside,
            Some(b'd') if is(first, b"drop") && is(second(), b"prepare") => Self::Aside,
            Some(_) if one_of(first, DEFINITIONS) && !is(second(), b"temporary") => Self::Definition,
            _ => Self::Plain,
        }
    }
}

/// The last word of `SAVEPOINT name` and its relatives.
pub fn last_word(template: &[u8]) -> &[u8] {
    words(template).last().unwrap_or_default()
}

fn words(template: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    template.split(|byte| b" (".contains(byte)).filter(|word| !word.is_empty())
}

fn chains(template: &[u8]) -> bool {
    let mut before: &[u8] = b"";
    words(template).any(|word| {
        let chains = word.eq_ignore_ascii_case(b"chain") && !before.eq_ignore_ascii_case(b"no");
        before = word;
        chains
    })
}

/// The value that a SET gives to autocommit.
fn autocommit(statement: &Statement) -> Option<bool> {
    const NAME: &[u8] = b"autocommit";
    let template = &statement.template[..];
    let at = template.windows(NAME.len()).position(|word| word.eq_ignore_ascii_case(NAME))?;
    let value = template[at + NAME.len()..].trim_ascii_start();
    let value = value.strip_prefix(b":").unwrap_or(value).strip_prefix(b"=")?.trim_ascii_start();
    if value.starts_with(b"?") {
        let slot = template[..at].iter().filter(|&&byte| byte == b'?').count();
        let literal = statement.literals.iter().find(|literal| literal.slot as usize == slot)?;
        return Some(!one_of(statement.value(literal), "0|off|false"));
    }
    let end = value.iter().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(value.len());
    Some(!one_of(&value[..end], "off|false"))
}
