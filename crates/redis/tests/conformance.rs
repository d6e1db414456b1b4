//! The promises of every ledger that one keeps whose permits are leased: they do not age.

#[path = "../../stagger/tests/ledger_promises/mod.rs"]
#[expect(dead_code, reason = "permits that age are a matter of this process's own budgets")]
mod ledger_promises;
mod support;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use stagger::engine::Ledger;
use stagger::{Clock, Instant, Policy, Span, StdTime};
use stagger_redis::{SharedLedger, SharedOptions, SharedStore, StoreFallback};
use support::shared_redis;
use tokio::runtime::{Builder, Runtime};

/// One test for each promise.
macro_rules! promises {
    ($($promise:ident)*) => {
        $(#[test] fn $promise() {
            if let Some(store) = store() {
                ledger_promises::$promise(|policy| ledger(&store, policy));
            }
        })*
    };
}

promises! {
    a_grant_given_back_can_be_granted_again
    an_ask_that_is_refused_takes_nothing
    a_call_refused_by_its_breaker_gives_its_grant_back
    a_dropped_call_gives_its_grant_back
    half_open_admits_the_probes_and_nobody_else
    a_probe_that_says_nothing_frees_its_place
    a_probe_that_hangs_loses_its_place
    a_result_from_before_a_move_changes_nothing
    a_bad_probe_doubles_the_open_time
    throttling_opens_only_where_it_was_asked_to
    a_success_may_be_the_call_that_opens
    a_ramp_admits_a_growing_share
    failures_during_a_ramp_open_it_for_longer
    without_a_breaker_every_call_is_admitted
    a_hint_for_the_destination_holds_the_calls_of_others
    a_hint_for_one_call_holds_no_other
    a_place_that_becomes_free_is_handed_to_the_call_that_waits
    a_call_that_leaves_the_queue_leaves_nothing_behind
    attempts_start_no_faster_than_the_rate
}

/// A store whose first lease is all that there is.
fn store() -> Option<SharedStore> {
    let url = shared_redis()?;
    let options = SharedOptions::new(1).and_then(|options| options.with_lease(1_000));
    let options = options.and_then(|options| options.with_fallback(StoreFallback::Refuse));
    let connect = SharedStore::connect(&url, options.expect("in bounds"));
    Some(runtime().block_on(connect).expect("a server at STAGGER_TEST_REDIS"))
}

fn ledger(store: &SharedStore, policy: &Policy) -> &'static SharedLedger {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("conformance-{}-{number}", std::process::id());
    let _inside = runtime().enter();
    let ledger = store.ledger(&name, policy).expect("a name");
    // Left behind, as a registry would keep it.
    let mut ledger: &'static SharedLedger = &*Box::leak(Box::new(ledger));
    let unshared = ledger.stats(Instant::ORIGIN).ledger.level.capacity == 0;
    if !unshared {
        ledger.on_first(Instant::ORIGIN);
        let patience = StdTime.now() + Span::from_secs(20);
        while ledger.stats(Instant::ORIGIN).answers == 0 {
            assert!(StdTime.now() < patience, "no lease");
            std::thread::yield_now();
        }
    }
    ledger
}

fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1).enable_all().build().expect("a runtime")
    })
}
