//! Errors of clients, classified by their root cause.

use std::error::Error as StdError;

use stagger_core::Outcome;

use super::classify_transport;
use crate::Classifier;
use crate::run::UNKNOWN;

/// Classifies errors by the first in their chain that tells: an error of hyper, of h2, of the system, or a
/// time limit. A chain that tells nothing is permanent. [`classify_transport`] has the table.
///
/// ```
/// use std::io;
/// use stagger::http::ByChain;
/// use stagger::{Classifier, Verdict};
/// let refused: Result<(), _> = Err(io::Error::from(io::ErrorKind::ConnectionRefused));
/// assert_eq!(ByChain.classify(&refused).verdict, Verdict::Unprocessed);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ByChain;

impl<T, E: StdError + 'static> Classifier<T, E> for ByChain {
    fn classify(&mut self, result: &Result<T, E>) -> Outcome {
        result.as_ref().err().map_or(Outcome::OK, |error| chain(error))
    }
}

/// The same for errors in a box, as those of tower's own layers are.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByBoxedChain;

impl<T> Classifier<T, Box<dyn StdError + Send + Sync>> for ByBoxedChain {
    fn classify(&mut self, result: &Result<T, Box<dyn StdError + Send + Sync>>) -> Outcome {
        result.as_ref().err().map_or(Outcome::OK, |error| chain(&**error))
    }
}

fn chain(error: &(dyn StdError + 'static)) -> Outcome {
    classify_transport(error).unwrap_or(UNKNOWN)
}
