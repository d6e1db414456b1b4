//! A client whose requests are calls under a policy.

use std::sync::PoisonError;

use ::reqwest::{IntoUrl, Method, Request, RequestBuilder, Response};

use super::engine::Engine;
use super::{CallOptions, Options, SendError};
use crate::{Error, Ledgers, Policy, Remedy, Report};

/// Settings of a client that makes no retries by itself, so that none escape budget and count.
pub fn client_builder() -> ::reqwest::ClientBuilder {
    ::reqwest::Client::builder().retry(::reqwest::retry::never())
}

/// reqwest's client, making calls under a policy. Clones share budgets and breakers.
///
/// [`get`](Self::get) and the others make a request of reqwest's; [`send`](Self::send) makes it a call
/// under the policy. The request's own `send` does not: it goes out once, past budget and breaker.
///
/// ```no_run
/// use stagger::Policy;
/// use stagger::reqwest::{CallOptions, Client, client_builder};
/// # async fn fetch() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::new(client_builder().build()?, Policy::default());
/// let reply = client.send(client.get("https://example.com/orders/7")).await?;
/// assert!(reply.status().is_success());
///
/// let order = client.post("https://example.com/orders").body("one bolt");
/// client.send_with(order, CallOptions::new().idempotent(true)).await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Client {
    inner: ::reqwest::Client,
    engine: Engine,
}

impl Client {
    /// Calls under `policy` with the defaults of [`Options`].
    #[must_use]
    pub fn new(inner: ::reqwest::Client, policy: Policy) -> Self {
        Self::with_options(inner, policy, Options::new())
    }

    /// Calls under `policy` as `options` say.
    #[must_use]
    pub fn with_options(inner: ::reqwest::Client, policy: Policy, options: Options) -> Self {
        Self { inner, engine: Engine::new(policy, options) }
    }

    /// The client below, to build requests with. What is sent by it directly is not retried.
    #[must_use]
    pub const fn inner(&self) -> &::reqwest::Client {
        &self.inner
    }

    /// Budgets and breakers of all destinations.
    #[must_use]
    pub const fn ledgers(&self) -> &Ledgers {
        self.engine.ledgers()
    }

    /// A GET request, for [`send`](Self::send).
    pub fn get(&self, url: impl IntoUrl) -> RequestBuilder {
        self.inner.get(url)
    }

    /// A HEAD request, for [`send`](Self::send).
    pub fn head(&self, url: impl IntoUrl) -> RequestBuilder {
        self.inner.head(url)
    }

    /// A POST request, for [`send`](Self::send).
    pub fn post(&self, url: impl IntoUrl) -> RequestBuilder {
        self.inner.post(url)
    }

    /// A PUT request, for [`send`](Self::send).
    pub fn put(&self, url: impl IntoUrl) -> RequestBuilder {
        self.inner.put(url)
    }

    /// A PATCH request, for [`send`](Self::send).
    pub fn patch(&self, url: impl IntoUrl) -> RequestBuilder {
        self.inner.patch(url)
    }

    /// A DELETE request, for [`send`](Self::send).
    pub fn delete(&self, url: impl IntoUrl) -> RequestBuilder {
        self.inner.delete(url)
    }

    /// A request of any method, for [`send`](Self::send).
    pub fn request(&self, method: Method, url: impl IntoUrl) -> RequestBuilder {
        self.inner.request(method, url)
    }

    /// Makes the request a call. The last reply is returned as it is, whatever its status.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute). A request that could not be built fails as a permanent
    /// attempt that nobody saw.
    pub async fn send(&self, request: RequestBuilder) -> Result<Response, Error<SendError>> {
        self.send_with(request, CallOptions::new()).await
    }

    /// The same for a call with settings of its own.
    ///
    /// # Errors
    /// As for [`send`](Self::send).
    pub async fn send_with(
        &self,
        request: RequestBuilder,
        call: CallOptions,
    ) -> Result<Response, Error<SendError>> {
        self.call(request.build(), call).await
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

    async fn call(
        &self,
        request: ::reqwest::Result<Request>,
        mut call: CallOptions,
    ) -> Result<Response, Error<SendError>> {
        let report = call.report.take();
        let mut filled = Report::default();
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
