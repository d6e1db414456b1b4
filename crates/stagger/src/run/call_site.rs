//! Calls without a retrier of their own: the place in the code that makes them is their destination.

use std::future::Future;
use std::ops::Deref;
use std::panic::Location;
use std::sync::OnceLock;

use stagger_core::Policy;

use super::call_context::CallContext;
use super::operation::Plain;
use super::{Blocking, Destination, Error, Retrier, RetryCall};
use crate::clock::{Clock, StdTime, TokioTime};
use crate::ledger::LocalLedger;

/// Places in the code that have a budget of their own: far more than people write, at 2 KB each once they are used.
/// Those beyond share one.
const SITES: usize = 1_024;

static KNOWN: [OnceLock<Box<KnownSite>>; SITES] = [const { OnceLock::new() }; SITES];
static OTHERS: OnceLock<Box<KnownSite>> = OnceLock::new();

/// The retriers of one place in the code, which share plan and ledger.
#[derive(Debug)]
pub struct KnownSite {
    location: &'static Location<'static>,
    blocking: Retrier<StdTime>,
    asynch: Retrier<TokioTime>,
}

/// A place in the code as the destination of its calls.
#[derive(Debug)]
pub struct CallSite<Z: 'static = TokioTime> {
    location: &'static Location<'static>,
    retrier: Option<SiteRetrier<Z>>,
}

/// The retrier of a place in the code.
#[derive(Clone, Debug)]
pub enum SiteRetrier<Z: 'static> {
    /// The one that all its calls share.
    Shared(&'static Retrier<Z>),
    /// One with the same ledger under another policy.
    Own(Box<Retrier<Z>>),
}

/// A call of `op` with jitter, and a budget that the calls made at this place in the code share.
///
/// The policy is [`Policy::default`]: three attempts, delays with full jitter from 100 ms up, and of the first attempts
/// lately a tenth in retries. [`policy`](RetryCall::policy) takes another. What is worth another attempt is said by
/// [`when`](RetryCall::when), or by the error type itself ([`Classify`](crate::Classify)).
///
/// The budget is found by [`Location::caller`]: one for each place in the source that calls this function, up to 1024
/// of them, and one for all the others. So a helper that wraps this call has one budget for all that use it, unless it
/// is `#[track_caller]` itself. Calls to one destination from several places, and calls from one place to several
/// destinations, want a [`Retrier`] for each destination.
///
/// ```
/// # #[cfg(feature = "tokio")] fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
/// use std::io::{Error, ErrorKind};
/// use std::sync::atomic::{AtomicU32, Ordering};
/// static TRIES: AtomicU32 = AtomicU32::new(0);
/// async fn connect() -> Result<(), Error> {
///     if TRIES.fetch_add(1, Ordering::Relaxed) < 2 { Err(ErrorKind::ConnectionRefused.into()) } else { Ok(()) }
/// }
/// stagger::retry(|| connect()).await?;
/// assert_eq!(TRIES.load(Ordering::Relaxed), 3);
/// # Ok(()) })}
/// # #[cfg(not(feature = "tokio"))] fn main() {}
/// ```
#[track_caller]
pub fn retry<T, E, F, Fut>(op: F) -> RetryCall<'static, CallSite, Plain<F>, T, E>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    RetryCall::new(CallSite::here(), Plain(op))
}

/// The blocking twin of [`retry`]: the call is made by [`call`](RetryCall::call).
///
/// ```
/// let answer = stagger::retry_blocking(|| std::fs::read_to_string("/dev/null")).call()?;
/// assert_eq!(answer, "");
/// # Ok::<(), stagger::Error<std::io::Error>>(())
/// ```
#[track_caller]
pub fn retry_blocking<T, E, F>(
    op: F,
) -> RetryCall<'static, CallSite<StdTime>, Blocking<Plain<F>>, T, E>
where
    F: FnMut() -> Result<T, E>,
{
    RetryCall::new(CallSite::here(), Blocking::new(Plain(op)))
}

/// A call whose attempts change a `context`, as [`Retrier::context`], with the budget of this place in the code.
#[track_caller]
pub fn context<C>(context: C) -> CallContext<CallSite, C> {
    CallContext::new(CallSite::here(), context)
}

/// The return type of a function under the attribute [`retry`](macro@crate::retry).
#[diagnostic::on_unimplemented(
    message = "a function under `#[stagger::retry]` returns `Result<T, stagger::Error<E>>`, not `{Self}`",
    note = "its body returns `Result<T, E>`; the caller gets the end of the call with the last error inside"
)]
pub trait Retried {
    /// The result of one attempt, which the body returns.
    type Attempt;
}

impl<T, E> Retried for Result<T, Error<E>> {
    type Attempt = Result<T, E>;
}

/// Closures and async functions that can be retried as they are.
///
/// ```
/// # #[cfg(feature = "tokio")] fn main() -> std::io::Result<()> {
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
/// use stagger::{Policy, Retryable};
/// async fn fetch() -> Result<u32, &'static str> { Err("busy") }
/// let failed = fetch.retry(Policy::interactive()).when(|error| *error == "busy").await;
/// assert_eq!(failed.map_err(|error| error.attempts()), Err(3));
/// # Ok(()) })}
/// # #[cfg(not(feature = "tokio"))] fn main() {}
/// ```
pub trait Retryable<T, E, Fut>: FnMut() -> Fut + Sized
where
    Fut: Future<Output = Result<T, E>>,
{
    /// A call under `policy`, with the budget of this place in the code: see [`retry`].
    #[track_caller]
    fn retry(self, policy: Policy) -> RetryCall<'static, CallSite, Plain<Self>, T, E> {
        retry(self).policy(policy)
    }
}

