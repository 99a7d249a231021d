//! One statement's bytes to its template and its literals, in one pass.

use std::collections::HashSet;

/// Deeper parentheses are refused; no server takes them either.
const NESTED_MAX: usize = 1000;
const CHARSETS: &str = "_binary|_utf8mb4|_utf8|_utf8mb3|_latin1|_ascii|_ucs2|_utf16|_utf32|_latin2|_cp1252|_cp1251|\
    _gbk|_sjis";
/// After these words `-1` is a number; after any other it is a subtraction.
const BEFORE_VALUE: &str = "select|where|and|or|xor|not|between|in|like|then|else|when|case|by|set|values|value|limit|\
    offset|having|on|interval|div|mod|return";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Number,
    Text,
    Bytes,
    Null,
    /// A `?` of the text itself, as in a digest.
    Unknown,
}

/// One literal; its value is `values[start..end]` of its statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Literal {
    pub kind: Kind,
    pub slot: u32,
    start: u32,
    end: u32,
}

/// One `?` or `?+` of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Where the `?` stands.
    at: u32,
    pub list: bool,
    /// The digits that end a table's name.
    pub table: bool,
}

/// Why a text is no statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A string, quoted name or comment without an end.
    Unended,
    Nested,
}

#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Stems of numbered tables, such as `sbtest`: their numbers are literals.
    pub families: HashSet<Vec<u8>>,
}

/// The last token, as far as the next one's meaning depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    /// The statement's begin, an operator, or punctuation.
    Other,
    /// A word of the text, from here to there.
    Word(usize, usize),
    /// An operand of a subtraction: a quoted name or `)`.
    Operand,
    Literal,
    Text,
    Assignment,
    Open,
    Comma,
}

/// An open parenthesis.
struct Group {
    /// The template's length, marks and literals before its content.
    out: usize,
    slots: usize,
    literals: usize,
    /// A list of IN, and nothing but literals so far.
    list: bool,
    /// Its own parentheses may be rows.
    rows: bool,
}

/// Rows of equal text, of VALUES or IN, of which the first one is in the template.
struct Rows {
    depth: usize,
    begin: usize,
    end: usize,
    slots: usize,
    slots_end: usize,
    count: usize,
}

/// A statement taken apart. It can be filled again, and keeps its memory.
#[derive(Default)]
pub struct Statement {
    pub template: Vec<u8>,
    pub literals: Vec<Literal>,
    pub marks: Vec<Mark>,
    values: Vec<u8>,
    groups: Vec<Group>,
    rows: Option<Rows>,
}

impl Statement {
    pub fn value(&self, literal: &Literal) -> &[u8] {
        &self.values[literal.start as usize..literal.end as usize]
    }

