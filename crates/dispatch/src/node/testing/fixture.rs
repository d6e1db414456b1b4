//! The fixture of tests of single tasks.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use crate::model::{Endpoint, Secret, SecretKind};
use crate::node::NodeOptions;
use crate::node::start::{NodeParts, assemble};
use crate::send::{SendOptions, Sender};
use crate::store::DeliveryStore;
use crate::store::testing::fixture;

/// The longest that a test waits for anything.
const BOUND: Duration = Duration::from_secs(60);

/// The parts of a node whose tasks do not run.
pub(super) fn parts(store: &Arc<dyn DeliveryStore>) -> NodeParts {
    let options = SendOptions { allow_private: true, ..SendOptions::default() };
    let sender = Sender::new(options).expect("no certificates");
    assemble(store, &sender, None, &NodeOptions::default())
}

/// Endpoint 1 of application 1, with an address.
pub(super) fn endpoint(url: String) -> Endpoint {
    let secrets = vec![Secret { kind: SecretKind::Symmetric, key: vec![7; 32], until: None }];
    Endpoint { url, secrets, headers: Vec::new(), ..fixture::endpoint(1, 1) }
}

pub(super) async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, work).await.expect("it comes in time")
}
