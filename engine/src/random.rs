//! Random numbers: reproducible on every machine, small enough for thousands of connections.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde::Deserialize;

/// One stream of random numbers; 8 bytes, so that each connection has its own.
#[derive(Clone, Debug)]
pub struct Stream(SplitMix64);

impl Stream {
    /// The stream numbered `index` of a family; neighbouring indexes are unrelated.
    pub fn new(seed: u64, index: u64) -> Self {
        let mut family = SplitMix64::seed_from_u64(seed ^ index.wrapping_mul(0x9E6C_63D0_876A_9A35));
        Self(SplitMix64::seed_from_u64(family.next_u64()))
    }

    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in `[0, n)`; 0 for `n` = 0. The bias of the multiplication is below n / 2^64.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// Appends `pattern` with every `#` replaced by a digit and every `@` by a letter a to z.
    pub fn fill(&mut self, pattern: &[u8], out: &mut Vec<u8>) {
        // A 64-bit draw is a fraction: its high word after a multiplication is the next digit. Twelve
        // characters use at most 57 bits of it, so one draw serves a whole group of eleven digits.
        const PER_DRAW: u32 = 12;
        let (mut fraction, mut left) = (0, 0);
        for &byte in pattern {
            let (radix, first) = match byte {
                b'#' => (10, b'0'),
                b'@' => (26, b'a'),
                _ => {
                    out.push(byte);
                    continue;
                }
            };
            if left == 0 {
                (fraction, left) = (self.bits(), PER_DRAW);
            }
            let product = u128::from(fraction) * radix;
            (fraction, left) = (product as u64, left - 1);
            out.push(first + (product >> 64) as u8);
        }
    }
}

/// How the rows of a table are hit.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Distribution {
    Uniform,
    /// sysbench's "special": most hits fall evenly on a small middle range, the others around it, bell-shaped.
    Special {
        iterations: u32,
        hot_range_percent: u32,
        hot_percent: u32,
    },
}

impl Distribution {
    /// A row id from 1 to `rows`.
    pub fn row(&self, rows: u64, stream: &mut Stream) -> i64 {
        let index = match *self {
            Self::Uniform => stream.below(rows),
            Self::Special { iterations, hot_range_percent, hot_percent } => {
                let span = (rows - 1) as f64;
                let choice = stream.unit();
                if choice * 100.0 < f64::from(100 - hot_percent) {
                    let sum: f64 = (0..iterations).map(|_| stream.unit()).sum();
                    (sum * span / f64::from(iterations)) as u64
                } else {
                    // As in sysbench, the draw that chose the hot range also chooses the place in it.
                    let hot = span * f64::from(hot_range_percent) / 100.0;
                    (choice * (hot + 1.0) + (span - hot) / 2.0) as u64
                }
            }
        };
        index.min(rows - 1) as i64 + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SPECIAL: Distribution =
        Distribution::Special { iterations: 12, hot_range_percent: 1, hot_percent: 75 };

    proptest! {
        #[test]
        fn rows_stay_in_the_table(rows in 1u64..3_000_000_000, seed: u64) {
            let mut stream = Stream::new(seed, 0);
            for distribution in [&Distribution::Uniform, &SPECIAL] {
                let row = distribution.row(rows, &mut stream);
                prop_assert!(row >= 1 && row as u64 <= rows);
            }
        }

        #[test]
        fn filling_keeps_what_is_not_a_placeholder(seed: u64, pattern in "[#@a-z-]{0,200}") {
            let mut text = Vec::new();
            Stream::new(seed, 1).fill(pattern.as_bytes(), &mut text);
            prop_assert_eq!(text.len(), pattern.len());
            for (&made, asked) in text.iter().zip(pattern.bytes()) {
                match asked {
                    b'#' => prop_assert!(made.is_ascii_digit()),
                    b'@' => prop_assert!(made.is_ascii_lowercase()),
                    other => prop_assert_eq!(made, other),
                }
            }
        }
    }

    #[test]
    fn special_hits_the_hot_range_as_often_as_asked() {
        let mut stream = Stream::new(7, 0);
        let hot =
            (0..100_000).filter(|_| (4_950..=5_051).contains(&SPECIAL.row(10_000, &mut stream))).count();
        // Three quarters, and the middle percent's part of the bell (about 4.8 % of the rest).
        assert!((75_500..77_500).contains(&hot), "{hot} of 100000");
    }

    #[test]
    fn digits_are_even() {
        let mut text = Vec::new();
        let mut stream = Stream::new(3, 0);
        for _ in 0..10_000 {
            stream.fill(b"###########", &mut text);
        }
        for digit in b'0'..=b'9' {
            let count = text.iter().filter(|&&byte| byte == digit).count();
            assert!((10_500..11_500).contains(&count), "{count} times {digit}");
        }
    }
}
