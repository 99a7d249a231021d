//! Latencies: HDR histograms that merge without loss and are stored as text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

const LOWEST_NS: u64 = 100;
const HIGHEST_NS: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;

/// Nanoseconds with three significant digits, from 100 ns to one hour; longer values count as one hour.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram(hdrhistogram::Histogram<u32>);

impl Default for Histogram {
    fn default() -> Self {
        Self(
            hdrhistogram::Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, DIGITS)
                .expect("constant bounds are valid"),
        )
    }
}

impl Histogram {
    pub fn record(&mut self, nanoseconds: u64) {
        self.0.saturating_record(nanoseconds);
    }

    pub fn add(&mut self, other: &Self) {
        self.0.add(&other.0).expect("equal bounds always add");
    }

    pub fn count(&self) -> u64 {
        self.0.len()
    }

    pub fn percentile_s(&self, percent: f64) -> f64 {
        seconds(self.0.value_at_percentile(percent))
    }

    pub fn mean_s(&self) -> f64 {
        self.0.mean() * 1e-9
    }

    pub fn min_s(&self) -> f64 {
        seconds(if self.0.is_empty() { 0 } else { self.0.min() })
    }

    pub fn max_s(&self) -> f64 {
        seconds(self.0.max())
    }

    /// The midpoint in seconds and the count of every non-empty bucket.
    pub fn buckets(&self) -> Vec<(f64, u64)> {
        self.0
            .iter_recorded()
            .map(|step| {
                let value = step.value_iterated_to();
                (seconds(self.0.median_equivalent(value)), step.count_since_last_iteration())
            })
            .collect()
    }

    /// HdrHistogram's own V2 format, deflated, in base64.
    pub fn encode(&self) -> String {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&self.0, &mut bytes).expect("writing to memory cannot fail");
        STANDARD.encode(bytes)
    }

    pub fn decode(text: &str) -> Result<Self, String> {
        let bytes = STANDARD.decode(text).map_err(|error| error.to_string())?;
        let read: hdrhistogram::Histogram<u32> =
            Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|error| error.to_string())?;
        let mut histogram = Self::default();
        histogram.0.add(&read).map_err(|error| error.to_string())?;
        Ok(histogram)
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn encoding_round_trips(values in prop::collection::vec(0u64..10_000_000_000, 0..200)) {
            let mut histogram = Histogram::default();
            for &value in &values {
                histogram.record(value);
            }
            let back = Histogram::decode(&histogram.encode()).unwrap();
            prop_assert_eq!(back.buckets(), histogram.buckets());
        }

        #[test]
        fn adding_equals_recording_all(
            left in prop::collection::vec(0u64..1_000_000_000, 0..100),
            right in prop::collection::vec(0u64..1_000_000_000, 0..100),
        ) {
            let (mut one, mut other, mut all) = <(Histogram, Histogram, Histogram)>::default();
            for &value in &left {
                one.record(value);
                all.record(value);
            }
            for &value in &right {
                other.record(value);
                all.record(value);
            }
            one.add(&other);
            prop_assert_eq!(one, all);
        }

        #[test]
        fn any_text_decodes_or_fails(text in ".{0,300}") {
            let _ = Histogram::decode(&text);
        }
    }

    #[test]
    fn percentiles_keep_three_digits() {
        let mut histogram = Histogram::default();
        (1..=1000u64).for_each(|n| histogram.record(n * 1_000_000));
        assert!((histogram.percentile_s(95.0) - 0.95).abs() < 0.001);
        assert!((histogram.max_s() - 1.0).abs() < 0.001);
    }
}
