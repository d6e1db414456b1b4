//! The nodes that work on the store.

use axum::extract::State;
use serde::Serialize;
use stagger_text::Timestamp;
use utoipa::ToSchema;

use super::auth::ByOperator;
use super::state::Api;
use super::wire::TimestampText;
use crate::node::NodeInfo;

/// A node that works on the store.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Node)]
pub(super) struct NodeView {
    /// The number of its membership, which is another one after each start.
    run: u64,
    /// The address on which it listens.
    #[schema(example = "10.0.0.7:8080")]
    name: String,
    /// The version of its release; nothing of a release that does not tell it.
    version: Option<String>,
    /// The time at which it was started, by its own clock.
    #[schema(value_type = Option<TimestampText>)]
    started_at: Option<Timestamp>,
    /// The time at which the node that answers received its last heartbeat.
    #[schema(value_type = TimestampText)]
    last_seen_at: Timestamp,
    /// The shards of endpoints that it leads, of 256.
    #[schema(maximum = 256)]
    shards: usize,
    /// Whether it is ending, and hands over its shards.
    draining: bool,
    /// Whether it is the node that answers.
    is_this: bool,
}

impl From<NodeInfo> for NodeView {
    fn from(node: NodeInfo) -> Self {
        let NodeInfo { run, name, version, started_at, last_seen_at, shards, draining, is_this } =
            node;
        let (started_at, last_seen_at) = (started_at.map(Timestamp), Timestamp(last_seen_at));
        Self { run, name, version, started_at, last_seen_at, shards, draining, is_this }
    }
}

/// All nodes.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct NodeList {
    /// The one that answers first.
    items: Vec<NodeView>,
}

/// The nodes that work on the store, as of the last heartbeat.
#[utoipa::path(
    get, path = "/v1/nodes", tag = "nodes", security(("admin" = [])),
    responses((status = 200, description = "All of them.", body = NodeList)),
)]
pub(super) async fn list_nodes(State(api): State<Api>, _: ByOperator) -> axum::Json<NodeList> {
    axum::Json(NodeList { items: api.node().nodes().into_iter().map(NodeView::from).collect() })
}
