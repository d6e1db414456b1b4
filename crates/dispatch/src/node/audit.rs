//! The audit log: the changes that callers have made, written down after they have taken effect.

use stagger::Instant;
use stagger_store::AuditEntry;

use super::Node;
use crate::Error;

impl Node {
    /// Writes a change down. If that fails the change stays, and the log of the process has it.
    pub(crate) async fn record(&self, at: Instant, actor: String, action: String, detail: String) {
        let entry = AuditEntry { number: 0, at, actor, action, detail };
        if let Err(error) = self.store().record_audit(entry.clone()).await {
            let AuditEntry { actor, action, detail, .. } = &entry;
            tracing::warn!(%error, actor, action, detail, "change not written to the audit log");
        }
    }

    /// The changes numbered below `before`, newest first, `limit` at most.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn audit(&self, before: Option<u64>, limit: usize) -> Result<Vec<AuditEntry>, Error> {
        self.store().audit(before, limit).await
    }
}
