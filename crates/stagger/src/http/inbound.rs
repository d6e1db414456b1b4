//! Attempt headers on the way in: the attempts of the caller, and the mark of the task that serves it.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use ::http::HeaderMap;
use pin_project_lite::pin_project;

use crate::run::Inside;

/// The attempts that the caller of a request has made, read from the headers that it sent.
///
/// | header | written by | number of the attempt | the caller retries |
/// | --- | --- | --- | --- |
/// | `stagger-attempt` | [`AttemptHeaders`](super::AttemptHeaders) | the value | yes |
/// | `grpc-previous-rpc-attempts` | gRPC's clients, from the second attempt on (gRFC A6) | the value and 1 | yes |
/// | `x-stainless-retry-count` | the SDKs of OpenAI, Anthropic and others | the value and 1 | yes |
/// | `amz-sdk-request` | the SDKs of AWS: `attempt=1; max=3` | `attempt` | unless `max` is 1 |
/// | `x-envoy-attempt-count` | Envoy and Istio, with or without retries | the value | from the second attempt on |
///
/// The highest number wins, and one header that says that the caller retries is enough. A value that
/// cannot be read is no header. The headers are the caller's word: a caller that forges them gets fewer
/// retries made on its behalf, and no one else does.
///
/// ```
/// use http::HeaderMap;
/// use stagger::http::InboundAttempt;
/// let mut headers = HeaderMap::new();
/// headers.insert("amz-sdk-request", "attempt=2; max=3".parse()?);
/// let attempt = InboundAttempt::read(&headers).expect("an attempt header");
/// assert!(attempt.caller_retries() && attempt.is_repeat());
/// assert_eq!(attempt.number(), 2);
/// # Ok::<(), http::header::InvalidHeaderValue>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InboundAttempt {
    number: u32,
    caller_retries: bool,
}

impl InboundAttempt {
    /// Attempt `number`, from 1, of a caller that retries: for a protocol that carries it elsewhere.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self { number: if number == 0 { 1 } else { number }, caller_retries: true }
    }

    /// The attempt that these headers tell of; `None` when they tell of none.
    #[must_use]
    pub fn read(headers: &HeaderMap) -> Option<Self> {
        let lines = HEADERS.iter().flat_map(|(name, read)| {
            headers.get_all(*name).iter().filter_map(|value| read(value.to_str().ok()?))
        });
        lines.reduce(|one, other| Self {
            number: one.number.max(other.number),
            caller_retries: one.caller_retries || other.caller_retries,
        })
    }

    /// The number of the attempt, from 1.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Whether this is not the first attempt: a server sheds these first.
    #[must_use]
    pub const fn is_repeat(&self) -> bool {
        self.number > 1
    }

    /// Whether the caller makes another attempt when this one fails, so that calls made for it should
    /// make one.
    #[must_use]
    pub const fn caller_retries(&self) -> bool {
        self.caller_retries
    }

    /// Marks `work` as part of this attempt: if the caller retries, calls made in it make one attempt
    /// each, as calls inside another call's attempt do. For work that a handler spawns.
    ///
    /// ```
    /// # #[cfg(feature = "tokio")] fn main() -> std::io::Result<()> {
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
    /// use stagger::http::InboundAttempt;
    /// use stagger::{Policy, Retrier, TokioTime};
    /// let retrier = Retrier::new(Policy::default(), TokioTime);
    /// let mut attempts = 0;
    /// let call = retrier.retry(|| {
    ///     attempts += 1;
    ///     async { Err::<(), _>("busy") }
    /// }).when(|_| true);
    /// assert!(InboundAttempt::new(1).scope(call).await.is_err());
    /// assert_eq!(attempts, 1, "the caller makes the others");
    /// # }); Ok(()) }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn scope<F: IntoFuture>(self, work: F) -> InboundScope<F::IntoFuture> {
        InboundScope { attempt: Some(self), work: work.into_future() }
    }
}

/// A value of a header as an attempt; `None` for one that cannot be read.
type ReadAttempt = fn(&str) -> Option<InboundAttempt>;

const HEADERS: [(&str, ReadAttempt); 5] = [
    ("stagger-attempt", |value| Some(InboundAttempt::new(number(value).filter(|n| *n > 0)?))),
    ("grpc-previous-rpc-attempts", after),
    ("x-stainless-retry-count", after),
    ("amz-sdk-request", amz_sdk_request),
    ("x-envoy-attempt-count", |value| {
        let number = number(value).filter(|number| *number > 0)?;
        Some(InboundAttempt { number, caller_retries: number > 1 })
    }),
];

/// An attempt after as many others as the value says.
fn after(value: &str) -> Option<InboundAttempt> {
    Some(InboundAttempt::new(number(value)?.saturating_add(1)))
}

/// Reads `ttl=20260218T084800Z; attempt=1; max=3`: pairs in any order, of which any may be left out.
fn amz_sdk_request(value: &str) -> Option<InboundAttempt> {
    let pair = |name| {
        let mut pairs = value.split(';').filter_map(|pair| pair.split_once('='));
        number(pairs.find(|(key, _)| key.trim() == name)?.1)
    };
    let attempt = pair("attempt").filter(|attempt| *attempt > 0)?;
    Some(InboundAttempt { number: attempt, caller_retries: pair("max") != Some(1) || attempt > 1 })
}

