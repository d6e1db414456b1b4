//! Chance by name instead of by turn: every draw is a hash of what it is for.
//!
//! A shared generator gives its next word to the next caller that asks, so one caller more moves every number
//! after it. Here a word is a function of (seed, purpose, client, attempt) alone: adding a client, a
//! law or a meter changes no other draws, and two laws under one seed meet the same luck.

use stagger_core::{Entropy, Ratio};

/// The purpose of a draw; each purpose has numbers of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The seed of one run of many.
    Run = 1,
    /// The time between two arrivals.
    Arrival = 2,
    /// The jitter of one delay.
    Delay = 3,
    /// The time that the work on one attempt takes.
    Service = 4,
    /// Whether a failing backend fails one attempt.
    Failure = 5,
    /// The way to the backend.
    There = 6,
    /// The way back.
    Back = 7,
    /// The jitter of an open breaker.
    Breaker = 8,
    /// The time that a closed client thinks.
    Think = 9,
    /// The shard of a call.
    Shard = 10,
    /// Whether a request to a shared store is lost.
    Store = 11,
    /// The server that a balancer chooses.
    Balancer = 12,
    /// Whether an attempt finds its key in a cache.
    Cache = 13,
    /// The patience of a user.
    Patience = 14,
    /// Whether and when a user clicks again.
    Click = 15,
}

/// The draws of one purpose under one seed.
///
/// ```
/// use stagger_core::Entropy;
/// use stagger_sim::{Purpose, RandomStream};
/// let delays = RandomStream::new(42, Purpose::Delay);
/// assert_eq!(delays.at(7, 1).next_u64(), delays.at(7, 1).next_u64());
/// assert_ne!(delays.at(7, 1).next_u64(), delays.at(8, 1).next_u64());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RandomStream {
    key: u64,
}

impl RandomStream {
    /// The stream of `purpose` under `seed`.
    #[must_use]
    pub const fn new(seed: u64, purpose: Purpose) -> Self {
        Self { key: mix(mix(seed).wrapping_add((purpose as u64).wrapping_mul(GOLDEN))) }
    }

    /// The words for one client's attempt.
    #[must_use]
    #[inline]
    pub const fn at(&self, client: u32, attempt: u32) -> Draw {
        // OK because both halves fit: the pair is injective, and so is `mix`.
        let pair = ((client as u64) << 32) | attempt as u64;
        Draw { state: self.key.wrapping_add(mix(pair)) }
    }
}

/// The words of one (seed, purpose, client, attempt); nearly all callers take one.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    state: u64,
}

impl Draw {
    /// Whether something happens that does so with this probability; takes one word.
    #[inline]
    pub(crate) fn happens(&mut self, share: Ratio) -> bool {
        let word = u128::from(self.next_u64());
        (word * u128::from(Ratio::SCALE)) >> 64 < u128::from(share.ppm())
    }
}

impl Entropy for Draw {
    #[inline]
    fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }
}

/// 2^64 over the golden ratio, odd: the step of SplitMix64.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finishing hash of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a bijection of the words
/// in which every input bit reaches every output bit.
#[inline]
pub(crate) const fn mix(word: u64) -> u64 {
    let mut z = word;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean of `n` words as a share of the whole range; 1/2 with an sd of 0.29 / sqrt(n).
    #[expect(clippy::cast_precision_loss, reason = "53 bits are plenty for a mean")]
    fn mean(words: impl Iterator<Item = u64>) -> f64 {
        let (mut sum, mut n) = (0.0, 0.0);
        for word in words {
            sum += word as f64 / u64::MAX as f64;
            n += 1.0;
        }
        sum / n
    }

    #[test]
    fn neighbouring_clients_and_attempts_are_unrelated() {
        let stream = RandomStream::new(0, Purpose::Delay);
        let by_client = mean((0..100_000).map(|c| stream.at(c, 1).next_u64()));
        let by_attempt = mean((0..100_000).map(|a| stream.at(0, a).next_u64()));
        let by_seed =
            mean((0..100_000).map(|s| RandomStream::new(s, Purpose::Delay).at(0, 1).next_u64()));
        for found in [by_client, by_attempt, by_seed] {
            assert!((found - 0.5).abs() < 0.004, "{found}");
        }
    }

    #[test]
    fn one_purpose_never_reads_the_words_of_another() {
        let word = |purpose| RandomStream::new(1, purpose).at(2, 3).next_u64();
        assert_ne!(word(Purpose::Delay), word(Purpose::Arrival));
        assert_ne!(word(Purpose::Delay), word(Purpose::Run));
    }
}
