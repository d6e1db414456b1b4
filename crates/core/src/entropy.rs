//! Chance as an input: the engine is handed random words, it never fetches them.

use crate::time::Span;

/// A source of uniformly random 64-bit words.
///
/// Every draw of the engine takes exactly one word, so a source keyed by (seed, call, retry) gives
/// the same delay whatever else was drawn before. Any `FnMut() -> u64` is a source.
///
/// ```
/// use stagger_core::{Entropy, Span};
/// let mut highest = || u64::MAX;
/// assert_eq!(highest.draw(Span::ZERO, Span::from_secs(1)), Span::from_secs(1));
/// ```
pub trait Entropy {
    /// The next word, uniform over all of `u64`.
    fn next_u64(&mut self) -> u64;

    /// A span drawn uniformly from the whole nanoseconds of `lo..=hi`, both ends included.
    ///
    /// Takes one word. `hi` below `lo` is read as `lo`.
    #[inline]
    fn draw(&mut self, lo: Span, hi: Span) -> Span {
        uniform(self.next_u64(), lo, hi)
    }
}

impl<F: FnMut() -> u64> Entropy for F {
    #[inline]
    fn next_u64(&mut self) -> u64 {
        self()
    }
}

/// Scales `word` onto `lo..=hi` by the high half of a 128-bit product (Lemire, "Fast random integer
/// generation in an interval", ACM TOMACS 2019).
///
/// Without its rejection step the counts of two values differ by at most one word in 2^64: for a
/// range of a minute that is one part in 3 * 10^8, and the price of "one word a draw" is paid there.
/// A remainder would instead favour the low end.
#[inline]
fn uniform(word: u64, lo: Span, hi: Span) -> Span {
    let offset = match hi.saturating_sub(lo).as_nanos().checked_add(1) {
        Some(width) => high_half(word, width),
        // All of u64: every word is its own draw.
        None => word,
    };
    Span::from_nanos(lo.as_nanos() + offset)
}

/// `word * width / 2^64`, which is below `width`.
#[inline]
fn high_half(word: u64, width: u64) -> u64 {
    let product = u128::from(word) * u128::from(width);
    // OK because a u128 shifted right by 64 fits u64.
    (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_can_be_drawn() {
        let (lo, hi) = (Span::from_nanos(10), Span::from_nanos(12));
        assert_eq!(uniform(0, lo, hi), lo);
        assert_eq!(uniform(u64::MAX / 2, lo, hi), Span::from_nanos(11));
        assert_eq!(uniform(u64::MAX, lo, hi), hi);
    }

    #[test]
    fn an_empty_range_is_no_jitter_and_never_a_panic() {
        for word in [0, u64::MAX] {
            assert_eq!(uniform(word, Span::ZERO, Span::ZERO), Span::ZERO);
            assert_eq!(uniform(word, Span::MAX, Span::MAX), Span::MAX);
            assert_eq!(uniform(word, Span::from_nanos(5), Span::ZERO), Span::from_nanos(5));
        }
        assert_eq!(uniform(u64::MAX, Span::ZERO, Span::MAX), Span::MAX);
    }
}
