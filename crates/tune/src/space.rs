//! The space of the search: the values that each setting of a policy may take, and the steps between them.

use stagger_core::adaptive::{AdaptivePlan, ClientThrottlePlan};
use stagger_core::breaker::BreakerPlan;
use stagger_core::budget::{BudgetPlan, FloorRate, WindowPlan};
use stagger_core::concurrency::ConcurrencyPlan;
use stagger_core::hedge::HedgePlan;
use stagger_core::{Backoff, Envelope, HintRule, Jitter, Policy, Rate, Ratio, Span};

use crate::dice::Dice;
use crate::source::SourceFacts;

/// The bases, as far as the deadline holds twice of them.
const BASES: [Span; 12] = [
    Span::from_millis(5),
    Span::from_millis(10),
    Span::from_millis(20),
    Span::from_millis(50),
    Span::from_millis(100),
    Span::from_millis(200),
    Span::from_millis(500),
    Span::from_secs(1),
    Span::from_secs(2),
    Span::from_secs(5),
    Span::from_secs(10),
    Span::from_secs(30),
];
/// Caps as multiples of the base.
const GROWTHS: [u64; 5] = [1, 4, 16, 64, 256];
const LAWS: [Jitter; 3] = [Jitter::Full, Jitter::Equal, Jitter::Decorrelated];
const ATTEMPTS: [u32; 9] = [1, 2, 3, 4, 5, 6, 8, 12, 20];
/// Budgets as a share of first attempts, in per cent.
const SHARES: [u32; 7] = [1, 2, 5, 10, 20, 50, 100];
/// Times of an attempt as multiples of the mean work on one.
const TIMEOUTS: [u64; 7] = [2, 3, 5, 10, 20, 50, 100];
/// Times of an attempt as parts of the deadline.
const PARTS: [u64; 4] = [2, 3, 5, 10];
/// Attempts in flight of one process as multiples of those that it has on average.
const PLACES: [f64; 4] = [1.5, 2.0, 4.0, 8.0];
/// Calls that may wait in a process for a place: the deadline bounds them sooner.
const QUEUE: u32 = 10_000;
/// Delays before a second copy as multiples of the mean work on one attempt.
const HEDGES: [u64; 3] = [2, 4, 8];

/// The values that candidates of one search may have.
#[derive(Clone, Debug)]
pub(crate) struct SearchSpace {
    deadline: Span,
    bases: Vec<Span>,
    timeouts: Vec<Option<Span>>,
    budgets: Vec<BudgetPlan>,
    breakers: Vec<Option<BreakerPlan>>,
    hedges: Vec<Option<HedgePlan>>,
    places: Vec<Option<ConcurrencyPlan>>,
    adaptive: Vec<Option<AdaptivePlan>>,
}

/// The settings of a policy that the search changes; the rest stays as it is.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PolicySettings {
    jitter: Jitter,
    base: Span,
    cap: Span,
    attempts: u32,
    timeout: Option<Span>,
    budget: BudgetPlan,
    breaker: Option<BreakerPlan>,
    hedge: Option<HedgePlan>,
    places: Option<ConcurrencyPlan>,
    adaptive: Option<AdaptivePlan>,
    hints: HintRule,
    throttled: Option<Backoff>,
}

impl SearchSpace {
    pub(crate) fn new(deadline: Span, facts: &SourceFacts) -> Self {
        let fits = |base: &Span| base.saturating_mul(2) <= deadline;
        let bases: Vec<Span> = BASES.into_iter().filter(fits).collect();
        let hedge = |times: &u64| {
            let delay = facts.service.saturating_mul(*times);
            let plan = HedgePlan::fixed(delay, 2).ok().filter(|_| !delay.is_zero());
            plan.filter(|_| delay < deadline).map(Some)
        };
        Self {
            deadline,
            bases: if bases.is_empty() { vec![BASES[0]] } else { bases },
            timeouts: timeouts(deadline, facts.service),
            budgets: budgets(),
            breakers: or_none(breakers(deadline)),
            hedges: std::iter::once(None).chain(HEDGES.iter().filter_map(hedge)).collect(),
            places: or_none(places(deadline, facts)),
            adaptive: or_none(vec![AdaptivePlan::Throttle(ClientThrottlePlan::default())]),
        }
    }

    /// A policy of drawn settings. Breaker, hedge, limit and adaptive limit are drawn for a quarter of the
    /// policies each, so that many have none of them.
    pub(crate) fn random(&self, dice: &mut Dice) -> Option<Policy> {
        let base = *dice.one_of(&self.bases);
        let settings = PolicySettings {
            jitter: *dice.one_of(&LAWS),
            base,
            cap: base.saturating_mul(*dice.one_of(&GROWTHS)),
            attempts: *dice.one_of(&ATTEMPTS),
            timeout: *dice.one_of(&self.timeouts),
            budget: *dice.one_of(&self.budgets),
            breaker: seldom(dice, &self.breakers),
            hedge: seldom(dice, &self.hedges),
            places: seldom(dice, &self.places),
            adaptive: seldom(dice, &self.adaptive),
            hints: HintRule::default(),
            throttled: None,
        };
        self.build(settings)
    }

