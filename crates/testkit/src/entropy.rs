//! Chance for tests: fixed words, scripts, and a small seeded generator.

use stagger_core::Entropy;

/// Draws that always land on the upper end of their range.
#[must_use]
pub fn highest() -> impl Entropy {
    || u64::MAX
}

/// Draws that always land on the lower end of their range.
#[must_use]
pub fn lowest() -> impl Entropy {
    || 0
}

/// Words from a list; running past its end fails the test, because a draw too many is a bug.
#[derive(Clone, Debug)]
pub struct Scripted {
    words: std::vec::IntoIter<u64>,
}

impl Scripted {
    /// A script of these words.
    #[must_use]
    pub fn new(words: impl Into<Vec<u64>>) -> Self {
        Self { words: words.into().into_iter() }
    }

    /// The number of words that have not been drawn.
    #[must_use]
    pub fn left(&self) -> usize {
        self.words.len()
    }
}

impl Entropy for Scripted {
    fn next_u64(&mut self) -> u64 {
        self.words.next().expect("the script holds a word for every draw")
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): small, seeded, the same on every machine.
#[derive(Clone, Debug)]
pub struct Mix(u64);

impl Mix {
    /// The stream of this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }
}

impl Entropy for Mix {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}
