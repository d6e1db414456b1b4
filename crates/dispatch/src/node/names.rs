//! The names that a node gives.

use std::sync::{Mutex, PoisonError};

use stagger::Instant;

use crate::Error;
use crate::model::{MessageId, Mint};

/// One mint behind one lock, so that the order of names is the order of acceptance.
#[derive(Debug, Default)]
pub(super) struct Names {
    mint: Mutex<Mint>,
}

impl Names {
    /// The next `count` names, in order.
    ///
    /// # Errors
    /// The operating system has no randomness.
    pub(super) fn messages(&self, count: usize, now: Instant) -> Result<Vec<MessageId>, Error> {
        let mut mint = self.mint.lock().unwrap_or_else(PoisonError::into_inner);
        (0..count).map(|_| mint.make(now).map(MessageId::from_uuid)).collect()
    }
}
