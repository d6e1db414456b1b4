//! The pace of an endpoint's queue: its cap (the generic cell rate algorithm, ITU-T I.371), its recovery,
//! and its retry budget.
//!
//! The rate of a recovery is the speed at which a backlog is sent.

use std::num::NonZeroU32;

use stagger_core::budget::{Budget, Charge, Paid, Settled};
use stagger_core::{Instant, Outcome, Span, Verdict};

use super::rules::QueueRules;
use crate::model::Recovery;

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
    /// Attempts a minute that the endpoint has allowed in its handshake, if it has bounded them.
    granted: Option<NonZeroU32>,
}

impl Pacer {
    /// The pacer of an endpoint that has granted this many attempts a minute, if it has bounded them.
    pub(super) fn new(rules: &QueueRules, granted: Option<NonZeroU32>) -> Self {
        Self {
            cap: RateLimiter::default(),
            recovery: RateLimiter::default(),
            budget: Budget::new(rules.budget),
            retried_at: Instant::ORIGIN,
            held_until: Instant::ORIGIN,
            granted,
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
        if let Some(interval) = self.cap_interval(rules) {
            self.cap = RateLimiter::spent(now, interval, cap_slack(interval));
        }
        let elapsed = recovering_since.map_or(Span::ZERO, |since| now - since);
        let rate = recovery_rate(&rules.pace.recovery, elapsed);
        self.recovery = RateLimiter::spent(now, interval(rate), RECOVERY_SLACK);
    }

    /// The endpoint allows this many attempts a minute, of which one was just made. They are spread evenly, without a burst.
    pub(super) fn grant(&mut self, now: Instant, rules: &QueueRules, granted: Option<NonZeroU32>) {
        let before = std::mem::replace(&mut self.granted, granted);
        if let Some(interval) = self.cap_interval(rules).filter(|_| before != granted) {
            self.cap.permit(now, interval);
        }
    }

    /// What the endpoint has granted does not hold any more.
    pub(super) const fn forget_grant(&mut self) {
        self.granted = None;
    }

    /// Attempts a second that are allowed now, rounded down, but not to none; `None` without a bound.
    pub(super) fn rate(
        &self,
        now: Instant,
        rules: &QueueRules,
        recovering_since: Option<Instant>,
    ) -> Option<u64> {
        let cap = rules.pace.rate.map(|rate| u64::from(rate.get()));
        let granted = self.granted.map(|rate| u64::from(rate.get() / 60).max(1));
        let recovery = recovering_since
            .map(|since| (recovery_rate(&rules.pace.recovery, now - since) / MICROS).max(1))
            .filter(|rate| *rate < UNBOUNDED);
        cap.into_iter().chain(granted).chain(recovery).min()
    }

    /// The time between two attempts under the endpoint's cap and the rate that it has granted.
    fn cap_interval(&self, rules: &QueueRules) -> Option<Span> {
        let cap = rules.pace.rate.map(|rate| interval(u64::from(rate.get()) * MICROS));
        // Rounded up, so that a minute never has one more.
        let minute = Span::from_secs(60).as_nanos();
        let granted = self.granted.map(|rate| minute.div_ceil(rate.get().into()));
        cap.max(granted.map(Span::from_nanos))
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
        let cap = self.cap_interval(rules).map(|interval| self.cap.opens(cap_slack(interval)));
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
        if let Some(interval) = self.cap_interval(rules) {
            self.cap.permit(now, interval);
        }
        if let Some(since) = recovering_since {
            let rate = recovery_rate(&rules.pace.recovery, now - since);
            self.recovery.permit(now, interval(rate));
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

/// Attempts a second that bound nothing: more than a node makes.
const UNBOUNDED: u64 = 100_000;

/// Whether a recovery has become so fast that it holds nothing back.
pub(super) fn is_unbounded(
    now: Instant,
    rules: &QueueRules,
    recovering_since: Option<Instant>,
) -> bool {
    recovering_since
        .is_some_and(|since| recovery_rate(&rules.pace.recovery, now - since) / MICROS >= UNBOUNDED)
}

/// The slack that is left besides the attempt that is always allowed.
fn cap_slack(interval: Span) -> Span {
    CAP_SLACK - interval
}

/// Allows calls at intervals; late calls may catch up, by the slack at most.
///
/// In any window of length `w` it lets through at most `1 + (w + slack) / interval`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RateLimiter {
    /// The theoretical arrival time: the time of the next call if all calls had come exactly at the
    /// rate.
    next: Instant,
}

impl RateLimiter {
    /// A limiter whose slack is used up: the next call is allowed one interval from now. For a
    /// caller that does not know how many calls were made.
    pub(super) fn spent(now: Instant, interval: Span, slack: Span) -> Self {
        Self { next: now + slack + interval }
    }

    /// From when on the next one may pass.
    pub(super) fn opens(self, slack: Span) -> Instant {
        Instant::from_nanos(self.next.as_nanos().saturating_sub(slack.as_nanos()))
    }

    /// One passes; the next comes after `interval`.
    pub(super) fn permit(&mut self, now: Instant, interval: Span) {
        self.next = self.next.max(now) + interval;
    }
}

/// Parts of one attempt: rates are counted in millionths of an attempt a second.
pub(super) const MICROS: u64 = 1_000_000;

/// The slowest start is a hundredth of the rate at the end of the first stretch: a start from nothing
/// would never let the first attempt go.
const SLOWEST_START: u128 = 100;

/// Millionths of an attempt that may be made a second, `elapsed` into a recovery; never zero, and
/// saturating.
pub(super) fn recovery_rate(recovery: &Recovery, elapsed: Span) -> u64 {
    let full = u128::from(recovery.rate.get()) * u128::from(MICROS);
    let over = u128::from(recovery.over.as_nanos());
    let gone = u128::from(elapsed.as_nanos());
    let Some(stretch) = gone.checked_div(over) else { return u64::MAX };
    let into = gone - stretch * over;
    let (from, to) = match u32::try_from(stretch).map(|stretch| stretch.checked_sub(1)) {
        Ok(None) => (start(recovery, full), full),
        // 64 doublings of any rate are beyond every count.
        Ok(Some(doublings)) if doublings < 64 => (full << doublings, full << (doublings + 1)),
        _ => return u64::MAX,
    };
    // A start above the end of the stretch is held until the end has caught up.
    let rate = from + to.saturating_sub(from).saturating_mul(into) / over;
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// The time between two attempts at `rate`, rounded up.
pub(super) fn interval(rate: u64) -> Span {
    let micro_nanos = Span::from_secs(1).as_nanos() * MICROS;
    Span::from_nanos(micro_nanos.div_ceil(rate.max(1)))
}

fn start(recovery: &Recovery, full: u128) -> u128 {
    let share = full * u128::from(recovery.from.ppm()) / u128::from(stagger_core::Ratio::SCALE);
    share.max(full / SLOWEST_START)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use proptest::prelude::*;
    use stagger_core::Ratio;

    use super::*;

    /// A bucket of tokens counted in nanoseconds of credit: the plain way to say the same.
    struct ReferenceBucket {
        credit: u128,
        at: Instant,
    }

    impl ReferenceBucket {
        fn permit(&mut self, now: Instant, interval: Span, slack: Span) -> bool {
            let full = u128::from((interval + slack).as_nanos());
            self.credit = (self.credit + u128::from((now - self.at).as_nanos())).min(full);
            self.at = now;
            let cost = u128::from(interval.as_nanos());
            let may = self.credit >= cost;
            self.credit -= if may { cost } else { 0 };
            may
        }
    }

    proptest! {
        #[test]
        fn the_gate_is_a_bucket_that_starts_full(
            interval in 1_u64..1_000,
            slack in 0_u64..5_000,
            gaps in prop::collection::vec(0_u64..2_000, 1..200),
        ) {
            let (interval, slack) = (Span::from_nanos(interval), Span::from_nanos(slack));
            let mut rate_limiter = RateLimiter::default();
            let mut now = Instant::from_nanos(1_000_000);
            let mut bucket = ReferenceBucket { credit: u128::MAX / 2, at: now };
            for gap in gaps {
                now = now + Span::from_nanos(gap);
                let open = rate_limiter.opens(slack) <= now;
                prop_assert_eq!(open, bucket.permit(now, interval, slack));
                if open {
                    rate_limiter.permit(now, interval);
                }
            }
        }

        #[test]
        fn no_window_has_more_than_its_share(
            interval in 1_u64..1_000,
            slack in 0_u64..5_000,
            gaps in prop::collection::vec(0_u64..500, 1..200),
        ) {
            let mut rate_limiter = RateLimiter::default();
            let (mut now, mut passed) = (1_000_000_u64, Vec::new());
            for gap in gaps {
                now += gap;
                let at = Instant::from_nanos(now);
                if rate_limiter.opens(Span::from_nanos(slack)) <= at {
                    rate_limiter.permit(at, Span::from_nanos(interval));
                    passed.push(now);
                }
            }
            for (i, from) in passed.iter().enumerate() {
                for (count, to) in passed[i..].iter().enumerate() {
                    prop_assert!(count as u64 <= (to - from + slack) / interval);
                }
            }
        }
    }

    fn at(secs: u64) -> u64 {
        recovery_rate(&Recovery::default(), Span::from_secs(secs)) / MICROS
    }

    #[test]
    fn a_backlog_is_not_let_loose_at_once() {
        assert_eq!([0, 5, 10, 15, 20, 30, 40].map(at), [10, 55, 100, 150, 200, 400, 800]);
    }

    #[test]
    fn settings_at_their_edges_neither_stop_a_queue_nor_overflow() {
        let rate_of = |from, rate, over, elapsed| {
            let rate_to = NonZeroU32::new(rate).unwrap();
            recovery_rate(&Recovery { from, rate: rate_to, over }, elapsed)
        };
        assert_eq!(rate_of(Ratio::ZERO, 1, Span::MAX, Span::ZERO), MICROS / 100);
        assert_eq!(rate_of(Ratio::ONE, 7, Span::ZERO, Span::ZERO), u64::MAX);
        assert_eq!(rate_of(Ratio::ONE, u32::MAX, Span::from_nanos(1), Span::MAX), u64::MAX);
        let double = Ratio::from_percent(200);
        assert_eq!(rate_of(double, 10, Span::from_secs(1), Span::from_millis(999)), 20 * MICROS);
        assert_eq!(interval(u64::MAX), Span::from_nanos(1));
        assert_eq!(interval(3 * MICROS), Span::from_nanos(333_333_334), "never above the rate");
    }

    proptest! {
        #[test]
        fn the_rate_is_the_one_a_float_would_give(
            from in 1_u32..=100,
            full in 1_u32..1_000,
            over in 1_u32..100,
            elapsed in 0_u32..1_000,
        ) {
            let recovery = Recovery {
                from: Ratio::from_percent(from),
                rate: NonZeroU32::new(full).unwrap(),
                over: Span::from_secs(over.into()),
            };
            let got = recovery_rate(&recovery, Span::from_secs(elapsed.into()));
            let (full, turn) = (f64::from(full), f64::from(elapsed) / f64::from(over));
            let naive = if turn < 1.0 {
                let from = f64::from(from) / 100.0;
                full * (from + (1.0 - from) * turn)
            } else {
                let low = full * 2_f64.powf(turn.floor() - 1.0);
                low + low * turn.fract()
            };
            // Above that a float of thousandths would not be exact; the doublings are tested by then.
            if let Ok(thousandths) = u32::try_from(got / 1_000) {
                let got = f64::from(thousandths) / 1_000.0;
                prop_assert!((got - naive).abs() <= naive * 1e-9 + 0.002, "{got} {naive}");
            } else {
                prop_assert!(naive > 4e6, "{got} {naive}");
            }
        }
    }
}
