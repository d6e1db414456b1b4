//! The pace of an endpoint's queue: its cap, its recovery, and its retry budget.

use stagger_core::budget::{Budget, Charge, Paid, Settled};
use stagger_core::{Instant, Outcome, Span, Verdict};

use super::rate_limiter::RateLimiter;
use super::recovery::{self, MICROS};
use super::rules::QueueRules;

/// The burst that a cap on the rate allows: a tenth of a second's worth. Less would cost the
/// endpoint traffic, because timers are not exact; more would be felt.
const CAP_SLACK: Span = Span::from_millis(100);

/// The same for a recovery, which must not begin with a burst: a few ticks of a timer.
const RECOVERY_SLACK: Span = Span::from_millis(5);

/// A budget that refuses still allows a retry this long after the last one: the floor of the
/// engine's default budget. Some budgets are refilled by successes only, and would hold the last
/// deliveries for ever.
const TRICKLE: Span = Span::from_secs(1);

/// The rate limits and the budget of a queue.
#[derive(Debug)]
pub(super) struct Pacer {
    cap: RateLimiter,
    recovery: RateLimiter,
    budget: Budget,
    /// The time of the last retry.
    retried_at: Instant,
    /// Before this no retry is launched.
    held_until: Instant,
}

impl Pacer {
    pub(super) fn new(rules: &QueueRules) -> Self {
        Self {
            cap: RateLimiter::default(),
            recovery: RateLimiter::default(),
            budget: Budget::new(rules.budget),
            retried_at: Instant::ORIGIN,
            held_until: Instant::ORIGIN,
        }
    }

    /// Takes over from another node, whose last attempts are not known: cap and recovery begin
    /// without slack, so that both leaders together stay below them.
    pub(super) fn take_over(
        &mut self,
        now: Instant,
        rules: &QueueRules,
        recovering_since: Option<Instant>,
    ) {
        if let Some(interval) = cap_interval(rules) {
            self.cap = RateLimiter::spent(now, interval, cap_slack(interval));
        }
        let elapsed = recovering_since.map_or(Span::ZERO, |since| now - since);
        let rate = recovery::rate(&rules.pace.recovery, elapsed);
        self.recovery = RateLimiter::spent(now, recovery::interval(rate), RECOVERY_SLACK);
    }

    /// Launches no retry before `until`.
    pub(super) fn hold_retries(&mut self, until: Instant) {
        self.held_until = self.held_until.max(until);
    }

    /// Follows another budget, which has seen nothing yet.
    pub(super) fn change(&mut self, rules: &QueueRules) {
        if rules.budget != *self.budget.plan() {
            self.budget = Budget::new(rules.budget);
        }
    }

    /// From when on an attempt may be made, as far as cap and recovery go.
    pub(super) fn opens(&self, rules: &QueueRules, recovering_since: Option<Instant>) -> Instant {
        let cap = cap_interval(rules).map(|interval| self.cap.opens(cap_slack(interval)));
        let recovery = recovering_since.map(|_| self.recovery.opens(RECOVERY_SLACK));
        cap.max(recovery).unwrap_or(Instant::ORIGIN)
    }

    /// Asks for a retry; returns its charge, if any. The error is the time at which a retry is
    /// allowed in any case.
    pub(super) fn ask(&mut self, now: Instant) -> Result<Option<Paid>, Instant> {
        if self.held_until > now {
            return Err(self.held_until);
        }
        let next = self.retried_at + TRICKLE;
        match self.budget.ask(now, Charge::Retry) {
            Some(paid) => Ok(Some(paid)),
            None if next <= now => Ok(None),
            None => Err(next),
        }
    }

    /// The attempt that was asked for does not follow, or it counts as not made.
    pub(super) fn refund(&mut self, now: Instant, paid: Option<Paid>) {
        if let Some(paid) = paid {
            self.budget.refund(now, paid);
        }
    }

    /// An attempt is launched.
    pub(super) fn launched(
        &mut self,
        now: Instant,
        rules: &QueueRules,
        recovering_since: Option<Instant>,
        is_retry: bool,
    ) {
        if is_retry {
            self.retried_at = now;
        } else {
            self.budget.on_first(now);
        }
        if let Some(interval) = cap_interval(rules) {
            self.cap.permit(now, interval);
        }
        if let Some(since) = recovering_since {
            let rate = recovery::rate(&rules.pace.recovery, now - since);
            self.recovery.permit(now, recovery::interval(rate));
        }
    }

    /// An attempt is back. One that was stopped is paid for if its receiver may have seen it: a refund would
    /// send the same retry twice for the price of one.
    pub(super) fn settled(
        &mut self,
        now: Instant,
        (outcome, written): (&Outcome, bool),
        (is_retry, paid): (bool, Option<Paid>),
    ) {
        match outcome.verdict {
            Verdict::Ok if is_retry => {
                let paid = paid.unwrap_or(Paid::FREE);
                self.budget.on_settled(now, Settled::AfterRetry(paid));
            }
            Verdict::Ok => self.budget.on_settled(now, Settled::FirstTry),
            Verdict::Cancelled if written => {}
            Verdict::Cancelled => self.refund(now, paid),
            verdict if verdict.is_retryable() => self.budget.on_settled(now, Settled::Failed),
            _ => {}
        }
    }
}

/// Attempts a second that are allowed now, rounded down, but not to none; `None` without a bound.
pub(super) fn rate(
    now: Instant,
    rules: &QueueRules,
    recovering_since: Option<Instant>,
) -> Option<u64> {
    let cap = rules.pace.rate.map(|rate| u64::from(rate.get()));
    let recovery = recovering_since
        .map(|since| (recovery::rate(&rules.pace.recovery, now - since) / MICROS).max(1));
    cap.into_iter().chain(recovery).min()
}

/// The slack that is left besides the attempt that is always allowed.
fn cap_slack(interval: Span) -> Span {
    CAP_SLACK - interval
}

fn cap_interval(rules: &QueueRules) -> Option<Span> {
    let rate = u64::from(rules.pace.rate?.get());
    Some(recovery::interval(rate * MICROS))
}
