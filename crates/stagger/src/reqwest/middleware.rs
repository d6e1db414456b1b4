//! The policy as a middleware of reqwest-middleware.

use std::sync::{Mutex, PoisonError};

use ::http::Extensions;
use ::reqwest::{Request, Response};
use ::reqwest_middleware::{Error as ChainError, Middleware, Next};

use super::engine::Engine;
use super::{CallOptions, ClientOptions, SendError};
use crate::{CallReport, Ledgers, Policy};

/// Makes each request through a chain of middlewares a call under a policy.
///
/// Middlewares that are added after it run once for each attempt; those that are added before it run
/// once for each call. Settings of one call are a [`CallOptions`] in the extensions of the
/// request.
///
/// ```no_run
/// use reqwest_middleware::ClientBuilder;
/// use stagger::Policy;
/// use stagger::reqwest::{CallOptions, StaggerMiddleware, client_builder};
/// # async fn fetch() -> Result<(), Box<dyn std::error::Error>> {
/// let stagger = StaggerMiddleware::new(Policy::default());
/// let client = ClientBuilder::new(client_builder().build()?).with(stagger).build();
/// let request = client.get("https://example.com/").with_extension(CallOptions::new().buffered(65_536));
/// assert!(request.send().await?.status().is_success());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct StaggerMiddleware {
    engine: Engine,
}

impl StaggerMiddleware {
    /// Calls under `policy` with the defaults of [`ClientOptions`].
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self::with_options(policy, ClientOptions::new())
    }

    /// Calls under `policy` as `options` say.
    #[must_use]
    pub fn with_options(policy: Policy, mut options: ClientOptions) -> Self {
        // The client below is the chain's, so no attempt could be sent over this one.
        options.fresh = None;
        Self { engine: Engine::new(policy, options) }
    }

    /// Budgets and breakers of all destinations.
    #[must_use]
    pub const fn ledgers(&self) -> &Ledgers {
        self.engine.ledgers()
    }
}

/// A call that failed is a [`stagger::Error`](crate::Error) of [`SendError`] in the chain's error.
#[async_trait::async_trait]
impl Middleware for StaggerMiddleware {
    async fn handle(
        &self,
        request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> Result<Response, ChainError> {
        let mut call = extensions.get::<CallOptions>().cloned().unwrap_or_default();
        let report = call.report.take();
        let mut filled = CallReport::default();
        // Each attempt has a copy of the extensions; the caller gets those of the last that ended.
        let last = Mutex::new(None);
        let (before, kept) = (&*extensions, &last);
        let send = |request, _| {
            let (next, mut extensions) = (next.clone(), before.clone());
            async move {
                let reply = next.run(request, &mut extensions).await;
                *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(extensions);
                reply.map_err(|error| match error {
                    ChainError::Reqwest(error) => SendError::Reqwest(error),
                    ChainError::Middleware(error) => SendError::Middleware(error.into()),
                })
            }
        };
        let answer = self.engine.run(request, call, send, &mut filled).await;
        if let Some(after) = last.into_inner().unwrap_or_else(PoisonError::into_inner) {
            *extensions = after;
        }
        if let Some(report) = report {
            *report.lock().unwrap_or_else(PoisonError::into_inner) = filled;
        }
        answer.map_err(ChainError::middleware)
    }
}
