//! The current state of a node, as gauges.

use super::parts::Parts;
use crate::observe::Gauges;

/// Counts all queues. Runs when a recorder reads the gauges, a few times a minute.
pub(super) async fn gauges(parts: &Parts) -> Gauges {
    let now = parts.clock.now();
    let endpoints = parts.directory.all_endpoints();
    let count = move |runner: &mut super::runner::Runner| {
        let mut gauges = Gauges::default();
        for view in endpoints.into_iter().filter_map(|id| runner.scheduler.view(now, id)) {
            gauges.ready += view.ready;
            gauges.waiting += view.waiting;
            gauges.in_flight += view.in_flight;
            gauges.disabled += usize::from(view.endpoint_state.disabled.is_some());
            gauges.count_breaker(view.breaker);
        }
        gauges
    };
    let gauges = parts.scheduler.ask(count).await.unwrap_or_default();
    let (unsettled, payload_bytes) = (parts.health.unsettled(), parts.payloads.bytes());
    let (members, shards) = (parts.fleet.members().max(1), parts.leadership.shards().len());
    Gauges { unsettled, payload_bytes, members, shards, ..gauges }
}
