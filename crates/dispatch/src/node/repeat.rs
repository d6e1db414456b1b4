//! Messages that come again under the idempotency key of an earlier one.

use stagger_scheduler::model::MessageId;

use super::{Node, Submission};
use crate::Error;

impl Node {
    /// Refuses a message whose idempotency key was that of the message `id` with other contents
    /// (draft-ietf-httpapi-idempotency-key-header-06 section 2.7).
    ///
    /// # Errors
    /// A conflict if it has other contents; the store cannot be read.
    pub(crate) async fn refuse_another(
        &self,
        id: MessageId,
        given: &Submission,
    ) -> Result<(), Error> {
        // What was pruned meanwhile cannot be compared.
        let Some(first) = self.store().message(id).await? else { return Ok(()) };
        let Some(payload) = self.store().payload(id).await? else { return Ok(()) };
        let is_same = first.event_type == given.event_type
            && first.content_type == given.content_type
            && first.channels == given.channels
            && first.attributes
                == given.attributes.clone().with_source(first.attributes.text("source"))
            && payload == given.payload;
        if is_same {
            return Ok(());
        }
        Err(Error::conflict(format!(
            "the idempotency key is that of {id}, which has other contents"
        )))
    }
}
