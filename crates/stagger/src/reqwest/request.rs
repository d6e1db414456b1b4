//! A request of the client, whose sending is a call under the policy.

use std::fmt::Display;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ::http::{HeaderMap, HeaderName, HeaderValue, Version};
use ::reqwest::{Body, IntoUrl, Method, Request, Response};
use serde::Serialize;

use super::{CallOptions, Client, SendError};
use crate::http::IdempotencyKey;
use crate::{CallReport, Error, Policy};

/// A request about to be sent by a [`Client`], made by [`Client::get`] and its neighbours.
///
/// Its methods are those of [`reqwest::RequestBuilder`](::reqwest::RequestBuilder), and the settings of
/// [`CallOptions`]. [`send`](Self::send) makes the call under the policy.
///
/// ```no_run
/// use stagger::Policy;
/// use stagger::http::IdempotencyKey;
/// use stagger::reqwest::{Client, client_builder};
/// # async fn order() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::new(client_builder().build()?, Policy::default());
/// let order = client
///     .post("https://example.com/orders")
///     .bearer_auth("secret")
///     .json(&["one bolt"])
///     .idempotency_key(IdempotencyKey::random()); // so a POST may be sent twice
/// assert!(order.send().await?.status().is_success());
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "a request does nothing until it is sent"]
pub struct RequestBuilder {
    client: Client,
    request: ::reqwest::RequestBuilder,
    call: CallOptions,
}

/// Requests, whose [`send`](RequestBuilder::send) is the call.
impl Client {
    /// Begins a GET request.
    pub fn get(&self, url: impl IntoUrl) -> RequestBuilder {
        RequestBuilder::new(self, self.inner().get(url))
    }

    /// Begins a HEAD request.
    pub fn head(&self, url: impl IntoUrl) -> RequestBuilder {
        RequestBuilder::new(self, self.inner().head(url))
    }

    /// Begins a POST request.
    pub fn post(&self, url: impl IntoUrl) -> RequestBuilder {
        RequestBuilder::new(self, self.inner().post(url))
    }

    /// Begins a PUT request.
    pub fn put(&self, url: impl IntoUrl) -> RequestBuilder {
        RequestBuilder::new(self, self.inner().put(url))
    }

    /// Begins a PATCH request.
    pub fn patch(&self, url: impl IntoUrl) -> RequestBuilder {
        RequestBuilder::new(self, self.inner().patch(url))
    }

    /// Begins a DELETE request.
    pub fn delete(&self, url: impl IntoUrl) -> RequestBuilder {
        RequestBuilder::new(self, self.inner().delete(url))
    }

    /// Begins a request of any method.
    pub fn request(&self, method: Method, url: impl IntoUrl) -> RequestBuilder {
        RequestBuilder::new(self, self.inner().request(method, url))
    }
}

impl RequestBuilder {
    fn new(client: &Client, request: ::reqwest::RequestBuilder) -> Self {
        Self { client: client.clone(), request, call: CallOptions::new() }
    }

    /// Adds a header.
    pub fn header<K, V>(self, name: K, value: V) -> Self
    where
        HeaderName: TryFrom<K>,
        <HeaderName as TryFrom<K>>::Error: Into<::http::Error>,
        HeaderValue: TryFrom<V>,
        <HeaderValue as TryFrom<V>>::Error: Into<::http::Error>,
    {
        self.map(|request| request.header(name, value))
    }

    /// Sets headers, in place of those of the same names.
    pub fn headers(self, headers: HeaderMap) -> Self {
        self.map(|request| request.headers(headers))
    }

    /// Authenticates with a name and a password.
    pub fn basic_auth(self, name: impl Display, password: Option<impl Display>) -> Self {
        self.map(|request| request.basic_auth(name, password))
    }

    /// Authenticates with a bearer token.
    pub fn bearer_auth(self, token: impl Display) -> Self {
        self.map(|request| request.bearer_auth(token))
    }

