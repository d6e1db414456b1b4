//! A client whose requests are calls under a policy.

use std::sync::PoisonError;

use ::reqwest::{Request, Response};

use super::engine::Engine;
use super::{CallOptions, ClientOptions, SendError};
use crate::{CallReport, Error, Ledgers, Policy, Remedy};

/// Settings of a client that makes no retries by itself, so that none escape budget and count.
pub fn client_builder() -> ::reqwest::ClientBuilder {
    ::reqwest::Client::builder().retry(::reqwest::retry::never())
}

/// reqwest's client, whose requests are calls under a policy. Clones share budgets and breakers.
///
/// ```no_run
/// use stagger::Policy;
/// use stagger::reqwest::{Client, client_builder};
/// # async fn fetch() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::new(client_builder().build()?, Policy::default());
/// let reply = client.get("https://example.com/orders/7").send().await?;
/// assert!(reply.status().is_success());
///
/// let order = client.post("https://example.com/orders").body("one bolt");
/// order.idempotent().send().await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Client {
    inner: ::reqwest::Client,
    engine: Engine,
}

impl Client {
    /// Calls under `policy` with the defaults of [`ClientOptions`].
    #[must_use]
    pub fn new(inner: ::reqwest::Client, policy: Policy) -> Self {
        Self::with_options(inner, policy, ClientOptions::new())
    }

    /// Calls under `policy` as `options` say.
    #[must_use]
    pub fn with_options(inner: ::reqwest::Client, policy: Policy, options: ClientOptions) -> Self {
        Self { inner, engine: Engine::new(policy, options) }
    }

    /// reqwest's client below. What it sends by itself goes out once, past policy, budget and breaker.
    #[must_use]
    pub const fn inner(&self) -> &::reqwest::Client {
        &self.inner
    }

    /// Budgets and breakers of all destinations.
    #[must_use]
    pub const fn ledgers(&self) -> &Ledgers {
        self.engine.ledgers()
    }

    /// Makes the call. The last reply is returned as it is, whatever its status.
    ///
    /// # Errors
    /// When there is no reply to return; the error says why, and holds the last one of an attempt.
    pub async fn execute(&self, request: Request) -> Result<Response, Error<SendError>> {
        self.execute_with(request, CallOptions::new()).await
    }

    /// The same for a call with settings of its own.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute).
    pub async fn execute_with(
        &self,
        request: Request,
        call: CallOptions,
    ) -> Result<Response, Error<SendError>> {
        self.call(Ok(request), call).await
    }

    pub(super) async fn call(
        &self,
        request: ::reqwest::Result<Request>,
        mut call: CallOptions,
    ) -> Result<Response, Error<SendError>> {
        let report = call.report.take();
        let mut filled = CallReport::default();
        let answer = match request {
            Ok(request) => {
                let send = |request, remedy| self.attempt(request, remedy);
                self.engine.run(request, call, send, &mut filled).await
            }
            Err(error) => self.engine.refuse(error, &mut filled).await,
        };
        if let Some(report) = report {
            *report.lock().unwrap_or_else(PoisonError::into_inner) = filled;
        }
        answer
    }

    async fn attempt(
        &self,
        request: Request,
        remedy: Option<Remedy>,
    ) -> Result<Response, SendError> {
        let client = match (remedy, self.engine.fresh_client()) {
            (Some(Remedy::FreshConnection), Some(fresh)) => fresh,
            _ => &self.inner,
        };
        client.execute(request).await.map_err(SendError::Reqwest)
    }
}
