//! Random numbers for samples: a log gives the same one on every machine. As the engine's, of which this is a part.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// One stream of random numbers.
pub struct Stream(SplitMix64);

impl Stream {
    /// The stream numbered `index` of a family; neighbouring indexes are unrelated.
    pub fn new(seed: u64, index: u64) -> Self {
        let mut family = SplitMix64::seed_from_u64(seed ^ index.wrapping_mul(0x9E6C_63D0_876A_9A35));
        Self(SplitMix64::seed_from_u64(family.next_u64()))
    }

    /// Uniform in `[0, n)`; 0 for `n` = 0. The bias of the multiplication is below n / 2^64.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u64
    }
}
