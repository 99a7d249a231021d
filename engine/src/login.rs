//! The login handshake, from the server's greeting to its OK or error.
//!
//! Protocol 4.1 without TLS or compression, for servers from MySQL 4.1 on; authentication by
//! `mysql_native_password` and `caching_sha2_password`. A pure codec: bytes in, bytes out. It buffers one packet
//! of at most 64 KiB.

use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::packet::{Assembler, Malformed, Packet, write};
use crate::value::Escapes;
use crate::wire::{Ended, Outcome, ok_body, refusal};

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
/// Capabilities that servers before MySQL 5.5 have without advertising them.
const UNADVERTISED: u32 = LOCAL_FILES | MULTI_RESULTS;

const UTF8_GENERAL_CI: u8 = 33;
const UTF8MB4_GENERAL_CI: u8 = 45;
const UTF8MB4_SINCE: [u32; 3] = [5, 5, 3];
/// Longest packet that the client announces to accept; it reads results of any size in pieces.
const LONGEST_PACKET: u32 = 1 << 30;
const SALT: usize = 20;
/// Status flag: the session's sql_mode has NO_BACKSLASH_ESCAPES.
const NO_BACKSLASH_ESCAPES: u16 = 1 << 9;

// The MySQL client library's error numbers.
const OLD_PASSWORD: u16 = 2049;
const UNKNOWN_PLUGIN: u16 = 2059;
const PLUGIN_FAILED: u16 = 2061;