    /// The policies that differ from this one by one step of one setting.
    pub(crate) fn neighbours(&self, policy: &Policy) -> Vec<Policy> {
        let from = PolicySettings::of(policy);
        let growth = GROWTHS.map(|times| from.base.saturating_mul(times));
        let mut all: Vec<PolicySettings> = Vec::new();
        all.extend(others(&LAWS, &from.jitter).map(|jitter| PolicySettings { jitter, ..from }));
        all.extend(beside(&self.bases, from.base).map(|base| {
            // The growth from base to cap stays, so that one step is one change.
            let times = from.cap.as_nanos() / from.base.as_nanos().max(1);
            PolicySettings { base, cap: base.saturating_mul(times.max(1)), ..from }
        }));
        all.extend(beside(&growth, from.cap).map(|cap| PolicySettings { cap, ..from }));
        all.extend(
            beside(&ATTEMPTS, from.attempts).map(|attempts| PolicySettings { attempts, ..from }),
        );
        all.extend(
            others(&self.timeouts, &from.timeout).map(|timeout| PolicySettings { timeout, ..from }),
        );
        all.extend(
            others(&self.budgets, &from.budget).map(|budget| PolicySettings { budget, ..from }),
        );
        all.extend(
            others(&self.breakers, &from.breaker).map(|breaker| PolicySettings { breaker, ..from }),
        );
        all.extend(others(&self.hedges, &from.hedge).map(|hedge| PolicySettings { hedge, ..from }));
        all.extend(
            others(&self.places, &from.places).map(|places| PolicySettings { places, ..from }),
        );
        all.extend(
            others(&self.adaptive, &from.adaptive)
                .map(|adaptive| PolicySettings { adaptive, ..from }),
        );
        all.into_iter().filter_map(|settings| self.build(settings)).collect()
    }

    /// The policy of these settings, unless the engine refuses them together. A policy of one attempt
    /// needs no budget and has no delay, so all such policies are one.
    fn build(&self, settings: PolicySettings) -> Option<Policy> {
        let PolicySettings { jitter, base, cap, attempts, timeout, budget, breaker, hedge, .. } =
            settings;
        let backoff = match attempts {
            1 => Backoff::default(),
            _ => Backoff::exponential(base, cap.max(base)).ok()?.with_jitter(jitter).ok()?,
        };
        let budget = if attempts == 1 { BudgetPlan::default() } else { budget };
        let mut builder = Policy::builder()
            .backoff(backoff)
            .max_attempts(attempts)
            .deadline(self.deadline)
            .hints(settings.hints)
            .budget(budget);
        if let Some(rule) = settings.throttled.filter(|_| attempts > 1) {
            builder = builder.throttled_backoff(rule);
        }
        if let Some(limit) = timeout {
            builder = builder.attempt_timeout(limit);
        }
        if let Some(plan) = breaker {
            builder = builder.breaker(plan);
        }
        if let Some(plan) = hedge.filter(|_| attempts > 1) {
            builder = builder.hedge(plan);
        }
        if let Some(plan) = settings.places {
            builder = builder.concurrency_limit(plan);
        }
        if let Some(plan) = settings.adaptive {
            builder = builder.adaptive(plan);
        }
        builder.build().ok()
    }
}

impl PolicySettings {
    /// The settings of a policy. An envelope that the search has no steps for is read as the
    /// exponential one of its base and cap.
    fn of(policy: &Policy) -> Self {
        let rule = policy.backoff();
        let cap = match rule.envelope() {
            Envelope::Constant => rule.base(),
            _ => rule.cap(),
        };
        Self {
            jitter: rule.jitter(),
            base: rule.base(),
            cap,
            attempts: policy.limits().max_attempts().unwrap_or(ATTEMPTS[ATTEMPTS.len() - 1]),
            timeout: policy.limits().attempt_timeout(),
            budget: *policy.budget(),
            breaker: policy.breaker().copied(),
            hedge: policy.hedge().copied(),
            places: policy.concurrency_limit().copied(),
            adaptive: policy.adaptive().copied(),
            hints: *policy.hints(),
            throttled: Some(*policy.throttled_backoff()).filter(|own| own != rule),
        }
    }
}

/// The neighbours of a value in an ascending list: the next below and the next above.
fn beside<T: Copy + PartialOrd>(list: &[T], value: T) -> impl Iterator<Item = T> {
    let below = list.iter().copied().rfind(|other| *other < value);
    let above = list.iter().copied().find(|other| *other > value);
    below.into_iter().chain(above)
}

/// All values of a list but this one.
fn others<'l, T: Copy + PartialEq>(list: &'l [T], value: &T) -> impl Iterator<Item = T> + 'l {
    let value = *value;
    list.iter().copied().filter(move |other| *other != value)
}

