//! The concurrency limit and the rate limit beside naive models, in every order of events.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Wake, Waker};

use proptest::prelude::*;
use stagger_core::concurrency::{ConcurrencyLimiter, ConcurrencyPlan, Entry, Turn};
use stagger_core::rate_limit::{RateLimiter, RatePlan, Reservation};
use stagger_core::retry::{Action, Call, Ledger, PlainLedger, Session, Stop, Wait};
use stagger_core::{Backoff, Instant, Outcome, Policy, PolicyBuilder, Rate, Span, Verdict};

/// The next move of a caller, the number choosing which of the callers that can.
#[derive(Clone, Copy, Debug)]
enum Move {
    Enter { may_wait: bool },
    Exit,
    Claim(usize),
    Watch(usize),
    LeaveQueue(usize),
}

fn any_move() -> impl Strategy<Value = Move> {
    prop_oneof![
        4 => any::<bool>().prop_map(|may_wait| Move::Enter { may_wait }),
        3 => Just(Move::Exit),
        2 => any::<usize>().prop_map(Move::Claim),
        2 => any::<usize>().prop_map(Move::Watch),
        1 => any::<usize>().prop_map(Move::LeaveQueue),
    ]
}

/// Counts how often it was woken.
#[derive(Default)]
struct Wakes(AtomicU32);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A caller that queued.
struct Queued {
    turn: Turn,
    wakes: Arc<Wakes>,
    watches: bool,
}

/// The same limit, written down as callers in two lists.
#[derive(Default)]
struct Model {
    /// Attempts in flight.
    inside: usize,
    /// Those that wait.
    waiting: VecDeque<Queued>,
    /// Those that have a place and do not know it yet.
    handed: Vec<Queued>,
}

impl Model {
    fn taken(&self) -> usize {
        self.inside + self.handed.len()
    }

    /// A place becomes free.
    fn free(&mut self, woken: Option<Waker>) {
        if let Some(waker) = woken {
            waker.wake();
        }
        if let Some(next) = self.waiting.pop_front() {
            let wakes = next.wakes.0.load(Ordering::Relaxed);
            assert_eq!(wakes, u32::from(next.watches), "woken once, if it watched");
            self.handed.push(next);
        }
    }
}

fn step(limiter: &mut ConcurrencyLimiter, model: &mut Model, event: Move) {
    let plan = *limiter.plan();
    let (places, room) = (plan.max_concurrent() as usize, plan.max_queued() as usize);
    match event {
        Move::Enter { may_wait } => match limiter.enter(may_wait) {
            Entry::Entered => {
                assert!(model.taken() < places && model.waiting.is_empty(), "it overtook");
                model.inside += 1;
            }
            Entry::Queued(turn) => {
                assert!(may_wait && model.taken() == places && model.waiting.len() < room);
                let wakes = Arc::default();
                model.waiting.push_back(Queued { turn, wakes, watches: false });
            }
            Entry::Full => {
                assert_eq!(model.taken(), places);
                assert!(!may_wait || model.waiting.len() == room);
            }
        },
        Move::Exit if model.inside == 0 => {}
        Move::Exit => {
            model.inside -= 1;
            let woken = limiter.exit();
            model.free(woken);
        }
        Move::Claim(at) if !model.handed.is_empty() => {
            let it = model.handed.remove(at % model.handed.len());
            assert!(limiter.claim(it.turn) && !limiter.claim(it.turn), "handed once");
            model.inside += 1;
        }
        Move::Claim(at) | Move::Watch(at) if !model.waiting.is_empty() => {
            let at = at % model.waiting.len();
            let it = &mut model.waiting[at];
            assert!(!limiter.claim(it.turn), "it still waits");
            assert!(!limiter.watch(it.turn, &Waker::from(Arc::clone(&it.wakes))));
            it.watches = true;
        }
        Move::LeaveQueue(at) if at % 2 == 0 && !model.handed.is_empty() => {
            let it = model.handed.remove(at % model.handed.len());
            let woken = limiter.leave_queue(it.turn);
            model.free(woken);
        }
        Move::LeaveQueue(at) if !model.waiting.is_empty() => {
            let it = model.waiting.remove(at % model.waiting.len()).expect("it is there");
            assert!(limiter.leave_queue(it.turn).is_none(), "no place became free");
        }
        Move::Claim(_) | Move::Watch(_) | Move::LeaveQueue(_) => {}
    }
    assert_eq!((limiter.taken() as usize, limiter.queued()), (model.taken(), model.waiting.len()));
    assert!(model.waiting.is_empty() || model.taken() == places, "one waits beside a free place");
    for it in &model.handed {
        assert!(limiter.watch(it.turn, Waker::noop()), "a turn that came before the look was lost");
    }
}

