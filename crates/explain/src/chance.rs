//! Chance under a fixed seed.

use stagger_core::Entropy;

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
