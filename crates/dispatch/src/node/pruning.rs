//! Old messages go, a few at a time.

use std::sync::Arc;

use stagger::{Entropy, Instant, OsEntropy, Sleep, Span, TokioTime};

use super::clock::EngineClock;
use super::fleet::Leadership;
use crate::Error;
use crate::store::{DeliveryStore, ShardId, Shards};

/// From one round to the next: messages are kept for days, so an hour more is nothing.
const MEAN: Span = Span::from_secs(60 * 60);
/// Messages in one call of the store: short enough that messages are accepted in between.
const STEP: usize = 200;

/// The shard whose leader prunes.
const ONE: Shards = Shards::of(ShardId(0));

/// Deletes finished messages that are older than the retention.
#[derive(Debug)]
pub(super) struct Pruner {
    pub(super) store: Arc<dyn DeliveryStore>,
    pub(super) leadership: Arc<Leadership>,
    pub(super) clock: EngineClock,
    pub(super) retention: Span,
}

impl Pruner {
    /// Prunes every hour or so, spread so that nodes started together do not prune together.
    pub(super) async fn run(self) {
        loop {
            let half = Span::from_nanos(MEAN.as_nanos() / 2);
            TokioTime.sleep(OsEntropy.draw(half, MEAN + half)).await;
            // Of several nodes one prunes.
            if self.leadership.shards().common(ONE).is_empty() {
                continue;
            }
            let before = self.clock.now() - Instant::ORIGIN - self.retention;
            match self.round(Instant::ORIGIN + before).await {
                Ok(0) => {}
                Ok(messages) => tracing::info!(messages, "old messages pruned"),
                Err(error) => tracing::warn!(%error, "pruning failed, next try in about an hour"),
            }
        }
    }

    async fn round(&self, before: Instant) -> Result<usize, Error> {
        let mut messages = 0;
        loop {
            let pruned = self.store.prune(before, STEP).await?;
            messages += pruned.messages;
            if pruned.messages < STEP {
                return Ok(messages);
            }
            tokio::task::yield_now().await;
        }
    }
}
