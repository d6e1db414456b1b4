//! Shards with new work, about which other nodes are notified immediately.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use crate::store::Shards;

/// Collects shards until the notifying task takes them.
#[derive(Debug, Default)]
pub(super) struct PendingNotifications {
    shards: Mutex<Shards>,
    more: Notify,
}

impl PendingNotifications {
    /// There is work for these.
    pub(super) fn add(&self, shards: Shards) {
        if shards.is_empty() {
            return;
        }
        let mut gathered = self.shards.lock().unwrap_or_else(PoisonError::into_inner);
        *gathered = gathered.union(shards);
        self.more.notify_one();
    }

    /// Waits for shards, and takes all of them. For one waiting task at a time.
    pub(super) async fn next(&self) -> Shards {
        loop {
            let shards = self.take();
            if !shards.is_empty() {
                return shards;
            }
            self.more.notified().await;
        }
    }

    fn take(&self) -> Shards {
        std::mem::take(&mut self.shards.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::ShardId;

    #[tokio::test]
    async fn shards_added_without_a_waiting_task_are_not_lost() {
        let notifications = PendingNotifications::default();
        let of = |shard| [ShardId(shard)].into_iter().collect();
        notifications.add(of(1));
        notifications.add(of(9));
        notifications.add(Shards::NONE);
        assert_eq!(notifications.next().await, Shards::union(of(1), of(9)));
        let (next, ()) = tokio::join!(notifications.next(), async { notifications.add(of(5)) });
        assert_eq!(next, of(5));
    }
}
