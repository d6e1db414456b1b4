//! No order of events, no time and no policy makes a call panic, run too often, or keep a permit.

use std::task::Waker;

use proptest::prelude::*;
use stagger_core::adaptive::{AdaptivePlan, AdaptiveReport, Pacing};
use stagger_core::breaker::{Admission, Breaker, BreakerPlan, Report, Ticket};
use stagger_core::budget::{Charge, Paid, Settled, TokenPlan};
use stagger_core::concurrency::ConcurrencyPlan;
use stagger_core::hedge::HedgePlan;
use stagger_core::hint::DestinationPause;
use stagger_core::rate_limit::RatePlan;
use stagger_core::retry::{
    Action, AttemptLimiter, Call, Done, Entrance, Launched, Ledger, LimitPermit, Permit, Retry,
    Session, Step, Wait,
};
use stagger_core::{
    Backoff, Cause, Entropy, Hint, HintRule, HintScope, Instant, Jitter, LongHint, Outcome, Policy,
    Rate, Ratio, Remedy, Span, Verdict,
};
use stagger_testkit::Mix;

/// The events of a call, with their times and their order.
#[derive(Clone, Debug)]
enum Event {
    Settle(Outcome),
    Abandon,
    Wake,
    Cancel,
    /// The clock moves on, or back.
    Time(i64),
    Permit(Permit),
}

fn any_span() -> impl Strategy<Value = Span> {
    prop_oneof![3 => 0..20_000_000_000_u64, 1 => 0..10_u64, 1 => any::<u64>()]
        .prop_map(Span::from_nanos)
}

fn any_hint() -> impl Strategy<Value = Hint> {
    prop_oneof![
        any_span().prop_map(Hint::AtLeast),
        any_span().prop_map(Hint::Exactly),
        Just(Hint::Never)
    ]
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    let verdicts = [
        Verdict::Transient,
        Verdict::Transient,
        Verdict::Throttled,
        Verdict::Unprocessed,
        Verdict::Permanent,
        Verdict::Cancelled,
        Verdict::Ok,
    ];
    let causes = [Cause::Reply, Cause::Timeout, Cause::Transport];
    let remedies = [
        Remedy::FreshConnection,
        Remedy::WithoutEarlyData,
        Remedy::RefreshAuth,
        Remedy::Transparent,
    ];
    let remedy = proptest::option::weighted(0.2, proptest::sample::select(remedies.to_vec()));
    (
        proptest::sample::select(verdicts.to_vec()),
        proptest::sample::select(causes.to_vec()),
        proptest::option::weighted(0.2, any_hint()),
        remedy,
        proptest::bool::weighted(0.95),
    )
        .prop_map(|(verdict, cause, hint, remedy, replayable)| {
            let mut outcome = Outcome::new(verdict).with_cause(cause);
            (outcome.hint, outcome.remedy, outcome.replayable) = (hint, remedy, replayable);
            outcome
        })
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => any_outcome().prop_map(Event::Settle),
        1 => Just(Event::Abandon),
        8 => Just(Event::Wake),
        1 => Just(Event::Cancel),
        6 => (-2_000_000_000..40_000_000_000_i64).prop_map(Event::Time),
        1 => any::<i64>().prop_map(Event::Time),
        8 => Just(Event::Permit(Permit::Granted)),
        1 => Just(Event::Permit(Permit::Refused)),
        1 => any::<u64>().prop_map(|n| Event::Permit(Permit::RefusedUntil(Instant::from_nanos(n)))),
        1 => any::<u64>().prop_map(|n| Event::Permit(Permit::HeldUntil(Instant::from_nanos(n)))),
        1 => any::<u64>().prop_map(|n| Event::Permit(Permit::PacedUntil(Instant::from_nanos(n)))),
        1 => Just(Event::Permit(Permit::Throttled)),
        1 => any::<u64>().prop_map(|n| Event::Permit(Permit::QueuedUntil(Instant::from_nanos(n)))),
        1 => Just(Event::Permit(Permit::Full)),
        1 => Just(Event::Permit(Permit::RateLimited)),
    ]
}

fn any_backoff() -> impl Strategy<Value = Backoff> {
    let laws = [Jitter::None, Jitter::Full, Jitter::Equal, Jitter::Decorrelated];
    (any_span(), any_span(), proptest::sample::select(laws.to_vec())).prop_map(|(a, b, law)| {
        let base = a.min(b).max(Span::from_nanos(1));
        let rule = Backoff::exponential(base, a.max(b).max(base)).expect("in order");
        rule.with_jitter(law).expect("a law without ratio")
    })
}