/// The starts that a limiter gave, with the reservation behind each.
type Given = Vec<(Instant, Reservation)>;

/// Whether `starts` keep to the rule: in any time t at most burst + rate * t of them.
fn keeps_to(plan: &RatePlan, starts: &[Instant]) -> bool {
    let burst = plan.burst() as usize;
    let gaps = starts.windows(burst + 1).map(|some| some[burst] - some[0]);
    gaps.into_iter().all(|gap| gap >= plan.interval())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn a_place_or_a_turn_was_lost(
        places in 1..4_u32, room in 0..4_u32, moves in proptest::collection::vec(any_move(), 1..120),
    ) {
        let plan = ConcurrencyPlan::new(places).and_then(|it| it.with_queue(room, Span::from_secs(1)));
        let mut limiter = ConcurrencyLimiter::new(plan.expect("within bounds"));
        let mut model = Model::default();
        for event in moves {
            step(&mut limiter, &mut model, event);
        }
        // All leave, and all places are free again.
        while model.taken() > 0 {
            step(&mut limiter, &mut model, Move::Claim(0));
            step(&mut limiter, &mut model, Move::Exit);
        }
        prop_assert_eq!((limiter.taken(), limiter.queued()), (0, 0));
    }

    #[test]
    fn more_attempts_started_than_the_rate_and_its_burst(
        millionths in 100_000..100_000_000_u64, burst in 1..6_u32, wait in 0..3_000_u64,
        asks in proptest::collection::vec((0..2_000_000_000_u64, 0..5_u8), 1..120),
    ) {
        #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
        let rate = Rate::try_from(millionths as f64 / 1e6).expect("in bounds");
        let plan = RatePlan::new(rate, burst).expect("in bounds");
        let plan = plan.with_max_wait(Span::from_millis(wait));
        let mut limiter = RateLimiter::new(plan);
        let (mut now, mut given) = (Instant::ORIGIN, Given::new());
        for (gap, kind) in asks {
            now = now + Span::from_nanos(if kind == 0 { gap } else { gap / 100 });
            // Those that wait may give up, the last as well as one in the middle.
            if kind == 1 {
                if let Some(at) = given.iter().rposition(|(start, _)| *start > now) {
                    limiter.give_back(given.remove(at).1);
                }
            }
            if kind == 2 {
                if let Some(at) = given.iter().position(|(start, _)| *start > now) {
                    limiter.give_back(given.remove(at).1);
                }
            }
            if let Some(reservation) = limiter.reserve(now, Span::MAX) {
                prop_assert!(reservation.start >= now);
                prop_assert!(reservation.start - now <= plan.max_wait());
                given.push((reservation.start, reservation));
            }
        }
        let starts: Vec<_> = given.iter().map(|(start, _)| *start).collect();
        prop_assert!(starts.is_sorted(), "a later one was given an earlier start");
        prop_assert!(keeps_to(&plan, &starts), "{starts:?}");
    }
}

fn millis(n: u64) -> Span {
    Span::from_millis(n)
}

fn at(n: u64) -> Instant {
    Instant::ORIGIN + Span::from_secs(9) + millis(n)
}

fn quick() -> PolicyBuilder {
    Policy::builder().backoff(Backoff::constant(millis(10))).max_attempts(2)
}

fn transient() -> Outcome {
    Outcome::new(Verdict::Transient)
}

/// Starts a call at this millisecond.
fn start<'p>(policy: &'p Policy, ledger: &mut PlainLedger, ms: u64) -> (Session<'p>, Action) {
    Session::start(policy, ledger, Call::idempotent(), at(ms))
}

#[test]
fn a_call_that_backs_off_kept_its_place() {
    let plan = ConcurrencyPlan::new(1).expect("valid");
    let policy = quick().concurrency_limit(plan).build().expect("valid");
    let mut ledger = PlainLedger::new(&policy);
    let (mut one, act) = start(&policy, &mut ledger, 0);
    let Action::Attempt(first) = act else { panic!("{act:?}") };
    let (_, refused) = start(&policy, &mut ledger, 1);
    let stop = |act: &Action| if let Action::Done(done) = act { Some(done.stop) } else { None };
    assert_eq!(stop(&refused), Some(Stop::ConcurrencyLimited));
    assert!(matches!(&refused, Action::Done(done) if done.attempts == 0));
    let act = one.on_outcome(&mut ledger, at(2), first, &transient(), &mut || 0);
    assert!(matches!(act, Action::Wait(Wait::Until(_))), "{act:?}");
    // The other call has the place now, and the retry finds none.
    let (_, act) = start(&policy, &mut ledger, 3);
    assert!(matches!(act, Action::Attempt(_)), "{act:?}");
    let level = ledger.level(at(12)).map(|level| level.retries);
    assert_eq!(stop(&one.on_wake(&mut ledger, at(12))), Some(Stop::ConcurrencyLimited));
    let back = ledger.level(at(12)).map(|level| level.retries);
    assert_eq!(back, level.map(|retries| retries + 1), "the grant of the retry went back");
}

