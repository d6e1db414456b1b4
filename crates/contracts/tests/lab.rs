//! The async executor in virtual time against the storm lab: the same policies, the same draws and
//! the same outage make the same attempts at the same instants, and the same calls succeed.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use stagger::adaptive::{AdaptiveReport, ClientThrottlePlan, Pacing};
use stagger::breaker::{BreakerPlan, Report};
use stagger::budget::{BudgetPlan, FloorRate, TokenPlan, WindowPlan};
use stagger::engine::adaptive::AdaptiveLimit;
use stagger::engine::breaker::{Admission, Ticket};
use stagger::engine::budget::{Charge, Paid, Settled};
use stagger::engine::{Entrance, Ledger, LimitPermit};
use stagger::{
    Backoff, Clock, Entropy, Error, Instant, Jitter, LocalLedger, Policy, PolicyBuilder, Rate,
    Ratio, Retrier, Sleep, Span, Stop,
};
use stagger_sim::{
    ArrivalProcess, CallerLayer, Draw, Fault, Latency, Played, Purpose, RandomStream, RunPlan,
    Simulation, Trouble,
};

/// One call every 3 ms, and nobody is served before 400 ms.
const CALLS: u32 = 300;
const SPACING: Span = Span::from_millis(3);
const UP: Instant = Instant::from_nanos(400_000_000);
const SEED: u64 = 7;

/// The time of a runtime that sleeps by looking at its calendar.
#[derive(Clone, Default)]
struct Virtual {
    now: Rc<Cell<Instant>>,
    /// The time at which the call that was polled last wants to go on.
    due: Rc<Cell<Option<Instant>>>,
}

impl Clock for Virtual {
    fn now(&self) -> Instant {
        self.now.get()
    }
}

impl Sleep for Virtual {
    type Timer = Timer;

    fn sleep(&self, span: Span) -> Timer {
        Timer { time: self.clone(), ends: self.now.get() + span }
    }
}

struct Timer {
    time: Virtual,
    ends: Instant,
}

impl Future for Timer {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.time.now.get() >= self.ends {
            return Poll::Ready(());
        }
        self.time.due.set(Some(self.ends));
        Poll::Pending
    }
}

/// The words that the lab has for the attempts of one call.
struct Words {
    id: u32,
    attempts: Arc<AtomicU32>,
    drawn: Option<(u32, Draw)>,
}

impl Entropy for Words {
    fn next_u64(&mut self) -> u64 {
        let attempt = self.attempts.load(Ordering::Relaxed);
        let fresh = || (attempt, RandomStream::new(SEED, Purpose::Delay).at(self.id, attempt));
        let drawn = self.drawn.take().filter(|(of, _)| *of == attempt);
        let (_, draw) = self.drawn.insert(drawn.unwrap_or_else(fresh));
        draw.next_u64()
    }
}

/// The executor's own ledger, whose breaker draws the words that it draws in the lab.
struct Shared {
    local: LocalLedger,
    reports: AtomicU64,
    limit: Option<Mutex<AdaptiveLimit>>,
}

impl Shared {
    fn draw(&self) -> Draw {
        let drawn = self.reports.fetch_add(1, Ordering::Relaxed) + 1;
        let drawn = u32::try_from(drawn).expect("fewer attempts than that");
        RandomStream::new(SEED, Purpose::Breaker).at(0, drawn)
    }
}

impl Ledger for &Shared {
    fn on_first(&mut self, now: Instant) {
        (&self.local).on_first(now);
    }

    fn ask(&mut self, now: Instant, charge: Charge) -> Option<Paid> {
        (&self.local).ask(now, charge)
    }

    fn refund(&mut self, now: Instant, paid: Paid) {
        (&self.local).refund(now, paid);
    }

    fn on_settled(&mut self, now: Instant, settled: Settled) {
        (&self.local).on_settled(now, settled);
    }

    fn admit(&mut self, now: Instant) -> Admission {
        (&self.local).admit(now)
    }

