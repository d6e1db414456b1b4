//! Random calls, dropped and bounded at random, against a count of what arrives: nothing that a caller does
//! makes retries cheaper than the budget's plan says.

#![cfg(all(feature = "tokio", feature = "tower"))]

use std::error::Error;
use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use stagger::budget::BudgetPlan;
use stagger::engine::budget::{Budget, Charge};
use stagger::hedge::HedgePlan;
use stagger::tower::StaggerLayer;
use stagger::{
    Batch, Classify, ConfigError, Instant, Outcome, Policy, Ratio, Retrier, Span, TokioTime,
    Verdict,
};
use stagger_testkit::Mix;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tower::{Layer, ServiceExt, service_fn};

/// The end of an attempt.
#[derive(Clone, Copy, Debug)]
enum End {
    Answer,
    Fail(Verdict),
    Hang,
}

/// The kind of a call.
#[derive(Clone, Copy, Debug)]
enum Form {
    Run,
    Hedged,
    Batch,
    Service,
}

/// The time limit that its caller puts around it, in milliseconds.
#[derive(Clone, Copy, Debug)]
enum Around {
    Nothing,
    Timeout(u64),
    Abort(u64),
    /// Dropped before it is polled.
    Unpolled,
}

#[derive(Clone, Debug)]
struct Call {
    /// Since the call before, in milliseconds.
    gap: u64,
    form: Form,
    around: Around,
    /// The duration of each of its attempts, in milliseconds, and its end. Later ones are like the last.
    attempts: Vec<(u64, End)>,
}

#[derive(Clone, Copy, Debug)]
struct Failed(Verdict);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl Error for Failed {}

impl Classify for Failed {
    fn classify(&self) -> Outcome {
        Outcome::new(self.0)
    }
}

/// The server's side of one call: it counts the attempts that arrive.
#[derive(Clone)]
struct Wire {
    attempts: Arc<[(u64, End)]>,
    arrived: Arc<AtomicU64>,
}

impl Wire {
    async fn attempt(self) -> Result<(), Failed> {
        let number = self.arrived.fetch_add(1, Ordering::Relaxed);
        let last = self.attempts.len() - 1;
        let number = usize::try_from(number).map_or(last, |number| number.min(last));
        let (takes, end) = self.attempts[number];
        sleep(Duration::from_millis(takes)).await;
        match end {
            End::Answer => Ok(()),
            End::Fail(verdict) => Err(Failed(verdict)),
            End::Hang => pending().await,
        }
    }
}

async fn make(form: Form, retrier: Retrier<TokioTime>, wire: Wire) {
    match form {
        Form::Run => drop(retrier.retry(|| wire.clone().attempt()).await),
        Form::Hedged => drop(retrier.retry(|| wire.clone().attempt()).hedged().await),
        Form::Batch => {
            let round = |items: Vec<u8>| {
                let attempt = wire.clone().attempt();
                async { attempt.await.map(|()| items.into_iter().map(Ok).collect()) }
            };
            let _: Batch<u8, u8, Failed> = retrier.batch(vec![1, 2], round).await;
        }
        Form::Service => {
            let server = service_fn(move |(): ()| wire.clone().attempt());
            drop(StaggerLayer::new(retrier).layer(server).oneshot(()).await);
        }
    }
}

async fn make_within(call: Call, retrier: Retrier<TokioTime>, wire: Wire) {
    let made = make(call.form, retrier, wire);
    match call.around {
        Around::Nothing => made.await,
        Around::Timeout(after) => drop(timeout(Duration::from_millis(after), made).await),
        Around::Abort(after) => {
            let task = tokio::spawn(made);
            sleep(Duration::from_millis(after)).await;
            task.abort();
        }
        Around::Unpolled => drop(made),
    }
}

/// The counts on the wire and in the ledger for all calls.
#[derive(Debug, Default)]
struct Seen {
    firsts: u64,
    retries: u64,
    /// Grants that stayed paid.
    paid: u64,
    lasted: Span,
}

