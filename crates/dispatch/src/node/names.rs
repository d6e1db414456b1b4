//! The names that a node gives.

use std::sync::{Mutex, PoisonError};

use stagger::{Instant, OsEntropy};

use crate::model::{MessageId, Mint};

/// One mint behind one lock, so that the order of names is the order of acceptance.
#[derive(Debug, Default)]
pub(super) struct Names {
    mint: Mutex<Mint>,
}

impl Names {
    /// So many names in a row, in order.
    pub(super) fn messages(&self, count: usize, now: Instant) -> Vec<MessageId> {
        let mut mint = self.mint.lock().unwrap_or_else(PoisonError::into_inner);
        (0..count).map(|_| MessageId::from_uuid(mint.make(now, &mut OsEntropy))).collect()
    }
}
