//! The fixture of tests of single tasks.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use crate::model::{Endpoint, Secret, SecretKind};
use crate::node::NodeOptions;
use crate::node::inbox::{Command, Inbox};
use crate::node::parts::Parts;
use crate::send::{SendOptions, Sender};
use crate::store::{DeliveryStore, test_fixture as fixture};

/// The longest that a test waits for anything.
const BOUND: Duration = Duration::from_secs(60);

pub(super) type Commands = mpsc::UnboundedReceiver<Command>;

/// Parts of a node, and the receiver of its scheduler's commands.
pub(super) fn parts(store: Arc<dyn DeliveryStore>) -> (Arc<Parts>, Commands) {
    let options = SendOptions { allow_private: true, ..SendOptions::default() };
    let sender = Sender::new(options).expect("no certificates");
    let (inbox, commands) = Inbox::new();
    (Arc::new(Parts::new(store, (sender, None), NodeOptions::default(), inbox)), commands)
}

/// Endpoint 1 of application 1, with an address.
pub(super) fn endpoint(url: String) -> Endpoint {
    let secrets = vec![Secret { kind: SecretKind::Symmetric, key: vec![7; 32], until: None }];
    Endpoint { url, secrets, headers: Vec::new(), ..fixture::endpoint(1, 1) }
}

pub(super) async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, work).await.expect("it comes in time")
}
