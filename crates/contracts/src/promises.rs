//! Every promise, with its check.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use stagger::adaptive::{AdaptivePlan, ClientThrottlePlan};
use stagger::breaker::BreakerPlan;
use stagger::budget::{BudgetPlan, TokenPlan};
use stagger::concurrency::ConcurrencyPlan;
use stagger::engine::{Entrance, Ledger, LimitPermit};
use stagger::rate_limit::RatePlan;
use stagger::{Clock, LocalLedger, Policy, PolicyBuilder, Rate, Span, StdTime, Stop};
use stagger_testkit::server::{
    ConnectionEnd, Reaction, RefusingPort, Script, SeenRequest, TestServer,
};

use crate::promise::{Bench, promises, quick, steady};
use crate::{Ask, CallOutcome, Checks, Promise};

promises! {
    /// Every promise of clients whose settings a check chooses.
    PROMISES
    "3" "transient reply is retried" transient_is_retried,
    "3" "reset is retried" reset_is_retried,
    "3" "body that breaks off is retried" broken_body_is_retried,
    "3" "permanent reply is not retried" permanent_is_not_retried,
    "3" "POST that was read is not repeated" post_read_is_not_repeated,
    "3" "POST that was not processed is repeated" post_unprocessed_is_repeated,
    "3" "every attempt carries equal bytes" equal_bytes,
    "3" "idempotency key is the same on every attempt" key_is_stable,
    "3" "body that cannot be sent again is said so" lost_body_is_told,
    "4" "hint is a lower bound" hint_is_a_lower_bound,
    "4" "hint too long stops at once" hint_too_long_stops,
    "4" "pushback that forbids the retry is kept to" pushback_forbids,
    "4" "pushback replaces the delay" pushback_is_exact,
    "5" "no wait before a deadline that it would pass" no_last_sleep,
    "5" "time limit ends a hanging attempt" time_limit_ends_a_hang,
    "5" "time limit ends a body that stalls" time_limit_ends_a_stall,
    "5" "last reply comes back unchanged" last_reply_is_unchanged,
    "5" "last error comes with reason and attempts" last_error_is_told,
    "5" "dropped call leaves the ledger level" drop_is_neutral,
    "5" "connection is used again after a failed reply" connection_is_reused,
    "5" "call inside an attempt makes one attempt" nested_call_does_not_multiply,
    "6" "clones share one ledger" clones_share,
    "6" "empty budget stops callers that fail for ever" empty_budget_stops,
    "7" "open breaker uses no network" open_breaker_uses_no_network,
    "7" "open breaker gives the token back" open_breaker_refunds,
    "9" "client-side throttling uses no network" throttling_uses_no_network,
    "9" "turn after the deadline ends the call at once" late_turn_ends_the_call,
    "9" "concurrency limit bounds the requests in flight" places_bound_the_requests,
    "9" "rate limit without a start uses no network" rate_limit_uses_no_network,
}

async fn transient_is_retried(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    for status in bench.sayable(&[408, 500, 502, 503, 504, 429]) {
        let server = serve([bench.failure(status), bench.failure(status), bench.success()]).await;
        let end = bench.call(plan(quick()), get(&server)).await;
        checks.equal(&format!("status after {status}"), &end.status(), &Some(200));
        checks.equal("attempts", &server.taken(), &3);
    }
    checks
}

async fn reset_is_retried(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    second_succeeds(&mut checks, bench, plan(quick()), Reaction::reset()).await;
    checks
}

async fn broken_body_is_retried(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let broken = Reaction::ok("abcdef").cut(2);
    for reaction in [broken.clone(), broken.ending(ConnectionEnd::Reset)] {
        second_succeeds(&mut checks, bench, plan(quick()), reaction).await;
    }
    checks
}

async fn permanent_is_not_retried(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    for status in bench.sayable(&[400, 401, 403, 404, 409, 410, 501]) {
        let server = serve([bench.failure(status), bench.success()]).await;
        let end = bench.call(plan(quick()), get(&server)).await;
        checks.equal("status", &end.status(), &Some(status));
        checks.equal("attempts", &server.taken(), &1);
    }
    checks
}

async fn post_read_is_not_repeated(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    for reaction in [bench.failure(503), Reaction::reset(), Reaction::close()] {
        let server = serve([reaction, bench.success()]).await;
        let ask = Ask::new(Method::POST, server.url("/")).with_body("pay");
        bench.call(plan(quick()), ask).await;
        checks.equal("attempts", &server.taken(), &1);
    }
    checks
}

async fn post_unprocessed_is_repeated(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let refusal = RefusingPort::hold().expect("a port is free");
    let ask = Ask::new(Method::POST, refusal.url("/")).with_body("pay");
    let end = bench.call(plan(quick()), ask).await;
    checks.equal("stop", &end.stop, &Some(Stop::AttemptsExhausted));
    checks.equal("attempts", &end.attempts, &Some(3));
    checks
}