/// Who logs in, and the default schema; an empty one is none.
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

    /// The challenge response, which proves the password without revealing it.
    fn scramble(self, password: &[u8], salt: &[u8]) -> Vec<u8> {
        match self {
            Self::Native if password.is_empty() => Vec::new(),
            // So that the response to an authentication switch is never an empty packet.
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
    /// OK, an error, or a step of this authentication plugin.
    Answer(Plugin),
    Nothing,
}

/// One connection's login, from the server's first byte to its OK or error.
#[derive(Clone, Debug)]
pub struct Login {
    secure: bool,
    wanted: u32,
    expect: Expect,
    sequence: u8,
    packets: Assembler,
    escapes: Escapes,
}

impl Login {
    /// `secure`: the password may be sent in clear.
    pub fn new(secure: bool) -> Self {
        Self {
            secure,
            wanted: NEEDED | LONG_PASSWORD | LONG_FLAG | TRANSACTIONS | MULTI_RESULTS | PLUGIN_AUTH,
            expect: Expect::Greeting,
            sequence: 0,
            packets: Assembler::default(),
            escapes: Escapes::default(),
        }
    }

    /// Allows LOAD DATA LOCAL.
    #[must_use]
    pub fn with_local_files(self) -> Self {
        Self { wanted: self.wanted | LOCAL_FILES, ..self }
    }

    /// How the session reads string literals.
    pub fn escapes(&self) -> Escapes {
        self.escapes
    }

    /// Processes bytes from the server and appends the response to `out`. `Some` ends the login: accepted or
    /// refused. Unsupported authentication is a refusal with the client library's code (2049, 2059, 2061).
    pub fn feed(&mut self, mut bytes: &[u8], account: &Account, out: &mut Vec<u8>) -> Ended {
        while let Some(packet) = self.packets.take(&mut bytes)? {
            // An error may come at any time, and with any packet number.
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

    fn packet(&mut self, packet: &Packet, account: &Account, out: &mut Vec<u8>) -> Ended {
        if packet.sequence != self.sequence {
            return Err(Malformed("packets out of order"));
        }
        self.count()?;
        match (self.expect, &packet.payload[..]) {
            (Expect::Greeting, payload) => {
                let answer = self.answer(&Greeting::read(payload)?, account)?;
                self.send(&answer, out)?;
            }
            (Expect::Answer(_), [0x00, rest @ ..]) => {
                if ok_body(rest)?.1 & NO_BACKSLASH_ESCAPES != 0 {
                    self.escapes = Escapes::None;
                }
                return Ok(Some(Outcome::Done));
            }
            (Expect::Answer(_), [0xFE]) => {
                return Ok(Some(cannot(
                    OLD_PASSWORD,
                    "the account's password has the format used before MySQL 4.1",
                )));
            }
            (Expect::Answer(_), [0xFE, switch @ ..]) => {
                let (name, data) =
                    text(switch).ok_or(Malformed("an authentication switch without a plugin"))?;
                let Some(plugin) = Plugin::by_name(name) else {
                    return Ok(Some(cannot(
                        UNKNOWN_PLUGIN,
                        &format!(
                            "the account needs the authentication plugin {}; supported are \
                             mysql_native_password and caching_sha2_password",
                            String::from_utf8_lossy(name)
                        ),
                    )));
                };
                let salt = data.get(..SALT).ok_or(Malformed("a salt cut short"))?;
                self.expect = Expect::Answer(plugin);
                self.send(&plugin.scramble(account.password.as_bytes(), salt), out)?;
            }
            // The server has the password cached and accepted the response.
            (Expect::Answer(Plugin::CachingSha2), [0x01, 0x03]) => {}
            // Not cached: it asks for the password itself.
            (Expect::Answer(Plugin::CachingSha2), [0x01, 0x04]) if self.secure => {
                let mut password = account.password.clone().into_bytes();
                password.push(0);
                self.send(&password, out)?;
            }
            (Expect::Answer(Plugin::CachingSha2), [0x01, 0x04]) => {
                return Ok(Some(cannot(
                    PLUGIN_FAILED,
                    "caching_sha2_password asks for the password itself, which is never sent in clear over TCP: \
                     log in once through the server's socket, or use mysql_native_password",
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
        let capabilities = (self.wanted | with_schema) & (greeting.capabilities | UNADVERTISED);
        // An unsupported plugin here is the server's default, not necessarily the account's.
        let plugin = Plugin::by_name(greeting.plugin).unwrap_or(Plugin::Native);
        self.expect = Expect::Answer(plugin);
        let scramble = plugin.scramble(account.password.as_bytes(), &greeting.salt);
        let mut answer = Vec::with_capacity(128);
        answer.extend_from_slice(&capabilities.to_le_bytes());
        answer.extend_from_slice(&LONGEST_PACKET.to_le_bytes());
        answer.push(if greeting.version >= UTF8MB4_SINCE { UTF8MB4_GENERAL_CI } else { UTF8_GENERAL_CI });
        answer.extend_from_slice(&[0; 23]);
        answer.extend_from_slice(account.user.as_bytes());
        answer.push(0);
        answer.push(scramble.len() as u8);
        answer.extend_from_slice(&scramble);
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

/// The server's first packet.
#[derive(Debug, PartialEq, Eq)]
struct Greeting<'a> {
    version: [u32; 3],
    capabilities: u32,
    salt: [u8; SALT],
    /// Empty if the server has no plugins.
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
            return Err(Malformed("a greeting that is not of protocol version 10"));
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
            // After the salt's terminating zero; some servers omit the name's own.
            let name = rest.get(1..).ok_or(SHORT)?;
            text(name).map_or(name, |(name, _)| name)
        };
        Ok(Self { version: version_numbers(version), capabilities, salt, plugin })
    }
}

/// The first three numbers of a version; 0 where one is missing.
fn version_numbers(text: &[u8]) -> [u32; 3] {
    let mut numbers = [0; 3];
    for (number, part) in numbers.iter_mut().zip(text.split(|&byte| byte == b'.')) {
        let digits = part.iter().take_while(|byte| byte.is_ascii_digit());
        *number =
            digits.fold(0, |all: u32, digit| all.saturating_mul(10).saturating_add(u32::from(digit - b'0')));
    }
    numbers
}

/// A zero-terminated text, and the rest.
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
    const ALL: u32 = 0x000A_FFFF & !(1 << 11); // those of a 5.7 server without TLS

    fn account() -> Account {
        Account { user: "u".into(), password: "secret".into(), schema: "s".into() }
    }

    fn greeting(version: &str, capabilities: u32, plugin: &str) -> Vec<u8> {
        let [low, high] = [capabilities & 0xFFFF, capabilities >> 16].map(|half| (half as u16).to_le_bytes());
        let name = if plugin.is_empty() { vec![] } else { [plugin.as_bytes(), b"\0"].concat() };
        [
            &[10],
            version.as_bytes(),
            b"\0\x07\0\0\0",
            &SALT_BYTES[..8],
            b"\0",
            &low,
            &[8, 2, 0],
            &high,
            &[21],
            &[0; 10],
            &SALT_BYTES[8..],
            b"\0",
            &name,
        ]
        .concat()
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

    #[test]
    fn the_ok_packet_sets_escapes() {
        for (status, escapes) in [(2, Escapes::Backslash), (0x202, Escapes::None)] {
            let (mut login, mut out) = (Login::new(false), Vec::new());
            let [low, high] = u16::to_le_bytes(status);
            let stream = [packet(0, &native()), packet(2, &[0, 0, 0, low, high, 0, 0])].concat();
            assert_eq!(login.feed(&stream, &account(), &mut out), Ok(Some(Outcome::Done)));
            assert_eq!(login.escapes(), escapes);
        }
    }

    fn switch(plugin: &str) -> Vec<u8> {
        [b"\xFE", plugin.as_bytes(), b"\0", b"ABCDEFGHIJKLMNOPQRST", b"\0"].concat()
    }

    /// The outcome of a login against a server that sends these packets, and the client's packets.
    fn play(secure: bool, account: &Account, server: &[(u8, &[u8])]) -> (Ended, Vec<Packet>) {
        let (mut login, mut out) = (Login::new(secure), Vec::new());
        let stream: Vec<u8> =
            server.iter().flat_map(|(sequence, payload)| packet(*sequence, payload)).collect();
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

    // From PyMySQL's scramble functions, for "secret" and this salt.
    const NATIVE_SCRAMBLE: &str = "8817c50fa779daef010ee7577825b0847df9842e";
    const SHA2_SCRAMBLE: &str = "c76e2898612a4cf042c77fa8c4702c4c64c0c2c557c53c4d75595aaa6abae809";

    #[test]
    fn scrambles_match_other_clients() {
        assert_eq!(hex(&Plugin::Native.scramble(b"secret", SALT_BYTES)), NATIVE_SCRAMBLE);
        assert_eq!(hex(&Plugin::CachingSha2.scramble(b"secret", SALT_BYTES)), SHA2_SCRAMBLE);
    }

    #[test]
    fn the_response_has_user_scramble_schema_and_plugin() {
        let (result, sent) = play(false, &account(), &[(0, &native()), (2, OK)]);
        assert_eq!(result, Ok(Some(Outcome::Done)));
        // Long passwords and flags, schema, 4.1, transactions, secure; several results, plugins.
        let head = [&[0x0D, 0xA2, 0x0A, 0x00, 0, 0, 0, 0x40, 45][..], &[0; 23], b"u\0\x14"].concat();
        let scramble = Plugin::Native.scramble(b"secret", SALT_BYTES);
        let payload = [&head, &scramble, &b"s\0mysql_native_password\0"[..]].concat();
        assert_eq!(sent, [Packet { sequence: 1, payload }]);
    }

    #[test]
    fn an_empty_schema_is_left_out() {
        let nowhere = Account { schema: String::new(), ..account() };
        let (_, sent) = play(false, &nowhere, &[(0, &native())]);
        assert_eq!(sent[0].payload[0] & CONNECT_WITH_DB as u8, 0);
        assert!(sent[0].payload.ends_with(
            &[&Plugin::Native.scramble(b"secret", SALT_BYTES), Plugin::Native.name(), b"\0"].concat()
        ));
    }

    #[test]
    fn local_files_are_opt_in() {
        for (login, offered) in [(Login::new(true), false), (Login::new(true).with_local_files(), true)] {
            let (mut login, mut out) = (login, Vec::new());
            login.feed(&packet(0, &native()), &account(), &mut out).unwrap();
            assert_eq!(packets(&out)[0].payload[0] & LOCAL_FILES as u8 != 0, offered);
        }
    }

    #[test]
    fn old_servers_get_capabilities_they_do_not_advertise() {
        let (mut login, mut out) = (Login::new(true).with_local_files(), Vec::new());
        login.feed(&packet(0, &greeting("5.0.21-max", 0xA22C, "")), &account(), &mut out).unwrap();
        let offered = u32::from_le_bytes(packets(&out)[0].payload[..4].try_into().unwrap());
        assert_eq!(offered, 0xA22C & !(1 << 5) | LOCAL_FILES | MULTI_RESULTS); // all that it advertised except compression
    }

    #[test]
    fn an_empty_password_has_an_empty_scramble() {
        let open = Account { password: String::new(), ..account() };
        let (_, sent) = play(false, &open, &[(0, &native())]);
        assert!(sent[0].payload.ends_with(b"u\0\0s\0mysql_native_password\0"));
        let (_, sent) = play(false, &open, &[(0, &sha2())]);
        assert!(sent[0].payload.ends_with(b"u\0\x01\0s\0caching_sha2_password\0"));
    }

    #[test]
    fn a_server_without_plugins_gets_a_native_scramble_and_its_character_set() {
        let old = greeting("5.1.73", 0xA7DF, "");
        let (result, sent) = play(false, &account(), &[(0, &old), (2, OK)]);
        assert_eq!(result, Ok(Some(Outcome::Done)));
        assert_eq!(sent[0].payload[8], UTF8_GENERAL_CI);
        assert!(
            sent[0]
                .payload
                .ends_with(&[&Plugin::Native.scramble(b"secret", SALT_BYTES), &b"s\0"[..]].concat())
        );
        for (version, charset) in
            [("5.5.2-m2", 33), ("5.5.3", 45), ("5.5.5-10.11.2-MariaDB", 45), ("8", 45), ("?", 33)]
        {
            let (_, sent) = play(false, &account(), &[(0, &greeting(version, ALL, "mysql_native_password"))]);
            assert_eq!(sent[0].payload[8], charset, "{version}");
        }
    }

    #[test]
    fn an_unknown_default_plugin_is_no_error() {
        let unknown = greeting("8.4.0", ALL, "authentication_ldap_simple");
        let (_, sent) = play(false, &account(), &[(0, &unknown)]);
        assert!(sent[0].payload.ends_with(b"mysql_native_password\0"));
    }

    #[test]
    fn an_authentication_switch_uses_the_new_salt() {
        for (plugin, name) in
            [(Plugin::Native, "mysql_native_password"), (Plugin::CachingSha2, "caching_sha2_password")]
        {
            let (result, sent) = play(false, &account(), &[(0, &native()), (2, &switch(name)), (4, OK)]);
            assert_eq!(result, Ok(Some(Outcome::Done)));
            let scramble = plugin.scramble(b"secret", b"ABCDEFGHIJKLMNOPQRST");
            assert_eq!(sent[1..], [Packet { sequence: 3, payload: scramble }]);
        }
    }

    #[test]
    fn a_cached_password_needs_only_its_scramble() {
        let (result, sent) = play(false, &account(), &[(0, &sha2()), (2, &[1, 3]), (3, OK)]);
        assert_eq!((result, sent.len()), (Ok(Some(Outcome::Done)), 1));
    }

    #[test]
    fn the_password_is_sent_in_clear_only_on_secure_connections() {
        let (result, sent) = play(true, &account(), &[(0, &sha2()), (2, &[1, 4]), (4, OK)]);
        assert_eq!(result, Ok(Some(Outcome::Done)));
        assert_eq!(sent[1..], [Packet { sequence: 3, payload: b"secret\0".to_vec() }]);
        let (result, sent) = play(false, &account(), &[(0, &sha2()), (2, &[1, 4])]);
        assert!(matches!(result, Ok(Some(Outcome::Refused { code: PLUGIN_FAILED, .. }))), "{result:?}");
        assert_eq!(sent.len(), 1);
        // mysql_native_password has no such request.
        let (result, sent) = play(true, &account(), &[(0, &native()), (2, &[1, 4])]);
        assert_eq!(result, Err(Malformed("no answer to a login")));
        assert_eq!(sent.len(), 1);
    }

    #[test]
    fn a_refusal_carries_the_servers_message() {
        let denied = Outcome::Refused { code: 1045, message: "Access denied for user".into() };
        let (result, _) =
            play(false, &account(), &[(0, &native()), (2, b"\xFF\x15\x04#28000Access denied for user")]);
        assert_eq!(result, Ok(Some(denied)));
        // Before its greeting a server does not know the client's protocol: no SQL state.
        let full = Outcome::Refused { code: 1040, message: "Too many connections".into() };
        for sequence in [0, 1] {
            let (result, sent) = play(false, &account(), &[(sequence, b"\xFF\x10\x04Too many connections")]);
            assert_eq!((result, sent.len()), (Ok(Some(full.clone())), 0));
        }
    }

    #[test]
    fn unsupported_authentication_is_explained() {
        for (asked, code, words) in [
            (vec![0xFE], OLD_PASSWORD, "before MySQL 4.1"),
            (switch("client_ed25519"), UNKNOWN_PLUGIN, "plugin client_ed25519; supported"),
        ] {
            let (result, sent) = play(true, &account(), &[(0, &native()), (2, &asked)]);
            let Ok(Some(Outcome::Refused { code: found, message })) = result else { panic!("{result:?}") };
            assert_eq!((found, sent.len()), (code, 1));
            assert!(message.contains(words), "{message}");
        }
    }

    #[test]
    fn malformed_logins_fail() {
        let old_protocol = [&[9], &native()[1..]].concat();
        let no_passwords = greeting("4.0.30", 0x2C, "");
        let short_salt = [&b"\xFEmysql_native_password\0"[..], b"short\0"].concat();
        for server in [
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
            let (result, _) = play(true, &account(), server);
            assert!(result.is_err(), "{server:?}");
        }
        // A long packet fails at its header.
        assert!(Login::new(true).feed(&[1, 0, 1, 0], &account(), &mut Vec::new()).is_err());
        let (result, sent) = play(true, &Account { user: "a\0b".into(), ..account() }, &[(0, &native())]);
        assert_eq!((result, sent.len()), (Err(Malformed("a name with a zero byte in it")), 0));
    }

    #[test]
    fn an_endless_login_fails() {
        let again = switch("mysql_native_password");
        let first = native();
        let endless = (2..=254).step_by(2).map(|sequence| (sequence, &again[..]));
        let server: Vec<(u8, &[u8])> = [(0, &first[..])].into_iter().chain(endless).collect();
        let (result, _) = play(true, &account(), &server);
        assert_eq!(result, Err(Malformed("a login without end")));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_fail(
            greeted in any::<bool>(),
            mut stream in prop::collection::vec(any::<u8>(), 0..2000),
            short in any::<bool>(),
        ) {
            let (mut login, mut out) = (Login::new(true), Vec::new());
            if greeted {
                login.feed(&packet(0, &sha2()), &account(), &mut out).unwrap();
            }
            if short && stream.len() >= 4 {
                // Usually a whole packet with the right number.
                let header = [stream[0] % 64, 0, 0, login.sequence];
                stream[..4].copy_from_slice(&header);
            }
            let _ = login.feed(&stream, &account(), &mut out);
            prop_assert!(login.packets.buffered() <= packet::LONGEST + 4);
            prop_assert!(out.len() < 2 * stream.len() + 500);
        }

        #[test]
        fn splitting_the_stream_changes_nothing(
            end in prop::sample::select(vec![OK, b"\xFF\x15\x04#28000Access denied"]),
            cuts in prop::collection::vec(0usize..500, 0..12),
        ) {
            let server: [(u8, &[u8]); 5] = [
                (0, &native()), (2, &switch("caching_sha2_password")), (4, &[1, 4]), (6, &[1, 3]), (7, end),
            ];
            let (whole, sent_whole) = play(true, &account(), &server);
            let stream: Vec<u8> = server.iter().flat_map(|(sequence, payload)| packet(*sequence, payload)).collect();
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