    fn pace(&mut self, now: Instant) -> Pacing {
        let limit = self.limit.as_ref().expect("asked under a policy with a limit");
        limit.lock().expect("no test panics in it").ask(now, &mut self.draw())
    }

    fn on_paced(&mut self, now: Instant, report: AdaptiveReport) {
        let limit = self.limit.as_ref().expect("told of what it let pass");
        limit.lock().expect("no test panics in it").settle(now, report);
    }

    fn enter(&mut self, now: Instant, permit: &mut LimitPermit, longest: Span) -> Entrance {
        (&self.local).enter(now, permit, longest)
    }

    fn leave(&mut self, now: Instant, permit: LimitPermit) {
        (&self.local).leave(now, permit);
    }

    fn watch(&mut self, permit: &LimitPermit, waker: &Waker) -> bool {
        (&self.local).watch(permit, waker)
    }

    fn report(&mut self, now: Instant, ticket: Ticket, report: Report, _: &mut dyn Entropy) {
        let mut draw = self.draw();
        (&self.local).report(now, ticket, report, &mut draw);
    }
}

/// The result of a run.
#[derive(Debug, Default, PartialEq)]
struct Ran {
    /// The instants of all attempts, in order.
    instants: Vec<Instant>,
    succeeded: u64,
    latency: Latency,
    /// Why calls stopped that did not succeed; the lab counts only how many.
    stops: BTreeMap<String, u64>,
}

type Running = Pin<Box<dyn Future<Output = Result<(), Error<&'static str>>>>>;

/// Every call on its own, all of them by one calendar.
fn run(policy: Policy) -> Ran {
    let time = Virtual::default();
    let instants = Rc::new(std::cell::RefCell::new(Vec::new()));
    let limit = policy.adaptive().map(|plan| Mutex::new(AdaptiveLimit::new(*plan)));
    let ledger =
        Arc::new(Shared { local: LocalLedger::new(&policy), reports: AtomicU64::new(0), limit });
    let mut calls: Vec<Running> = Vec::new();
    for id in 0..CALLS {
        let attempts = Arc::new(AtomicU32::new(0));
        let words = Words { id, attempts: Arc::clone(&attempts), drawn: None };
        let retrier = Retrier::new(policy, time.clone()).with_ledger(Arc::clone(&ledger));
        let retrier = retrier.with_entropy(words);
        let (now, seen) = (Rc::clone(&time.now), Rc::clone(&instants));
        calls.push(Box::pin(async move {
            let attempt = || {
                attempts.fetch_add(1, Ordering::Relaxed);
                seen.borrow_mut().push(now.get());
                let answer = if now.get() < UP { Err("down") } else { Ok(()) };
                async move { answer }
            };
            retrier.retry(attempt).when(|_: &&str| true).await
        }));
    }
    let mut ran = Ran::default();
    let mut calendar: BTreeSet<(Instant, u32)> = (0..CALLS).map(|id| (arrival(id), id)).collect();
    while let Some((at, id)) = calendar.pop_first() {
        time.now.set(at);
        let call = calls[id as usize].as_mut();
        match call.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => {
                let due = time.due.take().expect("it waits for the time and nothing else");
                calendar.insert((due, id));
            }
            Poll::Ready(Ok(())) => {
                ran.succeeded += 1;
                ran.latency.add(at - arrival(id));
            }
            Poll::Ready(Err(error)) => {
                *ran.stops.entry(format!("{:?}", error.stop())).or_default() += 1;
            }
        }
    }
    ran.instants = instants.take();
    ran
}

fn arrival(id: u32) -> Instant {
    Instant::ORIGIN + SPACING.saturating_mul(id.into())
}

fn in_the_lab(policy: Policy) -> Played {
    let arrivals = ArrivalProcess::Even { callers: CALLS, spacing: SPACING };
    let plan = RunPlan {
        faults: vec![Fault::new(Trouble::Refuse, Instant::ORIGIN, UP)],
        ..RunPlan::new(arrivals, CallerLayer::new(policy))
    };
    Simulation::new().play(&plan, SEED)
}