async fn equal_bytes(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let server = serve([bench.failure(503), Reaction::reset(), bench.success()]).await;
    let ask = Ask::new(Method::PUT, server.url("/")).with_body("the same bytes");
    bench.call(plan(quick()), ask).await;
    let bodies: Vec<_> = server.seen().into_iter().map(|seen| seen.body).collect();
    checks.equal("bodies", &bodies, &vec!["the same bytes".into(); 3]);
    checks
}

async fn key_is_stable(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let server = serve([bench.failure(503), Reaction::reset(), bench.success()]).await;
    let ask = Ask::new(Method::POST, server.url("/")).with_body("pay").with_key();
    let end = bench.call(plan(quick()), ask).await;
    checks.equal("status", &end.status(), &Some(200));
    let key = |seen: &SeenRequest| seen.headers.get("idempotency-key").cloned();
    let keys: Vec<_> = server.seen().iter().map(key).collect();
    checks.equal("attempts", &keys.len(), &3);
    let same = keys.iter().all(|key| key.is_some() && *key == keys[0]);
    checks.holds("all have one key", same);
    checks
}

async fn lost_body_is_told(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let server = serve([Reaction::reset(), bench.success()]).await;
    let ask = Ask::new(Method::PUT, server.url("/")).with_stream(MUCH);
    let end = bench.call(plan(quick()), ask).await;
    checks.equal("stop", &end.stop, &Some(Stop::NotReplayable));
    checks.equal("attempts", &end.attempts, &Some(1));
    checks.equal("requests", &server.taken(), &1);
    checks
}

async fn hint_is_a_lower_bound(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let hint = Duration::from_millis(40);
    let busy = bench.failure(429).header("retry-after-ms", "40");
    let server = serve([busy.clone(), busy, bench.success()]).await;
    bench.call(plan(quick()), get(&server)).await;
    let at: Vec<_> = server.seen().into_iter().map(|seen| seen.at).collect();
    checks.equal("attempts", &at.len(), &3);
    let waited = at.windows(2).all(|pair| pair[1] - pair[0] >= hint);
    checks.holds("each wait is at least the hint", waited);
    checks
}

async fn hint_too_long_stops(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let server = serve([bench.failure(503).header("retry-after", "3600"), bench.success()]).await;
    let end = bench.call(plan(quick()), get(&server)).await;
    checks.equal("status", &end.status(), &Some(503));
    checks.equal("attempts", &server.taken(), &1);
    check_stop(&mut checks, &end, Stop::HintTooLong);
    checks
}

async fn pushback_forbids(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let never = bench.failure(503).header("grpc-retry-pushback-ms", "-1");
    let server = serve([never, bench.success()]).await;
    let end = bench.call(plan(quick()), get(&server)).await;
    checks.equal("status", &end.status(), &Some(503));
    checks.equal("attempts", &server.taken(), &1);
    check_stop(&mut checks, &end, Stop::HintForbids);
    checks
}

async fn pushback_is_exact(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let soon = bench.failure(503).header("grpc-retry-pushback-ms", "1");
    let server = serve([soon, bench.success()]).await;
    // A delay of an hour does not fit before the deadline; the pushback does.
    let policy = plan(steady(Span::from_secs(3600)).deadline(Span::from_secs(60)));
    let end = bench.call(policy, get(&server)).await;
    checks.equal("status", &end.status(), &Some(200));
    checks.equal("attempts", &server.taken(), &2);
    checks
}

async fn no_last_sleep(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    // A wait of an hour would be noticed.
    let policy = plan(steady(Span::from_secs(3600)).deadline(Span::from_secs(60)));
    let server = serve([bench.failure(503), bench.success()]).await;
    let end = bench.call(policy, get(&server)).await;
    checks.equal("attempts", &server.taken(), &1);
    check_stop(&mut checks, &end, Stop::DeadlineExceeded);
    checks
}

async fn time_limit_ends_a_hang(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    second_succeeds(&mut checks, bench, limited(), Reaction::hang()).await;
    checks
}

async fn time_limit_ends_a_stall(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let stalled = Reaction::ok("abc").stall(1);
    second_succeeds(&mut checks, bench, limited(), stalled).await;
    checks
}

async fn last_reply_is_unchanged(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let reaction = bench.failure_because(503, "why").header("k", "v");
    let server = TestServer::start(Script::always(reaction)).await;
    let end = bench.call(plan(quick()), get(&server)).await;
    checks.equal("attempts", &server.taken(), &3);
    checks.equal("status", &end.status(), &Some(503));
    if let Ok(reply) = &end.result {
        checks.equal("body", &&reply.body()[..], &&b"why"[..]);
        let header = reply.headers().get("k").map(|value| value.as_bytes());
        checks.equal("header", &header, &Some(&b"v"[..]));
    }
    check_stop(&mut checks, &end, Stop::AttemptsExhausted);
    checks
}

