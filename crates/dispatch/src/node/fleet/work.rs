//! Work that arrives through the store: deliveries that a node has accepted or replayed, and commands.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use stagger::{Sleep, Span, TokioTime};
use tokio::sync::Notify;

use super::backlog::BacklogCounter;
use super::commands::CommandExecutor;
use super::leadership::{LeadGuard, Leadership};
use crate::Error;
use crate::model::{Delivery, MessageId};
use crate::node::health::NodeHealth;
use crate::node::inbox::Command;
use crate::node::payloads::{CachedMessage, PayloadCache};
use crate::store::Arrival;

/// The most arrivals in one read: 8 MiB of small payloads at most.
const BATCH: usize = 512;

/// Takes the work of a membership.
#[derive(Debug)]
pub(in crate::node) struct Work {
    commands: CommandExecutor,
    leadership: Arc<Leadership>,
    payloads: Arc<PayloadCache>,
    health: Arc<NodeHealth>,
    max_open: usize,
    /// Arrivals that are scheduled here, and not deleted from the store yet.
    done: Mutex<Vec<u64>>,
    wake: Notify,
    /// Whether the log has reported that arrivals cannot be read.
    outage_logged: AtomicBool,
}

/// The work that a round has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Nothing,
    /// There was no room for more, or a command has to wait.
    Some,
}

impl Work {
    pub(in crate::node) fn new(
        commands: CommandExecutor,
        leadership: Arc<Leadership>,
        payloads: Arc<PayloadCache>,
        (health, max_open): (Arc<NodeHealth>, usize),
    ) -> Self {
        Self {
            commands,
            leadership,
            payloads,
            health,
            max_open,
            done: Mutex::default(),
            wake: Notify::new(),
            outage_logged: AtomicBool::new(false),
        }
    }

    /// A membership begins. The arrivals of an earlier one are another node's.
    pub(super) fn begin(&self) {
        self.drain();
    }

    /// There may be work.
    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Records that these arrivals are scheduled, or have ended.
    pub(super) fn done(&self, numbers: Vec<u64>) {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).extend(numbers);
    }

    /// Does the pending work repeatedly: when it is woken; and after each interval `every` if
    /// notifications may be lost, or if the last round has left something.
    pub(super) async fn run(&self, every: Span, notifications_may_be_lost: bool) {
        let mut rest = Rest::Nothing;
        loop {
            let looks_again = notifications_may_be_lost || rest == Rest::Some;
            tokio::select! {
                () = self.wake.notified() => {}
                () = TokioTime.sleep(every), if looks_again => {}
            }
            rest = match self.round().await {
                Ok(rest) => {
                    self.outage_logged.store(false, Ordering::Relaxed);
                    rest
                }
                Err(error) => {
                    self.on_outage(&error);
                    Rest::Some
                }
            };
        }
    }

    fn on_outage(&self, error: &Error) {
        if self.outage_logged.swap(true, Ordering::Relaxed) {
            tracing::debug!(%error, "arrivals still not read");
        } else {
            tracing::warn!(%error, "arrivals not read, retrying");
        }
    }

    async fn round(&self) -> Result<Rest, Error> {
        loop {
            // Held until the arrivals are scheduled: the release of a shard waits for it.
            let held = self.leadership.hold();
            let shards = held.lead().shards;
            if shards.is_empty() {
                return Ok(Rest::Nothing);
            }
            let limit = BATCH.min(self.max_open.saturating_sub(self.health.open()));
            let more = self.take(&held, limit).await?;
            let some_wait = self.commands.execute(shards).await?;
            if !more {
                return Ok(if limit == 0 || some_wait { Rest::Some } else { Rest::Nothing });
            }
        }
    }

    /// Takes some arrivals; whether there may be more to do.
    async fn take(&self, held: &LeadGuard, limit: usize) -> Result<bool, Error> {
        let CommandExecutor { cluster, directory, settings, .. } = &self.commands;
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
            arrival.delivery.is_some_and(|it| directory.endpoint(it.endpoint).is_none())
        };
        if taken.iter().any(unknown) {
            settings.sync().await?;
        }
        let numbers = taken.iter().map(|arrival| arrival.number).collect::<Vec<_>>();
        self.hand_over(taken);
        let more = !numbers.is_empty();
        self.done(numbers);
        Ok(more)
    }

    fn drain(&self) -> Vec<u64> {
        std::mem::take(&mut *self.done.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Skips deliveries that have ended; many replayed deliveries to one endpoint start a recovery.
    fn hand_over(&self, taken: Vec<Arrival>) {
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
        let inbox = &self.commands.inbox;
        let replayed = deliveries.iter().filter(|delivery| delivery.replays > 0);
        BacklogCounter::default().count(replayed, inbox);
        self.payloads.keep(messages.into_values());
        inbox.tell(Command::Add(deliveries));
    }
}
