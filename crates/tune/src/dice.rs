//! Draws of the search and of the worlds: each is a function of the seed, its purpose and its number.

use stagger_core::{Entropy, Span};
use stagger_sim::{Draw, Purpose, RandomStream};

/// The purposes of the draws of this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DrawPurpose {
    /// The seed of a world.
    World = 1,
    /// The outage of a world.
    Outage = 2,
    /// A candidate of the search.
    Candidate = 3,
}

/// The words of one purpose and number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dice(Draw);

impl Dice {
    pub(crate) const fn new(seed: u64, purpose: DrawPurpose, number: u32) -> Self {
        Self(RandomStream::new(seed, Purpose::Run).at(number, purpose as u32))
    }

    pub(crate) fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from 0 to 1, 1 excluded.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// One of the items; the list must not be empty.
    pub(crate) fn one_of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// A whole number below `count`, which is at least 1.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        let wide = u128::from(self.word()) * (count.max(1) as u128);
        // OK because the product over 2^64 is below `count`.
        usize::try_from(wide >> 64).unwrap_or(0)
    }

    /// A number whose logarithm is uniform between those of two numbers above zero.
    pub(crate) fn log_uniform(&mut self, least: f64, most: f64) -> f64 {
        least * libm::pow(most / least, self.unit())
    }

    /// A span whose logarithm is uniform between those of two spans.
    pub(crate) fn span(&mut self, least: Span, most: Span) -> Span {
        if least >= most || least.is_zero() {
            return least;
        }
        let drawn = self.log_uniform(least.as_secs_f64(), most.as_secs_f64());
        seconds(drawn).clamp(least, most)
    }
}

/// So many seconds; below zero is none.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
pub(crate) fn seconds(seconds: f64) -> Span {
    // OK because a cast from float to integer saturates.
    Span::from_nanos((seconds * 1e9 + 0.5) as u64)
}
