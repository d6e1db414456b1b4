//! Chance: the only file that draws random numbers.
//!
//! Each generator is private to this crate, so drawing changes no number that the host program
//! sees. The seed comes from the operating system, because fastrand's own is a hash of the time and
//! the thread, which machines started from one image can share.
#![expect(clippy::disallowed_methods, reason = "the one file that reads chance")]

use std::cell::RefCell;
use std::hash::{BuildHasher, RandomState};
use std::process;

use stagger_core::Entropy;

/// A private generator of random words.
///
/// ```
/// use stagger::{Entropy, Rng};
/// let (mut one, mut other) = (Rng::with_seed(7), Rng::with_seed(7));
/// assert_eq!(one.next_u64(), other.next_u64());
/// ```
#[derive(Debug)]
pub struct Rng {
    words: fastrand::Rng,
    /// The process that was seeded; none for a fixed seed.
    owner: Option<u32>,
}

impl Rng {
    /// A generator seeded by the operating system, anew in every fork.
    #[must_use]
    pub fn from_os() -> Self {
        Self { words: fastrand::Rng::with_seed(os_seed()), owner: process_id() }
    }

    /// A generator with a fixed seed, for tests: the same series everywhere, in forks too.
    ///
    /// The series may change between releases of this crate.
    #[must_use]
    pub fn with_seed(seed: u64) -> Self {
        Self { words: fastrand::Rng::with_seed(seed), owner: None }
    }
}

impl Entropy for Rng {
    fn next_u64(&mut self) -> u64 {
        // A fork copies the state, so that parent and child would draw the same delays.
        if self.owner.is_some() && self.owner != process_id() {
            *self = Self::from_os();
        }
        self.words.u64(..)
    }
}

/// The default source of chance: one [`Rng`] for each thread, seeded by the operating system.
///
/// ```
/// use stagger::{Entropy, OsEntropy};
/// assert_ne!(OsEntropy.next_u64(), OsEntropy.next_u64());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct OsEntropy;

impl Entropy for OsEntropy {
    fn next_u64(&mut self) -> u64 {
        // While a thread ends its generator may be gone already; a fresh one is as good.
        THREAD
            .try_with(|rng| rng.borrow_mut().next_u64())
            .unwrap_or_else(|_| Rng::from_os().next_u64())
    }
}

/// 128 bits that cannot be guessed and that no other call has: a generator's state has too few for a name.
#[cfg(feature = "http")]
pub(crate) fn os_bits() -> u128 {
    let mut bytes = [0; 16];
    match getrandom::fill(&mut bytes) {
        Ok(()) => u128::from_le_bytes(bytes),
        Err(_) => u128::from(os_seed()) << 64 | u128::from(OsEntropy.next_u64()),
    }
}

thread_local! {
    static THREAD: RefCell<Rng> = RefCell::new(Rng::from_os());
}

/// A seed of the operating system. Where it has none to give, the hash keys of the standard library
/// with the process in them: still not the same on every host.
fn os_seed() -> u64 {
    getrandom::u64().unwrap_or_else(|_| RandomState::new().hash_one(process_id()))
}

/// `None` where there are no processes, and so no forks: asking for one panics there.
fn process_id() -> Option<u32> {
    let has_processes = !cfg!(all(target_family = "wasm", target_os = "unknown"));
    has_processes.then(process::id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_seed_gives_the_same_series() {
        let series = |seed| {
            let mut rng = Rng::with_seed(seed);
            [0; 8].map(|_| rng.next_u64())
        };
        assert_eq!(series(1), series(1));
        assert_ne!(series(1), series(2));
    }

    #[test]
    fn drawing_leaves_the_generator_of_the_host_program_alone() {
        fastrand::seed(5);
        let expected = [fastrand::u64(..), fastrand::u64(..)];
        fastrand::seed(5);
        let first = fastrand::u64(..);
        let _ = (OsEntropy.next_u64(), Rng::from_os().next_u64());
        assert_eq!([first, fastrand::u64(..)], expected);
    }

    #[test]
    fn a_generator_of_another_process_is_seeded_anew() {
        let fixed = Rng::with_seed(3).next_u64();
        let mut copied = Rng { owner: Some(process::id() ^ 1), ..Rng::with_seed(3) };
        assert_ne!(copied.next_u64(), fixed);
        assert_eq!(copied.owner, Some(process::id()));
    }
}
