//! The source of a retrier's randomness: the system, a seed, or the caller.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stagger_core::Entropy;

use crate::rng::{OsEntropy, Rng};

/// A source that any number of calls draw from.
#[derive(Clone, Default)]
pub(super) enum Chance {
    #[default]
    Os,
    /// Every call draws the same delays.
    Seed(u64),
    Source(Arc<Mutex<dyn Entropy + Send>>),
}

impl Chance {
    /// Chance for one event. A seeded one depends on the attempt only, so that a call keeps no
    /// generator, and so that no call changes what another draws.
    pub(super) fn draw(&self, attempt: u32) -> Draw<'_> {
        match self {
            Self::Os => Draw::Os(OsEntropy),
            Self::Seed(seed) => Draw::Seeded(Rng::with_seed(seed.wrapping_add(attempt.into()))),
            Self::Source(source) => {
                Draw::Source(source.lock().unwrap_or_else(PoisonError::into_inner))
            }
        }
    }
}

impl fmt::Debug for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Os => f.write_str("Os"),
            Self::Seed(seed) => f.debug_tuple("Seed").field(seed).finish(),
            Self::Source(_) => f.write_str("Source"),
        }
    }
}

/// The draws of one event.
pub(super) enum Draw<'c> {
    Os(OsEntropy),
    Seeded(Rng),
    Source(MutexGuard<'c, dyn Entropy + Send + 'static>),
}

impl Entropy for Draw<'_> {
    fn next_u64(&mut self) -> u64 {
        match self {
            Self::Os(os) => os.next_u64(),
            Self::Seeded(rng) => rng.next_u64(),
            Self::Source(source) => source.next_u64(),
        }
    }
}
