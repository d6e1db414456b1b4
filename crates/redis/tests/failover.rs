//! A store that is a primary and a replica, of which one dies; and a network that is cut.

mod support;

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use redis::Connection;
use stagger::breaker::{BreakerPlan, Report, StateKind};
use stagger::budget::TokenPlan;
use stagger::engine::Ledger;
use stagger::engine::budget::Charge;
use stagger::{Clock, OsEntropy, Policy, Span, StdTime};
use stagger_redis::{SharedLedger, SharedOptions, SharedStats, SharedStore, StoreFallback};
use support::{Proxy, Redis};

/// The bucket of the whole fleet, which nothing refills.
const BUCKET: u32 = 100;
const LEASE: u32 = 4;

/// A breaker that is open for longer than a test takes.
fn policy() -> Policy {
    let bucket = TokenPlan::new(BUCKET, 1).and_then(|plan| plan.with_first_try(0));
    let minute = Span::from_secs(60);
    let breaker = BreakerPlan::builder().consecutive(2).open_time(minute).open_cap(minute);
    let policy = Policy::builder().budget(bucket.expect("in bounds"));
    policy.breaker(breaker.build().expect("in bounds")).build().expect("in bounds")
}

async fn join(url: &str, fallback: StoreFallback) -> Arc<SharedLedger> {
    let options = SharedOptions::new(2).and_then(|options| options.with_fallback(fallback));
    let options = options.and_then(|options| options.with_lease(LEASE));
    let options = options.and_then(|options| options.with_again(Span::from_millis(500)));
    let options = options.expect("in bounds").with_shared_breaker(true);
    let store = SharedStore::connect(url, options).await.expect("it takes us");
    store.ledger("failover", &policy()).expect("a name")
}

fn stats(ledger: &SharedLedger) -> SharedStats {
    ledger.stats(StdTime.now())
}

fn ask(mut ledger: &SharedLedger) -> bool {
    ledger.ask(StdTime.now(), Charge::Retry).is_some()
}

fn call(mut ledger: &SharedLedger, report: Report) -> bool {
    let ticket = ledger.admit(StdTime.now()).ticket();
    if let Some(ticket) = ticket {
        ledger.report(StdTime.now(), ticket, report, &mut OsEntropy);
    }
    ticket.is_some()
}

