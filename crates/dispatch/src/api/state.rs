//! The state that all handlers share, the settings of the API, and the request rate of each application.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use stagger::{Clock, Instant, Span, StdTime};
use stagger_scheduler::model::{ApplicationId, KeyHash};
use tokio::sync::MutexGuard;
use uuid::Uuid;

use super::running_exports::RunningExports;
use crate::Error;
use crate::access::{OperatorFile, Staff};
use crate::edge::{SharedAnswer, WrongKeys};
use crate::node::Node;
use crate::random::IdGenerator;

/// A running API: the node, and the API's own state.
#[derive(Clone, Debug)]
pub(super) struct Api(Arc<ApiContext>);

#[derive(Debug)]
struct ApiContext {
    node: Node,
    options: ApiOptions,
    limiter: Limiter,
    id_generator: IdGenerator,
    staff: Staff,
    ready: SharedAnswer<Result<(), Error>>,
    wrong_keys: WrongKeys,
    exports: RunningExports,
}

impl Api {
    pub(super) fn new(node: Node, options: ApiOptions) -> Self {
        let limiter = Limiter::new(options.rate);
        let id_generator = IdGenerator::default();
        let staff = Staff::new(options.admin, options.operators.clone());
        let (ready, wrong_keys) = (SharedAnswer::default(), WrongKeys::default());
        Self(Arc::new(ApiContext {
            node,
            options,
            limiter,
            id_generator,
            staff,
            ready,
            wrong_keys,
            exports: RunningExports::default(),
        }))
    }

    pub(super) fn node(&self) -> &Node {
        &self.0.node
    }

    pub(super) fn options(&self) -> &ApiOptions {
        &self.0.options
    }

    /// The address under which clients reach the dispatcher.
    pub(super) fn base(&self) -> &str {
        self.0.options.base.as_deref().unwrap_or("http://127.0.0.1:8080")
    }

    /// Whether messages can be accepted, as of this second: it costs a write.
    pub(super) async fn ready(&self) -> Result<(), Error> {
        // A stop shows at once.
        self.node().check_accepting()?;
        self.0.ready.get(self.node().ready()).await
    }

    pub(super) fn staff(&self) -> &Staff {
        &self.0.staff
    }

    pub(super) fn exports(&self) -> &RunningExports {
        &self.0.exports
    }

    pub(super) fn wrong_keys(&self) -> &WrongKeys {
        &self.0.wrong_keys
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
        self.0.node.changing().await
    }
}

/// The settings of the API; its bounds against large and many requests.
#[derive(Clone, Debug)]
pub struct ApiOptions {
    /// The key that may do everything, if there is one: default none.
    pub admin: Option<KeyHash>,
    /// The operators with keys and roles of their own: default none.
    pub operators: OperatorFile,
    /// Requests a second that each application may make, each delivery of a message counted, and at least
    /// one for each message: default no bound but the store's own pace.
    pub rate: Option<NonZeroU32>,
    /// Bytes of a request's body: default 1 MiB.
    pub max_body: usize,
    /// Bytes of a message's payload: default 256 KiB.
    pub max_payload: usize,
    /// The address under which clients reach the dispatcher, for links to the portal: default
    /// `http://127.0.0.1:8080`.
    pub base: Option<String>,
}

impl Default for ApiOptions {
    fn default() -> Self {
        let operators = OperatorFile::default();
        let (max_body, max_payload) = (1 << 20, 256 << 10);
        Self { admin: None, operators, rate: None, max_body, max_payload, base: None }
    }
}

/// The fullest bucket of a low rate: it must hold a whole batch.
const MIN_BURST: u32 = 1_000;

/// Tokens are counted in parts of a billion: a bucket that is filled `rate` times a second then gains
/// exactly `rate` parts each nanosecond.
const TOKEN: u64 = 1_000_000_000;

/// The buckets of all applications; as many as there are applications.
#[derive(Debug)]
pub(super) struct Limiter {
    rate: Option<NonZeroU32>,
    burst: u32,
    buckets: Mutex<BTreeMap<ApplicationId, ApplicationBucket>>,
}

impl Limiter {
    /// `rate` tokens a second each, or no bound. A full bucket has the tokens of one second, or at
    /// least those of a whole batch.
    pub(super) fn new(rate: Option<NonZeroU32>) -> Self {
        let burst = rate.map_or(0, NonZeroU32::get).max(MIN_BURST);
        Self::with_burst(rate, burst)
    }

    fn with_burst(rate: Option<NonZeroU32>, burst: u32) -> Self {
        Self { rate, burst, buckets: Mutex::default() }
    }