fn any_hint_rule() -> impl Strategy<Value = HintRule> {
    let long = prop_oneof![
        Just(LongHint::Stop),
        Just(LongHint::Shorten),
        any_span().prop_map(LongHint::OwnDelayPlus)
    ];
    let scope = proptest::sample::select(vec![HintScope::Call, HintScope::Destination]);
    (any_span(), 0..=100_u32, long, scope).prop_map(|(max, spread, long, scope)| {
        let rule = HintRule::new(max, Ratio::from_percent(spread), long);
        rule.expect("a spread of at most one").with_scope(scope)
    })
}

fn any_places() -> impl Strategy<Value = ConcurrencyPlan> {
    (1..3_u32, 0..2_u32, any_span()).prop_filter_map("a wait", |(places, queued, wait)| {
        ConcurrencyPlan::new(places).ok()?.with_queue(queued, wait).ok()
    })
}

fn any_rate() -> impl Strategy<Value = RatePlan> {
    (1..20_u32, 1..3_u32, any_span()).prop_map(|(rate, burst, wait)| {
        let plan = RatePlan::new(Rate::per_second(rate), burst).expect("within bounds");
        plan.with_max_wait(wait)
    })
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let limits = (
        proptest::option::of(1..7_u32),
        proptest::option::of(any_span()),
        proptest::option::of(any_span()),
        any_span(),
    );
    let hedge = proptest::option::of((0..3_600_u64, 2..=5_u32));
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let flags = (flags, proptest::option::of(any_places()), proptest::option::of(any_rate()));
    let backoffs = (any_backoff(), proptest::option::of(any_backoff()));
    (backoffs, limits, any_hint_rule(), hedge, flags).prop_filter_map(
        "limits that fit each other",
        |((backoff, throttled), (attempts, deadline, timeout, least), hints, hedge, flags)| {
            let ((budget, breaker, waits, pauses, adapts), places, rate) = flags;
            let mut policy = Policy::builder()
                .backoff(backoff)
                .hints(hints)
                .wait_for_breaker(waits)
                .pause_when_empty(pauses)
                .unlimited_attempts();
            if let Some(rule) = throttled {
                policy = policy.throttled_backoff(rule);
            }
            if let Some(n) = attempts {
                policy = policy.max_attempts(n);
            }
            if let Some(limit) = deadline {
                policy = policy.deadline(limit).min_attempt_time(least);
            }
            if let Some(limit) = timeout {
                policy = policy.attempt_timeout(limit);
            }
            if !budget {
                policy = policy.budget(stagger_core::budget::BudgetPlan::Unlimited);
            }
            if breaker {
                policy = policy.breaker(BreakerPlan::default());
            }
            if adapts {
                policy = policy.adaptive(AdaptivePlan::Cubic);
            }
            if let Some(plan) = places {
                policy = policy.concurrency_limit(plan);
            }
            if let Some(plan) = rate {
                policy = policy.rate_limit(plan);
            }
            if let Some((secs, copies)) = hedge {
                policy = policy.hedge(HedgePlan::fixed(Span::from_secs(secs), copies).ok()?);
            }
            policy.build().ok()
        },
    )
}

/// The clock after a step in either direction.
fn step(now: Instant, nanos: i64) -> Instant {
    Instant::from_nanos(now.as_nanos().saturating_add_signed(nanos))
}

/// A ledger that answers at random and remembers what it granted.
struct Recording {
    chance: Mix,
    /// Grants that no attempt has followed and nobody has given back.
    held: u32,
    first: u32,
    /// Attempts that the adaptive limit let pass and has not learned the end of.
    paced: u32,
    /// Whether it let the attempt that is next pass.
    is_pacing: bool,
    pause: DestinationPause,
    /// Whether it has held the attempt that is next.
    is_holding: bool,
    limiter: Option<AttemptLimiter>,
    /// Places of other calls.
    others: Vec<LimitPermit>,
}

impl Recording {
    fn says_yes(&mut self) -> bool {
        self.chance.next_u64() % 4 != 0
    }

    /// Another call enters the limits, or leaves them.
    fn others_move(&mut self, now: Instant) {
        let Some(limiter) = &mut self.limiter else { return };
        if self.chance.next_u64() % 2 == 0 {
            let mut other = LimitPermit::NONE;
            match limiter.enter(now, &mut other, Span::ZERO) {
                Entrance::Open => self.others.push(other),
                _ => assert!(limiter.leave(other).is_none(), "a call left what it did not have"),
            }
        } else if let Some(other) = self.others.pop() {
            assert!(limiter.leave(other).is_none(), "nobody left a waker");
        }
    }
}

