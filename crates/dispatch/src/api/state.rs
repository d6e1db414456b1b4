//! The state that all handlers share.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use stagger::{Clock, Instant, Span, StdTime};
use tokio::sync::MutexGuard;
use uuid::Uuid;

use super::ApiOptions;
use super::rate::Limiter;
use crate::Error;
use crate::model::IdGenerator;
use crate::node::Node;

/// A running API: the node, and the API's own state.
#[derive(Clone, Debug)]
pub(super) struct Api(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    node: Node,
    options: ApiOptions,
    limiter: Limiter,
    id_generator: IdGenerator,
    changes: tokio::sync::Mutex<()>,
}

impl Api {
    pub(super) fn new(node: Node, options: ApiOptions) -> Self {
        let limiter = Limiter::new(options.rate);
        let (id_generator, changes) = (IdGenerator::default(), tokio::sync::Mutex::default());
        Self(Arc::new(Shared { node, options, limiter, id_generator, changes }))
    }

    pub(super) fn node(&self) -> &Node {
        &self.0.node
    }

    pub(super) fn options(&self) -> &ApiOptions {
        &self.0.options
    }

    pub(super) fn limiter(&self) -> &Limiter {
        &self.0.limiter
    }

    /// The time since the Unix epoch, for stored times.
    pub(super) fn now(&self) -> Instant {
        let now = StdTime::wall().duration_since(UNIX_EPOCH).map_or(Span::ZERO, Span::from);
        Instant::ORIGIN + now
    }

    /// The time that only runs forward, for the limiter.
    pub(super) fn recent(&self) -> Instant {
        StdTime.recent()
    }

    /// Bits for the name of a new thing.
    ///
    /// # Errors
    /// The operating system has no randomness.
    pub(super) fn new_id(&self) -> Result<Uuid, Error> {
        self.0.id_generator.make(self.now())
    }

    /// The lock for reading, changing and writing settings: two concurrent changes would undo each
    /// other.
    pub(super) async fn changing(&self) -> MutexGuard<'_, ()> {
        self.0.changes.lock().await
    }
}
