//! Figures as people read them, and the chance behind those that are drawn.

use stagger_core::{Entropy, Span};

/// The number as a float: rounded above 2^53, which no reader sees.
#[expect(clippy::cast_precision_loss, reason = "a figure for people, never for a decision")]
pub(crate) const fn float(n: u64) -> f64 {
    n as f64
}

/// The mean of `count` spans with this sum.
pub(crate) fn mean(sum: u128, count: u64) -> Span {
    let mean = sum / u128::from(count.max(1));
    Span::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX))
}

/// The value that `percent` of the values do not exceed; zero when there are none.
pub(crate) fn quantile(values: &mut [Span], percent: u64) -> Span {
    if values.is_empty() {
        return Span::ZERO;
    }
    // OK because a length times a hundred is far below 2^64, and a rank is below the length.
    let rank = (values.len() as u64 * percent).div_ceil(100).max(1) - 1;
    let rank = usize::try_from(rank).unwrap_or(usize::MAX).min(values.len() - 1);
    *values.select_nth_unstable(rank).1
}

/// SplitMix64 (Steele, Lea, Flood 2014): the same words on every machine.
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    /// A stream of its own for each thing that is drawn.
    pub(crate) const fn new(stream: u64) -> Self {
        Self(stream)
    }

    /// A number from 0 to 1, 1 left out.
    pub(crate) fn unit(&mut self) -> f64 {
        // OK because 53 bits fit a float exactly.
        #[expect(clippy::cast_precision_loss, reason = "53 bits")]
        let bits = (self.next_u64() >> 11) as f64;
        bits / 9_007_199_254_740_992.0
    }
}

impl Entropy for Chance {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}