/// Digits alone: no sign, which `u32`'s own parser would take.
fn number(value: &str) -> Option<u32> {
    let value = value.trim_matches([' ', '\t']);
    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    // More digits than a u32 holds are many attempts, and not none.
    digits.then(|| value.parse().unwrap_or(u32::MAX))
}

thread_local! {
    static PREVIOUS: Cell<u32> = const { Cell::new(0) };
}

/// The attempts that the callers of this task made before: to be told to the servers that it calls.
pub(crate) fn previous_attempts() -> u32 {
    PREVIOUS.get()
}

pin_project! {
    /// Work that is part of a caller's attempt, from [`InboundAttempt::scope`].
    ///
    /// The mark is the thread's while the work is polled, so it is the task's; work that it spawns
    /// elsewhere is not marked.
    #[derive(Debug)]
    #[must_use = "work does nothing until it is polled"]
    pub struct InboundScope<F> {
        attempt: Option<InboundAttempt>,
        #[pin]
        work: F,
    }
}

impl<F> InboundScope<F> {
    /// Makes `work` under the mark of `attempt`, and goes on so.
    #[cfg(feature = "tower")]
    pub(crate) fn begin(attempt: Option<InboundAttempt>, work: impl FnOnce() -> F) -> Self {
        let mark = Mark::of(attempt);
        let work = work();
        drop(mark);
        Self { attempt, work }
    }
}

impl<F: Future> Future for InboundScope<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let parts = self.project();
        let _mark = Mark::of(*parts.attempt);
        parts.work.poll(context)
    }
}

/// Marks the thread until dropped, by a panic too.
struct Mark {
    before: u32,
    _inside: Option<Inside>,
}

impl Mark {
    fn of(attempt: Option<InboundAttempt>) -> Self {
        let previous = attempt.map_or(0, |attempt| attempt.number - 1);
        let retries = attempt.is_some_and(|attempt| attempt.caller_retries);
        Self { before: PREVIOUS.replace(previous), _inside: retries.then(Inside::enter) }
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        PREVIOUS.set(self.before);
    }
}

#[cfg(test)]
mod tests {
    use ::http::{HeaderName, HeaderValue};
    use proptest::prelude::*;

    use super::*;

    /// The number, and whether the caller retries.
    fn read(lines: &[(&'static str, &str)]) -> Option<(u32, bool)> {
        let lines = lines.iter().map(|(name, value)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).expect("a value"))
        });
        let mut headers = HeaderMap::new();
        lines.for_each(|(name, value)| {
            headers.append(name, value);
        });
        InboundAttempt::read(&headers).map(|attempt| (attempt.number(), attempt.caller_retries()))
    }

    #[test]
    fn each_header_counts_as_its_writer_does() {
        for (name, value, expected) in [
            ("stagger-attempt", "1", Some((1, true))),
            ("stagger-attempt", " 3\t", Some((3, true))),
            ("stagger-attempt", "0", None),
            ("grpc-previous-rpc-attempts", "1", Some((2, true))),
            ("x-stainless-retry-count", "0", Some((1, true))),
            ("x-stainless-retry-count", "2", Some((3, true))),
            ("amz-sdk-request", "attempt=1; max=3", Some((1, true))),
            ("amz-sdk-request", "attempt=1; max=1", Some((1, false))),
            ("amz-sdk-request", "ttl=20260218T084800Z; attempt=2; max=3", Some((2, true))),
            ("amz-sdk-request", "attempt=1", Some((1, true))),
            ("amz-sdk-request", "max=3", None),
            ("amz-sdk-request", "attempt=0; max=3", None),
            ("x-envoy-attempt-count", "1", Some((1, false))),
            ("x-envoy-attempt-count", "2", Some((2, true))),
            ("stagger-attempt", "99999999999", Some((u32::MAX, true))),
            ("grpc-previous-rpc-attempts", "4294967295", Some((u32::MAX, true))),
        ] {
            assert_eq!(read(&[(name, value)]), expected, "{name}: {value}");
        }
        for value in ["", "+1", "-1", "1.0", "one", "1, 2", "0x1"] {
            assert_eq!(read(&[("stagger-attempt", value)]), None, "{value:?}");
        }
    }

    #[test]
    fn a_proxy_that_counts_does_not_hide_a_caller_that_retries() {
        let both = [("x-envoy-attempt-count", "1"), ("stagger-attempt", "1")];
        assert_eq!(read(&both), Some((1, true)));
        let lines = [("stagger-attempt", "2"), ("stagger-attempt", "x"), ("stagger-attempt", "1")];
        assert_eq!(read(&lines), Some((2, true)));
        assert_eq!(read(&[("accept", "2")]), None);
    }

    #[test]
    fn a_mark_outlived_the_poll_that_set_it() {
        assert_eq!(previous_attempts(), 0);
        let outer = Mark::of(Some(InboundAttempt::new(3)));
        drop(Mark::of(Some(InboundAttempt::new(5))));
        assert_eq!(previous_attempts(), 2);
        drop(outer);
        assert_eq!(previous_attempts(), 0);
    }

    proptest! {
        #[test]
        fn any_value_is_read_or_ignored(at in 0..HEADERS.len(), bytes: Vec<u8>) {
            if let Ok(value) = HeaderValue::from_bytes(&bytes) {
                let name = HeaderName::from_static(HEADERS[at].0);
                let read = InboundAttempt::read(&HeaderMap::from_iter([(name, value)]));
                prop_assert!(read.is_none_or(|attempt| attempt.number() >= 1));
            }
        }
    }
}