/// Runs both, and gives the reasons for which calls stopped.
#[track_caller]
fn agree(policy: PolicyBuilder) -> BTreeMap<String, u64> {
    let policy = policy.build().expect("valid");
    let (ran, played) = (run(policy), in_the_lab(policy));
    let (instants, thinned) = played.strip.instants();
    assert_eq!(thinned, 1, "every attempt is looked at");
    let instants: Vec<Instant> = instants.collect();
    assert_eq!(ran.instants, instants);
    assert_eq!(ran.succeeded, played.succeeded);
    assert_eq!(ran.latency, played.latency);
    let failed: u64 = ran.stops.values().sum();
    assert_eq!(failed, played.calls - played.succeeded);
    ran.stops
}

fn law(jitter: Jitter) -> PolicyBuilder {
    let (base, cap) = (Span::from_millis(50), Span::from_millis(400));
    let backoff = Backoff::exponential(base, cap).expect("valid").with_jitter(jitter);
    Policy::builder().backoff(backoff.expect("valid")).max_attempts(5).budget(BudgetPlan::Unlimited)
}

fn stops(stop: Stop) -> String {
    format!("{stop:?}")
}

#[test]
fn every_jitter_waits_as_long_as_in_the_lab() {
    for jitter in [
        Jitter::None,
        Jitter::Full,
        Jitter::Equal,
        Jitter::Decorrelated,
        Jitter::DecorrelatedClamped,
        Jitter::Symmetric(Ratio::from_percent(20)),
    ] {
        let reasons = agree(law(jitter));
        let only = reasons.keys().all(|reason| *reason == stops(Stop::AttemptsExhausted));
        assert!(only, "{jitter:?}: {reasons:?}");
    }
}

#[test]
fn a_deadline_ends_the_same_calls() {
    let reasons = agree(law(Jitter::Full).max_attempts(9).deadline(Span::from_millis(250)));
    assert!(!reasons.is_empty() && !reasons.contains_key(&stops(Stop::AttemptsExhausted)));
}

#[test]
fn a_budget_refuses_the_same_retries() {
    let window = WindowPlan::new(Ratio::from_percent(30)).expect("valid");
    let window = window.with_floor(FloorRate::Add(Rate::per_second(1))).with_phase(Ratio::ZERO);
    for budget in [TokenPlan::new(100, 2).expect("valid").into(), BudgetPlan::Window(window)] {
        for jitter in [Jitter::Full, Jitter::Decorrelated] {
            let reasons = agree(law(jitter).budget(budget));
            let refused = reasons.get(&stops(Stop::BudgetEmpty)).copied().unwrap_or(0);
            assert!(refused > 20, "{budget:?}: {reasons:?}");
        }
    }
}

#[test]
fn a_breaker_opens_and_closes_at_the_same_instants() {
    let breaker = BreakerPlan::builder().open_time(Span::from_millis(100)).build();
    let breaker = breaker.expect("valid");
    for jitter in [Jitter::Full, Jitter::Equal] {
        let reasons = agree(law(jitter).breaker(breaker));
        let refused = reasons.get(&stops(Stop::BreakerOpen)).copied().unwrap_or(0);
        assert!(refused > 20, "{reasons:?}");
        // Who waits for the breaker makes the attempts that it admits, in the same order.
        agree(law(jitter).breaker(breaker).wait_for_breaker(true));
    }
}

#[test]
fn budget_and_breaker_together_agree_too() {
    let bucket = TokenPlan::new(60, 1).expect("valid");
    let breaker = BreakerPlan::builder().open_time(Span::from_millis(50)).build();
    agree(law(Jitter::Full).budget(bucket).breaker(breaker.expect("valid")));
}

#[test]
fn a_throttle_refuses_the_same_attempts() {
    let plan = |percent| ClientThrottlePlan::new(Ratio::from_percent(percent), Span::from_secs(1));
    for percent in [110, 200] {
        let reasons = agree(law(Jitter::Full).adaptive(plan(percent).expect("valid")));
        let refused = reasons.get(&stops(Stop::Throttled)).copied().unwrap_or(0);
        assert!(refused > 20, "{reasons:?}");
    }
}
