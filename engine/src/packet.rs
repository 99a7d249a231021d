//! Whole packets of the MySQL protocol, for login and bulk load.

use std::fmt;

pub const HEADER: usize = 4;
/// Longest payload accepted; expected ones are far shorter.
pub const LONGEST: usize = 64 * 1024;

/// A violation of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "MySQL protocol error: {}", self.0)
    }
}

/// Assembles packets from a stream that arrives in pieces.
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    /// The part of the next packet received so far.
    buffered: Vec<u8>,
}

/// A packet's payload and its number in the exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    pub sequence: u8,
    pub payload: Vec<u8>,
}

impl Assembler {
    /// Consumes the next packet's bytes from `bytes`; returns the packet once it is complete.
    pub fn take(&mut self, bytes: &mut &[u8]) -> Result<Option<Packet>, Malformed> {
        self.fill(HEADER, bytes);
        let [a, b, c, sequence, ..] = self.buffered[..] else { return Ok(None) };
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        if length > LONGEST {
            return Err(Malformed("a packet of more than 64 KiB in place of a short one"));
        }
        self.fill(HEADER + length, bytes);
        if self.buffered.len() < HEADER + length {
            return Ok(None);
        }
        let payload = self.buffered.split_off(HEADER);
        self.buffered.clear();
        Ok(Some(Packet { sequence, payload }))
    }

    #[cfg(test)]
    pub fn buffered(&self) -> usize {
        self.buffered.len()
    }

    fn fill(&mut self, length: usize, bytes: &mut &[u8]) {
        let missing = length.saturating_sub(self.buffered.len());
        let (taken, rest) = bytes.split_at(missing.min(bytes.len()));
        self.buffered.extend_from_slice(taken);
        *bytes = rest;
    }
}

/// Appends a packet to `out`. The payload must be shorter than 16 MiB.
pub fn write(sequence: u8, payload: &[u8], out: &mut Vec<u8>) {
    let [a, b, c, _] = (payload.len() as u32).to_le_bytes();
    out.extend_from_slice(&[a, b, c, sequence]);
    out.extend_from_slice(payload);
}

/// Writes the header into a packet's first bytes, which are reserved for it; fails from 16 MiB on, which would
/// need a second packet.
pub fn seal(packet: &mut [u8], sequence: u8) -> Result<(), Malformed> {
    let length = packet.len() - HEADER;
    if length >= 0xFF_FFFF {
        return Err(Malformed("a command of 16 MiB or more"));
    }
    packet[..HEADER].copy_from_slice(&(length as u32).to_le_bytes());
    packet[HEADER - 1] = sequence;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_packet_is_sealed_with_its_length_and_number() {
        let mut packet = vec![9; HEADER + 300];
        seal(&mut packet, 7).unwrap();
        assert_eq!(packet[..=HEADER], [0x2C, 1, 0, 7, 9]);
        assert!(seal(&mut vec![0; HEADER + 0xFF_FFFE], 0).is_ok());
        assert!(seal(&mut vec![0; HEADER + 0xFF_FFFF], 0).is_err());
    }

    proptest! {
        #[test]
        fn assembling_round_trips(
            payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..8),
            piece in 1usize..50,
        ) {
            let mut stream = Vec::new();
            for (index, payload) in payloads.iter().enumerate() {
                write(index as u8, payload, &mut stream);
            }
            let (mut assembler, mut found) = (Assembler::default(), Vec::new());
            for mut bytes in stream.chunks(piece) {
                while let Some(packet) = assembler.take(&mut bytes).unwrap() {
                    prop_assert_eq!(usize::from(packet.sequence), found.len());
                    found.push(packet.payload);
                }
                prop_assert!(bytes.is_empty());
            }
            prop_assert_eq!(found, payloads);
        }

        #[test]
        fn the_buffer_is_bounded(header in any::<[u8; HEADER]>(), length in 0..2 * LONGEST) {
            let stream = [&header[..], &vec![header[0]; length]].concat();
            let (mut assembler, mut bytes) = (Assembler::default(), &stream[..]);
            while let Ok(Some(_)) = assembler.take(&mut bytes) {}
            prop_assert!(assembler.buffered() <= HEADER + LONGEST);
        }
    }
}
