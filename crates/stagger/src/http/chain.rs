//! Errors of clients, judged by what is at their root.

use std::error::Error as StdError;

use stagger_core::Outcome;

use super::classify_transport;
use crate::Judge;
use crate::run::UNKNOWN;

/// Judges errors by the first in their chain that tells: an error of hyper, of h2, of the system, or a
/// time limit. A chain that tells nothing is permanent. [`classify_transport`] has the table.
///
/// ```
/// use std::io;
/// use stagger::http::ByChain;
/// use stagger::{Judge, Verdict};
/// let refused: Result<(), _> = Err(io::Error::from(io::ErrorKind::ConnectionRefused));
/// assert_eq!(ByChain.judge(&refused).verdict, Verdict::Unprocessed);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ByChain;

impl<T, E: StdError + 'static> Judge<T, E> for ByChain {
    fn judge(&mut self, result: &Result<T, E>) -> Outcome {
        result.as_ref().err().map_or(Outcome::OK, |error| chain(error))
    }
}

/// The same for errors in a box, as those of tower's own layers are.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByBoxedChain;

impl<T> Judge<T, Box<dyn StdError + Send + Sync>> for ByBoxedChain {
    fn judge(&mut self, result: &Result<T, Box<dyn StdError + Send + Sync>>) -> Outcome {
        result.as_ref().err().map_or(Outcome::OK, |error| chain(&**error))
    }
}

fn chain(error: &(dyn StdError + 'static)) -> Outcome {
    classify_transport(error).unwrap_or(UNKNOWN)
}
