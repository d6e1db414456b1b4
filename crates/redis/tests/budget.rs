//! One budget for many processes, on a real Redis or Valkey that is stopped, paused and lost.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use stagger::budget::{BudgetPlan, FloorRate, ThrottlePlan, TokenPlan, WindowPlan};
use stagger::engine::Ledger;
use stagger::engine::budget::{Charge, Settled};
use stagger::{Clock, Policy, Rate, Ratio, Retrier, Span, StdTime, Stop, TokioTime};
use stagger_redis::{
    SharedLedger, SharedLedgers, SharedOptions, SharedStats, SharedStore, StoreFallback,
};
use support::{Redis, shared_redis};

fn policy(plan: impl Into<BudgetPlan>) -> Policy {
    Policy::builder().budget(plan).build().expect("in bounds")
}

fn options(lease: u32, fallback: StoreFallback) -> SharedOptions {
    let options = SharedOptions::new(1).and_then(|options| options.with_lease(lease));
    let options = options.and_then(|options| options.with_fallback(fallback));
    options.and_then(|options| options.with_again(Span::from_millis(100))).expect("in bounds")
}

/// A name that nobody else uses.
fn name(of: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{of}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

async fn store(url: &str, options: SharedOptions) -> SharedStore {
    SharedStore::connect(url, options).await.expect("a store that takes us")
}

fn tokens(capacity: u32, cost: u32) -> Policy {
    policy(TokenPlan::new(capacity, cost).expect("in bounds"))
}

/// All of its first attempts, over a minute, with no floor.
fn every_first() -> Policy {
    let plan = WindowPlan::new(Ratio::ONE).map(|plan| plan.with_floor(FloorRate::Add(Rate::ZERO)));
    policy(plan.and_then(|plan| plan.with_window(Span::from_secs(60))).expect("in bounds"))
}

fn ask(mut ledger: &SharedLedger) -> bool {
    ledger.ask(StdTime.now(), Charge::Retry).is_some()
}

fn first(mut ledger: &SharedLedger) {
    ledger.on_first(StdTime.now());
}

fn stats(ledger: &SharedLedger) -> SharedStats {
    ledger.stats(StdTime.now())
}

/// Looks until it is so; fails when it takes far too long.
async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let patience = StdTime.now() + Span::from_secs(30);
    while !is_so() {
        assert!(StdTime.now() < patience, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Asks until so many are granted.
async fn take(ledger: &SharedLedger, count: u32) {
    let mut granted = 0;
    eventually("the permits that are left", || {
        granted += u32::from(ask(ledger));
        granted == count
    })
    .await;
}

/// Asks for so long that whatever is still to be had would have come.
async fn none_is_left(ledger: &SharedLedger) {
    let answers = stats(ledger).answers;
    eventually("two more answers", || {
        assert!(!ask(ledger), "one too many");
        stats(ledger).answers >= answers + 2
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_fleet_has_what_one_process_would_have_and_not_one_more() {
    let Some(url) = shared_redis() else { return };
    // 100 retries out of a bucket, and 800 for as many first attempts.
    for (policy, firsts, limit) in [(tokens(500, 5), 0, 100), (every_first(), 100, 800)] {
        let name = name("limit");
        let granted = Arc::new(AtomicU32::new(0));
        let mut tasks = Vec::new();
        for _ in 0..8 {
            let store = store(&url, options(4, StoreFallback::Refuse)).await;
            let ledger = store.ledger(&name, &policy).expect("a name");
            let granted = Arc::clone(&granted);
            tasks.push(tokio::spawn(async move {
                (0..firsts).for_each(|_| first(&ledger));
                eventually("all permits", || {
                    granted.fetch_add(u32::from(ask(&ledger)), Ordering::AcqRel);
                    granted.load(Ordering::Acquire) >= limit
                })
                .await;
                none_is_left(&ledger).await;
            }));
        }
        for task in tasks {
            task.await.expect("none fails");
        }
        assert_eq!(granted.load(Ordering::Acquire), limit);
    }
}

#[tokio::test]
async fn callers_that_fail_for_ever_are_stopped() {
    let Some(url) = shared_redis() else { return };
    let throttle = ThrottlePlan::new(10, Ratio::from_percent(10)).expect("in bounds");
    // Where a grant takes nothing, the leases that a process holds come on top.
    for (plan, most) in [(BudgetPlan::from(throttle), 5 + 6), (TokenPlan::aws_2_0().into(), 100)] {
        let store = store(&url, options(4, StoreFallback::Refuse)).await;
        let ledger = store.ledger(&name("for-ever"), &policy(plan)).expect("a name");
        let (mut retries, mut refused_after) = (0, 0);
        eventually("the end", || {
            let answers = stats(&ledger).answers;
            if ask(&ledger) {
                (retries, refused_after) = (retries + 1, answers);
                (&*ledger).on_settled(StdTime.now(), Settled::Failed);
            }
            answers >= refused_after + 4
        })
        .await;
        assert!((1..=most).contains(&retries), "{plan:?}: {retries}");
    }
}

#[tokio::test]
async fn a_store_that_stops_leaves_each_node_its_share_and_comes_back_without_a_restart() {
    let Some(redis) = Redis::start(&[]) else { return };
    let store = store(&redis.url(), options(4, StoreFallback::Local { nodes: 2 })).await;
    let ledger = store.ledger("stop", &tokens(40, 1)).expect("a name");
    take(&ledger, 40).await;
    none_is_left(&ledger).await;
    redis.stop();
    // Half of the bucket is this node's own.
    take(&ledger, 20).await;
    let now = stats(&ledger);
    assert_eq!(
        (now.store_down, now.store_outages, now.local_granted, now.permits),
        (true, 1, 20, 0)
    );
    assert!(!ask(&ledger), "no more than its share");
    redis.again();
    // It has lost its data, so the bucket starts as its plan says.
    take(&ledger, 40).await;
    none_is_left(&ledger).await;
    let now = stats(&ledger);
    assert_eq!((now.store_down, now.local_granted, now.ledger.grants), (false, 20, 100));
}

#[tokio::test]
async fn a_store_that_is_paused_hears_every_first_attempt_once() {
    let Some(redis) = Redis::start(&[]) else { return };
    let store = store(&redis.url(), options(4, StoreFallback::Refuse)).await;
    let ledger = store.ledger("pause", &every_first()).expect("a name");
    (0..10).for_each(|_| first(&ledger));
    eventually("ten are told", || stats(&ledger).ledger.level.capacity == 10).await;
    redis.pause();
    // The store will hear of these in a request whose answer nobody waits for, and once more.
    (0..7).for_each(|_| first(&ledger));
    eventually("it counts as away", || stats(&ledger).store_down).await;
    let left = stats(&ledger).permits;
    for _ in 0..left {
        assert!(ask(&ledger), "leased before");
    }
    assert!(!ask(&ledger), "refused, and at once");
    // While it is away, a first attempt earns nothing from it.
    (0..100).for_each(|_| first(&ledger));
    redis.resume();
    eventually("it is back", || !stats(&ledger).store_down).await;
    first(&ledger);
    eventually("one more is told", || stats(&ledger).ledger.level.capacity >= 18).await;
    assert_eq!(stats(&ledger).ledger.level.capacity, 18);
    take(&ledger, 18 - u32::try_from(left).expect("a lease")).await;
    none_is_left(&ledger).await;
}

#[tokio::test]
async fn a_store_that_is_not_there_yet_is_no_error() {
    let Some(redis) = Redis::prepare(&[]) else { return };
    let store = store(&redis.url(), options(2, StoreFallback::Local { nodes: 3 })).await;
    let ledger = store.ledger("late", &tokens(30, 1)).expect("a name");
    assert!(ask(&ledger), "its own share is there at once");
    redis.again();
    eventually("it is found", || {
        first(&ledger);
        !stats(&ledger).store_down
    })
    .await;
    take(&ledger, 30).await;
    none_is_left(&ledger).await;
}

#[tokio::test]
async fn a_store_that_forgets_its_scripts_is_told_them_again() {
    let Some(redis) = Redis::start(&[]) else { return };
    let store = store(&redis.url(), options(4, StoreFallback::Refuse)).await;
    let ledger = store.ledger("flush", &tokens(40, 1)).expect("a name");
    take(&ledger, 10).await;
    let client = redis::Client::open(redis.url()).expect("a URL");
    let mut connection = client.get_connection().expect("it runs");
    redis::cmd("SCRIPT").arg("FLUSH").exec(&mut connection).expect("it may");
    take(&ledger, 30).await;
    none_is_left(&ledger).await;
    assert_eq!(stats(&ledger).store_outages, 0);
    // Whatever it keeps of us goes by itself.
    let keys: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut connection).expect("keys");
    assert_eq!(keys.len(), 2, "{keys:?}");
    for key in keys {
        assert!(key.starts_with("{stagger:flush}:tokens"), "{key}");
        let left: i64 = redis::cmd("PTTL").arg(&key).query(&mut connection).expect("a time");
        assert!(left > 0, "{key}");
    }
}

#[tokio::test]
async fn what_a_process_did_not_use_goes_back_when_it_ends() {
    let Some(url) = shared_redis() else { return };
    let store = store(&url, options(6, StoreFallback::Refuse)).await;
    let (name, policy) = (name("back"), tokens(10, 1));
    let ending = store.ledger(&name, &policy).expect("a name");
    take(&ending, 1).await;
    ending.close().await;
    assert!(!ask(&ending), "closed");
    let other = store.ledger(&name, &policy).expect("a name");
    take(&other, 9).await;
    none_is_left(&other).await;
}

#[tokio::test]
async fn a_charge_costs_as_many_permits_as_retries_cost_the_same() {
    let Some(url) = shared_redis() else { return };
    let store = store(&url, options(1, StoreFallback::Refuse)).await;
    // A timeout costs twice as much as a retry.
    let ledger = store.ledger(&name("price"), &policy(TokenPlan::aws_2_0())).expect("a name");
    let mut granted = 0;
    eventually("all of the bucket", || {
        granted += u32::from((&*ledger).ask(StdTime.now(), Charge::Timeout).is_some());
        granted == 50
    })
    .await;
    none_is_left(&ledger).await;
}

#[tokio::test]
async fn a_wrong_password_is_named_by_host_and_user_and_never_shown() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr();
    let port = port.expect("an address").port().to_string();
    let given = ["--port", &port, "--bind", "127.0.0.1", "--requirepass", "right-secret"];
    let Some(_redis) = Redis::start(&given) else { return };
    let connect = async |login: &str| {
        let url = format!("redis://{login}127.0.0.1:{port}/");
        SharedStore::connect(&url, SharedOptions::new(1).expect("a node")).await
    };
    let logins = [(":wrong-secret@", "default"), ("anna:wrong-secret@", "anna"), ("", "default")];
    for (login, user) in logins {
        let error = connect(login).await.expect_err("not this one");
        assert_eq!(error.place(), format!("the store at 127.0.0.1:{port} as {user}"));
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("secret"), "{shown}");
    }
    let right = connect(":right-secret@").await.expect("the right one");
    assert!(!format!("{right:?}").contains("secret"));
    let wrong = SharedStore::connect("redis//x:secret@h", options(4, StoreFallback::Refuse)).await;
    let shown = wrong.expect_err("no URL").to_string();
    assert!(!shown.contains("secret") && shown.contains("redis://user"), "{shown}");
}

#[tokio::test]
async fn calls_end_where_the_fleets_budget_does() {
    let Some(url) = shared_redis() else { return };
    let store = store(&url, options(4, StoreFallback::Refuse)).await;
    let policy = Policy::builder()
        .budget(TokenPlan::new(10, 1).expect("in bounds"))
        .backoff(stagger::Backoff::constant(Span::from_millis(1)))
        .max_attempts(1_000)
        .build()
        .expect("in bounds");
    let ledger = store.ledger(&name("calls"), &policy).expect("a name");
    let retrier = Retrier::new(policy, TokioTime).with_ledger(Arc::clone(&ledger));
    let mut retries = 0;
    for _ in 0..10_000 {
        let failed = retrier.retry(async || Err::<(), _>("down")).when(|_| true).await;
        let failed = failed.expect_err("it is down");
        assert_eq!(failed.stop(), Stop::BudgetEmpty);
        retries += failed.attempts() - 1;
        if retries == 10 {
            return none_is_left(&ledger).await;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("{retries} retries of 10");
}

#[tokio::test]
async fn budgets_that_nobody_needs_to_share_ask_no_store() {
    let Some(redis) = Redis::prepare(&[]) else { return };
    let store = store(&redis.url(), options(4, StoreFallback::Refuse)).await;
    let unlimited = store.ledger("free", &policy(BudgetPlan::Unlimited)).expect("a name");
    let none = store.ledger("none", &policy(BudgetPlan::None)).expect("a name");
    assert!((0..100).all(|_| ask(&unlimited)) && !ask(&none));
    assert_eq!((stats(&unlimited).ledger.grants, stats(&none).ledger.refusals), (100, 1));
    for wrong in ["", "a{b"] {
        let error = store.ledger(wrong, &policy(BudgetPlan::None)).expect_err("no name");
        assert_eq!(error.field(), "shared.name");
    }
}

#[tokio::test]
async fn destinations_have_a_budget_each_within_a_bound() {
    let Some(url) = shared_redis() else { return };
    let store = store(&url, options(6, StoreFallback::Refuse)).await;
    let ledgers = SharedLedgers::new(&store, &tokens(5, 1)).with_bound(2).expect("in bounds");
    let names = ["a", "b", "c"].map(name);
    for name in &names {
        let ledger = ledgers.clone().ledger(StdTime.now(), name).expect("a name");
        take(&ledger, 5).await;
        let same = ledgers.ledger(StdTime.now(), name).expect("a name");
        assert!(Arc::ptr_eq(&ledger, &same));
    }
    assert!((1..=2).contains(&ledgers.len()), "{ledgers:?}");
    // Forgotten here, and not there.
    let again = ledgers.ledger(StdTime.now(), &names[0]).expect("a name");
    none_is_left(&again).await;
    assert_eq!(ledgers.all_stats(StdTime.now()).len(), ledgers.len());
    assert!(ledgers.ledger(StdTime.now(), "").is_err());
}

#[cfg(feature = "tracing")]
#[test]
fn a_store_that_goes_and_comes_back_is_told_once() {
    let Some(redis) = Redis::start(&[]) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let heard = support::Listener::hear(|| {
        runtime.block_on(async {
            let store = store(&redis.url(), options(4, StoreFallback::Refuse)).await;
            let ledger = store.ledger("told", &tokens(40, 1)).expect("a name");
            take(&ledger, 1).await;
            redis.stop();
            eventually("it is away", || {
                ask(&ledger);
                stats(&ledger).store_down
            })
            .await;
            redis.again();
            eventually("it is back", || !stats(&ledger).store_down).await;
        });
    });
    let place = format!("store=\"the store at {} as default\"", redis.url().replace("unix://", ""));
    let [away, back] = &heard[..] else { panic!("{heard:?}") };
    assert!(away.starts_with("WARN stagger stagger.store.unreachable"), "{away}");
    assert!(back.starts_with("INFO stagger stagger.store.reachable"), "{back}");
    assert!(away.contains("budget=\"told\"") && back.contains(&place), "{heard:?}");
}

#[cfg(feature = "metrics")]
#[tokio::test]
async fn the_lease_is_a_figure_for_whoever_looks() {
    let Some(url) = shared_redis() else { return };
    let store = store(&url, options(4, StoreFallback::Refuse)).await;
    let ledger = store.ledger(&name("figures"), &tokens(5, 1)).expect("a name");
    take(&ledger, 5).await;
    none_is_left(&ledger).await;
    let heard = support::Figures::hear(|| stagger_redis::report_shared("one", &stats(&ledger)));
    for line in ["budget.grants", "budget.leased"] {
        assert!(heard.contains(&format!("{line}{{destination=one}} = 5")), "{heard:?}");
    }
    assert!(heard.contains(&"budget.store_up{destination=one} = 1".to_owned()), "{heard:?}");
    for line in ["budget.level", "budget.permits", "budget.local_granted"] {
        assert!(heard.contains(&format!("{line}{{destination=one}} = 0")), "{heard:?}");
    }
    assert!(heard.iter().any(|line| line.starts_with("budget.lease_denied")), "{heard:?}");
}

#[cfg(feature = "metrics")]
#[test]
fn every_metric_is_described_once() {
    let library = support::Figures::hear(stagger::observe::describe_metrics).len();
    let mut heard = support::Figures::hear(|| {
        stagger::observe::describe_metrics();
        stagger_redis::describe_shared();
    });
    assert_eq!(heard.len(), library + 7);
    heard.sort();
    heard.dedup();
    assert_eq!(heard.len(), library + 7);
}
