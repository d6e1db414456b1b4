//! The receivers of a message among the endpoints that subscribe to it: those whose filter its payload passes.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use stagger_scheduler::model::{
    ChannelName, ContentFilter, Endpoint, EndpointId, EventType, FieldPaths,
};

/// The parts of a message that decide on its receivers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Routed<'m> {
    pub(super) event_type: &'m EventType,
    pub(super) channels: &'m [ChannelName],
    pub(super) payload: &'m Bytes,
}

/// The filters of an application's endpoints, and the fields that they compare. The fields are collected when a
/// message first needs them: at a start, endpoints come one by one.
#[derive(Debug)]
pub(super) struct ApplicationFilters {
    of: Vec<Arc<Endpoint>>,
    paths: OnceLock<FieldPaths>,
}

impl ApplicationFilters {
    pub(super) fn of<'e>(endpoints: impl Iterator<Item = &'e Arc<Endpoint>>) -> Self {
        let with_filter = endpoints.filter(|endpoint| endpoint.filter.is_some());
        Self { of: with_filter.cloned().collect(), paths: OnceLock::new() }
    }

    fn paths(&self) -> &FieldPaths {
        self.paths
            .get_or_init(|| FieldPaths::of(self.of.iter().filter_map(|it| it.filter.as_ref())))
    }
}

/// The endpoints that subscribe to a message by its type and channels, with the settings of those that have a filter.
#[derive(Debug)]
pub(super) struct Subscribers {
    pub(super) endpoints: Vec<(EndpointId, Option<Arc<Endpoint>>)>,
    /// The filters of their application, at the same time.
    pub(super) filters: Option<Arc<ApplicationFilters>>,
}

impl Subscribers {
    /// Those whose filter the payload passes. It is read once, and only if one of them has a filter.
    pub(super) fn filtered(self, payload: &[u8]) -> Vec<EndpointId> {
        let paths = self.filters.as_ref().map(|filters| filters.paths());
        let mut fields = None;
        let mut passes = |filter: &ContentFilter| {
            paths.is_some_and(|paths| {
                filter.passes(fields.get_or_insert_with(|| paths.read(payload)))
            })
        };
        let passed = self.endpoints.iter().filter(|(_, endpoint)| {
            let filter = endpoint.as_ref().and_then(|endpoint| endpoint.filter.as_ref());
            filter.is_none_or(&mut passes)
        });
        passed.map(|(id, _)| *id).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use stagger_store::testing::fixture::{endpoint, ep};

    use super::*;

    fn filtered(n: u64, filter: serde_json::Value) -> Arc<Endpoint> {
        let filter = Some(ContentFilter::parse(&filter).unwrap());
        Arc::new(Endpoint { filter, ..endpoint(n, 1) })
    }

    #[test]
    fn endpoints_without_a_filter_receive_what_others_refuse() {
        let (large, small) = (
            filtered(1, json!({"path": "/amount", "ge": 100})),
            filtered(2, json!({"path": "/amount", "lt": 100})),
        );
        let filters = Arc::new(ApplicationFilters::of([&large, &small].into_iter()));
        let receivers = |payload: &str| {
            let endpoints = vec![
                (ep(1), Some(Arc::clone(&large))),
                (ep(2), Some(Arc::clone(&small))),
                (ep(3), None),
            ];
            Subscribers { endpoints, filters: Some(Arc::clone(&filters)) }
                .filtered(payload.as_bytes())
        };
        assert_eq!(receivers(r#"{"amount": 100}"#), [ep(1), ep(3)]);
        assert_eq!(receivers(r#"{"amount": 1}"#), [ep(2), ep(3)]);
        assert_eq!(receivers("amount=1"), [ep(3)]);
    }
}
