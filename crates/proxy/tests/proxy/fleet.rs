//! Three proxies with one budget in Redis: a total outage, and calls while Redis is silent and after its end. Runs if
//! `STAGGER_TEST_REDIS` is set; see scripts/redis.

use std::time::Duration;

use stagger_proxy::stats::{DestinationSnapshot, StoreSnapshot};
use stagger_testkit::server::{Reaction, Script, TestServer};

use crate::client::{RunningProxy, request};

#[path = "../../../redis/tests/support/redis.rs"]
#[expect(dead_code, reason = "other tests restart their server")]
mod redis;

use redis::Redis;

const PROXIES: usize = 3;

/// The time between two calls that wait for what others have earned.
const PACE: Duration = Duration::from_millis(50);

/// Three proxies, whose calls fail unless they are calm, and whose retries only the budget holds.
struct Fleet {
    server: TestServer,
    proxies: Vec<RunningProxy>,
    calls: usize,
}

impl Fleet {
    async fn start(redis: &Redis) -> Self {
        let calm = Script::always(Reaction::ok("fine"));
        let script = Script::always(Reaction::status(503)).on_header("x-calm", "1", calm);
        let server = TestServer::start(script).await;
        let text = format!(
            "[fleet]\nredis = '{}'\nredis_processes = {PROXIES}\n\
             [route.api]\nupstream = '{}'\n[route.api.policy]\n\
             backoff = {{ base = '1ms', cap = '2ms' }}\nlimits = {{ max_attempts = 3 }}\n\
             budget.window = {{ ratio = 0.1, floor = 0 }}\n",
            redis.url(),
            server.url("")
        );
        let mut proxies = Vec::new();
        for _ in 0..PROXIES {
            proxies.push(RunningProxy::start(&text).await);
        }
        Self { server, proxies, calls: 0 }
    }

    /// One call through the proxy of this number, to its end.
    async fn call(&mut self, proxy: usize, calm: &str) {
        let reply = self.proxies[proxy].send(request("GET", "/", "", &[("x-calm", calm)])).await;
        assert_eq!(reply.status(), if calm == "1" { 200 } else { 503 });
        self.calls += 1;
    }

    /// One failing call through each proxy.
    async fn fail(&mut self) {
        for proxy in 0..PROXIES {
            self.call(proxy, "0").await;
        }
    }

    fn figures(&self, proxy: usize) -> DestinationSnapshot {
        self.proxies[proxy].handle.snapshot().routes[0].destinations[0].clone()
    }

    fn store(&self, proxy: usize) -> StoreSnapshot {
        self.figures(proxy).store.expect("the budget is the fleet's")
    }

    fn all(&self, is: impl Fn(StoreSnapshot) -> bool) -> bool {
        (0..PROXIES).all(|proxy| is(self.store(proxy)))
    }

    /// At most 1.12 attempts a call, of all calls so far.
    fn held(&self) {
        let attempts = self.server.taken();
        assert!(attempts * 100 <= self.calls * 112, "{attempts} attempts of {} calls", self.calls);
    }
}

#[tokio::test]
async fn a_fleet_spent_more_than_its_budget_or_waited_for_its_store() {
    let Some(redis) = Redis::start(&[]) else { return };
    let mut fleet = Fleet::start(&redis).await;
    assert!(fleet.all(|store| store.up), "it answered at the start");

    // The calls of one proxy earn what another spends, whose own calls earn less than half of that. They are paced,
    // because the store hears of both twice a second.
    for _ in 0..200 {
        fleet.call(0, "1").await;
    }
    while fleet.figures(1).retries < 12 {
        fleet.call(1, "0").await;
        tokio::time::sleep(PACE).await;
    }
    let figures = fleet.figures(1);
    assert!(figures.retries * 100 > figures.calls * 12, "{figures:?}");

    // A total outage, until each proxy has had retries of the budget.
    while fleet.calls < 500 || !fleet.all(|store| store.leased > 0) {
        fleet.fail().await;
    }
    fleet.held();
    assert!(fleet.all(|store| store.local_granted == 0), "all retries were leased");

    // Redis is silent. A call that waits for it ends when it is given up, not before; the machine may have other reasons
    // to be late, so one call of several that is earlier is the proof.
    let mut ended_before = false;
    for _ in 0..20 {
        while !fleet.store(0).up {
            fleet.call(0, "0").await;
        }
        redis.pause();
        fleet.call(0, "0").await;
        ended_before = fleet.store(0).up;
        if ended_before {
            break;
        }
        redis.resume();
    }
    assert!(ended_before, "each call ended only after the store was given up");
    while !fleet.all(|store| !store.up) {
        fleet.fail().await;
    }
    // It is still silent: these calls end without it, or never.
    for _ in 0..30 {
        fleet.fail().await;
    }
    assert!(fleet.all(|store| !store.up && store.local_granted > 0), "each has its own part");
    fleet.held();

    redis.resume();
    redis.kill();
    for _ in 0..20 {
        fleet.fail().await;
    }
    fleet.held();
}

/// The most calls that wait for what another proxy has seen: half a minute.
const MOST_CALLS: usize = 600;

#[tokio::test]
async fn a_breaker_that_one_proxy_had_opened_was_closed_in_the_others() {
    let Some(redis) = Redis::start(&[]) else { return };
    let script = Script::always(Reaction::status(503)).on_header(
        "x-calm",
        "1",
        Script::always(Reaction::ok("fine")),
    );
    let server = TestServer::start(script).await;
    let text = |shared: bool| {
        format!(
            "[fleet]\nredis = '{}'\nredis_processes = 2\nshared_breakers = {shared}\n\
             [route.api]\nupstream = '{}'\n[route.api.policy]\nlimits = {{ max_attempts = 1 }}\n\
             breaker = {{ consecutive = 3, open_time = '10m', open_cap = '10m' }}\n",
            redis.url(),
            server.url("")
        )
    };
    let (first, second) =
        (RunningProxy::start(&text(true)).await, RunningProxy::start(&text(true)).await);
    let alone = RunningProxy::start(&text(false)).await;
    let call = async |proxy: &RunningProxy, calm| {
        proxy.send(request("GET", "/", "", &[("x-calm", calm)])).await
    };
    for _ in 0..3 {
        assert_eq!(call(&first, "0").await.status(), 503);
    }
    let is_open = |reply: &http::Response<_>| {
        reply.headers().get("stagger-stop").is_some_and(|stop| stop == "breaker_open")
    };
    assert!(is_open(&call(&first, "1").await));
    let mut calls = 0;
    while !is_open(&call(&second, "1").await) {
        calls += 1;
        assert!(calls < MOST_CALLS, "its own calls succeed, and the fleet's breaker is open");
        tokio::time::sleep(PACE).await;
    }
    assert_eq!(call(&alone, "1").await.status(), 200, "it shares none");
}