impl Ledger for Recording {
    fn on_first(&mut self, _now: Instant) {
        self.first += 1;
    }

    fn ask(&mut self, _now: Instant, _charge: Charge) -> Option<Paid> {
        assert_eq!(self.held, 0, "a grant is still held");
        self.says_yes().then(|| {
            self.held += 1;
            let plan = TokenPlan::new(1, 1).expect("within bounds");
            plan.ask(plan.start(), Charge::Retry).expect("it is full").0
        })
    }

    fn refund(&mut self, _now: Instant, _paid: Paid) {
        self.held = self.held.checked_sub(1).expect("given back once");
    }

    fn on_settled(&mut self, _now: Instant, _settled: Settled) {}

    fn admit(&mut self, now: Instant) -> Admission {
        if self.says_yes() {
            return Breaker::new(BreakerPlan::default()).admit(now);
        }
        Admission::Refused { until: now + Span::from_nanos(self.chance.next_u64() % 5_000_000_000) }
    }

    fn report(&mut self, _: Instant, _: Ticket, _: Report, _: &mut dyn Entropy) {}

    fn pace(&mut self, _: Instant) -> Pacing {
        assert!(!self.is_pacing, "asked twice for one attempt");
        if !self.says_yes() {
            return Pacing::Refused;
        }
        (self.paced, self.is_pacing) = (self.paced + 1, true);
        Pacing::After(Span::from_nanos(self.chance.next_u64() % 3 * 1_000_000))
    }

    fn on_paced(&mut self, _: Instant, report: AdaptiveReport) {
        self.paced = self.paced.checked_sub(1).expect("each attempt ends once");
        if report == AdaptiveReport::Withdrawn {
            self.is_pacing = false;
        }
    }

    fn enter(&mut self, now: Instant, permit: &mut LimitPermit, longest: Span) -> Entrance {
        self.others_move(now);
        self.limiter.as_mut().expect("asked without a limit").enter(now, permit, longest)
    }

    fn leave(&mut self, now: Instant, permit: LimitPermit) {
        assert!(!permit.is_none(), "nothing to give back");
        let next = self.limiter.as_mut().expect("left without a limit").leave(permit);
        assert!(next.is_none(), "nobody left a waker");
        self.others_move(now);
    }

    fn watch(&mut self, permit: &LimitPermit, waker: &Waker) -> bool {
        self.limiter.as_mut().expect("watched without a limit").watch(permit, waker)
    }

    fn pause(&mut self, until: Instant, spread: Span, entropy: &mut dyn Entropy) {
        self.pause.extend(until, spread, entropy.next_u64());
    }

    fn paused_until(&mut self, now: Instant) -> Option<Instant> {
        let until = self.pause.start_of_next(now);
        self.is_holding |= until.is_some();
        until
    }
}

/// A session with everything that must hold of it.
struct Watched<'p> {
    policy: &'p Policy,
    call: Call,
    ledger: Recording,
    under_way: Vec<Launched>,
    done: Option<Done>,
    wait: Option<Instant>,
    /// Whether the last outcome named a time to come back.
    hinted: bool,
}

impl<'p> Watched<'p> {
    fn start(policy: &'p Policy, call: Call, seed: u64, now: Instant) -> (Self, Session<'p>) {
        let (chance, pause) = (Mix::new(seed), DestinationPause::NONE);
        let ledger = Recording {
            chance,
            held: 0,
            first: 0,
            paced: 0,
            is_pacing: false,
            pause,
            is_holding: false,
            limiter: AttemptLimiter::new(policy),
            others: Vec::new(),
        };
        let mut watched = Self {
            policy,
            call,
            ledger,
            under_way: Vec::new(),
            done: None,
            wait: None,
            hinted: false,
        };
        let (session, act) = Session::start(policy, &mut watched.ledger, call, now);
        watched.check(&session, now, act, true);
        (watched, session)
    }

