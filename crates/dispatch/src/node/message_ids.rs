//! The names that a node gives.

use stagger::Instant;

use crate::Error;
use crate::model::{IdGenerator, MessageId};

/// One generator for all messages, so that the order of ids is the order of acceptance.
#[derive(Debug, Default)]
pub(super) struct MessageIds {
    id_generator: IdGenerator,
}

impl MessageIds {
    /// The next `count` names, in order.
    ///
    /// # Errors
    /// The operating system has no randomness.
    pub(super) fn messages(&self, count: usize, now: Instant) -> Result<Vec<MessageId>, Error> {
        Ok(self.id_generator.make_many(now, count)?.into_iter().map(MessageId::from_uuid).collect())
    }
}
