//! The retrier of a destination: a policy, and the state that its calls share.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use stagger_core::retry::{Launched, Ledger, Session};
use stagger_core::{Entropy, Instant, Policy, Span};

use super::call_state::DestinationView;
use super::chance::{Chance, Draw};
use super::clock_precision::ClockPrecision;
use super::retrier_plan::RetrierPlan;
use crate::clock::{Clock, TokioTime};
use crate::ledger::LocalLedger;

/// Makes calls to one destination under one policy.
///
/// Make one for each destination and clone it: clones share the budget and the breaker, which is
/// what keeps many callers from storming one server. `Z` is the time it waits by, `L` the ledger in
/// which budget and breaker remember.
///
/// ```
/// use stagger::{Policy, Retrier};
/// struct Inventory { server: Retrier }
/// let inventory = Inventory { server: Retrier::of(Policy::default()) };
/// let mut tries = 0;
/// let call = inventory.server.retry_blocking(|| {
///     tries += 1;
///     if tries < 3 { Err("busy") } else { Ok(tries) }
/// });
/// assert_eq!(call.when(|error| *error == "busy").call(), Ok(3));
/// ```
pub struct Retrier<Z = TokioTime, L = LocalLedger> {
    plan: Arc<RetrierPlan>,
    ledger: Arc<L>,
    /// Set until the caller gives a ledger: what turns a local ledger into one of this kind.
    own_kind: Option<fn(Arc<LocalLedger>) -> Arc<L>>,
    pub(super) time: Z,
    chance: Chance,
    nested: bool,
    name: Option<&'static str>,
}

impl Retrier {
    /// Calls under `policy`, with an empty ledger of its own: async calls wait by tokio's timer (feature `tokio`),
    /// blocking ones on their thread.
    #[must_use]
    pub fn of(policy: Policy) -> Self {
        Self::new(policy, TokioTime)
    }
}

impl<Z> Retrier<Z> {
    /// Calls under `policy` that wait by `time`, with an empty ledger of its own.
    #[must_use]
    pub fn new(policy: Policy, time: Z) -> Self {
        let (plan, ledger) =
            (Arc::new(RetrierPlan::new(policy)), Arc::new(LocalLedger::new(&policy)));
        let (chance, own_kind) = (Chance::default(), Some(std::convert::identity as fn(_) -> _));
        Self { plan, ledger, own_kind, time, chance, nested: false, name: None }
    }
}

impl<Z, L> Retrier<Z, L> {
    /// The same calls with another ledger, which retriers with other policies may share.
    #[must_use]
    pub fn with_ledger<M>(self, ledger: Arc<M>) -> Retrier<Z, M> {
        let Self { plan, time, chance, nested, name, .. } = self;
        Retrier { plan, ledger, own_kind: None, time, chance, nested, name }
    }

    /// The same calls, ledger included, waiting by another time: for blocking and async calls to one
    /// destination.
    #[must_use]
    pub fn with_time<Y>(self, time: Y) -> Retrier<Y, L> {
        let Self { plan, ledger, own_kind, time: _, chance, nested, name } = self;
        Retrier { plan, ledger, own_kind, time, chance, nested, name }
    }

    /// Calls of the same kind and with the same ledger under another policy.
    #[must_use]
    pub(crate) fn under(mut self, policy: Policy) -> Self {
        let mut plan = RetrierPlan::new(policy);
        // The same destination, so what was measured of it still holds.
        if policy.hedge() == self.plan.policy.hedge() {
            plan.latencies.clone_from(&self.plan.latencies);
        }
        self.plan = Arc::new(plan);
        self
    }

    /// The same calls, ledger included, for a caller that waits no longer than `asked`; `None` where the policy's own
    /// deadline is as short. A caller without any time left gets the shortest there is, which ends its call before it
    /// can succeed.
    ///
    /// ```
    /// use stagger::{Policy, Retrier, Span, StdTime};
    /// let retrier = Retrier::new(Policy::interactive(), StdTime);
    /// let second = retrier.within(Span::from_secs(1)).expect("a second is shorter");
    /// assert_eq!(second.policy().limits().deadline(), Some(Span::from_secs(1)));
    /// assert!(second.within(Span::from_secs(9)).is_none());
    /// ```
    #[must_use]
    pub fn within(&self, asked: Span) -> Option<Self>
    where
        Z: Clone,
    {
        let (asked, limits) = (asked.max(Span::from_nanos(1)), self.policy().limits());
        if limits.deadline().is_some_and(|limit| limit <= asked) {
            return None;
        }
        let mut builder = self.policy().to_builder().deadline(asked);
        if limits.min_attempt_time() >= asked {
            builder = builder.min_attempt_time(Span::ZERO);
        }
        // OK because a shorter deadline leaves everything else as valid as it was.
        builder.build().ok().map(|policy| self.clone().under(policy))
    }