    /// Reads the first statement of `text`, and returns the bytes read: up to a `;`, or all.
    ///
    /// After a fault, the template is the part before it. A text is shorter than 4 GiB.
    pub fn read(&mut self, text: &[u8], options: &Options) -> Result<usize, Fault> {
        self.template.clear();
        self.literals.clear();
        self.marks.clear();
        self.values.clear();
        self.groups.clear();
        self.rows = None;
        let mut reader = Reader { text, options, statement: self, at: 0, last: Last::Other, space: false };
        let mut compound = None;
        let mut versioned = false;
        while let Some(&byte) = text.get(reader.at) {
            let begin = reader.at;
            let next = text.get(begin + 1).copied().unwrap_or(0);
            match byte {
                _ if byte.is_ascii_whitespace() || byte == 0x0B => {
                    reader.space = true;
                    reader.at += 1;
                }
                b'#' => reader.skip_line(),
                b'-' if next == b'-' && text.get(begin + 2).is_none_or(|&byte| byte <= b' ') => {
                    reader.skip_line();
                }
                b'/' if next == b'*' => versioned |= reader.comment()?,
                b'*' if next == b'/' && versioned => {
                    reader.space = true;
                    reader.token(begin + 2, Last::Other);
                    versioned = false;
                }
                b'\'' | b'"' => reader.text(byte, Kind::Text)?,
                b'`' => reader.name()?,
                b'0'..=b'9' => reader.number(begin),
                b'.' if next.is_ascii_digit() && !reader.qualifies() => reader.number(begin),
                b'-' if starts_number(&text[begin + 1..]) && reader.before_value() => {
                    reader.at += 1;
                    reader.number(begin);
                }
                b'?' => reader.unknown(1, false),
                b'.' if text[begin..].starts_with(b"...") => reader.unknown(3, true),
                b'(' => reader.open()?,
                b')' => reader.close(),
                b';' => {
                    if !compound.unwrap_or(false) {
                        reader.at += 1;
                        break;
                    }
                    reader.token(begin + 1, Last::Other);
                }
                b',' => reader.token(begin + 1, Last::Comma),
                b'=' => reader.token(begin + 1, Last::Assignment),
                _ if is_word(byte) => {
                    reader.word()?;
                    // The bodies of procedures and the like have `;` in them.
                    compound.get_or_insert_with(|| reader.after("create|alter"));
                }
                _ => reader.token(begin + 1, Last::Other),
            }
        }
        let read = reader.at;
        self.end_rows();
        while self.template.last().is_some_and(|byte| b"; ".contains(byte)) {
            self.template.pop();
        }
        Ok(read)
    }

    /// Ends a row or its rows: marks those of more than one.
    fn end_rows(&mut self) {
        let Some(rows) = self.rows.take().filter(|rows| rows.count > 1) else { return };
        for (inserted, mark) in self.marks[rows.slots..rows.slots_end].iter_mut().enumerate() {
            mark.at += inserted as u32;
            mark.list = true;
            self.template.insert(mark.at as usize + 1, b'+');
        }
    }

    /// Whether the row that ends here, with its content since `group`, has the first one's text.
    fn repeats(&self, rows: &Rows, group: &Group) -> bool {
        let slots = &self.marks[group.slots..];
        slots.len() == rows.slots_end - rows.slots
            && slots.iter().all(|mark| !mark.list)
            && self.template[group.out..] == self.template[rows.begin..rows.end]
    }
}

struct Reader<'a> {
    text: &'a [u8],
    options: &'a Options,
    statement: &'a mut Statement,
    at: usize,
    last: Last,
    space: bool,
}

