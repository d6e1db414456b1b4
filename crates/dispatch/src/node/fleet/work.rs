//! Work from other nodes: deliveries that they have accepted, and commands.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use stagger::{Sleep, TokioTime};
use tokio::sync::Notify;

use super::acquire::{backlogs, recover};
use super::commands;
use super::leadership::LeadGuard;
use super::settings_sync::sync_settings;
use crate::Error;
use crate::leadership::Membership;
use crate::model::{Delivery, MessageId};
use crate::node::inbox::Command;
use crate::node::parts::Parts;
use crate::node::payloads::CachedMessage;
use crate::store::{Arrival, Cluster};

/// The most arrivals in one read: 8 MiB of small payloads at most.
const BATCH: usize = 512;

/// The work of one membership.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// Arrivals that are scheduled here, and not deleted from the store yet.
    done: Mutex<Vec<u64>>,
    wake: Notify,
    /// Whether the log has reported that arrivals cannot be read.
    outage_logged: AtomicBool,
}

impl Work {
    /// There may be work.
    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Records that these arrivals are scheduled, or have ended.
    pub(super) fn done(&self, numbers: Vec<u64>) {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).extend(numbers);
    }

    /// Does the pending work repeatedly: when it is woken, and once in each heartbeat interval.
    pub(super) async fn run(&self, parts: &Parts, cluster: &dyn Cluster) {
        let every = Membership::new(parts.options.lease).heartbeat_interval();
        loop {
            tokio::select! {
                () = self.wake.notified() => {}
                () = TokioTime.sleep(every) => {}
            }
            match self.round(parts, cluster).await {
                Ok(()) => self.outage_logged.store(false, Ordering::Relaxed),
                Err(error) if self.outage_logged.swap(true, Ordering::Relaxed) => {
                    tracing::debug!(%error, "arrivals still not read");
                }
                Err(error) => tracing::warn!(%error, "arrivals not read, retrying"),
            }
        }
    }

    async fn round(&self, parts: &Parts, cluster: &dyn Cluster) -> Result<(), Error> {
        loop {
            // Held until the arrivals are scheduled: the release of a shard waits for it.
            let held = parts.leadership.hold();
            let shards = held.lead().shards;
            if shards.is_empty() {
                return Ok(());
            }
            let more = self.take(parts, cluster, &held).await?;
            commands::execute(parts, cluster, shards).await?;
            if !more {
                return Ok(());
            }
        }
    }

    /// Takes some arrivals; whether there may be more to do.
    async fn take(
        &self,
        parts: &Parts,
        cluster: &dyn Cluster,
        held: &Arc<LeadGuard>,
    ) -> Result<bool, Error> {
        let room = parts.options.max_open.saturating_sub(parts.health.open());
        let limit = BATCH.min(room);
        let done = self.drain();
        let taken = match cluster.arrivals(held.lead().shards, &done, limit).await {
            Ok(taken) => taken,
            Err(error) => {
                // They may have been forgotten: that can be said twice.
                self.done(done);
                return Err(error);
            }
        };
        let unknown = |arrival: &Arrival| {
            arrival.delivery.is_some_and(|it| parts.directory.endpoint(it.endpoint).is_none())
        };
        if taken.iter().any(unknown) {
            sync_settings(parts).await?;
        }
        let numbers = taken.iter().map(|arrival| arrival.number).collect::<Vec<_>>();
        hand_over(parts, taken).await;
        let more = !numbers.is_empty();
        self.done(numbers);
        Ok(more)
    }

    fn drain(&self) -> Vec<u64> {
        std::mem::take(&mut *self.done.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Skips deliveries that have ended; many replayed deliveries to one endpoint start a recovery.
async fn hand_over(parts: &Parts, taken: Vec<Arrival>) {
    let mut messages = BTreeMap::<MessageId, (CachedMessage, usize)>::new();
    let mut deliveries: Vec<Delivery> = Vec::with_capacity(taken.len());
    for Arrival { delivery, content, .. } in taken {
        let Some(delivery) = delivery else { continue };
        deliveries.push(delivery);
        if let Some((message, payload)) = content {
            let cached = CachedMessage { message: Arc::new(message), payload };
            messages.entry(delivery.message).or_insert((cached, 0)).1 += 1;
        }
    }
    let replayed = deliveries.iter().filter(|delivery| delivery.replays > 0);
    for endpoint in backlogs(&mut BTreeMap::new(), replayed) {
        recover(parts, endpoint);
    }
    parts.payloads.keep(messages.into_values());
    parts.scheduler.tell(Command::Add(deliveries));
}
