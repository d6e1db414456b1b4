//! The promises of every ledger, checked for each of this crate.

mod ledger_promises;

use stagger::engine::PlainLedger;
use stagger::{LocalLedger, Policy};

fn plain(policy: &Policy) -> PlainLedger {
    PlainLedger::new(policy)
}

fn local(policy: &Policy) -> &'static LocalLedger {
    // Left behind, as a registry would keep it.
    &*Box::leak(Box::new(LocalLedger::new(policy)))
}

/// One test for each promise and ledger.
macro_rules! promises {
    ($($promise:ident)*) => {
        mod plain_ledger {
            $(#[test] fn $promise() { crate::ledger_promises::$promise(super::plain); })*
        }
        mod local_ledger {
            $(#[test] fn $promise() { crate::ledger_promises::$promise(super::local); })*
        }
    };
}

promises! {
    callers_that_fail_for_ever_are_stopped_by_every_kind_of_budget
    a_grant_given_back_can_be_granted_again
    a_grant_that_is_as_old_as_the_window_cannot_be_given_back
    an_ask_that_is_refused_takes_nothing
    an_idle_window_forgets_what_it_earned
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
