//! The interface of an integration: one call, how it ended, and the ways to make calls.

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::{fmt, io};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::Full;
use stagger::{LocalLedger, Policy, Retrier, Stop, TokioTime};
use stagger_testkit::server::Reaction;

/// A call under way.
pub type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Makes calls, all by one client.
pub type ContractCaller = Box<dyn Fn(Ask) -> Later<CallOutcome> + Send + Sync>;

/// One way to make calls under a policy.
pub trait Integration: fmt::Debug + Send + Sync {
    /// Its name in the grid.
    fn name(&self) -> &'static str;

    /// A client under this policy and this ledger, whose other settings are those that promises need;
    /// each call is made by a clone of it.
    fn caller(&self, policy: Policy, ledger: Arc<LocalLedger>) -> ContractCaller;

    /// A client under this policy, whose other settings are those that it has by default.
    fn client(&self, policy: Policy) -> ContractCaller;

    /// Makes calls one after the other, by one [`caller`](Self::caller).
    fn calls(
        &self,
        policy: Policy,
        ledger: Arc<LocalLedger>,
        asks: Vec<Ask>,
    ) -> Later<Vec<CallOutcome>> {
        let call = self.caller(policy, ledger);
        Box::pin(async move {
            let mut ends = Vec::new();
            for ask in asks {
                ends.push(call(ask).await);
            }
            ends
        })
    }

    /// Makes a call inside an attempt of another call, which is an async one.
    fn nested(
        &self,
        policy: Policy,
        ledger: Arc<LocalLedger>,
        ask: Ask,
    ) -> Later<Vec<CallOutcome>> {
        let mut inner = Some(self.calls(policy, ledger, vec![ask]));
        Box::pin(async move {
            let outer = Retrier::new(Policy::default(), TokioTime);
            let run = outer.retry(|| {
                let inner = inner.take();
                async {
                    inner.ok_or(io::ErrorKind::Other)?.await.pop().ok_or(io::Error::other("no end"))
                }
            });
            run.await.into_iter().collect()
        })
    }

    /// Why a promise does not apply; `None` when it does.
    fn waives(&self, _promise: &str) -> Option<&'static str> {
        None
    }

    /// The reply of its protocol that HTTP gives by this status, with a reason; `None` when it has none.
    fn failure(&self, status: u16, why: &'static str) -> Option<Reaction> {
        Some(Reaction::status(status).body(why))
    }

    /// The reply of its protocol to a call that went well.
    fn success(&self) -> Reaction {
        Reaction::ok("fine")
    }
}

/// One call that an integration is asked to make.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Its method; what is idempotent follows from it.
    pub method: Method,
    /// Its address.
    pub url: String,
    /// Its body, the same for every attempt.
    pub body: Bytes,
    /// Whether the integration shall give it an idempotency key.
    pub keyed: bool,
    /// Whether its body comes as a stream, which can be read only once.
    pub streamed: bool,
}

impl Ask {
    /// A call of `url` by `method`, without a body.
    #[must_use]
    pub fn new(method: Method, url: impl Into<String>) -> Self {
        Self { method, url: url.into(), body: Bytes::new(), keyed: false, streamed: false }
    }

    /// The same with a body.
    #[must_use]
    pub fn with_body(mut self, body: &'static str) -> Self {
        self.body = Bytes::from_static(body.as_bytes());
        self
    }

    /// The same with an idempotency key of its own.
    #[must_use]
    pub const fn with_key(mut self) -> Self {
        self.keyed = true;
        self
    }

    /// The same with so many bytes as a stream.
    #[must_use]
    pub fn with_stream(mut self, bytes: usize) -> Self {
        (self.body, self.streamed) = (vec![b'x'; bytes].into(), true);
        self
    }

    /// The request of an attempt.
    ///
    /// # Errors
    /// When the address is not valid.
    pub fn request(&self) -> io::Result<Request<Full<Bytes>>> {
        let request = Request::builder().method(self.method.clone()).uri(&self.url);
        request.body(Full::new(self.body.clone())).map_err(io::Error::other)
    }

    /// By its method (RFC 9110, 9.2.2).
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        stagger::classify::is_idempotent(self.method.as_str())
    }
}

/// The end of a call.
#[derive(Debug)]
pub struct CallOutcome {
    /// The last reply with its whole body, or the last error.
    pub result: Result<Response<Bytes>, String>,
    /// Why there was no further attempt, where the integration says it.
    pub stop: Option<Stop>,
    /// Attempts, where the integration says it.
    pub attempts: Option<u32>,
}

impl CallOutcome {
    /// A call that came to no end of its own.
    pub(crate) fn failed(why: &dyn Error) -> Self {
        Self { result: Err(why.to_string()), stop: None, attempts: None }
    }

    /// The status of the last reply.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.result.as_ref().ok().map(|reply| reply.status().as_u16())
    }
}