impl Reader<'_> {
    /// Takes the text up to `end` over into the template.
    fn token(&mut self, end: usize, last: Last) {
        let begin = std::mem::replace(&mut self.at, end);
        self.gap(self.text[begin]);
        self.statement.template.extend_from_slice(&self.text[begin..end]);
        self.past(last);
    }

    /// Separates what begins with `first` from the token before it.
    fn gap(&mut self, first: u8) {
        if first != b',' && first != b'(' {
            self.leave_rows();
        }
        let template = &mut self.statement.template;
        let after = template.last().copied();
        let tight = matches!(after, None | Some(b'(')) || b"),;".contains(&first);
        // `?+` is a list.
        let sum = first == b'+' && after == Some(b'?');
        if (self.space || after == Some(b',') || sum) && !tight {
            template.push(b' ');
        }
        self.space = false;
    }

    /// Notes the token; whatever is no literal and no comma makes a list an expression.
    fn past(&mut self, last: Last) {
        if let Some(group) = self.statement.groups.last_mut() {
            group.list &= matches!(last, Last::Literal | Last::Text | Last::Comma);
        }
        self.last = last;
    }

    /// Rows end with the first token behind them that is no further row.
    fn leave_rows(&mut self) {
        let depth = self.statement.groups.len();
        if self.statement.rows.as_ref().is_some_and(|rows| rows.count > 0 && rows.depth == depth) {
            self.statement.end_rows();
        }
    }

    fn skip_line(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        self.space = true;
    }

    /// Skips a comment; keeps a hint's or versioned one's begin, and returns whether it is one.
    fn comment(&mut self) -> Result<bool, Fault> {
        let rest = &self.text[self.at..];
        let inner = &rest[2..];
        let mark = match inner {
            [b'M', b'!', ..] => 2,
            [b'!' | b'+', ..] => 1,
            _ => {
                let end = inner.windows(2).position(|pair| pair == b"*/").ok_or(Fault::Unended)?;
                self.at += end + 4;
                self.space = true;
                return Ok(false);
            }
        };
        let version = inner[mark..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.token(self.at + 2 + mark + version, Last::Other);
        Ok(true)
    }

    fn literal(&mut self, kind: Kind, start: usize, table: bool) {
        let slot = self.statement.marks.len() as u32;
        let end = self.statement.values.len() as u32;
        self.statement.literals.push(Literal { kind, slot, start: start as u32, end });
        let at = self.statement.template.len() as u32;
        self.statement.marks.push(Mark { at, list: false, table });
        self.statement.template.push(b'?');
    }

    /// A string, from its quote on; adjacent ones are one. Behind AS, a word in quotes is a name.
    fn text(&mut self, quote: u8, kind: Kind) -> Result<(), Fault> {
        if self.after("AS") {
            let word = self.text[self.at + 1..].iter().take_while(|&&byte| is_word(byte)).count();
            if self.text.get(self.at + 1 + word) == Some(&quote) {
                self.token(self.at + word + 2, Last::Operand);
                return Ok(());
            }
        }
        let start = self.statement.values.len();
        self.at = unquote(self.text, self.at + 1, quote, true, &mut self.statement.values)?;
        if self.last == Last::Text {
            let end = self.statement.values.len() as u32;
            self.statement.literals.last_mut().expect("the last token is one").end = end;
            return Ok(());
        }
        self.gap(b'\'');
        self.literal(kind, start, false);
        self.past(Last::Text);
        Ok(())
    }

    /// `x'…'` or `b'…'`, from its letter on.
    fn digits(&mut self) -> Result<(), Fault> {
        let start = self.statement.values.len();
        let hexadecimal = self.text[self.at].eq_ignore_ascii_case(&b'x');
        let mut digits = Vec::new();
        self.at = unquote(self.text, self.at + 2, b'\'', false, &mut digits)?;
        self.bits(&digits, hexadecimal);
        self.gap(b'\'');
        self.literal(Kind::Bytes, start, false);
        self.past(Last::Literal);
        Ok(())
    }

    fn bits(&mut self, digits: &[u8], hexadecimal: bool) {
        let (base, per_byte) = if hexadecimal { (16, 2) } else { (2, 8) };
        for chunk in digits.rchunks(per_byte).rev() {
            let byte = chunk
                .iter()
                .fold(0, |sum, &digit| sum * base + char::from(digit).to_digit(base).unwrap_or(0));
            self.statement.values.push(byte as u8);
        }
    }

    /// A quoted name, kept as it is.
    fn name(&mut self) -> Result<(), Fault> {
        let begin = self.at;
        let mut unquoted = Vec::new();
        let end = unquote(self.text, begin + 1, b'`', false, &mut unquoted)?;
        match self.stem(&unquoted) {
            Some(stem) if end - begin == unquoted.len() + 2 => {
                self.numbered(begin, begin + 1 + stem, end - 1);
                self.statement.template.push(b'`');
                self.at = end;
            }
            _ => self.token(end, Last::Operand),
        }
        Ok(())
    }

    /// The length of a numbered table's stem.
    fn stem(&self, name: &[u8]) -> Option<usize> {
        let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let stem = name.len() - digits;
        (digits > 0 && self.options.families.contains(&name[..stem])).then_some(stem)
    }

    /// A numbered table's name, whose digits lie at `stem..end`.
    fn numbered(&mut self, begin: usize, stem: usize, end: usize) {
        self.at = begin;
        self.token(stem, Last::Operand);
        let start = self.statement.values.len();
        self.statement.values.extend_from_slice(&self.text[stem..end]);
        self.literal(Kind::Number, start, true);
        self.at = end;
    }

    /// A number, or a name that begins with digits. `begin` is before `at` if there is a sign.
    fn number(&mut self, begin: usize) {
        let text = self.text;
        let word_end = |from: usize| from + text[from..].iter().take_while(|&&byte| is_word(byte)).count();
        let digits_end =
            |from: usize| from + text[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let start = self.statement.values.len();
        let mut end = word_end(self.at);
        let word = &text[self.at..end];
        // A qualified name's last part may begin with digits.
        let qualified = self.last == Last::Other && begin > 0 && text[begin - 1] == b'.';
        let hexadecimal = word.starts_with(b"0x");
        if (hexadecimal || word.starts_with(b"0b")) && !qualified && word.len() > 2 {
            self.bits(&word[2..], hexadecimal);
            self.put_number(Kind::Bytes, start, end);
            return;
        }
        let integer = digits_end(self.at);
        let mut exponent = integer;
        if !qualified && text.get(integer) == Some(&b'.') {
            exponent = digits_end(integer + 1);
            end = exponent;
        }
        if matches!(text.get(exponent), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(text.get(exponent + 1), Some(b'+' | b'-')));
            let scientific = digits_end(exponent + 1 + sign);
            if scientific > exponent + 1 + sign && scientific == word_end(scientific) {
                (exponent, end) = (scientific, scientific);
            }
        }
        if qualified || end > exponent {
            let end = word_end(self.at);
            self.at = begin;
            return self.token(end, Last::Operand);
        }
        self.statement.values.extend_from_slice(&text[begin..end]);
        self.put_number(Kind::Number, start, end);
    }

    fn put_number(&mut self, kind: Kind, start: usize, end: usize) {
        self.gap(b'0');
        self.literal(kind, start, false);
        self.past(Last::Literal);
        self.at = end;
    }

    fn unknown(&mut self, length: usize, list: bool) {
        self.gap(b'?');
        let start = self.statement.values.len();
        self.literal(Kind::Unknown, start, false);
        if list {
            self.statement.template.push(b'+');
            self.statement.marks.last_mut().expect("just pushed").list = true;
        }
        self.past(if list { Last::Other } else { Last::Literal });
        self.at += length;
    }

    fn word(&mut self) -> Result<(), Fault> {
        let begin = self.at;
        let end = begin + self.text[begin..].iter().take_while(|&&byte| is_word(byte)).count();
        let word = &self.text[begin..end];
        let quoted = self.text.get(end) == Some(&b'\'');
        match word {
            [b'x' | b'X' | b'b' | b'B'] if quoted => return self.digits(),
            [b'n' | b'N'] if quoted => {
                self.at = end;
                return self.text(b'\'', Kind::Text);
            }
            [b'_', ..] if one_of(word, CHARSETS) && self.introduces(end) => {
                return self.introduced(word, end);
            }
            _ => {}
        }
        let value =
            matches!(self.last, Last::Assignment | Last::Open | Last::Comma) || self.after("then|else");
        if value && word.eq_ignore_ascii_case(b"null") {
            let start = self.statement.values.len();
            self.put_number(Kind::Null, start, end);
        } else if let Some(stem) = self.stem(word) {
            self.numbered(begin, begin + stem, end);
        } else {
            self.token(end, Last::Word(begin, end));
        }
        Ok(())
    }

    /// Whether a string follows, behind white space.
    fn introduces(&self, end: usize) -> bool {
        let rest = self.text[end..].trim_ascii_start();
        matches!(rest, [b'\'' | b'"', ..] | [b'x' | b'X', b'\'', ..] | [b'0', b'x', ..])
    }

    fn introduced(&mut self, charset: &[u8], end: usize) -> Result<(), Fault> {
        self.at = self.text.len() - self.text[end..].trim_ascii_start().len();
        let kind = if charset.eq_ignore_ascii_case(b"_binary") { Kind::Bytes } else { Kind::Text };
        match self.text[self.at] {
            b'0' => self.number(self.at),
            quote @ (b'\'' | b'"') => {
                self.last = Last::Other;
                self.text(quote, kind)?;
            }
            _ => self.digits()?,
        }
        Ok(())
    }

    /// Whether a dot here continues a name.
    fn qualifies(&self) -> bool {
        self.text[..self.at].last().is_some_and(|&byte| is_word(byte) || byte == b'`')
    }

    /// Whether the last token is one of these words.
    fn after(&self, words: &str) -> bool {
        matches!(self.last, Last::Word(begin, end) if one_of(&self.text[begin..end], words))
    }

    /// Whether a sign here belongs to a number.
    fn before_value(&self) -> bool {
        match self.last {
            Last::Word(..) => self.after(BEFORE_VALUE),
            Last::Operand | Last::Literal | Last::Text => false,
            _ => true,
        }
    }

    fn open(&mut self) -> Result<(), Fault> {
        let depth = self.statement.groups.len();
        if depth == NESTED_MAX {
            return Err(Fault::Nested);
        }
        let list = self.after("in");
        let of_rows = self.after("values|value")
            || self.last == Last::Open && self.statement.groups.last().is_some_and(|group| group.rows);
        let further =
            self.last == Last::Comma && self.statement.rows.as_ref().is_some_and(|rows| rows.depth == depth);
        if !further {
            self.leave_rows();
        }
        self.token(self.at + 1, Last::Open);
        let (slots, literals) = (self.statement.marks.len(), self.statement.literals.len());
        if of_rows {
            self.statement.rows = Some(Rows { depth, begin: 0, end: 0, slots: 0, slots_end: 0, count: 0 });
        }
        let out = self.statement.template.len();
        self.statement.groups.push(Group { out, slots, literals, list, rows: list });
        Ok(())
    }

    fn close(&mut self) {
        self.leave_rows();
        let statement = &mut *self.statement;
        let is_list = |group: &&Group| group.list && statement.marks.len() > group.slots;
        if let Some(group) = statement.groups.last().filter(is_list) {
            statement.template.truncate(group.out);
            statement.template.extend_from_slice(b"?+");
            statement.marks.truncate(group.slots + 1);
            statement.marks[group.slots].list = true;
            for literal in &mut statement.literals[group.literals..] {
                literal.slot = group.slots as u32;
            }
        }
        self.token(self.at + 1, Last::Operand);
        if let Some(group) = self.statement.groups.pop() {
            self.end_row(&group);
        }
    }

    /// Ends a closed group of rows: the first one stays, one that repeats it goes.
    fn end_row(&mut self, group: &Group) {
        let statement = &mut *self.statement;
        let depth = statement.groups.len();
        let Some(mut rows) = statement.rows.take_if(|rows| rows.depth == depth) else { return };
        if rows.count == 0 {
            (rows.begin, rows.end) = (group.out, statement.template.len());
            (rows.slots, rows.slots_end) = (group.slots, statement.marks.len());
        } else if statement.repeats(&rows, group) {
            statement.template.truncate(rows.end);
            statement.marks.truncate(group.slots);
            for literal in &mut statement.literals[group.literals..] {
                literal.slot -= (group.slots - rows.slots) as u32;
            }
        } else {
            statement.rows = Some(rows);
            return statement.end_rows();
        }
        rows.count += 1;
        statement.rows = Some(rows);
    }
}

