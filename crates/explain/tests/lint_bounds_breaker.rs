//! Each rule of breakers, copies, and hints against an SLO, on both sides of its bound.

use stagger_core::breaker::{BreakerPlan, BreakerPlanBuilder};
use stagger_core::budget::{FloorRate, IntervalPlan, WindowPlan};
use stagger_core::hedge::HedgePlan;
use stagger_core::{Backoff, HintRule, LongHint, Policy, PolicyBuilder, Rate, Ratio, Span};
use stagger_explain::{Code, Setting, Severity, explain, lint};

/// A policy without a finding.
fn clean() -> PolicyBuilder {
    Policy::builder().max_attempts(3).attempt_timeout(secs(1))
}

fn secs(n: u64) -> Span {
    Span::from_secs(n)
}

fn nanos(n: u64) -> Span {
    Span::from_nanos(n)
}

fn with(breaker: BreakerPlanBuilder) -> PolicyBuilder {
    clean().breaker(breaker.build().expect("valid"))
}

/// Only the second policy has the finding, and it has no other one.
#[track_caller]
fn bound(within: PolicyBuilder, beyond: PolicyBuilder, code: Code) {
    bound_with(&Setting::default(), within, beyond, code);
}

#[track_caller]
fn bound_with(setting: &Setting, within: PolicyBuilder, beyond: PolicyBuilder, code: Code) {
    let found = |builder: PolicyBuilder| lint(&builder.build().expect("valid"), setting);
    assert_eq!(found(within), [], "within the bound of {code}");
    let found = found(beyond);
    assert_eq!(found.len(), 1, "beyond the bound of {code}: {found:?}");
    assert_eq!((found[0].code, found[0].severity), (code, Severity::Warning));
}

#[test]
fn two_failures_in_a_row_are_chance_and_three_are_not() {
    let row = |n| with(BreakerPlan::builder().consecutive(n));
    bound(row(3), row(2), Code::BreakerConsecutive);
}

#[test]
fn a_breaker_was_open_for_a_millisecond_or_for_a_day() {
    let first =
        |open: Span| with(BreakerPlan::builder().open_time(open).open_cap(open.max(secs(60))));
    let half = nanos(500_000_000);
    bound(first(half), first(nanos(499_999_999)), Code::BreakerOpenTime);
    bound(first(secs(600)), first(nanos(600_000_000_001)), Code::BreakerOpenTime);
    let cap = |cap| with(BreakerPlan::builder().open_cap(cap));
    bound(cap(secs(3_600)), cap(nanos(3_600_000_000_001)), Code::BreakerOpenTime);
}

#[test]
fn ten_probes_close_it_nine_times_of_ten() {
    let probes = |n| with(BreakerPlan::builder().probes(n));
    bound(probes(10), probes(11), Code::BreakerProbes);
}

#[test]
fn a_lease_lasts_as_long_as_an_attempt_may() {
    let lease = |lease| with(BreakerPlan::builder().lease(lease));
    bound(lease(secs(1)), lease(nanos(999_999_999)), Code::BreakerLease);
}

#[test]
fn a_call_is_slow_before_it_is_cut_off() {
    let half = Ratio::from_percent(50);
    let slow = |after| with(BreakerPlan::builder().slow_calls(after, half));
    bound(slow(nanos(999_999_999)), slow(secs(1)), Code::BreakerSlowUnreachable);
}

#[test]
fn a_server_that_throttles_is_up() {
    let throttled = |fails| with(BreakerPlan::builder().throttled_fails(fails));
    bound(throttled(false), throttled(true), Code::BreakerThrottled);
}

#[test]
fn a_wait_for_the_breaker_ends_with_the_deadline() {
    let waits = with(BreakerPlan::builder()).wait_for_breaker(true);
    bound(waits.deadline(secs(60)), waits, Code::BreakerWaitUnbounded);
    bound(clean().wait_for_breaker(true), waits, Code::BreakerWaitUnbounded);
}

#[test]
fn a_throttled_call_waits_at_least_as_long_as_a_failed_one() {
    let own = |rule| clean().backoff(Backoff::constant(secs(1))).throttled_backoff(rule);
    let faster = Backoff::constant(nanos(999_999_999));
    bound(own(Backoff::constant(secs(1))), own(faster), Code::ThrottledSooner);
    let sooner_at_first = Backoff::exponential(nanos(700_000_000), secs(10)).expect("valid");
    bound(own(sooner_at_first), own(faster), Code::ThrottledSooner);
}

#[test]
fn copies_that_are_never_sent_were_not_told_of() {
    let copies = |copies| clean().hedge(HedgePlan::fixed(nanos(1), copies).expect("valid"));
    bound(copies(3), copies(4), Code::HedgeNever);
    let delay = |delay| clean().hedge(HedgePlan::fixed(delay, 2).expect("valid"));
    bound(delay(nanos(999_999_999)), delay(secs(1)), Code::HedgeNever);
    let late = nanos(999_999_998);
    bound(delay(late).deadline(secs(60)), delay(secs(1)).deadline(secs(60)), Code::HedgeNever);
    // With a quantile the delay holds only until latencies are known.
    let measured = HedgePlan::quantile(Ratio::from_percent(95), secs(2), 2).expect("valid");
    bound(clean().hedge(measured), delay(secs(2)), Code::HedgeNever);
}

#[test]
fn a_rate_of_retries_is_little_or_half_of_the_traffic() {
    let known = |rps| Setting { rps: Some(rps), ..Setting::default() };
    let floor = |n| {
        let plan = WindowPlan::new(Ratio::from_percent(10));
        clean().budget(
            plan.map(|plan| plan.with_floor(FloorRate::Add(Rate::per_second(n)))).expect("valid"),
        )
    };
    bound_with(&known(1.0), floor(10), floor(11), Code::LooseBudget);
    bound_with(&known(100.0), floor(50), floor(51), Code::LooseBudget);
    bound(floor(1_000), floor(1_001), Code::LooseBudget);
    let ten = |millis| {
        let plan = IntervalPlan::new(10, Span::from_millis(millis));
        clean().budget(plan.expect("valid"))
    };
    bound_with(&known(1.0), ten(1_000), ten(999), Code::LooseBudget);
    bound(ten(10), ten(9), Code::LooseBudget);
}

#[test]
fn an_slo_was_kept_by_calls_that_a_hint_held_for_days() {
    let day = HintRule::new(secs(86_400), Ratio::from_percent(50), LongHint::Stop).expect("valid");
    let policy = clean().hints(day);
    let slo = Setting { slo: Some(secs(15)), ..Setting::default() };
    // A third of the SLO as the deadline bounds hints too.
    bound_with(&slo, policy.deadline(secs(5)), policy, Code::HintOverSlo);
    let check = |builder: PolicyBuilder| {
        let figures = explain(&builder.build().expect("valid"), &slo);
        figures.slo.map(|slo| (slo.ok, slo.hinted_ok))
    };
    assert_eq!(check(policy), Some((true, false)));
    assert_eq!(check(policy.deadline(secs(5))), Some((true, true)));
}