async fn last_error_is_told(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let server = TestServer::start(Script::always(Reaction::reset())).await;
    let end = bench.call(plan(quick()), get(&server)).await;
    checks.holds("there is no reply", end.result.is_err());
    checks.equal("stop", &end.stop, &Some(Stop::AttemptsExhausted));
    checks.equal("attempts", &end.attempts, &Some(3));
    checks.equal("requests", &server.taken(), &3);
    checks
}

async fn drop_is_neutral(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let breaker = BreakerPlan::builder().consecutive(1).build().expect("one is a bound");
    let policy = plan(quick().budget(tokens()).breaker(breaker));
    let ledger = Arc::new(LocalLedger::new(&policy));
    let before = ledger.stats(StdTime.now());
    let server = serve([Reaction::hang()]).await;
    let call = bench.with_ledger(policy, Arc::clone(&ledger), vec![get(&server)]);
    tokio::select! {
        _ = call => checks.holds("a hanging call ended by itself", false),
        () = server.until_taken(1) => {}
    }
    server.until_open(0).await;
    checks.equal("ledger", &ledger.stats(StdTime.now()), &before);
    checks.equal("attempts", &server.taken(), &1);
    checks
}

async fn connection_is_reused(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let busy = bench.failure_because(503, "a reason of some length");
    let server = serve([busy.clone(), busy, bench.success()]).await;
    let end = bench.call(plan(quick()), get(&server)).await;
    checks.equal("status", &end.status(), &Some(200));
    checks.equal("connections", &server.connections(), &1);
    checks
}

async fn nested_call_does_not_multiply(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let server = serve([bench.failure(503), bench.success()]).await;
    let end = bench.nested(plan(quick()), get(&server)).await;
    checks.equal("status", &end.and_then(|end| end.status()), &Some(503));
    checks.equal("attempts", &server.taken(), &1);
    checks
}

async fn clones_share(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let policy = plan(quick().budget(tokens()));
    let ledger = Arc::new(LocalLedger::new(&policy));
    let server = TestServer::start(Script::always(bench.failure(503))).await;
    bench.with_ledger(policy, Arc::clone(&ledger), vec![get(&server); CALLERS]).await;
    let stats = ledger.stats(StdTime.now());
    checks.equal("attempts", &server.taken(), &(CALLERS + 2));
    checks.equal("grants", &stats.grants, &2);
    checks
}

async fn empty_budget_stops(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let policy = plan(quick().budget(tokens()));
    let server = TestServer::start(Script::always(bench.failure(503))).await;
    let ends = bench.calls(policy, vec![get(&server); CALLERS]).await;
    // Two tokens, one a retry.
    checks.equal("attempts", &server.taken(), &(CALLERS + 2));
    for end in ends.iter().skip(2) {
        check_stop(&mut checks, end, Stop::BudgetEmpty);
        checks.equal("status", &end.status(), &Some(503));
    }
    checks
}

async fn open_breaker_uses_no_network(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let policy = plan(quick().max_attempts(1).breaker(breaker()));
    let server = TestServer::start(Script::always(bench.failure(503))).await;
    let ends = bench.calls(policy, vec![get(&server); 4]).await;
    checks.equal("requests", &server.taken(), &2);
    for end in ends.iter().skip(2) {
        checks.equal("stop", &end.stop, &Some(Stop::BreakerOpen));
        checks.equal("attempts", &end.attempts, &Some(0));
    }
    checks
}

async fn open_breaker_refunds(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let policy = plan(quick().budget(tokens()).breaker(breaker()));
    let ledger = Arc::new(LocalLedger::new(&policy));
    let server = TestServer::start(Script::always(bench.failure(503))).await;
    bench.with_ledger(policy, Arc::clone(&ledger), vec![get(&server)]).await;
    let stats = ledger.stats(StdTime.now());
    checks.equal("requests", &server.taken(), &2);
    checks.equal("grants and refunds", &(stats.grants, stats.refunds), &(2, 1));
    checks
}

async fn throttling_uses_no_network(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let policy = plan(quick().max_attempts(1).adaptive(ClientThrottlePlan::default()));
    let server = TestServer::start(Script::always(bench.failure(503))).await;
    let ends = bench.calls(policy, vec![get(&server); THROTTLED]).await;
    let refused: Vec<_> = ends.iter().filter(|end| end.stop == Some(Stop::Throttled)).collect();
    // The n-th call passes with a chance of 1/n: five of them, and hardly ever fifteen.
    checks.equal("enough are refused", &(refused.len() > THROTTLED / 2), &true);
    checks.equal("requests", &server.taken(), &(THROTTLED - refused.len()));
    checks.equal("attempts", &refused.iter().all(|end| end.attempts == Some(0)), &true);
    checks
}

