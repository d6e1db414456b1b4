//! Retries that do not stampede: one policy for backoff, jitter, budgets, breakers and server hints.
//!
//! The engine decides and this crate acts: it brings the clock and the chance.
//!
//! ```
//! use stagger::{Clock, Entropy, OsEntropy, Span};
//! let clock = Clock::start();
//! let before = clock.now();
//! let delay = OsEntropy.draw(Span::ZERO, Span::from_secs(10));
//! assert!(delay <= Span::from_secs(10));
//! assert!(clock.now() >= before);
//! ```
#![forbid(unsafe_code)]

mod clock;
mod ledger;
mod rng;

pub use clock::Clock;
pub use ledger::{LedgerStats, Ledgers, LocalLedger};
pub use rng::{OsEntropy, Rng};
// All of the engine, so that its words have one path here and none can be forgotten.
#[doc(inline)]
pub use stagger_core::*;