    fn happen(&mut self, session: &mut Session<'p>, now: Instant, event: &Event, chance: &mut Mix) {
        let mut decides = false;
        let act = match event {
            Event::Settle(outcome) => {
                let Some(launched) = self.under_way.pop() else { return };
                decides = true;
                self.hinted = outcome.hint.and_then(Hint::span).is_some();
                session.on_outcome(&mut self.ledger, now, launched, outcome, chance)
            }
            Event::Abandon if self.done.is_some() => {
                let Some(launched) = self.under_way.pop() else { return };
                return Session::abandon(&mut self.ledger, now, launched, chance);
            }
            Event::Wake => {
                let act = session.on_wake(&mut self.ledger, now);
                let due = self.wait.is_some_and(|wake| wake <= now);
                assert!(
                    !due || act != self.wait.map(|t| Action::Wait(Wait::Until(t))).expect("due")
                );
                act
            }
            Event::Cancel => session.cancel(&mut self.ledger, now),
            Event::Abandon | Event::Time(_) | Event::Permit(_) => return,
        };
        self.check(session, now, act, decides);
    }

    fn check(&mut self, session: &Session<'p>, now: Instant, act: Action, decides: bool) {
        if let Some(done) = self.done {
            assert!(matches!(act, Action::Done(again) if again.stop == done.stop), "{act:?}");
        }
        self.wait = None;
        match act {
            Action::Attempt(launched) => {
                assert!(self.policy.hedge().is_some() || self.under_way.is_empty(), "two at once");
                // Whoever hears of a new attempt drops the copies of the one before.
                for copy in std::mem::take(&mut self.under_way) {
                    Session::abandon(&mut self.ledger, now, copy, &mut Mix::new(0));
                }
                self.launched(launched);
            }
            Action::Hedge(launched) => {
                assert!(self.call.idempotent && !self.under_way.is_empty());
                self.launched(launched);
            }
            Action::Wait(Wait::Until(wake)) => {
                assert!(!decides || wake >= now, "a wait in the past");
                self.wait = Some(wake);
            }
            Action::Wait(Wait::Copies { .. }) => {
                assert_eq!(self.ledger.held, 0, "a refused copy keeps no grant");
                assert!(!self.ledger.is_pacing, "a refused copy keeps no token");
            }
            Action::Done(done) => {
                assert_eq!(self.ledger.held, 0, "a grant that no attempt followed");
                assert!(!self.ledger.is_pacing, "a token that no attempt followed");
                self.done.get_or_insert(done);
            }
        }
        let adapts = self.policy.adaptive().is_some();
        let paced = self.under_way.len() + usize::from(self.ledger.is_pacing);
        assert_eq!(self.ledger.paced as usize, if adapts { paced } else { 0 });
        self.check_places(session);
        let attempts = session.retry().attempts();
        assert!(self.policy.limits().max_attempts().is_none_or(|max| attempts <= max));
        assert!(self.ledger.first <= 1);
        self.check_parked(session, now);
    }

    /// A place is held by attempts under way alone, and by one whose turn has come.
    fn check_places(&self, session: &Session<'p>) {
        let Some(mut limiter) = self.ledger.limiter.clone() else { return };
        let Some((taken, queued)) = limiter.in_flight() else { return };
        let permit = session.limit_permit();
        let has_turn = permit.is_queued() && limiter.watch(permit, Waker::noop());
        let under_way = self.ledger.others.len() + self.under_way.len();
        assert_eq!(taken as usize, under_way + usize::from(has_turn));
        assert_eq!(queued, usize::from(permit.is_queued() && !has_turn));
        assert!(self.wait.is_some() || !permit.is_queued(), "only a call that waits is queued");
    }

    /// A call parks exactly when it waits and has nothing else to remember, and nothing is lost.
    fn check_parked(&self, session: &Session<'p>, now: Instant) {
        let has_more = self.policy.hedge().is_some()
            || !self.call.idempotent
            || self.ledger.held > 0
            || self.ledger.first == 0
            || self.hinted
            || self.ledger.is_holding
            || self.ledger.is_pacing
            || !session.limit_permit().is_none()
            || session.retry().save(now).spent != 0;
        let parked = session.park();
        assert_eq!(parked.is_some(), self.wait.is_some() && !has_more, "{session:?}");
        if let Some(parked) = parked {
            let again = parked.unpark(self.policy);
            assert_eq!(format!("{again:?}"), format!("{session:?}"));
            assert_eq!(session.retry().park(self.policy), Some(parked));
            assert_eq!(parked.machine(), *session.retry());
        }
    }