async fn late_turn_ends_the_call(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let policy = quick().max_attempts(1).adaptive(AdaptivePlan::Cubic);
    let server = TestServer::start(Script::always(bench.failure(429))).await;
    // Half a call a second, or a little more.
    let policy = plan(policy.deadline(Span::from_millis(500)));
    let ends = bench.calls(policy, vec![get(&server); 3]).await;
    checks.equal("requests", &server.taken(), &1);
    for end in ends.iter().skip(1) {
        checks.equal("stop", &end.stop, &Some(Stop::Throttled));
        checks.equal("attempts", &end.attempts, &Some(0));
    }
    checks
}

async fn places_bound_the_requests(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let queue = ConcurrencyPlan::new(1).and_then(|plan| plan.with_queue(9, Span::from_secs(30)));
    let policy = plan(quick().max_attempts(2).concurrency_limit(queue.expect("in bounds")));
    let ledger = Arc::new(LocalLedger::new(&policy));
    let server = serve([bench.failure(503), bench.success(), bench.success()]).await;
    // One after the other: a place that an attempt kept would leave none to the next.
    let ends = bench.with_ledger(policy, Arc::clone(&ledger), vec![get(&server); 2]).await;
    checks.equal("served", &ends.iter().all(|end| end.status() == Some(200)), &true);
    checks.equal("requests", &server.taken(), &3);
    let places = ledger.stats(StdTime.now()).concurrency_limit;
    checks.equal("places taken", &places.map(|it| (it.in_flight, it.queued)), &Some((0, 0)));
    let none = plan(quick().concurrency_limit(ConcurrencyPlan::new(1).expect("in bounds")));
    let ledger = Arc::new(LocalLedger::new(&none));
    let mut permit = LimitPermit::NONE;
    let entered = (&*ledger).enter(StdTime.now(), &mut permit, Span::ZERO);
    checks.equal("entered", &entered, &Entrance::Open);
    let end = bench.with_ledger(none, ledger, vec![get(&server)]).await;
    checks.equal("requests after a refusal", &server.taken(), &3);
    for end in end {
        checks.equal("stop", &end.stop, &Some(Stop::ConcurrencyLimited));
        checks.equal("attempts", &end.attempts, &Some(0));
    }
    checks
}

async fn rate_limit_uses_no_network(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    // One request, and the next in a hundred seconds.
    let rate = RatePlan::new(Rate::once_every(Span::from_secs(100)), 1).expect("in bounds");
    let policy = plan(quick().rate_limit(rate));
    let server = TestServer::start(Script::always(bench.failure(503))).await;
    let ends = bench.calls(policy, vec![get(&server); 2]).await;
    checks.equal("requests", &server.taken(), &1);
    if let [first, second] = ends.as_slice() {
        check_stop(&mut checks, first, Stop::RateLimited);
        checks.equal("stop", &second.stop, &Some(Stop::RateLimited));
        checks.equal("attempts", &second.attempts, &Some(0));
    }
    checks
}

/// Calls of which most are refused.
const THROTTLED: usize = 30;
/// Enough to find a budget that never empties.
const CALLERS: usize = 8;
/// More than any integration keeps of a request's body, in bytes.
const MUCH: usize = 512 << 10;

async fn serve(reactions: impl IntoIterator<Item = Reaction>) -> TestServer {
    TestServer::start(Script::of(reactions)).await
}

fn get(server: &TestServer) -> Ask {
    Ask::new(Method::GET, server.url("/"))
}

fn plan(policy: PolicyBuilder) -> Policy {
    policy.build().expect("the policies of the promises are constants")
}

/// Attempts of a quarter of a second.
fn limited() -> Policy {
    plan(quick().attempt_timeout(Span::from_millis(250)))
}

/// Checks that a call whose first attempt meets `first` makes a second one, which succeeds.
async fn second_succeeds(checks: &mut Checks, bench: &Bench<'_>, policy: Policy, first: Reaction) {
    let server = serve([first, bench.success()]).await;
    let end = bench.call(policy, get(&server)).await;
    checks.equal("status", &end.status(), &Some(200));
    checks.equal("attempts", &server.taken(), &2);
}

/// Two tokens, one a retry.
fn tokens() -> BudgetPlan {
    TokenPlan::new(2, 1).expect("two tokens pay for one").into()
}

/// Opens after two failures in a row.
fn breaker() -> BreakerPlan {
    BreakerPlan::builder().consecutive(2).build().expect("two is a bound")
}

/// The stop reason, where a reply leaves room for it.
fn check_stop(checks: &mut Checks, end: &CallOutcome, want: Stop) {
    if let Some(stop) = end.stop {
        checks.equal("stop", &stop, &want);
    }
}
