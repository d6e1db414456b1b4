//! A client whose requests are calls under a policy.

use ::reqwest::{IntoUrl, Method, Request, RequestBuilder, Response};

use super::engine::Engine;
use super::{CallOptions, Options, SendError};
use crate::{Error, Ledgers, Policy, Remedy};

/// Settings of a client that makes no retries by itself, so that none escape budget and count.
pub fn client_builder() -> ::reqwest::ClientBuilder {
    ::reqwest::Client::builder().retry(::reqwest::retry::never())
}

/// reqwest's client, making calls under a policy. Clones share budgets and breakers.
///
/// ```no_run
/// use stagger::Policy;
/// use stagger::reqwest::{Client, client_builder};
/// # async fn fetch() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::new(client_builder().build()?, Policy::default());
/// let reply = client.send(client.get("https://example.com/orders/7")).await?;
/// assert!(reply.status().is_success());
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

    /// Begins a GET request, for [`send`](Self::send).
    pub fn get(&self, url: impl IntoUrl) -> RequestBuilder {
        self.inner.get(url)
    }

    /// Begins a POST request, for [`send`](Self::send).
    pub fn post(&self, url: impl IntoUrl) -> RequestBuilder {
        self.inner.post(url)
    }

    /// Begins a PUT request, for [`send`](Self::send).
    pub fn put(&self, url: impl IntoUrl) -> RequestBuilder {
        self.inner.put(url)
    }

    /// Begins a DELETE request, for [`send`](Self::send).
    pub fn delete(&self, url: impl IntoUrl) -> RequestBuilder {
        self.inner.delete(url)
    }

    /// Begins a request, for [`send`](Self::send).
    pub fn request(&self, method: Method, url: impl IntoUrl) -> RequestBuilder {
        self.inner.request(method, url)
    }

    /// Makes the call that `request` describes.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute); also what the builder found wrong, such as a URL: then the
    /// call is permanent, and nothing is sent.
    pub async fn send(&self, request: RequestBuilder) -> Result<Response, Error<SendError>> {
        match request.build() {
            Ok(request) => self.execute(request).await,
            Err(error) => self.engine.refuse(error).await,
        }
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
        mut call: CallOptions,
    ) -> Result<Response, Error<SendError>> {
        let fresh = self.engine.fresh_client();
        let send = |request, remedy| {
            let client = match (remedy, fresh) {
                (Some(Remedy::FreshConnection), Some(fresh)) => fresh,
                _ => &self.inner,
            };
            let reply = client.execute(request);
            async move { reply.await.map_err(SendError::Reqwest) }
        };
        let report = call.report.take();
        let mut filled = crate::Report::default();
        let answer = self.engine.run(request, call, send, &mut filled).await;
        if let Some(report) = report {
            *report.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = filled;
        }
        answer
    }
}
