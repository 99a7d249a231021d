//! Latencies: HDR histograms that merge without loss and are stored as text.

use std::collections::BTreeMap;
use std::io::Read;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer, V2Serializer};

const LOWEST_NS: u64 = 100;
const HIGHEST_NS: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;
// The V2 format: a cookie and a length before the deflated part, which has a header of its own, and then at most
// this many bytes for each count.
const PREFIX_BYTES: usize = 8;
const HEADER_BYTES: usize = 40;
const COUNT_BYTES: u64 = 5;

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

    /// Nearly the same latencies in fewer buckets: outside of `exact`, ranges in seconds with both ends, a latency
    /// keeps its first `bits` binary digits. None passes a range, which may be a single point. The mean stays, and
    /// so do the shortest and the longest latency. Idempotent.
    #[must_use]
    pub fn rounded(&self, bits: u32, exact: &[(f64, f64)]) -> Self {
        let mut rounded = Self::default();
        let mut groups = BTreeMap::<_, (u64, u64, u64)>::new(); // a bucket's width; in buckets: count, and sum
        for step in self.0.iter_recorded() {
            let (value, count) = (step.value_iterated_to(), step.count_since_last_iteration());
            let at = seconds(value);
            let is_end = value == self.0.max() || self.0.lowest_equivalent(value) == self.0.min();
            let width = self.0.equivalent_range(value);
            if is_end || exact.iter().any(|&(low, high)| (low..=high).contains(&at)) {
                rounded.record_n(value, count);
            } else {
                let shift = (u64::BITS - value.leading_zeros()).saturating_sub(bits);
                let middle = seconds(self.0.median_equivalent(value));
                let ranges_below = exact.iter().filter(|&&(_, high)| high < middle).count();
                let group = groups.entry((ranges_below, shift, value >> shift)).or_insert((width, 0, 0));
                group.1 += count;
                group.2 += count * (value / width);
            }
        }
        for (width, count, sum) in groups.into_values() {
            let (place, above) = (sum / count, sum % count);
            rounded.record_n(place * width, count - above);
            rounded.record_n((place + 1) * width, above);
        }
        rounded
    }

    fn record_n(&mut self, nanoseconds: u64, count: u64) {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.0.record_n(nanoseconds, count).expect("a value of such a histogram is within its bounds");
    }

    /// HdrHistogram's own V2 format, in base64: deflated, or `plain` for a file that is compressed as a whole.
    pub fn encode(&self, plain: bool) -> String {
        let mut bytes = Vec::new();
        if plain {
            V2Serializer::new().serialize(&self.0, &mut bytes).expect("writing to memory cannot fail");
        } else {
            V2DeflateSerializer::new().serialize(&self.0, &mut bytes).expect("writing to memory cannot fail");
        }
        STANDARD.encode(bytes)
    }

    /// Reads what `encode` wrote, in bounded memory: a text from elsewhere may claim any bounds and lengths, and the
    /// deserializer allocates whatever its header claims.
    pub fn decode(text: &str) -> Result<Self, String> {
        let bytes = STANDARD.decode(text).map_err(|error| error.to_string())?;
        let own = Self::default().0;
        let mut header = Vec::new();
        V2Serializer::new().serialize(&own, &mut header).expect("writing to memory cannot fail");
        let size_max = HEADER_BYTES as u64 + COUNT_BYTES * own.distinct_values() as u64;
        let mut inflated = Vec::new();
        let read = if bytes.starts_with(&header[..4]) {
            bytes.take(size_max).read_to_end(&mut inflated)
        } else {
            let deflated = bytes.get(PREFIX_BYTES..).unwrap_or_default();
            ZlibDecoder::new(deflated).take(size_max).read_to_end(&mut inflated)
        };
        read.map_err(|error| error.to_string())?;
        // Cookie, length of the counts, bounds.
        let (found, counts) = inflated.split_at_checked(HEADER_BYTES).ok_or("it has no header")?;
        if found[..4] != header[..4] || found[8..] != header[8..HEADER_BYTES] {
            return Err("its format or its bounds are not ours".into());
        }
        if found[4..8] != (counts.len() as u32).to_be_bytes() {
            return Err("it is longer or shorter than its header says".into());
        }
        Deserializer::new().deserialize(&mut inflated.as_slice()).map(Self).map_err(|error| error.to_string())
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::read::ZlibEncoder;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn encoding_round_trips(values in prop::collection::vec(0u64..10_000_000_000, 0..200)) {
            let mut histogram = Histogram::default();
            for &value in &values {
                histogram.record(value);
            }
            for plain in [false, true] {
                let back = Histogram::decode(&histogram.encode(plain)).unwrap();
                prop_assert_eq!(back.buckets(), histogram.buckets());
            }
        }

        #[test]
        fn rounding_keeps_what_it_says(
            values in prop::collection::vec(100u64..10_000_000_000, 1..200),
            percents in prop::collection::vec(0.0f64..100.0, 0..4),
            bits in 5u32..11,
        ) {
            let mut histogram = Histogram::default();
            for &value in &values {
                histogram.record(value);
            }
            let of = |percent| histogram.percentile_s(percent);
            let exact: Vec<_> = percents.iter().map(|&p| (of(p), of((p + 1.0).min(100.0)))).collect();
            let rounded = histogram.rounded(bits, &exact);
            prop_assert_eq!(rounded.count(), histogram.count());
            prop_assert_eq!((rounded.0.min(), rounded.0.max()), (histogram.0.min(), histogram.0.max()));
            prop_assert!((rounded.mean_s() / histogram.mean_s() - 1.0).abs() < 1e-9);
            for percent in percents.iter().flat_map(|&p| [p, (p + 1.0).min(100.0)]) {
                prop_assert_eq!(rounded.0.value_at_percentile(percent), histogram.0.value_at_percentile(percent));
            }
            for percent in [50.0, 95.0, 99.9] {
                let error_s = (rounded.percentile_s(percent) - of(percent)).abs();
                prop_assert!(error_s <= 128e-9 + of(percent) / f64::from(1 << (bits - 1)));
            }
            prop_assert_eq!(rounded.rounded(bits, &exact), rounded);
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
        fn any_counts_decode_or_fail(counts in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Histogram::decode(&deflated(LOWEST_NS, HIGHEST_NS, counts.len() as u32, &counts));
        }
    }

    /// A text with this header and these counts.
    fn deflated(lowest: u64, highest: u64, length: u32, counts: &[u8]) -> String {
        let mut inner = Vec::new();
        for word in [0x1C84_9313, length, 0, u32::from(DIGITS)] {
            inner.extend(word.to_be_bytes());
        }
        for word in [lowest, highest, 1.0f64.to_bits()] {
            inner.extend(word.to_be_bytes());
        }
        inner.extend(counts);
        let mut bytes = 0x1C84_9314u32.to_be_bytes().to_vec();
        let mut outer = Vec::new();
        ZlibEncoder::new(&inner[..], Compression::fast()).read_to_end(&mut outer).unwrap();
        bytes.extend((outer.len() as u32).to_be_bytes());
        bytes.extend(outer);
        STANDARD.encode(bytes)
    }

    #[test]
    fn claims_allocate_nothing() {
        let one = Histogram::decode(&deflated(LOWEST_NS, HIGHEST_NS, 1, &[2])).unwrap();
        assert_eq!(one.count(), 1);
        for (text, fault) in [
            (deflated(LOWEST_NS, HIGHEST_NS, u32::MAX, &[2]), "longer or shorter"),
            (deflated(LOWEST_NS, HIGHEST_NS, 1, &vec![0; 1 << 30]), "longer or shorter"),
            (deflated(1, u64::MAX, 1, &[2]), "bounds"),
            (deflated(0, 0, 1, &[2]), "bounds"),
        ] {
            let error = Histogram::decode(&text).unwrap_err();
            assert!(error.contains(fault), "{error}");
        }
    }

    #[test]
    fn the_fullest_histogram_round_trips() {
        let mut histogram = Histogram::default();
        let mut value = LOWEST_NS;
        while value <= HIGHEST_NS {
            histogram.0.record_n(value, u32::MAX).unwrap();
            value = histogram.0.next_non_equivalent(value);
        }
        assert_eq!(Histogram::decode(&histogram.encode(false)).unwrap(), histogram);
    }

    #[test]
    fn percentiles_keep_three_digits() {
        let mut histogram = Histogram::default();
        (1..=1000u64).for_each(|n| histogram.record(n * 1_000_000));
        assert!((histogram.percentile_s(95.0) - 0.95).abs() < 0.001);
        assert!((histogram.max_s() - 1.0).abs() < 0.001);
    }
}