impl<F, T, E, Fut> Retryable<T, E, Fut> for F
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
}

/// Blocking closures and functions that can be retried as they are.
///
/// ```
/// use stagger::{Policy, RetryableBlocking};
/// fn fetch() -> Result<u32, &'static str> { Ok(42) }
/// assert_eq!(fetch.retry_blocking(Policy::interactive()).when(|_| true).call(), Ok(42));
/// ```
pub trait RetryableBlocking<T, E>: FnMut() -> Result<T, E> + Sized {
    /// A call under `policy`, with the budget of this place in the code: see [`retry_blocking`].
    #[track_caller]
    fn retry_blocking(
        self,
        policy: Policy,
    ) -> RetryCall<'static, CallSite<StdTime>, Blocking<Plain<Self>>, T, E> {
        retry_blocking(self).policy(policy)
    }
}

impl<F, T, E> RetryableBlocking<T, E> for F where F: FnMut() -> Result<T, E> {}

impl<'r, Z: SiteTime, O, T, E, J> RetryCall<'r, CallSite<Z>, O, T, E, J> {
    /// Calls under `policy`. The first policy that a place in the code uses decides its budget and breaker; later
    /// ones set all the rest of their calls.
    pub fn policy(self, policy: Policy) -> Self {
        self.to(|site| CallSite { retrier: Some(SiteRetrier::at(site.location, policy)), ..site })
    }

    /// Waits by another time, such as the timer of another runtime; after [`policy`](Self::policy).
    ///
    /// ```
    /// # use std::{future::{IntoFuture, ready}, pin::pin, task::{Context, Poll, Waker}, time::Duration};
    /// # fn timer_of_your_runtime(_: Duration) -> std::future::Ready<()> { ready(()) }
    /// let call = stagger::retry(|| ready(Err::<(), _>("busy"))).when(|_| true);
    /// let call = call.time(|delay: Duration| timer_of_your_runtime(delay));
    /// let ended = pin!(call.into_future()).poll(&mut Context::from_waker(Waker::noop()));
    /// # use std::future::Future;
    /// assert!(matches!(ended, Poll::Ready(Err(error)) if error.attempts() == 3));
    /// ```
    pub fn time<Y: Clock>(self, time: Y) -> RetryCall<'r, Box<Retrier<Y>>, O, T, E, J> {
        self.to(|site| Box::new(Retrier::clone(&site.into_retrier()).with_time(time)))
    }
}

impl<Z> CallSite<Z> {
    #[track_caller]
    fn here() -> Self {
        Self { location: Location::caller(), retrier: None }
    }
}

impl<Z: SiteTime> SiteRetrier<Z> {
    fn at(location: &'static Location<'static>, policy: Policy) -> Self {
        let shared = Z::retrier(KnownSite::at(location, || policy));
        if *shared.policy() == policy {
            return Self::Shared(shared);
        }
        Self::Own(Box::new(shared.clone().under(policy)))
    }
}

impl KnownSite {
    /// The site of this place, known from its first call on.
    fn at(location: &'static Location<'static>, policy: impl Fn() -> Policy) -> &'static Self {
        let first = location.line().wrapping_mul(0x9E37_79B1) ^ location.column();
        // OK because only the lower bits count, and 32 bits fit everywhere that has this many sites.
        let first = first as usize;
        for step in 0..SITES {
            let place = &KNOWN[first.wrapping_add(step) % SITES];
            let site = place.get_or_init(|| Self::new(location, policy()));
            if site.is_at(location) {
                return site;
            }
        }
        OTHERS.get_or_init(|| Self::new(location, policy()))
    }

    #[cold]
    fn new(location: &'static Location<'static>, policy: Policy) -> Box<Self> {
        let blocking = Retrier::new(policy, StdTime);
        let asynch = blocking.clone().with_time(TokioTime);
        Box::new(Self { location, blocking, asynch })
    }

    /// One place may have several locations, one for each unit that the compiler makes code for.
    #[inline]
    fn is_at(&self, location: &'static Location<'static>) -> bool {
        std::ptr::eq(self.location, location) || self.location == location
    }
}

/// A time by which the calls of a place in the code wait.
pub trait SiteTime: Clock + Clone + 'static {
    /// The retriers of that place that wait by it.
    #[doc(hidden)]
    fn retrier(site: &KnownSite) -> &Retrier<Self>;
}

impl SiteTime for StdTime {
    fn retrier(site: &KnownSite) -> &Retrier<Self> {
        &site.blocking
    }
}

impl SiteTime for TokioTime {
    fn retrier(site: &KnownSite) -> &Retrier<Self> {
        &site.asynch
    }
}

impl<Z: SiteTime> Destination for CallSite<Z> {
    type Time = Z;
    type Ledger = LocalLedger;
    type Retrier = SiteRetrier<Z>;

    #[inline]
    fn into_retrier(self) -> SiteRetrier<Z> {
        let site = || Z::retrier(KnownSite::at(self.location, Policy::default));
        self.retrier.unwrap_or_else(|| SiteRetrier::Shared(site()))
    }
}

impl<Z> Deref for SiteRetrier<Z> {
    type Target = Retrier<Z>;

    #[inline]
    fn deref(&self) -> &Retrier<Z> {
        match self {
            Self::Shared(retrier) => retrier,
            Self::Own(retrier) => retrier,
        }
    }
}