    /// Takes `tokens`, or says how long it will be until they are there. A request for more than a
    /// full bucket takes a full one.
    pub(super) fn take(&self, id: ApplicationId, tokens: u32, now: Instant) -> Result<(), Span> {
        let Some(rate) = self.rate else { return Ok(()) };
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = buckets.entry(id).or_insert_with(|| ApplicationBucket::full(self.burst, now));
        bucket.take(tokens, rate, self.burst, now)
    }

    /// Forgets an application that is gone.
    pub(super) fn forget(&self, id: ApplicationId) {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }
}

/// The remaining tokens of one application.
#[derive(Clone, Copy, Debug)]
struct ApplicationBucket {
    /// In parts of a token.
    level: u64,
    at: Instant,
}

impl ApplicationBucket {
    fn full(burst: u32, now: Instant) -> Self {
        Self { level: parts(burst), at: now }
    }

    fn take(
        &mut self,
        tokens: u32,
        rate: NonZeroU32,
        burst: u32,
        now: Instant,
    ) -> Result<(), Span> {
        let gained = now.since(self.at).as_nanos().saturating_mul(rate.get().into());
        self.level = self.level.saturating_add(gained).min(parts(burst));
        self.at = self.at.max(now);
        let price = parts(tokens.min(burst));
        match self.level.checked_sub(price) {
            Some(left) => {
                self.level = left;
                Ok(())
            }
            None => Err(Span::from_nanos((price - self.level).div_ceil(rate.get().into()))),
        }
    }
}

fn parts(tokens: u32) -> u64 {
    u64::from(tokens) * TOKEN
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    const START: Instant = Instant::ORIGIN;

    fn app(n: u128) -> ApplicationId {
        ApplicationId::from_uuid(Uuid::from_u128(n))
    }

    fn rate(n: u32) -> Option<NonZeroU32> {
        NonZeroU32::new(n)
    }

    #[test]
    fn a_rate_that_does_not_divide_a_second_drifted() {
        let limiter = Limiter::with_burst(rate(3), 2);
        assert_eq!(limiter.take(app(1), 2, START), Ok(()));
        let third = Span::from_nanos(333_333_334);
        assert_eq!(limiter.take(app(1), 1, START), Err(third));
        let mut taken = 0;
        for n in 1..=3_000_u64 {
            let now = START + Span::from_nanos(n * 1_000_000_000 / 3 + 1);
            taken += u32::from(limiter.take(app(1), 1, now).is_ok());
        }
        assert_eq!(taken, 3_000);
    }

    #[test]
    fn one_application_emptied_the_bucket_of_another() {
        let limiter = Limiter::with_burst(rate(1), 2);
        assert_eq!(limiter.take(app(1), 2, START), Ok(()));
        assert!(limiter.take(app(1), 1, START).is_err());
        assert_eq!(limiter.take(app(2), 2, START), Ok(()));
    }

    #[test]
    fn a_batch_larger_than_the_bucket_would_never_have_passed() {
        let limiter = Limiter::with_burst(rate(10), 5);
        assert_eq!(limiter.take(app(1), 1_000, START), Ok(()));
        assert_eq!(limiter.take(app(1), 1_000, START), Err(Span::from_millis(500)));
    }

    #[test]
    fn a_clock_that_steps_back_gave_nothing_away() {
        let limiter = Limiter::with_burst(rate(1), 1);
        let later = START + Span::from_secs(100);
        assert_eq!(limiter.take(app(1), 1, later), Ok(()));
        assert!(limiter.take(app(1), 1, START).is_err());
        assert!(limiter.take(app(1), 1, later).is_err());
    }

    proptest! {
        /// Against a bucket kept in exact fractions of 128 bits.
        #[test]
        fn no_more_passes_than_the_rate_and_the_burst_allow(
            per_second in 1..5_000_u32,
            burst in 1..50_u32,
            steps in proptest::collection::vec((0..400_000_000_u64, 1..10_u32), 1..200),
        ) {
            let limiter = Limiter::with_burst(rate(per_second), burst);
            let (mut now, mut level) = (0_u64, u128::from(burst) * 1_000_000_000);
            for (pause, tokens) in steps {
                now += pause;
                level = (level + u128::from(pause) * u128::from(per_second)).min(u128::from(burst) * 1_000_000_000);
                let price = u128::from(tokens.min(burst)) * 1_000_000_000;
                let passes = level >= price;
                let answer = limiter.take(app(1), tokens, Instant::from_nanos(now));
                prop_assert_eq!(answer.is_ok(), passes);
                if passes {
                    level -= price;
                }
                if let Err(delay) = answer {
                    let there = level + u128::from(delay.as_nanos()) * u128::from(per_second);
                    prop_assert!(there >= price);
                }
            }
        }
    }
}
