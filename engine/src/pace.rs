//! When transactions begin: at once, after a think time, or at a given rate.

use serde::Deserialize;

use crate::random::Stream;

/// How a load is paced, as in the workload program.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Pace {
    /// Each connection begins its next transaction `think_s` after its last one ends.
    Closed { think_s: f64, exponential: bool },
    /// `rate` transactions per second arrive over all connections, whether the server keeps up or not.
    Open { rate: f64, poisson: bool },
}

impl Default for Pace {
    fn default() -> Self {
        Self::Closed { think_s: 0.0, exponential: false }
    }
}

impl Pace {
    pub fn check(&self) -> Result<(), String> {
        match *self {
            Self::Closed { think_s, .. } if !(0.0..=86_400.0).contains(&think_s) => {
                Err(format!("impossible think time: {think_s} s"))
            }
            Self::Open { rate, .. } if !(rate.is_finite() && rate > 0.0) => {
                Err(format!("impossible rate: {rate}"))
            }
            _ => Ok(()),
        }
    }

    /// Nanoseconds from a transaction's end to the next one's start.
    pub fn think(&self, stream: &mut Stream) -> u64 {
        match *self {
            Self::Closed { think_s, .. } if think_s <= 0.0 => 0,
            Self::Closed { think_s, exponential } => nanoseconds(think_s, exponential, stream),
            Self::Open { .. } => 0,
        }
    }

    /// Nanoseconds before the first transaction: the rest of a think time, as in the middle of a load.
    pub fn lead(&self, stream: &mut Stream) -> u64 {
        let think = self.think(stream);
        // Exponential times have no memory.
        let fixed = matches!(self, Self::Closed { exponential: false, .. });
        if fixed && think > 0 { stream.below(think) } else { think }
    }

    /// The arrivals of a slice that begins at `now`, for a lane with this `share` of all connections.
    pub fn arrivals(&self, share: f64, now: u64, mut stream: Stream) -> Option<Arrivals> {
        let &Self::Open { rate, poisson } = self else { return None };
        let gap_s = 1.0 / (rate * share);
        let first = nanoseconds(gap_s, poisson, &mut stream);
        // With even spacing, lanes must not all begin at the same moment.
        let first = if poisson { first } else { stream.below(first) };
        Some(Arrivals { gap_s, poisson, due: now.saturating_add(first), stream })
    }
}

/// The intended starts of an open loop.
#[derive(Debug)]
pub struct Arrivals {
    gap_s: f64,
    poisson: bool,
    /// When the next transaction is due, in nanoseconds of the lane's clock; may be in the past.
    pub due: u64,
    stream: Stream,
}

impl Arrivals {
    /// Advances to the next arrival; returns the one that was due.
    pub fn take(&mut self) -> u64 {
        let due = self.due;
        self.due = due.saturating_add(nanoseconds(self.gap_s, self.poisson, &mut self.stream));
        due
    }
}

fn nanoseconds(mean_s: f64, exponential: bool, stream: &mut Stream) -> u64 {
    let factor = if exponential { -(1.0 - stream.unit()).ln() } else { 1.0 };
    (mean_s * factor * 1e9) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn arrivals(pace: Pace, share: f64, seconds: u64) -> Vec<u64> {
        let mut arrivals = pace.arrivals(share, SECOND, Stream::new(5, 0)).unwrap();
        std::iter::from_fn(|| Some(arrivals.take())).take_while(|&due| due < (1 + seconds) * SECOND).collect()
    }

    #[test]
    fn uniform_arrivals_are_evenly_spaced() {
        let dues = arrivals(Pace::Open { rate: 1000.0, poisson: false }, 0.5, 10);
        assert!((4_999..=5_001).contains(&dues.len()), "{}", dues.len());
        assert!(dues.windows(2).all(|pair| pair[1] - pair[0] == 2_000_000));
    }

    #[test]
    fn poisson_arrivals_have_the_rate_and_exponential_gaps() {
        let dues = arrivals(Pace::Open { rate: 1000.0, poisson: true }, 1.0, 100);
        assert!((98_500..101_500).contains(&dues.len()), "{}", dues.len());
        let short = dues.windows(2).filter(|pair| pair[1] - pair[0] < 1_000_000).count();
        // A fraction of 1 - 1/e of exponential gaps is shorter than the mean.
        assert!((0.62..0.645).contains(&(short as f64 / dues.len() as f64)), "{short}");
    }

    #[test]
    fn think_times_have_their_mean() {
        let mut stream = Stream::new(1, 1);
        assert_eq!(Pace::default().think(&mut stream), 0);
        let fixed = Pace::Closed { think_s: 0.25, exponential: false };
        assert_eq!(fixed.think(&mut stream), SECOND / 4);
        assert!(fixed.lead(&mut stream) < SECOND / 4);
        let exponential = Pace::Closed { think_s: 0.25, exponential: true };
        let mean = (0..20_000).map(|_| exponential.think(&mut stream) as f64).sum::<f64>() / 20_000.0;
        assert!((mean / 0.25e9 - 1.0).abs() < 0.03, "{mean}");
    }

    #[test]
    fn impossible_paces_are_refused() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Pace::Open { rate, poisson: true }.check().is_err());
        }
        for think_s in [-0.1, f64::NAN, f64::INFINITY] {
            assert!(Pace::Closed { think_s, exponential: false }.check().is_err());
        }
    }
}
