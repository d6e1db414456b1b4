//! One breaker for many processes, on a real Redis or Valkey that is stopped, paused and lost.

mod support;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use stagger::breaker::{BreakerPlan, BreakerPlanBuilder, Report, StateKind};
use stagger::budget::BudgetPlan;
use stagger::engine::Ledger;
use stagger::engine::breaker::{Admission, Ticket};
use stagger::{Clock, OsEntropy, Policy, Retrier, Span, StdTime, Stop, TokioTime};
use stagger_redis::{SharedLedger, SharedOptions, SharedStats, SharedStore, StoreFallback};
use support::{Redis, shared_redis};

/// Opens after two failures, for 200 ms at first; a probe may take 1 s.
fn plan() -> BreakerPlanBuilder {
    let plan = BreakerPlan::builder().consecutive(2).open_time(Span::from_millis(200));
    plan.open_cap(Span::from_secs(2)).lease(Span::from_secs(1))
}

fn policy(plan: BreakerPlanBuilder) -> Policy {
    let plan = plan.build().expect("in bounds");
    Policy::builder().budget(BudgetPlan::None).breaker(plan).build().expect("in bounds")
}

const LOCAL: StoreFallback = StoreFallback::Local { nodes: 3 };

/// The longest patience with the store: on a machine that is busy, a shorter one takes it for away.
const PATIENCE: Span = Span::from_secs(1);

fn options(fallback: StoreFallback) -> SharedOptions {
    let options = SharedOptions::new(3).and_then(|options| options.with_fallback(fallback));
    let options = options.and_then(|options| options.with_again(PATIENCE));
    options.expect("in bounds").with_shared_breaker(true)
}

