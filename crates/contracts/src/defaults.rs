//! Promises of clients as they are by default: nothing is set but the policy.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use stagger::breaker::BreakerPlan;
use stagger::budget::{BudgetPlan, TokenPlan};
use stagger::hedge::HedgePlan;
use stagger::{LocalLedger, Policy, PolicyBuilder, Span, Stop};
use stagger_testkit::server::{Reaction, RefusingPort, Script, TestServer};
use tokio::time::timeout;

use crate::promise::{Bench, promises, quick};
use crate::{Ask, Checks, Promise};

promises! {
    /// Every promise of clients as they are by default.
    DEFAULTS
    "3" "request on a connection that is closed is repeated" closed_connection_is_survived,
    "5" "deadline ends a body that stalls" deadline_ends_a_stall,
    "6" "retry that is dropped in flight stays paid" dropped_retry_stays_paid,
    "6" "time limit around the call makes no retry free" outer_timeout_makes_none_free,
    "6" "refused connection is paid for" refused_connection_is_paid,
    "6" "empty budget of one host leaves the others alone" hosts_are_apart,
    "7" "breaker of a policy needs none in its ledger" breaker_on_a_plain_ledger,
    "8" "slow call gets a second copy" slow_call_is_hedged,
}

/// As a server does that closes a connection it has kept for a while, before or while the request is read.
async fn closed_connection_is_survived(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    for closed in [Reaction::close(), Reaction::reset_unread()] {
        let reactions = [bench.success(), closed, bench.success()];
        let server = TestServer::start(Script::of(reactions)).await;
        let client = bench.client(plan(quick()));
        for call in ["first", "second"] {
            let end = client(get(&server)).await;
            checks.equal(&format!("status of the {call} call"), &end.status(), &Some(200));
        }
        checks.equal("reactions left", &server.left(), &0);
    }
    checks
}

async fn deadline_ends_a_stall(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let server = TestServer::start(Script::always(bench.success().stall(1))).await;
    let client = bench.client(plan(quick().deadline(Span::from_millis(250))));
    match timeout(PATIENCE, client(get(&server))).await {
        Ok(end) => checks.holds("the body is not whole", end.result.is_err()),
        Err(_) => checks.holds("the call ends at its deadline", false),
    }
    checks
}

async fn dropped_retry_stays_paid(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let busy = bench.failure(503);
    let script = Script::of([busy.clone(), Reaction::hang()]).then(busy);
    let server = TestServer::start(script).await;
    let client = bench.client(plan(quick().budget(tokens(1))));
    tokio::select! {
        _ = client(get(&server)) => checks.holds("a hanging call ended by itself", false),
        () = server.until_taken(2) => {}
    }
    server.until_open(0).await;
    checks.equal("attempts of the dropped call", &server.taken(), &2);
    client(get(&server)).await;
    checks.equal("attempts of both calls", &server.taken(), &3);
    checks
}

/// The limit strikes once the retry is on the wire: one in real time would race against a busy machine.
async fn outer_timeout_makes_none_free(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let server = TestServer::start(Script::always(Reaction::hang())).await;
    let policy = quick().attempt_timeout(Span::from_millis(250)).budget(tokens(2));
    let client = bench.client(plan(policy));
    for call in 1..=CALLS {
        // A call without a token ends by itself, after its only attempt.
        let with_retry = if call > 2 { usize::MAX } else { 2 * call };
        tokio::select! {
            _ = client(get(&server)) => checks.holds("a call with a token left has no retry", call > 2),
            () = server.until_taken(with_retry) => {}
        }
    }
    checks.equal("attempts", &server.taken(), &(CALLS + 2));
    checks
}

async fn refused_connection_is_paid(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let refusal = RefusingPort::hold().expect("a port is free");
    let client = bench.client(plan(quick().budget(tokens(2))));
    let mut attempts = 0;
    for _ in 0..CALLS {
        let end = client(Ask::new(Method::GET, refusal.url("/"))).await;
        attempts += end.attempts.unwrap_or(0);
    }
    checks.equal("attempts", &attempts, &8);
    let end = client(Ask::new(Method::GET, refusal.url("/"))).await;
    checks.equal("stop", &end.stop, &Some(Stop::BudgetEmpty));
    checks
}

async fn hosts_are_apart(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let down = TestServer::start(Script::always(bench.failure(503))).await;
    let up = TestServer::start(Script::of([bench.failure(503), bench.success()])).await;
    let client = bench.client(plan(quick().budget(tokens(2))));
    for _ in 0..CALLS {
        client(get(&down)).await;
    }
    checks.equal("attempts at the host that is down", &down.taken(), &(CALLS + 2));
    checks.equal("status of the other", &client(get(&up)).await.status(), &Some(200));
    checks
}

/// The ledger was made for a policy without a breaker, as that of a client whose calls have their own.
async fn breaker_on_a_plain_ledger(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let breaker = BreakerPlan::builder().build().expect("its defaults are valid");
    let ledger = Arc::new(LocalLedger::new(&plan(quick())));
    let server = TestServer::start(Script::of([bench.failure(503), bench.success()])).await;
    let policy = plan(quick().breaker(breaker));
    let ends = bench.with_ledger(policy, ledger, vec![get(&server)]).await;
    let status = ends.first().and_then(|end| end.status());
    checks.equal("status", &status, &Some(200));
    checks
}

async fn slow_call_is_hedged(bench: &Bench<'_>) -> Checks {
    let mut checks = Checks::default();
    let hedge = HedgePlan::fixed(Span::from_millis(30), 2).expect("two copies are a hedge");
    let server = TestServer::start(Script::of([Reaction::hang(), bench.success()])).await;
    let client = bench.client(plan(quick().hedge(hedge)));
    match timeout(PATIENCE, client(get(&server))).await {
        Ok(end) => checks.equal("status", &end.status(), &Some(200)),
        Err(_) => checks.holds("a second copy ends the call", false),
    }
    checks.equal("copies", &server.taken(), &2);
    checks
}

/// Enough to find a budget that never empties.
const CALLS: usize = 6;
/// Longer than every limit that a check sets, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(10);

fn get(server: &TestServer) -> Ask {
    Ask::new(Method::GET, server.url("/"))
}

fn plan(policy: PolicyBuilder) -> Policy {
    policy.build().expect("the policies of the promises are constants")
}

/// So many tokens, one a retry.
fn tokens(count: u32) -> BudgetPlan {
    TokenPlan::new(count, 1).expect("a token pays for one").into()
}
