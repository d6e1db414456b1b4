//! How a node stands at this moment, in figures.

use super::parts::Parts;
use crate::observe::Census;

/// Counts all lanes. Asked for when somebody looks, a few times a minute.
pub(super) async fn census(parts: &Parts) -> Census {
    let now = parts.clock.now();
    let endpoints = parts.directory.all_endpoints();
    let count = move |runner: &mut super::runner::Runner| {
        let mut census = Census::default();
        for view in endpoints.into_iter().filter_map(|id| runner.floor.view(now, id)) {
            census.ready += view.ready;
            census.waiting += view.waiting;
            census.in_flight += view.in_flight;
            census.disabled += usize::from(view.standing.disabled.is_some());
            census.count_breaker(view.breaker);
        }
        census
    };
    let census = parts.floor.ask(count).await.unwrap_or_default();
    let (unsettled, payload_bytes) = (parts.health.unsettled(), parts.payloads.bytes());
    let (members, shards) = (parts.fleet.members().max(1), parts.leading.shards().len());
    Census { unsettled, payload_bytes, members, shards, ..census }
}