/// One of the values in a quarter of the draws, and else none.
fn seldom<T: Copy>(dice: &mut Dice, list: &[Option<T>]) -> Option<T> {
    let drawn = *dice.one_of(list);
    if dice.below(4) == 0 { drawn } else { None }
}

/// No value, and each of these.
fn or_none<T>(values: Vec<T>) -> Vec<Option<T>> {
    std::iter::once(None).chain(values.into_iter().map(Some)).collect()
}

/// Limits of one process by Little's law: multiples of the attempts that it has in flight on average,
/// without a queue, and with one in which calls wait until their deadline. A call that gives up in
/// such a queue costs the server nothing.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn places(deadline: Span, facts: &SourceFacts) -> Vec<ConcurrencyPlan> {
    let usual = facts.rps * facts.service.as_secs_f64();
    // OK because a cast from float to integer saturates.
    let mut counts = PLACES.map(|times| libm::ceil(usual * times) as u32).to_vec();
    counts.dedup();
    let plans = counts.into_iter().filter_map(|count| ConcurrencyPlan::new(count).ok());
    let both = |plan: ConcurrencyPlan| [Some(plan), plan.with_queue(QUEUE, deadline).ok()];
    plans.flat_map(both).flatten().collect()
}

/// No limit, multiples of the work on one attempt, and parts of the deadline; all of them shorter than
/// the deadline.
fn timeouts(deadline: Span, service: Span) -> Vec<Option<Span>> {
    let of_service = TIMEOUTS.map(|times| service.saturating_mul(times));
    let of_deadline = PARTS.map(|part| Span::from_nanos(deadline.as_nanos() / part));
    let mut all: Vec<Span> = of_service.into_iter().chain(of_deadline).collect();
    all.retain(|limit| !limit.is_zero() && *limit < deadline);
    all.sort_unstable();
    all.dedup();
    std::iter::once(None).chain(all.into_iter().map(Some)).collect()
}

/// No budget, and shares of first attempts with the default floor and without one.
fn budgets() -> Vec<BudgetPlan> {
    let plan = |percent| WindowPlan::new(Ratio::from_percent(percent)).ok();
    let shares = SHARES.into_iter().filter_map(plan);
    let both = shares.flat_map(|plan| [plan, plan.with_floor(FloorRate::Add(Rate::ZERO))]);
    std::iter::once(BudgetPlan::Unlimited).chain(both.map(BudgetPlan::from)).collect()
}

/// The default breaker, one that opens sooner and for shorter, each with a ramp as well, one that opens
/// late, and one that opens when calls are slow.
fn breakers(deadline: Span) -> Vec<BreakerPlan> {
    let second = Span::from_secs(1);
    let soon = || {
        let plan = BreakerPlan::builder().ratio(Ratio::from_percent(30)).minimum_calls(10);
        plan.window(Span::from_secs(5)).open_time(second).open_cap(Span::from_secs(10))
    };
    let tenth = Ratio::from_percent(10);
    let half = Span::from_nanos(deadline.as_nanos() / 2);
    let all = [
        BreakerPlan::builder(),
        BreakerPlan::builder().ramp(tenth, Span::from_secs(10)),
        soon(),
        soon().ramp(tenth, Span::from_secs(5)),
        BreakerPlan::builder()
            .ratio(Ratio::from_percent(80))
            .open_time(Span::from_millis(500))
            .open_cap(Span::from_secs(5)),
        soon().slow_calls(half, Ratio::from_percent(50)).open_time(half.min(second)),
    ];
    all.into_iter().filter_map(|plan| plan.build().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::DrawPurpose;

    fn space() -> SearchSpace {
        let facts = SourceFacts { processes: 10, rps: 100.0, service: Span::from_millis(20) };
        SearchSpace::new(Span::from_secs(2), &facts)
    }

    #[test]
    fn a_setting_of_the_space_was_refused_by_the_engine() {
        let space = space();
        assert_eq!(space.budgets.len(), 15);
        assert_eq!(space.breakers.len(), 7);
        // Two attempts in flight on average: 3, 4, 8 and 16, each with a queue and without.
        assert_eq!(space.places.len(), 9);
        assert_eq!(space.hedges.len(), 4);
        assert_eq!(space.bases.len(), 8, "up to half of the deadline");
        let drawn = |n| space.random(&mut Dice::new(1, DrawPurpose::Candidate, n));
        assert!((0..200).all(|n| drawn(n).is_some()));
    }

    #[test]
    fn a_step_changes_one_setting_and_keeps_the_deadline() {
        let space = space();
        let from = space.random(&mut Dice::new(1, DrawPurpose::Candidate, 3)).expect("valid");
        let near = space.neighbours(&from);
        assert!(near.len() > 20, "{}", near.len());
        for policy in near {
            assert_ne!(policy, from);
            assert_eq!(policy.limits().deadline(), Some(Span::from_secs(2)));
        }
    }
}
