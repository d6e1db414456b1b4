//! Whole numbers as figures for people.

use stagger_core::Span;

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
