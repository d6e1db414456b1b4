//! The client of one version of HTTP, with connections of its own for each runtime that asks.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use http::Request;
use http_body_util::combinators::UnsyncBoxBody;
use hyper_util::client::legacy::{Builder, Client, ResponseFuture};
use tokio::runtime::{Handle, Id};

use super::connector::UpstreamConnector;
use super::outcome::BoxError;
use crate::edge::AwaitedBody;

/// The body of a request, whatever it was made of.
type UpstreamBody = AwaitedBody<UnsyncBoxBody<Bytes, BoxError>>;

/// The client of one version of HTTP. Clones share their connections.
///
/// A connection belongs to the runtime that opened it. A request that had to wait for a connection of another thread's
/// runtime would wake that thread and be woken by it, which takes longer than all else that a proxy does.
#[derive(Clone)]
pub(crate) struct UpstreamClient(Arc<ClientParts>);

struct ClientParts {
    builder: Builder,
    connector: UpstreamConnector,
    /// As many as there are runtimes that serve connections.
    by_runtime: RwLock<Vec<(Id, Client<UpstreamConnector, UpstreamBody>)>>,
}

impl UpstreamClient {
    /// A client that has no connection yet.
    pub(super) fn new(builder: Builder, connector: UpstreamConnector) -> Self {
        Self(Arc::new(ClientParts { builder, connector, by_runtime: RwLock::default() }))
    }

    /// Sends a request from the runtime that this is called from.
    pub(super) fn request(&self, request: Request<UpstreamBody>) -> ResponseFuture {
        let ClientParts { builder, connector, by_runtime } = &*self.0;
        let own = Handle::current().id();
        let known = by_runtime.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, client)) = known.iter().find(|(runtime, _)| *runtime == own) {
            return client.request(request);
        }
        drop(known);
        // Tasks of one runtime may both be here: the first makes the client of both.
        let mut known = by_runtime.write().unwrap_or_else(PoisonError::into_inner);
        let at = known.iter().position(|(runtime, _)| *runtime == own).unwrap_or_else(|| {
            known.push((own, builder.build(connector.clone())));
            known.len() - 1
        });
        known[at].1.request(request)
    }
}

impl fmt::Debug for UpstreamClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamClient")
            .field("connector", &self.0.connector)
            .finish_non_exhaustive()
    }
}