/// A name that nobody else uses.
fn name(of: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{of}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Each with a connection of its own, as processes have.
async fn fleet<const N: usize>(
    url: &str,
    name: &str,
    policy: &Policy,
    fallback: StoreFallback,
) -> [Arc<SharedLedger>; N] {
    let mut fleet = Vec::new();
    for _ in 0..N {
        let store = SharedStore::connect(url, options(fallback)).await.expect("it takes us");
        fleet.push(store.ledger(name, policy).expect("a name"));
    }
    fleet.try_into().expect("as many")
}

/// One more, which knows that it is open before it has called.
async fn comes_late(url: &str, name: &str, policy: &Policy) -> Arc<SharedLedger> {
    let [late] = fleet(url, name, policy, LOCAL).await;
    eventually("it knows", || state(&late) != StateKind::Closed).await;
    late
}

fn admit(mut ledger: &SharedLedger) -> Option<Ticket> {
    ledger.admit(StdTime.now()).ticket()
}

fn report(mut ledger: &SharedLedger, ticket: Ticket, report: Report) {
    ledger.report(StdTime.now(), ticket, report, &mut OsEntropy);
}

/// One call, if it may be made.
fn call(ledger: &SharedLedger, result: Report) -> bool {
    let ticket = admit(ledger);
    if let Some(ticket) = ticket {
        report(ledger, ticket, result);
    }
    ticket.is_some()
}

fn stats(ledger: &SharedLedger) -> SharedStats {
    ledger.stats(StdTime.now())
}

fn state(ledger: &SharedLedger) -> StateKind {
    stats(ledger).ledger.breaker.expect("the policy has a breaker")
}

fn trip(ledger: &SharedLedger) {
    assert!(call(ledger, Report::Failure) && call(ledger, Report::Failure), "closed");
    assert!(admit(ledger).is_none(), "open, and at once");
}

/// Looks until it is so; fails when it takes far too long.
async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let patience = StdTime.now() + Span::from_secs(30);
    while !is_so() {
        assert!(StdTime.now() < patience, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Calls until it is no more admitted but as a probe, so that the process hears of the others. A
/// probe is given back.
async fn hears_that_it_is_open(ledger: &SharedLedger) {
    let hears = || {
        let Some(ticket) = admit(ledger) else { return true };
        let result = if ticket.is_probe() { Report::Neutral } else { Report::Success };
        report(ledger, ticket, result);
        ticket.is_probe()
    };
    eventually("it hears that it is open", hears).await;
}

async fn hears_that_it_is_closed(ledger: &SharedLedger) {
    let is_closed = || {
        let _ = admit(ledger).map(|ticket| report(ledger, ticket, Report::Neutral));
        state(ledger) == StateKind::Closed
    };
    eventually("it hears that it is closed", is_closed).await;
}

/// Asks until a probe may be made.
async fn probe(ledger: &SharedLedger) -> Ticket {
    let mut ticket = None;
    eventually("a probe", || {
        ticket = admit(ledger);
        ticket.is_some()
    })
    .await;
    ticket.filter(|ticket| ticket.is_probe()).expect("a probe, not a call")
}

/// The store's record of this breaker.
fn kept(url: &str, name: &str) -> Vec<u64> {
    let client = redis::Client::open(url).expect("a URL");
    let mut connection = client.get_connection().expect("it runs");
    let key = format!("{{stagger:{name}}}:breaker");
    let text: Option<String> = redis::cmd("GET").arg(key).query(&mut connection).expect("a text");
    let number = |word: &str| word.parse().expect("a number");
    text.unwrap_or_default().split_whitespace().map(number).collect()
}

#[tokio::test]
async fn what_one_process_opens_is_open_for_all() {
    let Some(url) = shared_redis() else { return };
    let name = name("open");
    // Open for longer than the test takes.
    let policy = policy(plan().open_time(Span::from_secs(60)).open_cap(Span::from_secs(60)));
    let [one, other, third] = fleet(&url, &name, &policy, LOCAL).await;
    assert!(call(&other, Report::Success) && call(&third, Report::Failure), "closed");
    trip(&one);
    eventually("the store knows", || kept(&url, &name).len() >= 5).await;
    let opened = kept(&url, &name);
    hears_that_it_is_open(&other).await;
    hears_that_it_is_open(&third).await;
    for ledger in [&one, &other, &third] {
        let refused = (&**ledger).admit(StdTime.now());
        let Admission::Refused { until } = refused else { panic!("{refused:?}") };
        assert!(until > StdTime.now() + Span::from_secs(20), "the open time is the fleet's");
        assert_eq!(state(ledger), StateKind::Open);
    }
    assert_eq!([&one, &other, &third].map(|it| stats(it).breaker_remote_moves), [0, 1, 1]);
    #[cfg(feature = "metrics")]
    {
        let stats = stats(&other);
        let heard = support::Figures::hear(|| stagger_redis::report_shared("one", &stats));
        for line in
            ["breaker.remote_moves{destination=one} = 1", "breaker.openings{destination=one} = 1"]
        {
            assert!(heard.iter().any(|it| it.contains(line)), "{heard:?}");
        }
        assert!(heard.iter().any(|it| it.starts_with("breaker.probes_leased")), "{heard:?}");
    }
    // One that comes later knows it before it has failed itself.
    let late = comes_late(&url, &name, &policy).await;
    assert!(admit(&late).is_none());
    assert_eq!(kept(&url, &name), opened, "one move, whoever has seen it");
}

#[tokio::test]
async fn a_fleet_makes_as_many_probes_as_its_plan_says_and_not_one_more() {
    let Some(url) = shared_redis() else { return };
    let policy = policy(plan().probes(2).lease(Span::from_secs(60)));
    let fleet: [_; 4] = fleet(&url, &name("probes"), &policy, LOCAL).await;
    trip(&fleet[0]);
    for ledger in &fleet[1..] {
        hears_that_it_is_open(ledger).await;
    }
    let mut probes: Vec<(usize, Ticket)> = Vec::new();
    let ask = |probes: &mut Vec<(usize, Ticket)>| {
        for (place, ledger) in fleet.iter().enumerate() {
            probes.extend(admit(ledger).map(|ticket| (place, ticket)));
        }
    };
    eventually("two probes", || {
        ask(&mut probes);
        probes.len() >= 2
    })
    .await;
    // Whatever the others get within several more answers is one too many.
    let patience = StdTime.now() + PATIENCE + PATIENCE;
    eventually("time passes", || {
        ask(&mut probes);
        StdTime.now() > patience
    })
    .await;
    assert_eq!(probes.len(), 2, "{probes:?}");
    assert!(probes.iter().all(|(_, ticket)| ticket.is_probe()));
    for (place, ticket) in probes {
        report(&fleet[place], ticket, Report::Success);
    }
    for ledger in &fleet {
        hears_that_it_is_closed(ledger).await;
    }
    let leased: u64 = fleet.iter().map(|ledger| stats(ledger).probes_leased).sum();
    assert!(leased >= 2, "{leased}");
}

#[tokio::test]
async fn a_bad_probe_opens_it_for_all_and_for_longer() {
    let Some(url) = shared_redis() else { return };
    let name = name("bad");
    let [one, other] = fleet(&url, &name, &policy(plan()), LOCAL).await;
    trip(&one);
    hears_that_it_is_open(&other).await;
    let ticket = probe(&other).await;
    report(&other, ticket, Report::Failure);
    assert!(admit(&other).is_none(), "open again, and at once");
    // The open time has doubled, in us.
    eventually("the store knows", || kept(&url, &name)[3] == 400_000).await;
    eventually("the other hears it", || {
        let _ = admit(&one);
        stats(&one).breaker_remote_moves == 1
    })
    .await;
    let ticket = probe(&one).await;
    report(&one, ticket, Report::Success);
    hears_that_it_is_closed(&other).await;
    assert_eq!(kept(&url, &name)[1..4], [0, kept(&url, &name)[2], 200_000], "as at first");
}

#[tokio::test]
async fn a_probe_that_is_never_told_ends_with_its_lease() {
    let Some(url) = shared_redis() else { return };
    let [one, other] = fleet(&url, &name("hung"), &policy(plan()), LOCAL).await;
    let begun = StdTime.now();
    trip(&one);
    hears_that_it_is_open(&other).await;
    let hung = probe(&one).await;
    let next = probe(&other).await;
    let least = Span::from_millis(1_200);
    assert!(StdTime.now() >= begun + least, "open for 200 ms, and the lease is 1 s");
    report(&one, hung, Report::Failure);
    report(&other, next, Report::Success);
    hears_that_it_is_closed(&one).await;
    assert_eq!(stats(&one).ledger.breaker_opened, 1, "the late result has opened nothing");
}

#[tokio::test]
async fn a_lease_that_no_call_uses_is_another_process_turn() {
    let Some(url) = shared_redis() else { return };
    let policy = policy(plan().lease(Span::from_secs(60)));
    let name = name("idle");
    let [idle] = fleet(&url, &name, &policy, LOCAL).await;
    trip(&idle);
    // Its failed calls want a probe, and no further call comes.
    eventually("it has a lease", || stats(&idle).probes_leased == 1).await;
    let busy = comes_late(&url, &name, &policy).await;
    let ticket = probe(&busy).await;
    report(&busy, ticket, Report::Success);
    hears_that_it_is_closed(&idle).await;
}

#[tokio::test]
async fn one_that_ends_gives_back_the_lease_that_it_has_not_used() {
    let Some(url) = shared_redis() else { return };
    let policy = policy(plan().lease(Span::from_secs(60)));
    let name = name("end");
    let [ending] = fleet(&url, &name, &policy, LOCAL).await;
    trip(&ending);
    eventually("it has a lease", || stats(&ending).probes_leased == 1).await;
    ending.close().await;
    let other = comes_late(&url, &name, &policy).await;
    let ticket = probe(&other).await;
    report(&other, ticket, Report::Success);
    hears_that_it_is_closed(&other).await;
}

#[tokio::test]
async fn without_the_store_each_opens_and_probes_alone_and_open_wins_when_it_is_back() {
    let Some(redis) = Redis::start(&[]) else { return };
    let policy = policy(plan().open_time(Span::from_secs(1)));
    let [one, other] = fleet(&redis.url(), "alone", &policy, LOCAL).await;
    redis.stop();
    eventually("both know that it is away", || {
        [&one, &other].iter().all(|it| call(it, Report::Success) && stats(it).store_down)
    })
    .await;
    trip(&one);
    assert!(call(&other, Report::Success), "nobody has told it");
    let ticket = probe(&one).await;
    report(&one, ticket, Report::Failure);
    assert!(admit(&one).is_none());
    redis.again();
    // What it saw alone, it tells when the store is back.
    hears_that_it_is_open(&other).await;
    let time = kept(&redis.url(), "alone")[3];
    assert_eq!(time, 2_000_000, "its open time has doubled before, in us");
    let ticket = probe(&other).await;
    report(&other, ticket, Report::Success);
    hears_that_it_is_closed(&one).await;
    assert!([&one, &other].iter().all(|it| !stats(it).store_down));
}

#[tokio::test]
async fn a_store_that_goes_while_it_is_open_leaves_each_its_own_probes() {
    let Some(redis) = Redis::start(&[]) else { return };
    let [one, other] = fleet(&redis.url(), "own", &policy(plan()), LOCAL).await;
    trip(&one);
    hears_that_it_is_open(&other).await;
    redis.stop();
    for ledger in [&one, &other] {
        // A lease from before may be left, which is told to nobody; then it is its own probe.
        eventually("it closes alone", || {
            call(ledger, Report::Success);
            state(ledger) == StateKind::Closed
        })
        .await;
    }
    assert!([&one, &other].iter().all(|it| stats(it).store_down && call(it, Report::Success)));
    redis.again();
    eventually("it is back", || {
        [&one, &other].iter().all(|it| call(it, Report::Success) && !stats(it).store_down)
    })
    .await;
    assert!([&one, &other].iter().all(|it| state(it) == StateKind::Closed), "all was well");
}

#[tokio::test]
async fn a_store_that_has_lost_its_data_is_reminded() {
    let Some(redis) = Redis::start(&[]) else { return };
    let long = Span::from_secs(30);
    let policy = policy(plan().open_time(long).open_cap(long));
    let [one, other] = fleet(&redis.url(), "lost", &policy, LOCAL).await;
    trip(&one);
    hears_that_it_is_open(&other).await;
    let before = kept(&redis.url(), "lost");
    redis.stop();
    redis.again();
    eventually("it is reminded", || {
        assert!(admit(&one).is_none() && admit(&other).is_none(), "open all the time");
        kept(&redis.url(), "lost").len() >= 5
    })
    .await;
    let after = kept(&redis.url(), "lost");
    assert_eq!(after[1], 1, "open");
    assert!(after[0] > before[0], "a new memory: {before:?} {after:?}");
    // As long as it was to be, give or take what a message takes; clocks are not the same.
    let (was, is) = (before[2], after[2]);
    assert!(was.abs_diff(is) < 3_000_000, "{was} {is}");
    eventually("all are back", || {
        assert!(admit(&one).is_none() && admit(&other).is_none(), "still open");
        !stats(&one).store_down && !stats(&other).store_down
    })
    .await;
    // One flush in mid-flight is the same to it.
    let client = redis::Client::open(redis.url()).expect("a URL");
    let mut connection = client.get_connection().expect("it runs");
    redis::cmd("FLUSHALL").exec(&mut connection).expect("it may");
    redis::cmd("SCRIPT").arg("FLUSH").exec(&mut connection).expect("it may");
    eventually("it is reminded again", || {
        assert!(admit(&one).is_none() && admit(&other).is_none(), "open all the time");
        kept(&redis.url(), "lost").len() >= 5
    })
    .await;
    assert!(!stats(&one).store_down && !stats(&other).store_down, "never away");
}

#[tokio::test]
async fn whoever_may_not_decide_alone_waits_for_the_store_with_its_probes() {
    let Some(redis) = Redis::start(&[]) else { return };
    let [one] = fleet(&redis.url(), "refuse", &policy(plan()), StoreFallback::Refuse).await;
    trip(&one);
    eventually("the store knows", || kept(&redis.url(), "refuse").len() >= 5).await;
    redis.stop();
    eventually("it is away", || {
        let _ = admit(&one).map(|ticket| report(&one, ticket, Report::Neutral));
        stats(&one).store_down
    })
    .await;
    // A lease that was granted before may be used; then there is none, however long.
    let patience = StdTime.now() + Span::from_millis(1_500);
    eventually("time passes", || {
        let _ = admit(&one).map(|ticket| report(&one, ticket, Report::Neutral));
        StdTime.now() > patience
    })
    .await;
    assert!(admit(&one).is_none());
    redis.again();
    let ticket = probe(&one).await;
    report(&one, ticket, Report::Success);
    hears_that_it_is_closed(&one).await;
}

#[tokio::test]
async fn what_opens_without_the_store_stays_open_for_whoever_may_not_decide_alone() {
    let Some(redis) = Redis::start(&[]) else { return };
    let [one] = fleet(&redis.url(), "stays", &policy(plan()), StoreFallback::Refuse).await;
    redis.stop();
    eventually("it is away", || call(&one, Report::Success) && stats(&one).store_down).await;
    trip(&one);
    let patience = StdTime.now() + Span::from_secs(1);
    eventually("time passes", || {
        assert!(admit(&one).is_none(), "the open time is over, and there is no lease");
        StdTime.now() > patience
    })
    .await;
    redis.again();
    let ticket = probe(&one).await;
    assert_eq!(stats(&one).probes_leased, 1);
    report(&one, ticket, Report::Success);
    hears_that_it_is_closed(&one).await;
    // Whoever has left the fleet decides alone.
    trip(&one);
    one.close().await;
    let ticket = probe(&one).await;
    report(&one, ticket, Report::Success);
    assert!(call(&one, Report::Success) && state(&one) == StateKind::Closed);
}

#[tokio::test]
async fn a_store_that_is_paused_keeps_no_call_waiting() {
    let Some(redis) = Redis::start(&[]) else { return };
    let both: [_; 2] = fleet(&redis.url(), "pause", &policy(plan()), LOCAL).await;
    let [one, other] = &both;
    assert!(call(one, Report::Success) && call(other, Report::Success));
    redis.pause();
    trip(one);
    let (mut longest, mut away) = (Span::ZERO, false);
    eventually("it closes alone", || {
        let begun = StdTime.now();
        call(one, Report::Success);
        longest = longest.max(StdTime.now() - begun);
        away |= stats(one).store_down;
        away && state(one) == StateKind::Closed
    })
    .await;
    assert!(longest < PATIENCE, "nobody has waited for the store: {longest}");
    redis.resume();
    eventually("they are back", || {
        [one, other].iter().all(|it| {
            call(it, Report::Success);
            !stats(it).store_down && state(it) == StateKind::Closed
        })
    })
    .await;
}

#[tokio::test]
async fn calls_wait_for_the_fleets_breaker_when_they_are_told_to() {
    let Some(url) = shared_redis() else { return };
    let name = name("wait");
    let patient = Policy::builder()
        .budget(BudgetPlan::None)
        .breaker(plan().build().expect("in bounds"))
        .wait_for_breaker(true)
        .deadline(Span::from_secs(20))
        .build()
        .expect("in bounds");
    let [one, other] = fleet(&url, &name, &patient, LOCAL).await;
    trip(&one);
    hears_that_it_is_open(&other).await;
    let hasty = Retrier::new(policy(plan()), TokioTime).with_ledger(Arc::clone(&other));
    let refused = hasty.retry(async || Ok(1)).when(|_: &()| true).await;
    assert_eq!(refused.expect_err("open").stop(), Stop::BreakerOpen);
    let patient = Retrier::new(patient, TokioTime).with_ledger(Arc::clone(&other));
    let waited = patient.retry(async || Ok(1)).when(|_: &()| true).await;
    assert_eq!(waited.expect("the probe is good"), 1);
    hears_that_it_is_closed(&one).await;
}

#[tokio::test]
async fn a_breaker_that_is_not_shared_is_each_process_own() {
    let Some(url) = shared_redis() else { return };
    let (name, policy) = (name("unshared"), policy(plan()));
    let mut both = Vec::new();
    for _ in 0..2 {
        let options = options(LOCAL).with_shared_breaker(false);
        let store = SharedStore::connect(&url, options).await.expect("it takes us");
        both.push(store.ledger(&name, &policy).expect("a name"));
    }
    trip(&both[0]);
    let patience = StdTime.now() + PATIENCE;
    eventually("time passes", || {
        assert!(call(&both[1], Report::Success));
        StdTime.now() > patience
    })
    .await;
    assert_eq!(kept(&url, &name), [0_u64; 0]);
}

#[cfg(feature = "tracing")]
#[test]
fn what_others_have_seen_is_told_once() {
    let Some(redis) = Redis::start(&[]) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let heard = support::Listener::hear(|| {
        runtime.block_on(async {
            let [one, other] = fleet(&redis.url(), "told", &policy(plan()), LOCAL).await;
            trip(&one);
            hears_that_it_is_open(&other).await;
            let ticket = probe(&one).await;
            report(&one, ticket, Report::Success);
            hears_that_it_is_closed(&other).await;
            hears_that_it_is_closed(&one).await;
            other.close().await;
            redis.stop();
            eventually("it is away", || call(&one, Report::Success) && stats(&one).store_down)
                .await;
            redis.again();
            eventually("it is back", || call(&one, Report::Success) && !stats(&one).store_down)
                .await;
        });
    });
    assert!(heard.iter().any(|line| line.contains("breaker=\"told\"")), "{heard:?}");
    let count = |what: &str| heard.iter().filter(|line| line.contains(what)).count();
    assert_eq!(count("WARN stagger stagger.breaker.opened"), 1, "{heard:?}");
    assert_eq!(count("INFO stagger stagger.breaker.closed"), 1, "{heard:?}");
    assert_eq!(
        (count("stagger.store.unreachable"), count("stagger.store.reachable")),
        (1, 1),
        "{heard:?}"
    );
}

/// This test binary again, as a process of the fleet.
fn process(test: &str, url: &str, name: &str) -> std::process::Child {
    let mut child = Command::new(std::env::current_exe().expect("this one"));
    child.args(["--ignored", "--exact", test, "--nocapture"]).stdout(Stdio::piped());
    child.env("STAGGER_TEST_REDIS", url).env("STAGGER_BREAKER", name);
    child.spawn().expect("it starts")
}

#[tokio::test]
async fn a_process_that_is_killed_with_a_probe_keeps_it_no_longer_than_its_lease() {
    let Some(url) = shared_redis() else { return };
    let name = name("killed");
    let [one] = fleet(&url, &name, &policy(plan()), LOCAL).await;
    trip(&one);
    eventually("the store knows", || kept(&url, &name).len() >= 5).await;
    let mut child = process("child_holds_a_probe", &url, &name);
    let out = BufReader::new(child.stdout.take().expect("piped"));
    let says =
        |out: BufReader<_>| out.lines().map_while(Result::ok).any(|line| line.contains("a probe"));
    let has_a_probe = tokio::task::spawn_blocking(move || says(out)).await.expect("it reads");
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert!(has_a_probe);
    let begun = StdTime.now();
    let ticket = probe(&one).await;
    assert!(StdTime.now() - begun < Span::from_secs(10), "the lease is 1 s");
    report(&one, ticket, Report::Success);
    hears_that_it_is_closed(&one).await;
}

#[tokio::test]
#[ignore = "a part of the test above"]
async fn child_holds_a_probe() {
    let url = std::env::var("STAGGER_TEST_REDIS").expect("the parent says it");
    let name = std::env::var("STAGGER_BREAKER").expect("the parent says it");
    let one = comes_late(&url, &name, &policy(plan())).await;
    probe(&one).await;
    println!("a probe");
    tokio::time::sleep(Duration::from_secs(30)).await;
}
