//! The login: what a client answers to a server's greeting, until the server says OK or no.
//!
//! Protocol 4.1 without TLS and compression, for servers from MySQL 4.1 on; passwords by `mysql_native_password`
//! and `caching_sha2_password`. A codec only: bytes in, bytes out. It remembers one packet of at most 64 KiB.

use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::packet::{Assembler, Packet, write};
use crate::wire::{Malformed, Outcome, refusal};

const LONG_PASSWORD: u32 = 1;
const LONG_FLAG: u32 = 1 << 2;
const CONNECT_WITH_DB: u32 = 1 << 3;
const LOCAL_FILES: u32 = 1 << 7;
const PROTOCOL_41: u32 = 1 << 9;
const TRANSACTIONS: u32 = 1 << 13;
const SECURE_CONNECTION: u32 = 1 << 15;
const MULTI_RESULTS: u32 = 1 << 17;
const PLUGIN_AUTH: u32 = 1 << 19;
const NEEDED: u32 = PROTOCOL_41 | SECURE_CONNECTION;
/// What servers before MySQL 5.5 take, and do not say so.
const UNSAID: u32 = LOCAL_FILES | MULTI_RESULTS;

const UTF8_GENERAL_CI: u8 = 33;
const UTF8MB4_GENERAL_CI: u8 = 45;
const UTF8MB4_SINCE: [u32; 3] = [5, 5, 3];
/// Longest packet that we say we take; results are read in pieces, whatever their size.
const LONGEST_PACKET: u32 = 1 << 30;
const SALT: usize = 20;

// What MySQL's own client says in these cases.
const OLD_PASSWORD: u16 = 2049;
const UNKNOWN_PLUGIN: u16 = 2059;
const PLUGIN_FAILED: u16 = 2061;

/// Who logs in, and where to; an empty schema is none.
#[derive(Clone, PartialEq, Eq)]
pub struct Account {
    pub user: String,
    pub password: String,
    pub schema: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plugin {
    Native,
    CachingSha2,
}

impl Plugin {
    fn by_name(name: &[u8]) -> Option<Self> {
        match name {
            b"mysql_native_password" => Some(Self::Native),
            b"caching_sha2_password" => Some(Self::CachingSha2),
            _ => None,
        }
    }

    fn name(self) -> &'static [u8] {
        match self {
            Self::Native => b"mysql_native_password",
            Self::CachingSha2 => b"caching_sha2_password",
        }
    }