    /// The conversion of a local ledger into one of this retrier's kind, if it was not given its ledger.
    #[cfg(all(feature = "http", feature = "tower"))]
    pub(crate) const fn own_kind(&self) -> Option<fn(Arc<LocalLedger>) -> Arc<L>> {
        self.own_kind
    }

    /// The time that the calls wait by.
    #[cfg(all(feature = "http", feature = "tower"))]
    pub(crate) const fn time(&self) -> &Z {
        &self.time
    }

    /// Draws from a fixed seed, for tests: every call then draws the same delays. Default: each
    /// thread's generator, seeded by the operating system.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.chance = Chance::Seed(seed);
        self
    }

    /// Draws from `source`, which the clones share behind a lock.
    #[must_use]
    pub fn with_entropy(mut self, source: impl Entropy + Send + 'static) -> Self {
        self.chance = Chance::Source(Arc::new(Mutex::new(source)));
        self
    }

    /// Retries calls that are made inside another call's attempt too. Default: such a call makes one attempt and
    /// leaves retrying to the outer call, because layers multiply: three layers of 3 attempts are 27 calls upstream.
    #[must_use]
    pub const fn with_nested_retries(mut self) -> Self {
        self.nested = true;
        self
    }

    /// Names the destination in events and metrics; see [`observe`](crate::observe). A constant, so
    /// that no request can add a label.
    ///
    /// ```
    /// use stagger::{Policy, Retrier, StdTime};
    /// let retrier = Retrier::new(Policy::default(), StdTime).named("inventory");
    /// assert_eq!(retrier.name(), Some("inventory"));
    /// ```
    #[must_use]
    pub const fn named(mut self, destination: &'static str) -> Self {
        self.name = Some(destination);
        self
    }

    /// The name of the destination, if it was given one.
    #[must_use]
    pub const fn name(&self) -> Option<&'static str> {
        self.name
    }

    /// The policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.plan.policy
    }

    /// The ledger, to be shared or read.
    #[must_use]
    pub const fn ledger(&self) -> &Arc<L> {
        &self.ledger
    }

    /// Whether a call that starts here makes one attempt, because it is inside another call's.
    #[inline]
    pub(super) const fn is_single(&self, inside: bool) -> bool {
        inside && !self.nested
    }

    /// The policy of a call, or the same with one attempt.
    #[inline]
    pub(super) fn policy_for(&self, single: bool) -> &Policy {
        self.plan.policy_for(single)
    }

    /// The facts that never change.
    #[inline]
    pub(super) fn plan(&self) -> &RetrierPlan {
        &self.plan
    }

    /// The retrier with this ledger, without its types.
    #[inline]
    pub(super) fn view<'a>(&'a self, ledger: &'a mut dyn Ledger) -> DestinationView<'a> {
        DestinationView { plan: &self.plan, chance: &self.chance, name: self.name, ledger }
    }

    /// The delay of a hedged call before its next copy, where that is measured.
    pub(super) fn hedge_delay(&self) -> Option<Span> {
        let latencies = self.plan.latencies.as_ref()?;
        let seen = latencies.lock().unwrap_or_else(PoisonError::into_inner);
        self.plan.policy.hedge().map(|plan| plan.delay(Some(&seen)))
    }

    /// The clock readings that a call needs before its first attempt has settled.
    #[inline]
    pub(super) fn precision(&self) -> ClockPrecision {
        self.plan.precision
    }

    pub(super) fn draw(&self, attempt: u32) -> Draw<'_> {
        self.chance.draw(attempt)
    }
}

impl<Z: Clock, L> Retrier<Z, L>
where
    for<'l> &'l L: Ledger,
{
    /// A copy that was launched at `since` has answered. Failures are left out: they are often fast,
    /// and a hedge delay that follows them launches copies for nothing.
    pub(super) fn record_latency(&self, since: Instant) {
        if let Some(latencies) = &self.plan.latencies {
            let now = self.time.now();
            latencies.lock().unwrap_or_else(PoisonError::into_inner).record(now, now - since);
        }
    }

    /// An attempt that was made is dropped: the budget keeps its charge, and the breaker counts nothing.
    pub(super) fn abandon(&self, mut ledger: &L, launched: Launched) {
        let mut draw = self.draw(launched.attempt.number);
        Session::abandon(&mut ledger, self.time.now(), launched, &mut draw);
    }
}

impl<Z: Clone, L> Clone for Retrier<Z, L> {
    fn clone(&self) -> Self {
        Self {
            plan: Arc::clone(&self.plan),
            ledger: Arc::clone(&self.ledger),
            own_kind: self.own_kind,
            time: self.time.clone(),
            chance: self.chance.clone(),
            nested: self.nested,
            name: self.name,
        }
    }
}

impl<Z, L> fmt::Debug for Retrier<Z, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retrier").field("policy", self.policy()).finish_non_exhaustive()
    }
}