fn play(policy: Policy, calls: Vec<Call>) -> std::io::Result<Seen> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build()?;
    let retrier = Retrier::new(policy, TokioTime).with_entropy(Mix::new(7));
    let seen = runtime.block_on(async {
        let start = tokio::time::Instant::now();
        let (mut tasks, mut wires) = (JoinSet::new(), Vec::new());
        for call in calls {
            sleep(Duration::from_millis(call.gap)).await;
            let wire = Wire { attempts: call.attempts.clone().into(), arrived: Arc::default() };
            wires.push(Arc::clone(&wire.arrived));
            tasks.spawn(make_within(call, retrier.clone(), wire));
        }
        while tasks.join_next().await.is_some() {}
        let mut seen = Seen { lasted: Span::from(start.elapsed()), ..Seen::default() };
        for arrived in wires.iter().map(|wire| wire.load(Ordering::Relaxed)) {
            seen.firsts += u64::from(arrived > 0);
            seen.retries += arrived.saturating_sub(1);
        }
        let stats = retrier.ledger().stats(Instant::FAR);
        seen.paid = stats.grants - stats.refunds;
        seen
    });
    Ok(seen)
}

/// The retries that `plan` may grant for these first attempts in this time: its share of them, and what it
/// grants without any in the latest phase, which is asked of the plan itself. A window counts by slots, so one that ends after the
/// last call may begin before the first.
fn allowed(plan: BudgetPlan, seen: &Seen) -> u64 {
    let BudgetPlan::Window(window) = plan else { return u64::MAX };
    let window = window.with_phase(Ratio::from_ppm(Ratio::SCALE - 1));
    let mut alone = Budget::new(window.into());
    let (mut now, end) = (Instant::ORIGIN, Instant::ORIGIN + seen.lasted + window.window());
    let mut granted = 0;
    while now <= end {
        while alone.ask(now, Charge::Retry).is_some() {
            granted += 1;
        }
        now = now + Span::from_millis(100);
    }
    // Parts of a retry on both sides may add up to one.
    seen.firsts * u64::from(window.ratio().ppm()) / 1_000_000 + granted + 1
}

fn policy(attempts: u32, budget: BudgetPlan) -> Result<Policy, ConfigError> {
    let policy = Policy::builder().max_attempts(attempts).attempt_timeout(Span::from_millis(300));
    policy.hedge(HedgePlan::fixed(Span::from_millis(80), 3)?).budget(budget).build()
}

fn call() -> impl Strategy<Value = Call> {
    let verdict = prop_oneof![
        Just(Verdict::Transient),
        Just(Verdict::Throttled),
        Just(Verdict::Unprocessed),
        Just(Verdict::Permanent),
    ];
    let end = prop_oneof![
        1 => Just(End::Answer),
        4 => verdict.prop_map(End::Fail),
        3 => Just(End::Hang),
    ];
    let form =
        prop_oneof![Just(Form::Run), Just(Form::Hedged), Just(Form::Batch), Just(Form::Service)];
    let around = prop_oneof![
        2 => Just(Around::Nothing),
        4 => (1_u64..900).prop_map(Around::Timeout),
        3 => (1_u64..900).prop_map(Around::Abort),
        1 => Just(Around::Unpolled),
    ];
    let attempts = prop::collection::vec((0_u64..120, end), 1..5);
    (1_u64..30, form, around, attempts).prop_map(|(gap, form, around, attempts)| Call {
        gap,
        form,
        around,
        attempts,
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(7),
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_layout_of_drops_and_time_limits_made_retries_cheaper(
        attempts in 2_u32..7,
        calls in prop::collection::vec(call(), 400..1_500),
    ) {
        let usual = *Policy::default().budget();
        let policy = policy(attempts, usual).map_err(|e| TestCaseError::fail(e.to_string()))?;
        // More attempts have more retries in hand.
        let plan = *policy.budget();
        let seen = play(policy, calls).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let allowed = allowed(plan, &seen);
        prop_assert!(seen.retries <= allowed, "{allowed} are allowed, {seen:?}");
        prop_assert!(seen.retries <= seen.paid, "a retry on the wire got its grant back, {seen:?}");
    }

    #[test]
    fn without_a_budget_the_same_layouts_make_more_than_it_allows(
        calls in prop::collection::vec(call(), 1_000..1_500),
    ) {
        let policy = policy(6, BudgetPlan::Unlimited);
        let policy = policy.map_err(|e| TestCaseError::fail(e.to_string()))?;
        let seen = play(policy, calls).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let allowed = allowed(*Policy::default().budget(), &seen);
        prop_assert!(seen.retries > 2 * allowed, "{allowed} would be allowed, {seen:?}");
    }
}