    /// Proves that we know the password, without telling it.
    fn proof(self, password: &[u8], salt: &[u8]) -> Vec<u8> {
        match self {
            Self::Native if password.is_empty() => Vec::new(),
            // So that no empty packet answers a switch.
            Self::CachingSha2 if password.is_empty() => vec![0],
            Self::Native => {
                let once = Sha1::digest(password);
                let twice = Sha1::digest(once);
                let mask = Sha1::new().chain_update(salt).chain_update(twice).finalize();
                once.iter().zip(mask).map(|(once, mask)| once ^ mask).collect()
            }
            Self::CachingSha2 => {
                let once = Sha256::digest(password);
                let twice = Sha256::digest(once);
                let mask = Sha256::new().chain_update(twice).chain_update(salt).finalize();
                once.iter().zip(mask).map(|(once, mask)| once ^ mask).collect()
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Greeting,
    /// OK, an error, or what this way of proving a password says in between.
    Answer(Plugin),
    Nothing,
}

/// One connection's login, from the server's first byte to its last word.
#[derive(Clone, Debug)]
pub struct Login {
    secure: bool,
    wanted: u32,
    expect: Expect,
    sequence: u8,
    packets: Assembler,
}

impl Login {
    /// `secure`: nobody can read along, so a server that asks for the password itself may have it.
    pub fn new(secure: bool) -> Self {
        Self {
            secure,
            wanted: NEEDED | LONG_PASSWORD | LONG_FLAG | TRANSACTIONS | MULTI_RESULTS | PLUGIN_AUTH,
            expect: Expect::Greeting,
            sequence: 0,
            packets: Assembler::default(),
        }
    }

    /// Lets statements ask for data that we send.
    #[must_use]
    pub fn with_local_files(self) -> Self {
        Self { wanted: self.wanted | LOCAL_FILES, ..self }
    }

    /// Reads what came and appends to `out` what is to be sent. `Some` at the end: the server let us in, or it
    /// refused; a server that asks for what we cannot do gets MySQL's own client codes (2049, 2059, 2061).
    pub fn feed(
        &mut self,
        mut bytes: &[u8],
        account: &Account,
        out: &mut Vec<u8>,
    ) -> Result<Option<Outcome>, Malformed> {
        while let Some(packet) = self.packets.take(&mut bytes)? {
            // An error may come at any time, also from a server that gives up and has lost count.
            if packet.payload.first() == Some(&0xFF) {
                self.expect = Expect::Nothing;
                return refusal(&packet.payload).map(Some);
            }
            if let Some(outcome) = self.packet(&packet, account, out)? {
                self.expect = Expect::Nothing;
                return if bytes.is_empty() {
                    Ok(Some(outcome))
                } else {
                    Err(Malformed("bytes after a login's end"))
                };
            }
        }
        Ok(None)
    }

    fn packet(
        &mut self,
        packet: &Packet,
        account: &Account,
        out: &mut Vec<u8>,
    ) -> Result<Option<Outcome>, Malformed> {
        if packet.sequence != self.sequence {
            return Err(Malformed("packets out of order"));
        }
        self.count()?;
        match (self.expect, &packet.payload[..]) {
            (Expect::Greeting, payload) => {
                let answer = self.answer(&Greeting::read(payload)?, account)?;
                self.send(&answer, out)?;
            }
            (Expect::Answer(_), [0x00, ..]) => return Ok(Some(Outcome::Done)),
            (Expect::Answer(_), [0xFE]) => {
                return Ok(Some(cannot(
                    OLD_PASSWORD,
                    "the account's password is stored as before MySQL 4.1",
                )));
            }
            (Expect::Answer(_), [0xFE, switch @ ..]) => {
                let (name, data) = text(switch).ok_or(Malformed("a switch to no plugin"))?;
                let Some(plugin) = Plugin::by_name(name) else {
                    return Ok(Some(cannot(
                        UNKNOWN_PLUGIN,
                        &format!(
                            "the account needs the authentication plugin {}; known are mysql_native_password \
                             and caching_sha2_password",
                            String::from_utf8_lossy(name)
                        ),
                    )));
                };
                let salt = data.get(..SALT).ok_or(Malformed("a salt cut short"))?;
                self.expect = Expect::Answer(plugin);
                self.send(&plugin.proof(account.password.as_bytes(), salt), out)?;
            }
            // The server remembers the password and has checked the proof.
            (Expect::Answer(Plugin::CachingSha2), [0x01, 0x03]) => {}
            // It does not, and wants the password itself.
            (Expect::Answer(Plugin::CachingSha2), [0x01, 0x04]) if self.secure => {
                let mut password = account.password.clone().into_bytes();
                password.push(0);
                self.send(&password, out)?;
            }
            (Expect::Answer(Plugin::CachingSha2), [0x01, 0x04]) => {
                return Ok(Some(cannot(
                    PLUGIN_FAILED,
                    "the server asks for the password itself (caching_sha2_password), which must not be sent \
                     over TCP in clear; log in over its socket once, or use mysql_native_password",
                )));
            }
            (Expect::Nothing, _) => return Err(Malformed("bytes after a login's end")),
            (Expect::Answer(_), _) => return Err(Malformed("no answer to a login")),
        }
        Ok(None)
    }

    fn answer(&mut self, greeting: &Greeting, account: &Account) -> Result<Vec<u8>, Malformed> {
        if account.user.contains('\0') || account.schema.contains('\0') {
            return Err(Malformed("a name with a zero byte in it"));
        }
        let with_schema = if account.schema.is_empty() { 0 } else { CONNECT_WITH_DB };
        let capabilities = (self.wanted | with_schema) & (greeting.capabilities | UNSAID);
        // A plugin that we do not have may be the server's default, and not the account's.
        let plugin = Plugin::by_name(greeting.plugin).unwrap_or(Plugin::Native);
        self.expect = Expect::Answer(plugin);
        let proof = plugin.proof(account.password.as_bytes(), &greeting.salt);
        let mut answer = Vec::with_capacity(128);
        answer.extend_from_slice(&capabilities.to_le_bytes());
        answer.extend_from_slice(&LONGEST_PACKET.to_le_bytes());
        answer.push(if greeting.version >= UTF8MB4_SINCE { UTF8MB4_GENERAL_CI } else { UTF8_GENERAL_CI });
        answer.extend_from_slice(&[0; 23]);
        answer.extend_from_slice(account.user.as_bytes());
        answer.push(0);
        answer.push(proof.len() as u8);
        answer.extend_from_slice(&proof);
        if capabilities & CONNECT_WITH_DB != 0 {
            answer.extend_from_slice(account.schema.as_bytes());
            answer.push(0);
        }
        if capabilities & PLUGIN_AUTH != 0 {
            answer.extend_from_slice(plugin.name());
            answer.push(0);
        }
        Ok(answer)
    }

    fn send(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
        write(self.sequence, payload, out);
        self.count()
    }

    fn count(&mut self) -> Result<(), Malformed> {
        self.sequence = self.sequence.checked_add(1).ok_or(Malformed("a login without end"))?;
        Ok(())
    }
}

/// What a server says first.
#[derive(Debug, PartialEq, Eq)]
struct Greeting<'a> {
    version: [u32; 3],
    capabilities: u32,
    salt: [u8; SALT],
    /// Empty where the server knows of none.
    plugin: &'a [u8],
}

impl<'a> Greeting<'a> {
    fn read(payload: &'a [u8]) -> Result<Self, Malformed> {
        const SHORT: Malformed = Malformed("a greeting cut short");
        const THREAD: usize = 4;
        const SALT_BEGIN: usize = 8;
        /// Character set and status; the upper capabilities; the salt's length; unused.
        const SALT_GAP: usize = 3 + 2 + 1 + 10;
        let (&protocol, rest) = payload.split_first().ok_or(SHORT)?;
        if protocol != 10 {
            return Err(Malformed("a greeting of another protocol than version 10"));
        }
        let (version, rest) = text(rest).ok_or(SHORT)?;
        let (_, rest) = rest.split_at_checked(THREAD).ok_or(SHORT)?;
        let (salt_begin, rest) = rest.split_at_checked(SALT_BEGIN).ok_or(SHORT)?;
        let [_, low, high, rest @ ..] = rest else { return Err(SHORT) };
        let lower = u32::from(u16::from_le_bytes([*low, *high]));
        if lower & NEEDED != NEEDED {
            return Err(Malformed("a server older than MySQL 4.1"));
        }
        let (middle, rest) = rest.split_at_checked(SALT_GAP).ok_or(SHORT)?;
        let (salt_end, rest) = rest.split_at_checked(SALT - SALT_BEGIN).ok_or(SHORT)?;
        let mut salt = [0; SALT];
        salt[..SALT_BEGIN].copy_from_slice(salt_begin);
        salt[SALT_BEGIN..].copy_from_slice(salt_end);
        let capabilities = lower | u32::from(u16::from_le_bytes([middle[3], middle[4]])) << 16;
        let plugin = if capabilities & PLUGIN_AUTH == 0 {
            &[]
        } else {
            // Behind the salt's closing zero; some servers leave out the name's own.
            let name = rest.get(1..).ok_or(SHORT)?;
            text(name).map_or(name, |(name, _)| name)
        };
        Ok(Self { version: version_numbers(version), capabilities, salt, plugin })
    }
}

/// The numbers a version begins with; 0 for those that it lacks.
fn version_numbers(text: &[u8]) -> [u32; 3] {
    let mut numbers = [0; 3];
    for (number, part) in numbers.iter_mut().zip(text.split(|&byte| byte == b'.')) {
        let digits = part.iter().take_while(|byte| byte.is_ascii_digit());
        *number =
            digits.fold(0, |all: u32, digit| all.saturating_mul(10).saturating_add(u32::from(digit - b'0')));
    }
    numbers
}

/// A text that a zero ends, and what follows.
fn text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|&byte| byte == 0)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

fn cannot(code: u16, message: &str) -> Outcome {
    Outcome::Refused { code, message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet;
    use proptest::prelude::*;

    const SALT_BYTES: &[u8; SALT] = b"abcdefghijklmnopqrst";
    const ALL: u32 = 0x000A_FFFF & !(1 << 11); // as a 5.7 server without TLS

    fn account() -> Account {
        Account { user: "u".into(), password: "secret".into(), schema: "s".into() }
    }

    fn greeting(version: &str, capabilities: u32, plugin: &str) -> Vec<u8> {
        let [low, high] = [capabilities & 0xFFFF, capabilities >> 16].map(|half| (half as u16).to_le_bytes());
        let mut payload = vec![10];
        payload.extend_from_slice(version.as_bytes());
        payload.extend_from_slice(b"\0\x07\0\0\0");
        payload.extend_from_slice(&SALT_BYTES[..8]);
        payload.push(0);
        payload.extend_from_slice(&low);
        payload.extend_from_slice(&[8, 2, 0]);
        payload.extend_from_slice(&high);
        payload.push(21);
        payload.extend_from_slice(&[0; 10]);
        payload.extend_from_slice(&SALT_BYTES[8..]);
        payload.push(0);
        if !plugin.is_empty() {
            payload.extend_from_slice(plugin.as_bytes());
            payload.push(0);
        }
        payload
    }

    fn native() -> Vec<u8> {
        greeting("5.7.22-log", ALL, "mysql_native_password")
    }

    fn sha2() -> Vec<u8> {
        greeting("8.0.12", ALL, "caching_sha2_password")
    }

    fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        packet::write(sequence, payload, &mut out);
        out
    }

    const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

    fn switch(plugin: &str) -> Vec<u8> {
        [b"\xFE", plugin.as_bytes(), b"\0", b"ABCDEFGHIJKLMNOPQRST", b"\0"].concat()
    }

    /// Plays a server that says these packets; gives the outcome, and what it was sent.
    fn play(
        secure: bool,
        account: &Account,
        said: &[(u8, &[u8])],
    ) -> (Result<Option<Outcome>, Malformed>, Vec<Packet>) {
        let (mut login, mut out) = (Login::new(secure), Vec::new());
        let stream: Vec<u8> =
            said.iter().flat_map(|(sequence, payload)| packet(*sequence, payload)).collect();
        let result = login.feed(&stream, account, &mut out);
        (result, packets(&out))
    }

    fn packets(mut stream: &[u8]) -> Vec<Packet> {
        let mut assembler = Assembler::default();
        std::iter::from_fn(|| assembler.take(&mut stream).unwrap()).collect()
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
    }

    // Both by PyMySQL's scramble functions, for "secret" and this salt.
    const NATIVE_PROOF: &str = "8817c50fa779daef010ee7577825b0847df9842e";
    const SHA2_PROOF: &str = "c76e2898612a4cf042c77fa8c4702c4c64c0c2c557c53c4d75595aaa6abae809";

    #[test]
    fn proofs_are_those_of_other_clients() {
        assert_eq!(hex(&Plugin::Native.proof(b"secret", SALT_BYTES)), NATIVE_PROOF);
        assert_eq!(hex(&Plugin::CachingSha2.proof(b"secret", SALT_BYTES)), SHA2_PROOF);
    }

    #[test]
    fn an_answer_names_the_user_the_proof_the_schema_and_the_plugin() {
        let (result, sent) = play(false, &account(), &[(0, &native()), (2, OK)]);
        assert_eq!(result, Ok(Some(Outcome::Done)));
        let mut expected = Vec::new();
        // Long passwords and flags, schema, 4.1, transactions, secure; several results, plugins.
        expected.extend_from_slice(&[0x0D, 0xA2, 0x0A, 0x00]);
        expected.extend_from_slice(&[0, 0, 0, 0x40, 45]);
        expected.extend_from_slice(&[0; 23]);
        expected.extend_from_slice(b"u\0\x14");
        expected.extend_from_slice(&Plugin::Native.proof(b"secret", SALT_BYTES));
        expected.extend_from_slice(b"s\0mysql_native_password\0");
        assert_eq!(sent, [Packet { sequence: 1, payload: expected }]);
    }

    #[test]
    fn without_a_schema_none_is_named() {
        let nowhere = Account { schema: String::new(), ..account() };
        let (_, sent) = play(false, &nowhere, &[(0, &native())]);
        assert_eq!(sent[0].payload[0] & CONNECT_WITH_DB as u8, 0);
        assert!(sent[0].payload.ends_with(
            &[&Plugin::Native.proof(b"secret", SALT_BYTES), Plugin::Native.name(), b"\0"].concat()
        ));
    }

    #[test]
    fn local_files_are_offered_only_when_asked_for() {
        for (login, offered) in [(Login::new(true), false), (Login::new(true).with_local_files(), true)] {
            let (mut login, mut out) = (login, Vec::new());
            login.feed(&packet(0, &native()), &account(), &mut out).unwrap();
            assert_eq!(packets(&out)[0].payload[0] & LOCAL_FILES as u8 != 0, offered);
        }
    }

    #[test]
    fn what_an_old_server_takes_without_saying_so_is_offered_to_it() {
        let (mut login, mut out) = (Login::new(true).with_local_files(), Vec::new());
        login.feed(&packet(0, &greeting("5.0.21-max", 0xA22C, "")), &account(), &mut out).unwrap();
        let offered = u32::from_le_bytes(packets(&out)[0].payload[..4].try_into().unwrap());
        assert_eq!(offered, 0xA22C & !(1 << 5) | LOCAL_FILES | MULTI_RESULTS); // all that it said but compression
    }

    #[test]
    fn an_empty_password_is_proven_by_nothing() {
        let open = Account { password: String::new(), ..account() };
        let (_, sent) = play(false, &open, &[(0, &native())]);
        assert!(sent[0].payload.ends_with(b"u\0\0s\0mysql_native_password\0"));
        let (_, sent) = play(false, &open, &[(0, &sha2())]);
        assert!(sent[0].payload.ends_with(b"u\0\x01\0s\0caching_sha2_password\0"));
    }

    #[test]
    fn a_server_without_plugins_gets_a_native_proof_and_its_own_character_set() {
        let old = greeting("5.1.73", 0xA7DF, "");
        let (result, sent) = play(false, &account(), &[(0, &old), (2, OK)]);
        assert_eq!(result, Ok(Some(Outcome::Done)));
        assert_eq!(sent[0].payload[8], UTF8_GENERAL_CI);
        assert!(
            sent[0].payload.ends_with(&[&Plugin::Native.proof(b"secret", SALT_BYTES), &b"s\0"[..]].concat())
        );
        for (version, charset) in
            [("5.5.2-m2", 33), ("5.5.3", 45), ("5.5.5-10.11.2-MariaDB", 45), ("8", 45), ("?", 33)]
        {
            let (_, sent) = play(false, &account(), &[(0, &greeting(version, ALL, "mysql_native_password"))]);
            assert_eq!(sent[0].payload[8], charset, "{version}");
        }
    }

    #[test]
    fn a_default_plugin_that_is_unknown_is_not_yet_the_accounts() {
        let unknown = greeting("8.4.0", ALL, "authentication_ldap_simple");
        let (_, sent) = play(false, &account(), &[(0, &unknown)]);
        assert!(sent[0].payload.ends_with(b"mysql_native_password\0"));
    }

    #[test]
    fn a_switch_is_followed_with_the_new_salt() {
        for (plugin, name) in
            [(Plugin::Native, "mysql_native_password"), (Plugin::CachingSha2, "caching_sha2_password")]
        {
            let (result, sent) = play(false, &account(), &[(0, &native()), (2, &switch(name)), (4, OK)]);
            assert_eq!(result, Ok(Some(Outcome::Done)));
            let proof = plugin.proof(b"secret", b"ABCDEFGHIJKLMNOPQRST");
            assert_eq!(sent[1..], [Packet { sequence: 3, payload: proof }]);
        }
    }

    #[test]
    fn a_remembered_password_needs_only_its_proof() {
        let (result, sent) = play(false, &account(), &[(0, &sha2()), (2, &[1, 3]), (3, OK)]);
        assert_eq!((result, sent.len()), (Ok(Some(Outcome::Done)), 1));
    }

    #[test]
    fn the_password_itself_is_sent_where_nobody_reads_along_and_nowhere_else() {
        let (result, sent) = play(true, &account(), &[(0, &sha2()), (2, &[1, 4]), (4, OK)]);
        assert_eq!(result, Ok(Some(Outcome::Done)));
        assert_eq!(sent[1..], [Packet { sequence: 3, payload: b"secret\0".to_vec() }]);
        let (result, sent) = play(false, &account(), &[(0, &sha2()), (2, &[1, 4])]);
        assert!(matches!(result, Ok(Some(Outcome::Refused { code: PLUGIN_FAILED, .. }))), "{result:?}");
        assert_eq!(sent.len(), 1);
        // A server whose way to prove a password has no such question does not get it.
        let (result, sent) = play(true, &account(), &[(0, &native()), (2, &[1, 4])]);
        assert_eq!(result, Err(Malformed("no answer to a login")));
        assert_eq!(sent.len(), 1);
    }

    #[test]
    fn what_a_server_refuses_is_told_in_its_words() {
        let denied = Outcome::Refused { code: 1045, message: "Access denied for user".into() };
        let (result, _) =
            play(false, &account(), &[(0, &native()), (2, b"\xFF\x15\x04#28000Access denied for user")]);
        assert_eq!(result, Ok(Some(denied)));
        // Before its greeting a server knows nothing of its client: no SQL state.
        let full = Outcome::Refused { code: 1040, message: "Too many connections".into() };
        for sequence in [0, 1] {
            let (result, sent) = play(false, &account(), &[(sequence, b"\xFF\x10\x04Too many connections")]);
            assert_eq!((result, sent.len()), (Ok(Some(full.clone())), 0));
        }
    }

    #[test]
    fn what_we_cannot_do_is_said() {
        for (asked, code, words) in [
            (vec![0xFE], OLD_PASSWORD, "before MySQL 4.1"),
            (switch("client_ed25519"), UNKNOWN_PLUGIN, "plugin client_ed25519; known"),
        ] {
            let (result, sent) = play(true, &account(), &[(0, &native()), (2, &asked)]);
            let Ok(Some(Outcome::Refused { code: found, message })) = result else { panic!("{result:?}") };
            assert_eq!((found, sent.len()), (code, 1));
            assert!(message.contains(words), "{message}");
        }
    }

    #[test]
    fn what_is_not_a_login_is_refused() {
        let old_protocol = [&[9], &native()[1..]].concat();
        let no_passwords = greeting("4.0.30", 0x2C, "");
        let short_salt = [&b"\xFEmysql_native_password\0"[..], b"short\0"].concat();
        for said in [
            &[(0, &[][..])][..],
            &[(0, &[10])],
            &[(0, &old_protocol)],
            &[(0, &no_passwords)],
            &[(0, &native()[..40])],
            &[(1, &native())],
            &[(0, &native()), (1, OK)],
            &[(0, &native()), (2, &[])],
            &[(0, &native()), (2, &[2])],
            &[(0, &native()), (2, &short_salt)],
            &[(0, &native()), (2, b"\xFEno end")],
            &[(0, &native()), (2, OK), (3, OK)],
            &[(0, b"\xFF\x10")],
        ] {
            let (result, _) = play(true, &account(), said);
            assert!(result.is_err(), "{said:?}");
        }
        let (result, sent) = play(true, &Account { user: "a\0b".into(), ..account() }, &[(0, &native())]);
        assert_eq!((result, sent.len()), (Err(Malformed("a name with a zero byte in it")), 0));
    }

    #[test]
    fn a_login_ends_even_if_the_server_never_ends_it() {
        let again = switch("mysql_native_password");
        let mut said: Vec<(u8, &[u8])> = vec![(0, &[])];
        let first = native();
        said[0].1 = &first;
        said.extend((2..=254).step_by(2).map(|sequence| (sequence, &again[..])));
        let (result, _) = play(true, &account(), &said);
        assert_eq!(result, Err(Malformed("a login without end")));
    }

    #[test]
    fn after_its_end_nothing_more_is_taken() {
        let (mut login, mut out) = (Login::new(true), Vec::new());
        let stream = [packet(0, &native()), packet(2, OK)].concat();
        assert_eq!(login.feed(&stream, &account(), &mut out), Ok(Some(Outcome::Done)));
        assert!(login.feed(&packet(3, OK), &account(), &mut out).is_err());
    }

    #[test]
    fn a_long_packet_is_refused_before_it_comes() {
        let mut login = Login::new(true);
        let header = [1, 0, 1, 0];
        assert!(login.feed(&header, &account(), &mut Vec::new()).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            greeted in any::<bool>(),
            mut stream in prop::collection::vec(any::<u8>(), 0..2000),
            short in any::<bool>(),
        ) {
            let (mut login, mut out) = (Login::new(true), Vec::new());
            if greeted {
                login.feed(&packet(0, &sha2()), &account(), &mut out).unwrap();
            }
            if short && stream.len() >= 4 {
                // Mostly a whole packet, in its turn.
                let header = [stream[0] % 64, 0, 0, login.sequence];
                stream[..4].copy_from_slice(&header);
            }
            let _ = login.feed(&stream, &account(), &mut out);
            prop_assert!(login.packets.kept() <= packet::LONGEST + 4);
            prop_assert!(out.len() < 2 * stream.len() + 500);
        }

        #[test]
        fn cutting_the_stream_changes_nothing(
            end in prop::sample::select(vec![OK, b"\xFF\x15\x04#28000Access denied"]),
            cuts in prop::collection::vec(0usize..500, 0..12),
        ) {
            let said: [(u8, &[u8]); 5] = [
                (0, &native()), (2, &switch("caching_sha2_password")), (4, &[1, 4]), (6, &[1, 3]), (7, end),
            ];
            let (whole, sent_whole) = play(true, &account(), &said);
            let stream: Vec<u8> = said.iter().flat_map(|(sequence, payload)| packet(*sequence, payload)).collect();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % stream.len()).collect();
            cuts.sort_unstable();
            let (mut login, mut out, mut from, mut outcome) = (Login::new(true), Vec::new(), 0, None);
            for cut in cuts.into_iter().chain([stream.len()]) {
                prop_assert_eq!(&outcome, &None);
                outcome = login.feed(&stream[from..cut], &account(), &mut out).unwrap();
                from = cut;
            }
            prop_assert_eq!(Ok(outcome), whole);
            prop_assert_eq!(packets(&out), sent_whole);
        }
    }
}