    fn launched(&mut self, launched: Launched) {
        (self.ledger.held, self.ledger.is_holding) = (0, false);
        self.ledger.is_pacing = false;
        let limits = self.policy.limits();
        for limit in [limits.attempt_timeout(), limits.deadline()].into_iter().flatten() {
            assert!(launched.attempt.timeout.is_some_and(|timeout| timeout <= limit));
        }
        self.under_way.push(launched);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, ..ProptestConfig::default() })]

    #[test]
    fn some_order_of_events_broke_a_session(
        policy in any_policy(), idempotent: bool, begun in any_span(), seed: u64,
        events in proptest::collection::vec(any_event(), 1..80),
    ) {
        let call = if idempotent { Call::idempotent() } else { Call::once() };
        let mut now = Instant::ORIGIN + begun;
        let (mut watched, mut session) = Watched::start(&policy, call, seed, now);
        let mut chance = Mix::new(seed);
        for event in &events {
            if let Event::Time(nanos) = event {
                now = step(now, *nanos);
            }
            watched.happen(&mut session, now, event, &mut chance);
        }
    }

    #[test]
    fn an_outcome_meant_another_thing_where_failures_are_common(
        policy in any_policy(), idempotent: bool, begun in any_span(), seed: u64,
        events in proptest::collection::vec(any_event(), 1..80),
    ) {
        let call = if idempotent { Call::idempotent() } else { Call::once() };
        let mut now = Instant::ORIGIN + begun;
        let (mut rare, _) = Retry::start(&policy, call, now);
        let mut common = rare;
        let (mut first, mut second) = (Mix::new(seed), Mix::new(seed));
        for event in &events {
            let steps = match event {
                Event::Settle(outcome) => (
                    rare.on_outcome(&policy, now, outcome, &mut first),
                    common.on_any_outcome(&policy, now, outcome, &mut second),
                ),
                Event::Permit(permit) => (
                    rare.on_permit(&policy, now, *permit),
                    common.on_permit(&policy, now, *permit),
                ),
                Event::Time(nanos) => {
                    now = step(now, *nanos);
                    continue;
                }
                _ => (rare.on_wake(&policy, now), common.on_wake(&policy, now)),
            };
            prop_assert_eq!(steps.0, steps.1);
            prop_assert_eq!(rare, common);
        }
        prop_assert_eq!(first.next_u64(), second.next_u64());
    }

    #[test]
    fn some_order_of_events_broke_the_machine(
        policy in any_policy(), idempotent: bool, begun in any_span(), seed: u64,
        events in proptest::collection::vec(any_event(), 1..80),
    ) {
        let call = if idempotent { Call::idempotent() } else { Call::once() };
        let mut now = Instant::ORIGIN + begun;
        let (mut retry, _) = Retry::start(&policy, call, now);
        let mut chance = Mix::new(seed);
        let mut ended = None;
        for event in &events {
            let answer = match event {
                Event::Settle(outcome) => retry.on_outcome(&policy, now, outcome, &mut chance),
                Event::Wake => retry.on_wake(&policy, now),
                Event::Cancel => retry.cancel(now),
                Event::Permit(permit) => retry.on_permit(&policy, now, *permit),
                Event::Time(nanos) => {
                    now = step(now, *nanos);
                    continue;
                }
                Event::Abandon => {
                    // The process ends, and another goes on.
                    let step;
                    (retry, step) = retry.save(now).resume(&policy, now);
                    ended = None;
                    step
                }
            };
            if let Step::Act(Action::Done(done)) = answer {
                prop_assert_eq!(*ended.get_or_insert(done.stop), done.stop);
            } else {
                prop_assert!(ended.is_none(), "{:?} after the end", answer);
            }
            prop_assert!(policy.limits().max_attempts().is_none_or(|max| retry.attempts() <= max));
        }
    }

    #[test]
    fn a_call_never_ended(policy in any_policy(), seed: u64, outcomes in proptest::collection::vec(any_outcome(), 1..9)) {
        let mut now = Instant::ORIGIN;
        let (mut watched, mut session) = Watched::start(&policy, Call::idempotent(), seed, now);
        let mut chance = Mix::new(seed);
        for outcome in outcomes.iter().cycle().take(2_000) {
            if watched.done.is_some() {
                return Ok(());
            }
            if let Some(wake) = watched.wait {
                now = wake;
                watched.happen(&mut session, now, &Event::Wake, &mut chance);
            } else {
                now = now + Span::from_millis(10);
                watched.happen(&mut session, now, &Event::Settle(*outcome), &mut chance);
            }
        }
        // Without a limit on attempts a long deadline leaves room for many of them.
        prop_assert!(policy.limits().max_attempts().is_none());
    }
}
