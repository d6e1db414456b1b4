//! One upstream of a route: its URL, its ledger and its figures.

use std::sync::Arc;

use stagger::breaker::StateKind;
use stagger::engine::Ledger;
use stagger::{Clock, KeptLedger, Span, TokioTime};

use super::ledger::DestinationLedger;
use crate::config::UpstreamUrl;
use crate::stats::{DestinationSnapshot, DestinationStats, StoreSnapshot};

/// One upstream. It outlives a reload of the settings that leaves its route as it was.
#[derive(Debug)]
pub(crate) struct UpstreamServer {
    pub(crate) url: UpstreamUrl,
    pub(crate) ledger: Arc<DestinationLedger>,
    pub(crate) stats: DestinationStats,
}

impl UpstreamServer {
    /// Whether its breaker keeps calls from it, so that another upstream is the better choice.
    pub(crate) fn is_open(&self) -> bool {
        self.ledger.breaker_state(TokioTime.recent()) == Some(StateKind::Open)
    }

    /// Its figures.
    pub(crate) fn snapshot(&self) -> DestinationSnapshot {
        snapshot(self.url.destination().as_str(), &self.stats, &self.ledger)
    }
}

/// The figures of a destination.
pub(crate) fn snapshot(
    name: &str,
    stats: &DestinationStats,
    ledger: &DestinationLedger,
) -> DestinationSnapshot {
    let [calls, attempts, succeeded, errors] = stats.totals();
    let now = TokioTime.now();
    let [retries, hedges] = stats.copies();
    let paused = (&mut &*ledger).paused_until(now);
    let shared = ledger.shared().map(|shared| shared.stats(now));
    DestinationSnapshot {
        name: name.to_owned(),
        calls,
        attempts,
        retries,
        hedges,
        succeeded,
        errors,
        replies: stats.replies(),
        stops: stats.all_stops(),
        ledger: shared.as_ref().map_or_else(|| ledger.stats(now), |shared| shared.ledger),
        store: shared.as_ref().and_then(StoreSnapshot::of),
        cool_off: paused.map_or(Span::ZERO, |until| until - now),
    }
}
