//! The state that all handlers share, and the settings of the API.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use stagger::{Clock, Instant, Span, StdTime};
use tokio::sync::MutexGuard;
use uuid::Uuid;

use super::rate::Limiter;
use crate::Error;
use crate::model::{IdGenerator, KeyHash};
use crate::node::Node;

/// A running API: the node, and the API's own state.
#[derive(Clone, Debug)]
pub(super) struct Api(Arc<ApiContext>);

#[derive(Debug)]
struct ApiContext {
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
        Self(Arc::new(ApiContext { node, options, limiter, id_generator, changes }))
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

/// The settings of the API; its bounds against large and many requests.
#[derive(Clone, Copy, Debug)]
pub struct ApiOptions {
    /// The key that may do everything, if there is one: default none.
    pub admin: Option<KeyHash>,
    /// Requests a second that each application may make, messages of a batch counted one by one:
    /// default no bound but the store's own pace.
    pub rate: Option<NonZeroU32>,
    /// Bytes of a request's body: default 1 MiB.
    pub max_body: usize,
    /// Bytes of a message's payload: default 256 KiB.
    pub max_payload: usize,
}

impl Default for ApiOptions {
    fn default() -> Self {
        Self { admin: None, rate: None, max_body: 1 << 20, max_payload: 256 << 10 }
    }
}
