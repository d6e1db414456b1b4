//! Chance with a fixed seed, so that the same policy has the same findings.

/// The seed of every sample: any number does.
const SEED: u64 = 0x5741_4747_4552;

/// Random words of one call (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
/// Generators", OOPSLA 2014).
pub(crate) fn words(call: u32) -> impl FnMut() -> u64 {
    let mut state = SEED ^ (u64::from(call) << 32);
    move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }
}