#[test]
fn a_queued_call_was_not_given_the_place_that_became_free() {
    let plan = ConcurrencyPlan::new(1).and_then(|plan| plan.with_queue(2, millis(100)));
    let policy = quick().concurrency_limit(plan.expect("valid")).build().expect("valid");
    let mut ledger = PlainLedger::new(&policy);
    let (mut one, act) = start(&policy, &mut ledger, 0);
    let Action::Attempt(first) = act else { panic!("{act:?}") };
    let (mut two, act) = start(&policy, &mut ledger, 1);
    assert_eq!(act, Action::Wait(Wait::Until(at(101))));
    assert!(two.limit_permit().is_queued());
    let (mut three, _) = start(&policy, &mut ledger, 2);
    let (_, act) = start(&policy, &mut ledger, 3);
    assert!(matches!(act, Action::Done(done) if done.stop == Stop::ConcurrencyLimited));
    let wakes = Arc::new(Wakes::default());
    assert!(!ledger.watch(two.limit_permit(), &Waker::from(Arc::clone(&wakes))));
    // Woken too early it waits on; woken in its turn it starts.
    assert_eq!(two.on_wake(&mut ledger, at(4)), Action::Wait(Wait::Until(at(101))));
    let _ = one.on_outcome(&mut ledger, at(5), first, &Outcome::OK, &mut || 0);
    assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
    assert!(ledger.watch(two.limit_permit(), Waker::noop()));
    assert!(matches!(two.on_wake(&mut ledger, at(5)), Action::Attempt(_)));
    // The third runs out of its wait, and its end leaves the queue empty.
    let act = three.on_wake(&mut ledger, at(102));
    assert!(matches!(act, Action::Done(done) if done.stop == Stop::ConcurrencyLimited));
    assert!(three.limit_permit().is_none());
}

#[test]
fn a_wait_for_a_start_went_past_the_deadline() {
    let plan = RatePlan::new(Rate::per_second(10), 1).expect("valid");
    let policy = quick().rate_limit(plan).deadline(millis(250)).build().expect("valid");
    let mut ledger = PlainLedger::new(&policy);
    let mut acts = Vec::new();
    for _ in 0..4 {
        acts.push(start(&policy, &mut ledger, 0).1);
    }
    assert!(matches!(acts[0], Action::Attempt(_)));
    assert_eq!(acts[1], Action::Wait(Wait::Until(at(100))));
    assert_eq!(acts[2], Action::Wait(Wait::Until(at(200))));
    assert!(matches!(acts[3], Action::Done(done) if done.stop == Stop::RateLimited), "{acts:?}");
}

#[test]
fn a_call_that_gave_up_kept_the_last_start() {
    let plan = RatePlan::new(Rate::per_second(1), 1).expect("valid");
    let policy = quick().rate_limit(plan).build().expect("valid");
    let mut ledger = PlainLedger::new(&policy);
    let _first = start(&policy, &mut ledger, 0);
    for _ in 0..3 {
        let (mut call, act) = start(&policy, &mut ledger, 0);
        assert_eq!(act, Action::Wait(Wait::Until(at(1_000))));
        let end = call.cancel(&mut ledger, at(10));
        assert!(matches!(end, Action::Done(done) if done.stop == Stop::Cancelled));
    }
}

#[test]
fn an_open_breaker_took_places_and_starts() {
    use stagger_core::breaker::BreakerPlan;
    let breaker = BreakerPlan::builder().consecutive(1).build().expect("valid");
    let places = ConcurrencyPlan::new(1).expect("valid");
    let rate = RatePlan::new(Rate::per_second(1), 2).expect("valid").with_max_wait(Span::ZERO);
    let policy = quick().max_attempts(1).breaker(breaker).concurrency_limit(places);
    let policy = policy.rate_limit(rate).build().expect("valid");
    let mut ledger = PlainLedger::new(&policy);
    let (mut one, act) = start(&policy, &mut ledger, 0);
    let Action::Attempt(first) = act else { panic!("{act:?}") };
    let _ = one.on_outcome(&mut ledger, at(0), first, &transient(), &mut || 0);
    for ms in 1..9 {
        let (_, act) = start(&policy, &mut ledger, ms);
        assert!(matches!(act, Action::Done(done) if done.stop == Stop::BreakerOpen), "{act:?}");
    }
}
