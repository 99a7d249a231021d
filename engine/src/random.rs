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

    /// A new stream, independent of this one.
    #[must_use]
    pub fn split(&mut self) -> Self {
        Self::new(self.bits(), 0)
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

    /// Uniform from `min` to `max`, both included.
    pub fn between(&mut self, min: i64, max: i64) -> i64 {
        min.wrapping_add(self.below((max.wrapping_sub(min) as u64).saturating_add(1)) as i64)
    }

    /// From `min` to `max`, both included, and not uniform: NURand (TPC-C, clause 2.1.6).
    pub fn non_uniform(&mut self, a: i64, c: i64, min: i64, max: i64) -> i64 {
        let skewed = self.between(0, a) | self.between(min, max);
        let span = i128::from(max) - i128::from(min) + 1;
        ((i128::from(skewed) + i128::from(c)).rem_euclid(span) + i128::from(min)) as i64
    }

    /// Appends `pattern` with every `#` replaced by a digit and every `@` by a letter a to z.
    pub fn fill(&mut self, pattern: &[u8], out: &mut Vec<u8>) {
        // A 64-bit draw is a fraction: its high word after a multiplication is the next character. Twelve
        // characters use at most 57 bits, so one draw serves a whole group of eleven digits.
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

/// How accesses spread over a table's rows, with sysbench's parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Distribution {
    Uniform,
    /// The mean of `iterations` uniform draws: a bell over the whole table.
    Gaussian {
        iterations: u32,
    },
    /// Most accesses fall evenly on a small middle range, the others in a bell over the whole table.
    Special {
        iterations: u32,
        hot_range_percent: u32,
        hot_percent: u32,
    },
    /// The first share `h` of the rows gets 1 - `h` of the accesses, and so on within it.
    Pareto {
        h: f64,
    },
    /// Row i is accessed in proportion to 1 / i^`exponent`.
    Zipfian {
        exponent: f64,
    },
}

impl Distribution {
    /// The distribution over row ids 1 to `rows`, which must not be 0.
    pub fn over(&self, rows: u64) -> Rows {
        let shape = match *self {
            Self::Uniform => Shape::Uniform,
            Self::Gaussian { iterations } => Shape::Gaussian { iterations },
            Self::Special { iterations, hot_range_percent, hot_percent } => {
                let hot = (rows - 1) as f64 * f64::from(hot_range_percent) / 100.0;
                Shape::Special { iterations, cold_share: f64::from(100 - hot_percent) / 100.0, hot }
            }
            Self::Pareto { h } => Shape::Pareto { power: h.ln() / (1.0 - h).ln() },
            Self::Zipfian { exponent } => Shape::Zipfian(Zipf::new(rows, exponent)),
        };
        Rows { rows, shape }
    }
}

/// A distribution over a table of known size, with its constants computed.
#[derive(Clone, Debug)]
pub struct Rows {
    rows: u64,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    Uniform,
    Gaussian { iterations: u32 },
    Special { iterations: u32, cold_share: f64, hot: f64 },
    Pareto { power: f64 },
    Zipfian(Zipf),
}

impl Rows {
    /// Draws a row id.
    pub fn draw(&self, stream: &mut Stream) -> i64 {
        let rows = self.rows as f64;
        let index = match self.shape {
            Shape::Uniform => stream.below(self.rows),
            Shape::Gaussian { iterations } => (bell(iterations, stream) * rows) as u64,
            Shape::Special { iterations, cold_share, hot } => {
                let choice = stream.unit();
                if choice < cold_share {
                    (bell(iterations, stream) * (rows - 1.0)) as u64
                } else {
                    // As in sysbench, one draw chooses the hot range and the place in it.
                    (choice * (hot + 1.0) + (rows - 1.0 - hot) / 2.0) as u64
                }
            }
            Shape::Pareto { power } => (rows * stream.unit().powf(power)) as u64,
            Shape::Zipfian(ref zipf) => zipf.draw(stream) - 1,
        };
        index.min(self.rows - 1) as i64 + 1
    }
}

/// The mean of `iterations` uniform draws, in `[0, 1)`.
fn bell(iterations: u32, stream: &mut Stream) -> f64 {
    (0..iterations).map(|_| stream.unit()).sum::<f64>() / f64::from(iterations)
}

/// Rejection-inversion sampling of a bounded Zipf distribution, in constant time and memory (Hörmann and
/// Derflinger 1996, "Rejection-inversion to generate variates from monotone discrete distributions").
#[derive(Clone, Debug)]
struct Zipf {
    rows: u64,
    exponent: f64,
    /// The hat's integral before the first and after the last row.
    lowest: f64,
    highest: f64,
    /// A draw within this distance of the row's middle is accepted without a test.
    sure: f64,
}

impl Zipf {
    fn new(rows: u64, exponent: f64) -> Self {
        let mut zipf = Self { rows, exponent, lowest: 0.0, highest: 0.0, sure: 0.0 };
        zipf.lowest = zipf.integral(1.5) - 1.0;
        zipf.highest = zipf.integral(rows as f64 + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.height(2.0));
        zipf
    }

    fn draw(&self, stream: &mut Stream) -> u64 {
        loop {
            let area = self.highest + stream.unit() * (self.lowest - self.highest);
            let x = self.inverse(area);
            let row = (x.round() as u64).clamp(1, self.rows);
            let middle = row as f64;
            if middle - x <= self.sure || area >= self.integral(middle + 0.5) - self.height(middle) {
                return row;
            }
        }
    }

    /// x^-exponent.
    fn height(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// The integral of `height` from 1 to x: (x^(1 - e) - 1) / (1 - e), or ln x if e is 1.
    fn integral(&self, x: f64) -> f64 {
        let rest = 1.0 - self.exponent;
        if rest.abs() < 1e-9 { x.ln() } else { (rest * x.ln()).exp_m1() / rest }
    }

    fn inverse(&self, area: f64) -> f64 {
        let rest = 1.0 - self.exponent;
        // Rounding may push the logarithm's argument just below zero.
        if rest.abs() < 1e-9 { area.exp() } else { ((rest * area).max(-1.0).ln_1p() / rest).exp() }
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
        fn rows_stay_in_the_table(rows in 1u64..3_000_000_000, exponent in 0.0f64..5.0, seed: u64) {
            let mut stream = Stream::new(seed, 0);
            for distribution in [
                Distribution::Uniform,
                SPECIAL,
                Distribution::Gaussian { iterations: 12 },
                Distribution::Pareto { h: 0.2 },
                Distribution::Zipfian { exponent },
            ] {
                let row = distribution.over(rows).draw(&mut stream);
                prop_assert!(row >= 1 && row as u64 <= rows, "{distribution:?}: {row}");
            }
        }

        #[test]
        fn filling_replaces_only_placeholders(seed: u64, pattern in "[#@a-z-]{0,200}") {
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

    fn share(distribution: &Distribution, rows: u64, hit: impl Fn(i64) -> bool) -> f64 {
        let (rows, mut stream) = (distribution.over(rows), Stream::new(11, 0));
        (0..200_000).filter(|_| hit(rows.draw(&mut stream))).count() as f64 / 200_000.0
    }

    #[test]
    fn distributions_have_their_shares() {
        for (distribution, rows, hit, expected) in [
            // Three quarters, plus the bell's part in the middle percent (about 4.8 % of the rest).
            (SPECIAL, 10_000, 4_950..=5_051, 0.765),
            // The mean of 12 uniform draws has a standard deviation of 1/12.
            (Distribution::Gaussian { iterations: 12 }, 12_000, 5_001..=7_000, 0.683),
            (Distribution::Pareto { h: 0.2 }, 10_000, 0..=2_000, 0.8),
        ] {
            let found = share(&distribution, rows, |row| hit.contains(&row));
            assert!((found - expected).abs() < 0.01, "{distribution:?}: {found}");
        }
    }

    #[test]
    fn zipfian_follows_its_law() {
        for exponent in [0.0, 0.8, 1.0, 1.3] {
            let zipf = Distribution::Zipfian { exponent };
            let norm: f64 = (1..=100).map(|row| f64::from(row).powf(-exponent)).sum();
            for row in [1, 2, 10, 100] {
                let expected = (row as f64).powf(-exponent) / norm;
                let found = share(&zipf, 100, |drawn| drawn == row);
                assert!((found - expected).abs() < 0.005, "{exponent}, row {row}: {found}, not {expected}");
            }
        }
    }

    #[test]
    fn digits_are_uniform() {
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