/// Looks until it is so; fails when it takes far too long.
async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let patience = StdTime.now() + Span::from_secs(30);
    while !is_so() {
        assert!(StdTime.now() < patience, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Asks all in turn until so many retries more were granted.
async fn take(fleet: &[Arc<SharedLedger>], count: u32) {
    let mut granted = 0;
    eventually("the permits that are left", || {
        for ledger in fleet {
            granted += u32::from(granted < count && ask(ledger));
        }
        granted == count
    })
    .await;
}

/// Asks all until the store has refused each of them twice more; what was granted.
async fn drain(fleet: &[Arc<SharedLedger>]) -> u32 {
    let before: Vec<_> = fleet.iter().map(|it| stats(it).lease_denied).collect();
    let mut granted = 0;
    eventually("the store has no more", || {
        granted += fleet.iter().map(|it| u32::from(ask(it))).sum::<u32>();
        let lease = u64::from(LEASE);
        fleet.iter().zip(&before).all(|(it, before)| stats(it).lease_denied >= before + 3 * lease)
    })
    .await;
    granted
}

/// Waits until nobody wants a lease, and none is on its way; what was leased until then.
async fn at_rest(fleet: &[Arc<SharedLedger>]) -> u64 {
    let held = u64::from(LEASE) / 2;
    eventually("all have their leases", || fleet.iter().all(|it| stats(it).permits > held)).await;
    leased(fleet)
}

fn leased(fleet: &[Arc<SharedLedger>]) -> u64 {
    fleet.iter().map(|it| stats(it).leased).sum()
}

fn port() -> u16 {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
    socket.local_addr().expect("an address").port()
}

/// A primary, a replica that hears it through a network of its own, and the address of the store.
struct Pair {
    primary: Redis,
    _replica: Redis,
    replica_port: u16,
    replication: Proxy,
    store: Proxy,
}

impl Pair {
    fn start() -> Option<Self> {
        let [port, replica_port] = [port(), port()];
        let on = |port: u16| {
            ["--bind", "127.0.0.1", "--port"]
                .map(str::to_owned)
                .into_iter()
                .chain([port.to_string()])
                .collect::<Vec<_>>()
        };
        let start = |options: &[String]| {
            let options: Vec<_> = options.iter().map(String::as_str).collect();
            Redis::start(&options)
        };
        // A replica that connects gets all at once, and not after a delay for more to come.
        let primary = [on(port), ["--repl-diskless-sync-delay", "0"].map(str::to_owned).to_vec()];
        let primary = start(&primary.concat())?;
        let replication = Proxy::to(port);
        let of = ["--replicaof".to_owned(), "127.0.0.1".to_owned(), replication.port().to_string()];
        let replica = start(&[on(replica_port), of.to_vec()].concat())?;
        let store = Proxy::to(port);
        Some(Self { primary, _replica: replica, replica_port, replication, store })
    }

    fn replica(&self) -> Connection {
        let url = format!("redis://127.0.0.1:{}", self.replica_port);
        redis::Client::open(url).and_then(|it| it.get_connection()).expect("it runs")
    }

    /// The replica has all that the primary has now, and hears no more.
    async fn freeze(&self) {
        let client = redis::Client::open(self.primary.url()).expect("a URL");
        let mut primary = client.get_connection().expect("it runs");
        eventually("the replica is there", || {
            let mut wait = redis::cmd("WAIT");
            // It counts what was written by this connection.
            redis::cmd("SET").arg("mark").arg(1).exec(&mut primary).expect("it takes it");
            let heard: u32 = wait.arg(1).arg(100).query(&mut primary).expect("a number");
            heard == 1
        })
        .await;
        self.replication.hold();
    }

    /// The primary dies, and the replica takes its place.
    fn fail_over(&self) {
        self.replication.point(None);
        self.primary.kill();
        redis::cmd("REPLICAOF").arg("NO").arg("ONE").exec(&mut self.replica()).expect("it may");
        self.store.point(Some(self.replica_port));
    }
}

#[tokio::test]
async fn a_fleet_exceeds_its_budget_by_what_the_replica_had_not_seen_and_no_more() {
    let Some(pair) = Pair::start() else { return };
    let mut fleet = Vec::new();
    for _ in 0..4 {
        fleet.push(join(&pair.store.url(), StoreFallback::Refuse).await);
    }
    take(&fleet, 40).await;
    let seen = at_rest(&fleet).await;
    pair.freeze().await;
    take(&fleet, 20).await;
    let unseen = at_rest(&fleet).await - seen;
    assert!(unseen > 0, "the replica knows less");
    pair.fail_over();
    let late = drain(&fleet).await;
    let granted: u64 = fleet.iter().map(|it| stats(it).ledger.grants).sum();
    assert_eq!(granted, u64::from(40 + 20 + late));
    assert_eq!(granted, leased(&fleet), "all that was leased has been used");
    assert_eq!(granted, u64::from(BUCKET) + unseen, "and nothing else is too much");
    eventually("all are back", || fleet.iter().all(|it| !stats(it).store_down)).await;
}

#[tokio::test]
async fn what_was_open_stays_open_though_the_replica_had_not_heard_of_it() {
    let Some(pair) = Pair::start() else { return };
    let url = pair.store.url();
    let (one, other) =
        (join(&url, StoreFallback::Refuse).await, join(&url, StoreFallback::Refuse).await);
    assert!(call(&one, Report::Success) && call(&other, Report::Success));
    pair.freeze().await;
    assert!(call(&one, Report::Failure) && call(&one, Report::Failure));
    eventually("the other hears it", || !call(&other, Report::Success)).await;
    pair.fail_over();
    let mut replica = pair.replica();
    eventually("the replica is told", || {
        assert!(!call(&one, Report::Success) && !call(&other, Report::Success), "open");
        let key = "{stagger:failover}:breaker";
        let text: Option<String> = redis::cmd("GET").arg(key).query(&mut replica).expect("text");
        text.is_some_and(|text| text.split(' ').nth(1) == Some("1"))
    })
    .await;
    eventually("both are back", || {
        assert!(!call(&one, Report::Success) && !call(&other, Report::Success), "open");
        !stats(&one).store_down && !stats(&other).store_down
    })
    .await;
    let late = join(&url, StoreFallback::Refuse).await;
    eventually("it hears it from there", || stats(&late).ledger.breaker == Some(StateKind::Open))
        .await;
}

#[tokio::test]
async fn a_network_that_is_cut_leaves_each_side_its_own_and_open_wins_after_it() {
    let Some(redis) = Redis::start(&["--bind", "127.0.0.1", "--port", &port().to_string()]) else {
        return;
    };
    let mut connection = redis::Client::open(redis.url()).and_then(|it| it.get_connection());
    let connection = connection.as_mut().expect("it runs");
    let mut get = redis::cmd("CONFIG");
    let (_, port): (String, String) = get.arg("GET").arg("port").query(connection).expect("a port");
    let network = Proxy::to(port.parse().expect("a number"));
    let far = join(&network.url(), StoreFallback::Local { nodes: 2 }).await;
    let near = join(&redis.url(), StoreFallback::Local { nodes: 2 }).await;
    take(&[Arc::clone(&far), Arc::clone(&near)], 10).await;
    assert!(call(&far, Report::Success) && call(&near, Report::Success));
    network.hold();
    eventually("the far one knows", || call(&far, Report::Success) && stats(&far).store_down).await;
    // The near one opens it, and the far one cannot know.
    assert!(call(&near, Report::Failure) && call(&near, Report::Failure));
    eventually("the store knows", || !call(&near, Report::Success)).await;
    assert!(call(&far, Report::Success));
    // All that is left goes to the near one; the far one has its half of a bucket of its own.
    let near_granted = drain(std::slice::from_ref(&near)).await;
    let mut far_granted = 0;
    eventually("its share is used up", || {
        far_granted += u32::from(ask(&far));
        stats(&far).local_granted == u64::from(BUCKET / 2) && stats(&far).permits == 0
    })
    .await;
    assert!(!ask(&far), "not one more");
    // What was held arrives, late as it is.
    network.release();
    eventually("the far one hears of it", || !call(&far, Report::Success)).await;
    let late = drain(&[Arc::clone(&far), Arc::clone(&near)]).await;
    let all = 10 + near_granted + far_granted + late;
    assert!(all <= BUCKET + BUCKET / 2, "one bucket and one half: {all}");
    assert!(!stats(&far).store_down && stats(&far).ledger.breaker == Some(StateKind::Open));
}