    /// Sets the body. Bytes can always be sent again; a stream is kept while it is sent, up to
    /// [`ClientOptions::replay_limit`](super::ClientOptions::replay_limit).
    pub fn body(self, body: impl Into<Body>) -> Self {
        self.map(|request| request.body(body))
    }

    /// Adds `query` to the query string of the URL.
    pub fn query<T: Serialize + ?Sized>(self, query: &T) -> Self {
        self.map(|request| request.query(query))
    }

    /// Sends `form` as `application/x-www-form-urlencoded`.
    pub fn form<T: Serialize + ?Sized>(self, form: &T) -> Self {
        self.map(|request| request.form(form))
    }

    /// Sends `json` as `application/json`.
    pub fn json<T: Serialize + ?Sized>(self, json: &T) -> Self {
        self.map(|request| request.json(json))
    }

    /// Sends `form` as `multipart/form-data`.
    #[cfg(feature = "reqwest-multipart")]
    pub fn multipart(self, form: ::reqwest::multipart::Form) -> Self {
        self.map(|request| request.multipart(form))
    }

    /// Limits each attempt, its body included, beside the limits of the policy.
    pub fn timeout(self, limit: Duration) -> Self {
        self.map(|request| request.timeout(limit))
    }

    /// Sets the version of HTTP.
    pub fn version(self, version: Version) -> Self {
        self.map(|request| request.version(version))
    }

    /// Makes the call as `call` says, in place of all that was set for it before.
    pub fn options(mut self, call: CallOptions) -> Self {
        self.call = call;
        self
    }

    /// Makes the call under another policy; see [`CallOptions::policy`].
    pub fn policy(self, policy: Policy) -> Self {
        self.map_call(|call| call.policy(policy))
    }

    /// Says that the request may be sent twice; see [`CallOptions::idempotent`].
    pub fn idempotent(self) -> Self {
        self.map_call(CallOptions::idempotent)
    }

    /// Says that the request must not be sent twice; see [`CallOptions::not_idempotent`].
    pub fn not_idempotent(self) -> Self {
        self.map_call(CallOptions::not_idempotent)
    }

    /// Sends `key` on every attempt; see [`CallOptions::idempotency_key`].
    pub fn idempotency_key(self, key: IdempotencyKey) -> Self {
        self.map_call(|call| call.idempotency_key(key))
    }

    /// Reads the whole reply within the attempt, at most `limit` bytes; see
    /// [`CallOptions::buffered`].
    pub fn buffered(self, limit: usize) -> Self {
        self.map_call(|call| call.buffered(limit))
    }

    /// Fills in `report` when the call ends.
    pub fn report(self, report: Arc<Mutex<CallReport>>) -> Self {
        self.map_call(|call| call.report(report))
    }

    /// The request alone, for [`Client::execute`] or for another client.
    ///
    /// # Errors
    /// A URL, a header or a body that was none.
    pub fn build(self) -> ::reqwest::Result<Request> {
        self.request.build()
    }

    /// The same request again; `None` when its body is a stream, or when it could not be built.
    #[must_use]
    pub fn try_clone(&self) -> Option<Self> {
        let (client, call) = (self.client.clone(), self.call.clone());
        Some(Self { client, request: self.request.try_clone()?, call })
    }

    /// Makes the call. The last reply is returned as it is, whatever its status.
    ///
    /// # Errors
    /// As for [`Client::execute`]. A request that could not be built is a permanent failure.
    pub async fn send(self) -> Result<Response, Error<SendError>> {
        let Self { client, request, call } = self;
        client.call(request.build(), call).await
    }

    fn map(
        mut self,
        change: impl FnOnce(::reqwest::RequestBuilder) -> ::reqwest::RequestBuilder,
    ) -> Self {
        self.request = change(self.request);
        self
    }

    fn map_call(mut self, change: impl FnOnce(CallOptions) -> CallOptions) -> Self {
        self.call = change(self.call);
        self
    }
}