fn starts_number(text: &[u8]) -> bool {
    matches!(text, [b'0'..=b'9', ..] | [b'.', b'0'..=b'9', ..])
}

/// Appends a quoted text's content from `at` on, and returns the place behind its end.
fn unquote(text: &[u8], mut at: usize, quote: u8, escapes: bool, out: &mut Vec<u8>) -> Result<usize, Fault> {
    loop {
        let rest = &text[at..];
        let plain =
            rest.iter().position(|&byte| byte == quote || escapes && byte == b'\\').ok_or(Fault::Unended)?;
        out.extend_from_slice(&rest[..plain]);
        match (rest[plain], rest.get(plain + 1)) {
            (b'\\', None) if escapes => return Err(Fault::Unended),
            (b'\\', Some(&byte)) if escapes => match byte {
                b'n' => out.push(b'\n'),
                b't' => out.push(b'\t'),
                b'r' => out.push(b'\r'),
                b'0' => out.push(0),
                b'b' => out.push(8),
                b'Z' => out.push(26),
                b'%' | b'_' => out.extend_from_slice(&[b'\\', byte]),
                _ => out.push(byte),
            },
            (_, Some(&byte)) if byte == quote => out.push(quote),
            _ => return Ok(at + plain + 1),
        }
        at += plain + 2;
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// Whether a word is one of several, in any case.
pub fn one_of(word: &[u8], words: &str) -> bool {
    words.split('|').any(|other| word.eq_ignore_ascii_case(other.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The template and its values; a list's values are joined by `|`, a NULL is `NULL`.
    fn read(text: &[u8], options: &Options) -> (String, Vec<String>) {
        let mut statement = Statement::default();
        statement.read(text, options).unwrap();
        let mut values = vec![Vec::new(); statement.marks.len()];
        for literal in &statement.literals {
            values[literal.slot as usize].push(match literal.kind {
                Kind::Null => "NULL".into(),
                _ => String::from_utf8_lossy(statement.value(literal)).into_owned(),
            });
        }
        for mark in &statement.marks {
            assert_eq!(statement.template[mark.at as usize], b'?');
            assert_eq!(statement.template.get(mark.at as usize + 1) == Some(&b'+'), mark.list);
        }
        let template = String::from_utf8_lossy(&statement.template).into_owned();
        (template, values.iter().map(|values| values.join("|")).collect())
    }

    #[track_caller]
    fn reads(text: &str, template: &str, values: &[&str]) {
        let (found, literals) = read(text.as_bytes(), &Options::default());
        assert_eq!((&*found, literals), (template, values.iter().map(|&value| value.into()).collect()));
    }

    #[test]
    fn literals_become_slots() {
        reads("SELECT c FROM t WHERE id = 5", "SELECT c FROM t WHERE id = ?", &["5"]);
        reads(
            "SELECT 1.5, .5, 1e3, 1.5E-3, 0x4142, x'41', b'01000001'",
            "SELECT ?, ?, ?, ?, ?, ?, ?",
            &["1.5", ".5", "1e3", "1.5E-3", "AB", "A", "A"],
        );
        reads(
            "SELECT 'a''b', 'c\\'d\\n\\%', \"e\"\"f\", 'g' 'h'",
            "SELECT ?, ?, ?, ?",
            &["a'b", "c'd\n\\%", "e\"f", "gh"],
        );
        reads(
            "SELECT _utf8mb4'a', _binary \"b\", _latin1 x'41', N'n', _id",
            "SELECT ?, ?, ?, ?, _id",
            &["a", "b", "A", "n"],
        );
        reads("SELECT * FROM t LIMIT 10, 20", "SELECT * FROM t LIMIT ?, ?", &["10", "20"]);
        reads(
            "WHERE d > DATE '2026-01-01' - INTERVAL 1 DAY",
            "WHERE d > DATE ? - INTERVAL ? DAY",
            &["2026-01-01", "1"],
        );
    }

    #[test]
    fn a_sign_belongs_to_a_number_if_nothing_is_subtracted_from() {
        reads("WHERE a=-5 AND b BETWEEN -1 AND -.5", "WHERE a=? AND b BETWEEN ? AND ?", &["-5", "-1", "-.5"]);
        reads(
            "SET a=a-5, b=(a)-5, c=`a`-5, d=1-5",
            "SET a=a-?, b=(a)-?, c=`a`-?, d=?-?",
            &["5", "5", "5", "1", "5"],
        );
        reads("SET a=5+b, c=6+7", "SET a=? +b, c=? +?", &["5", "6", "7"]);
        reads("SELECT -5, a * -5 FROM t", "SELECT ?, a * ? FROM t", &["-5", "-5"]);
    }

    #[test]
    fn names_keep_their_digits() {
        reads(
            "SELECT MIN(a) AS 'a_1', 'b' AS \"c\" FROM t",
            "SELECT MIN(a) AS 'a_1', ? AS \"c\" FROM t",
            &["b"],
        );
        reads("SELECT t1.c2, `3`, d.4t, 5a, 6e FROM t1", "SELECT t1.c2, `3`, d.4t, 5a, 6e FROM t1", &[]);
        reads("SELECT t.1e5, @a1, @@max1", "SELECT t.1e5, @a1, @@max1", &[]);
    }

    #[test]
    fn null_is_a_value_where_it_stands_for_one() {
        reads("UPDATE t SET a = NULL WHERE b IS NULL", "UPDATE t SET a = ? WHERE b IS NULL", &["NULL"]);
        reads(
            "INSERT INTO t VALUES (NULL, 1, NULL)",
            "INSERT INTO t VALUES (?, ?, ?)",
            &["NULL", "1", "NULL"],
        );
        reads("a INT NOT NULL DEFAULT NULL", "a INT NOT NULL DEFAULT NULL", &[]);
        reads("CASE WHEN a THEN NULL ELSE null END", "CASE WHEN a THEN ? ELSE ? END", &["NULL", "NULL"]);
    }

    #[test]
    fn a_list_of_literals_is_one_slot() {
        reads("a IN (1,2 , -3) AND b = 4", "a IN (?+) AND b = ?", &["1|2|-3", "4"]);
        reads("a NOT IN ('x')", "a NOT IN (?+)", &["x"]);
        reads("a IN (1, b, 2)", "a IN (?, b, ?)", &["1", "2"]);
        reads("a IN (SELECT b FROM t WHERE c = 1)", "a IN (SELECT b FROM t WHERE c = ?)", &["1"]);
        reads("f(1, 2)", "f(?, ?)", &["1", "2"]);
    }

    #[test]
    fn equal_rows_are_one_row_of_lists() {
        reads("INSERT INTO t (a,b) VALUES (1,'x')", "INSERT INTO t (a, b) VALUES (?, ?)", &["1", "x"]);
        reads(
            "INSERT INTO t (a,b) VALUES (1,NOW(),'x'),(2, NOW(),'y') , (3,NOW(),NULL) ON DUPLICATE KEY UPDATE a=VALUES(a), b=4",
            "INSERT INTO t (a, b) VALUES (?+, NOW(), ?+) ON DUPLICATE KEY UPDATE a=VALUES(a), b=?",
            &["1|2|3", "x|y|NULL", "4"],
        );
        reads("VALUES (1), (DEFAULT), (2)", "VALUES (?), (DEFAULT), (?)", &["1", "2"]);
        reads("VALUES (1), (2), (DEFAULT)", "VALUES (?+), (DEFAULT)", &["1|2"]);
        reads("(a, b) IN ((1, 2), (3, 4)) AND c = 5", "(a, b) IN ((?+, ?+)) AND c = ?", &["1|3", "2|4", "5"]);
        reads("SELECT (1), (2)", "SELECT (?), (?)", &["1", "2"]);
    }

    #[test]
    fn comments_and_white_space_are_alike() {
        reads("/* a 1 */ SELECT\n\t1 -- b 'c\n, # d\n 2 --3", "SELECT ?, ? -?", &["1", "2", "-3"]);
        reads("SELECT ( 1 ) , f ( a )", "SELECT (?), f (a)", &["1"]);
        reads("SELECT /*!40001 SQL_NO_CACHE */ 1", "SELECT /*!40001 SQL_NO_CACHE */ ?", &["1"]);
        reads("/*M!100100 SET a = 'x' */", "/*M!100100 SET a = ? */", &["x"]);
        reads("SELECT /*+ MAX_EXECUTION_TIME(9) */ a", "SELECT /*+ MAX_EXECUTION_TIME(?) */ a", &["9"]);
    }

    #[test]
    fn digests_are_read_as_templates() {
        reads(
            "SELECT * FROM `t` WHERE `a` = ? AND `b` IN (...)",
            "SELECT * FROM `t` WHERE `a` = ? AND `b` IN (?+)",
            &["", ""],
        );
        reads("INSERT INTO `t` VALUES (...) /* , ... */", "INSERT INTO `t` VALUES (?+)", &[""]);
    }

    #[test]
    fn the_numbers_of_a_family_are_literals() {
        let options = Options { families: HashSet::from([b"sbtest".to_vec()]) };
        let text = b"SELECT a1 FROM sbtest12, `sbtest3` AS t1 WHERE sbtest12.id IN (4)";
        let (template, values) = read(text, &options);
        assert_eq!(template, "SELECT a1 FROM sbtest?, `sbtest?` AS t1 WHERE sbtest?.id IN (?+)");
        assert_eq!(values, ["12", "3", "12", "4"]);
    }

    #[test]
    fn statements_end_at_semicolons_except_in_bodies() {
        let mut statement = Statement::default();
        let text = b"SELECT ';'; SELECT 2;";
        assert_eq!(statement.read(text, &Options::default()), Ok(11));
        assert_eq!(statement.template, b"SELECT ?");
        let text = b"/*!50003 CREATE*/ PROCEDURE p() BEGIN SELECT 1; SELECT 2; END;";
        assert_eq!(statement.read(text, &Options::default()), Ok(text.len()));
        assert!(statement.template.ends_with(b"BEGIN SELECT ?; SELECT ?; END"));
    }

    #[test]
    fn what_has_no_end_is_a_fault() {
        for text in [
            "SELECT 'a",
            "SELECT 'a\\'",
            "SELECT `a",
            "SELECT /* a",
            "SELECT \"a",
            "SELECT x'4",
            "SELECT 'a\\",
        ] {
            let found = Statement::default().read(text.as_bytes(), &Options::default());
            assert_eq!(found, Err(Fault::Unended), "{text}");
        }
        let deep = [b'('; NESTED_MAX + 1];
        assert_eq!(Statement::default().read(&deep, &Options::default()), Err(Fault::Nested));
    }

    fn planted() -> impl Strategy<Value = (String, String)> {
        let string = ".{0,20}";
        prop_oneof![
            string
                .prop_map(|value| (format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''")), value)),
            string.prop_map(|value| (
                format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")),
                value
            )),
            any::<i64>().prop_map(|value| (value.to_string(), value.to_string())),
            (0u32.., 0u32..).prop_map(|(whole, part)| (format!("{whole}.{part}"), format!("{whole}.{part}"))),
        ]
    }

    proptest! {
        #[test]
        fn no_literal_stays_and_each_is_found(literals in prop::collection::vec(planted(), 1..8), which in 0usize..4) {
            let texts: Vec<_> = literals.iter().map(|(text, _)| &**text).collect();
            let (text, template) = match which {
                0 => (format!("SELECT f({}) FROM t", texts.join(" , ")), format!("SELECT f({}) FROM t", vec!["?"; texts.len()].join(", "))),
                1 => (format!("WHERE a IN ({})", texts.join(",")), "WHERE a IN (?+)".into()),
                2 => (format!("WHERE a = {}", texts.join("/* or */OR a = ")), format!("WHERE a = {}", vec!["?"; texts.len()].join(" OR a = "))),
                _ => (format!("INSERT t VALUES ({})", texts.join("),(")), format!("INSERT t VALUES ({})", if texts.len() > 1 { "?+" } else { "?" })),
            };
            let (found, values) = read(text.as_bytes(), &Options::default());
            prop_assert_eq!(found, template);
            let joined: Vec<_> = literals.iter().map(|(_, value)| &**value).collect();
            prop_assert_eq!(values.join("|"), joined.join("|"));
        }

        #[test]
        fn any_bytes_are_read_to_their_end(text in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut statement = Statement::default();
            let mut rest = &text[..];
            while let Ok(read) = statement.read(rest, &Options::default()) {
                prop_assert!(statement.literals.iter().all(|literal| (literal.slot as usize) < statement.marks.len()));
                rest = &rest[read..];
                if rest.is_empty() {
                    break;
                }
            }
        }
    }
}
