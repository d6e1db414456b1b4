//! Each rule on both sides of its bound.

use stagger_core::adaptive::{AdaptivePlan, ClientThrottlePlan};
use stagger_core::breaker::{BreakerPlan, WindowKind};
use stagger_core::budget::{
    BudgetPlan, FloorRate, IntervalPlan, ThrottlePlan, TokenPlan, WindowPlan,
};
use stagger_core::hedge::HedgePlan;
use stagger_core::{Backoff, HintRule, Jitter, LongHint, Policy, PolicyBuilder, Rate, Ratio, Span};
use stagger_explain::{Code, PolicyFinding, Setting, Severity, lint};

/// A policy without a finding, to be spoilt.
fn clean() -> PolicyBuilder {
    Policy::builder().max_attempts(3).attempt_timeout(secs(1))
}

fn secs(n: u64) -> Span {
    Span::from_secs(n)
}

fn millis(n: u64) -> Span {
    Span::from_millis(n)
}

fn rule(base: Span, cap: Span, jitter: Jitter) -> Backoff {
    Backoff::exponential(base, cap).and_then(|rule| rule.with_jitter(jitter)).expect("valid")
}

/// Hints never lengthen an own delay.
fn own_delays() -> HintRule {
    HintRule::new(Span::ZERO, Ratio::ZERO, LongHint::OwnDelayPlus(Span::ZERO)).expect("valid")
}

#[track_caller]
fn found(builder: PolicyBuilder, setting: &Setting) -> Vec<PolicyFinding> {
    lint(&builder.build().expect("valid"), setting)
}

#[track_caller]
fn codes(builder: PolicyBuilder, setting: &Setting) -> Vec<(Code, Severity)> {
    found(builder, setting).into_iter().map(|finding| (finding.code, finding.severity)).collect()
}

/// The one finding of the second is not among those of the first, which has none.
#[track_caller]
fn bound(below: PolicyBuilder, above: PolicyBuilder, code: Code, severity: Severity) {
    bound_with(&Setting::default(), below, above, code, severity);
}

#[track_caller]
fn bound_with(
    setting: &Setting,
    below: PolicyBuilder,
    above: PolicyBuilder,
    code: Code,
    severity: Severity,
) {
    assert_eq!(found(below, setting), [], "within the bound of {code}");
    assert_eq!(codes(above, setting), [(code, severity)], "beyond the bound of {code}");
}

#[track_caller]
fn bound_of(
    builder: PolicyBuilder,
    below: &Setting,
    above: &Setting,
    code: Code,
    severity: Severity,
) {
    assert_eq!(found(builder, below), [], "within the bound of {code}");
    assert_eq!(codes(builder, above), [(code, severity)], "beyond the bound of {code}");
}

#[test]
fn jitter_is_none_or_thin() {
    let with = |jitter| clean().backoff(rule(secs(1), secs(10), jitter));
    let ppm = |parts| Jitter::Proportional(Ratio::from_ppm(parts));
    bound(with(Jitter::Full), with(Jitter::None), Code::NoJitter, Severity::Error);
    bound(with(ppm(200_000)), with(ppm(199_999)), Code::ThinJitter, Severity::Warning);
    bound(with(ppm(200_000)), with(ppm(0)), Code::NoJitter, Severity::Error);
    let symmetric = |parts| with(Jitter::Symmetric(Ratio::from_ppm(parts)));
    bound(symmetric(100_000), symmetric(99_999), Code::ThinJitter, Severity::Warning);
}

#[test]
fn a_throttled_rule_is_judged_by_itself() {
    let own = clean().throttled_backoff(rule(secs(1), secs(10), Jitter::None));
    let found = found(own, &Setting::default());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].key, "throttled_backoff.jitter");
    // The same rule twice is one mistake.
    let same = rule(secs(1), secs(10), Jitter::None);
    assert_eq!(codes(clean().backoff(same).throttled_backoff(same), &Setting::default()).len(), 1);
}

#[test]
fn one_attempt_has_no_delays_to_judge() {
    let once = clean().max_attempts(1).backoff(rule(secs(0), secs(10), Jitter::None));
    let setting = Setting { idempotent: Some(false), layers: Some(5), ..Setting::default() };
    assert_eq!(found(once.budget(BudgetPlan::Unlimited), &setting), []);
}

#[test]
fn symmetric_jitter_goes_above_a_cap_that_it_reaches() {
    let fifth = Jitter::Symmetric(Ratio::from_percent(20));
    // Ceilings 1s and 2s, so the longest delay is 2.4s.
    let with = |cap| clean().backoff(rule(secs(1), cap, fifth));
    let (code, warning) = (Code::ClampAfterJitter, Severity::Warning);
    bound(with(millis(2_400)), with(Span::from_nanos(2_399_999_999)), code, warning);
}

#[test]
fn constant_delays_were_said_to_exceed_a_cap_that_they_do_not_have() {
    let fifth = Jitter::Symmetric(Ratio::from_percent(20));
    let constant = Backoff::constant(secs(1)).with_jitter(fifth).expect("valid");
    assert_eq!(found(clean().backoff(constant), &Setting::default()), []);
}

#[test]
fn a_base_of_zero_was_told_twice() {
    let none = rule(secs(0), secs(1), Jitter::None);
    let zero = (Code::ZeroBase, Severity::Error);
    assert_eq!(codes(clean().backoff(none), &Setting::default()), [zero]);
}

#[test]
fn decorrelated_delays_with_a_base_near_the_cap_were_not_judged() {
    let with = |base| clean().backoff(rule(millis(base), secs(1), Jitter::Decorrelated));
    let codes = |base| codes(with(base), &Setting::default());
    assert_eq!(codes(1_000), [(Code::NoJitter, Severity::Error)]);
    for base in [800, 900, 990] {
        assert_eq!(codes(base), [(Code::ThinJitter, Severity::Warning)], "{base}");
    }
    assert_eq!(codes(790), []);
    assert_eq!(
        found(with(900), &Setting::default())[0].fix,
        "cap = \"2.7s\" at least, three times the base"
    );
}

#[test]
fn a_tenth_of_the_delays_may_sit_on_the_cap() {
    let with = |cap| clean().backoff(rule(secs(1), cap, Jitter::DecorrelatedClamped));
    // The first delay is up to 3s, the second up to 9s: with a cap of 5s, 11 % are on it.
    let codes = |cap| codes(with(secs(cap)), &Setting::default());
    assert_eq!(codes(6), [(Code::ClampAfterJitter, Severity::Warning)]);
    assert_eq!(codes(4)[1], (Code::MassAtCap, Severity::Warning));
}

#[test]
fn a_base_of_zero_is_no_delay() {
    let with = |base| clean().backoff(rule(base, secs(1), Jitter::Full));
    bound(with(millis(1)), with(Span::ZERO), Code::ZeroBase, Severity::Error);
    let (code, warning) = (Code::ShortBase, Severity::Warning);
    bound(with(Span::from_micros(500)), with(Span::from_nanos(499_999)), code, warning);
}

#[test]
fn the_worst_case_meets_the_slo_and_its_third() {
    // Three attempts of 1s, waits of 1s and 2s: 6s.
    let policy = clean().backoff(rule(secs(1), secs(2), Jitter::Full)).hints(own_delays());
    let slo = |nanos| Setting { slo: Some(Span::from_nanos(nanos)), ..Setting::default() };
    let second = 1_000_000_000;
    let (third, over) = (Code::OverSloThird, Code::OverSlo);
    bound_of(policy, &slo(18 * second), &slo(18 * second - 1), third, Severity::Warning);
    assert_eq!(codes(policy, &slo(6 * second)), [(third, Severity::Warning)]);
    assert_eq!(codes(policy, &slo(6 * second - 1)), [(over, Severity::Error)]);
    let within = policy.deadline(secs(5));
    assert_eq!(codes(within, &slo(5 * second)), [(third, Severity::Warning)]);
}

#[test]
fn nothing_bounds_a_call_without_timeout_and_deadline() {
    let policy = Policy::builder();
    let slo = Setting { slo: Some(secs(3_600)), ..Setting::default() };
    let want = [(Code::OverSlo, Severity::Error), (Code::NoAttemptTimeout, Severity::Warning)];
    assert_eq!(codes(policy, &slo), want);
}

#[test]
fn attempts_never_start_at_the_deadline_itself() {
    // Equal jitter waits at least 500ms and 1s.
    let policy =
        clean().backoff(rule(secs(1), secs(10), Jitter::Equal)).attempt_timeout(millis(100));
    let at = |nanos| policy.deadline(Span::from_nanos(nanos));
    let message = |nanos| {
        let found = found(at(nanos), &Setting::default());
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            (found[0].code, found[0].severity),
            (Code::AttemptsNeverStart, Severity::Warning)
        );
        found[0].message.clone()
    };
    assert!(message(1_500_000_000).contains("attempt 3 can never start"));
    assert!(message(1_500_000_001).contains("attempt 3 almost never starts"));
    assert_eq!(found(at(3_000_000_001), &Setting::default()), []);
    // 100ms at least for an attempt.
    let least = at(1_599_999_999).min_attempt_time(millis(50)).attempt_timeout(millis(60));
    assert!(found(least, &Setting::default())[0].message.contains("almost never"));
}

#[test]
fn a_policy_whose_first_retry_never_starts_must_not_ship() {
    let with = |deadline| {
        clean()
            .backoff(rule(secs(1), secs(10), Jitter::Equal))
            .max_attempts(2)
            .attempt_timeout(millis(10))
            .deadline(deadline)
    };
    let code = Code::AttemptsNeverStart;
    bound(with(secs(2)), with(millis(500)), code, Severity::Error);
    let unlimited = with(millis(500)).unlimited_attempts();
    assert_eq!(codes(unlimited, &Setting::default()), [(code, Severity::Error)]);
}

#[test]
fn fewer_than_one_call_in_a_hundred_is_almost_never() {
    let with = |deadline| {
        clean()
            .backoff(rule(secs(1), secs(10), Jitter::Full))
            .max_attempts(2)
            .attempt_timeout(Span::from_micros(10))
            .deadline(deadline)
    };
    let codes = |deadline| codes(with(deadline), &Setting::default());
    assert_eq!(codes(millis(5)), [(Code::AttemptsNeverStart, Severity::Warning)]);
    let rare = found(with(millis(5)), &Setting::default());
    assert_eq!(rare[0].fix, "a deadline well above 1s, the first ceiling");
    assert_eq!(codes(millis(20)), [(Code::DeadlineBelowBase, Severity::Warning)]);
    let (code, warning) = (Code::DeadlineBelowBase, Severity::Warning);
    bound(with(Span::from_nanos(1_000_000_001)), with(secs(1)), code, warning);
}

#[test]
fn a_timeout_leaves_time_for_a_second_attempt_or_not() {
    let policy = clean().max_attempts(2).deadline(secs(2));
    let timeout = |nanos| policy.attempt_timeout(Span::from_nanos(nanos));
    let (code, warning) = (Code::TimeoutFillsDeadline, Severity::Warning);
    bound(timeout(1_999_999_999), timeout(2_000_000_000), code, warning);
}

#[test]
fn an_attempt_without_its_own_end_is_told_of() {
    let with = clean().deadline(secs(10));
    let without = Policy::builder().deadline(secs(10));
    bound(with, without, Code::NoAttemptTimeout, Severity::Warning);
    assert_eq!(found(without.max_attempts(1), &Setting::default()), []);
}

#[test]
fn twenty_attempts_are_as_many_as_a_preset_makes() {
    let many = |attempts| clean().max_attempts(attempts);
    let (code, warning) = (Code::TooManyAttempts, Severity::Warning);
    bound(many(20), many(21), code, warning);
    // The mean delay is 50ms: 20 attempts are 950ms, the next would be at 1s.
    let every = clean().unlimited_attempts().backoff(Backoff::constant(millis(100)));
    let within = |nanos| every.deadline(Span::from_nanos(nanos)).attempt_timeout(millis(100));
    bound(within(1_000_000_000), within(1_000_000_001), code, warning);
}

#[test]
fn a_budget_is_none_loose_or_never_refilled() {
    let window = |ppm| WindowPlan::new(Ratio::from_ppm(ppm)).expect("valid");
    let tokens = |retry| TokenPlan::new(100, retry).expect("valid");
    let with = |plan: BudgetPlan| clean().budget(plan);
    let warning = Severity::Warning;
    bound(clean(), with(BudgetPlan::Unlimited), Code::NoBudget, warning);
    bound(clean(), with(BudgetPlan::None), Code::AttemptsNeverStart, warning);
    let bare = |floor| window(0).with_floor(FloorRate::Add(Rate::per_second(floor)));
    bound(with(bare(1).into()), with(bare(0).into()), Code::AttemptsNeverStart, warning);
    let loose = Code::LooseBudget;
    bound(with(window(500_000).into()), with(window(500_001).into()), loose, warning);
    bound(with(tokens(2).into()), with(tokens(1).into()), loose, warning);
    let throttle = |percent| ThrottlePlan::new(10, Ratio::from_percent(percent)).expect("valid");
    bound(with(throttle(50).into()), with(throttle(51).into()), loose, warning);
    let dry = tokens(5).with_first_try(0).expect("valid");
    bound(with(tokens(5).into()), with(dry.into()), Code::BudgetNeverRefills, Severity::Error);
}

#[test]
fn no_budget_is_an_error_where_the_load_is_known_to_be_too_much() {
    let policy = clean().budget(BudgetPlan::Unlimited);
    let known = |capacity| Setting {
        rps: Some(10.0),
        fleet: Some(10),
        downstream_capacity: Some(capacity),
        ..Setting::default()
    };
    assert_eq!(codes(policy, &known(300.0)), [(Code::NoBudget, Severity::Warning)]);
    assert_eq!(codes(policy, &known(299.0)), [(Code::NoBudget, Severity::Error)]);
}

#[test]
fn a_fleet_may_not_keep_its_destination_down() {
    let known = |capacity| Setting {
        rps: Some(10.0),
        fleet: Some(10),
        downstream_capacity: Some(capacity),
        ..Setting::default()
    };
    let floor = |n| {
        let plan = WindowPlan::new(Ratio::from_percent(10))
            .map(|plan| plan.with_floor(FloorRate::Add(Rate::per_second(n))));
        clean().budget(plan.expect("valid"))
    };
    let code = Code::FleetBudget;
    // Each process: 1 + 1 retries a second, 20 in the window of 10s, and 10 first attempts. The fleet
    // spends 200 in 1s, since it asks for 200 a second; what is served beside 100 does not queue.
    bound_of(floor(1), &known(150.0), &known(149.0), code, Severity::Warning);
    assert!(found(floor(1), &known(149.0))[0].message.contains("200 retries at once: 151 calls"));
    assert!(found(floor(1), &known(119.0))[0].message.contains("100 first attempts"));
    assert_eq!(codes(floor(1), &known(20.0)), [(code, Severity::Warning)]);
    assert_eq!(codes(floor(1), &known(19.0)), [(code, Severity::Error)]);
    // Three attempts of 10 calls ask for 20 retries a second, whatever is granted.
    let loose = (Code::LooseBudget, Severity::Warning);
    assert_eq!(codes(floor(1_000), &known(200.0)), [loose, (code, Severity::Warning)]);
    assert_eq!(codes(floor(1_000), &known(199.0)), [loose, (code, Severity::Error)]);
    assert_eq!(found(floor(1), &Setting { fleet: None, ..known(1.0) }), []);
}

#[test]
fn the_buckets_of_a_fleet_are_one_bucket() {
    let known = |fleet| Setting {
        fleet: Some(fleet),
        downstream_capacity: Some(1_000.0),
        ..Setting::default()
    };
    let (code, warning) = (Code::FleetBudget, Severity::Warning);
    let aws = clean().budget(TokenPlan::new(500, 5).expect("valid"));
    bound_of(aws, &known(10), &known(11), code, warning);
    let grpc = clean().budget(ThrottlePlan::new(100, Ratio::from_percent(10)).expect("valid"));
    // The count falls to half after 50 failures, and the last of them is not retried.
    bound_of(grpc, &known(20), &known(21), code, warning);
    // What first attempts alone are too much for is not the budget's doing.
    let busy = Setting { rps: Some(1e3), ..known(10) };
    assert_eq!(codes(aws, &busy), [], "1000 retries in the second that an answer is waited for");
    let interval = clean().budget(IntervalPlan::new(10, secs(1)).expect("valid"));
    bound_of(interval, &known(100), &known(101), code, Severity::Error);
}

#[test]
fn calls_that_may_not_be_repeated_are_not() {
    let says = |idempotent| Setting { idempotent, ..Setting::default() };
    let code = Code::NotIdempotent;
    bound_of(clean(), &says(Some(true)), &says(Some(false)), code, Severity::Error);
    assert_eq!(found(clean(), &says(None)), []);
    assert_eq!(found(clean().max_attempts(1), &says(Some(false))), []);
}

#[test]
fn hints_are_obeyed_as_long_as_own_delays_are() {
    let rule = rule(secs(1), secs(10), Jitter::Full);
    let with = |max, long| {
        let hints = HintRule::new(Span::from_nanos(max), Ratio::from_percent(50), long);
        clean().backoff(rule).hints(hints.expect("valid"))
    };
    let (code, warning) = (Code::HintBelowCap, Severity::Warning);
    // The second and last delay is up to 2s; the cap of 10s is not reached.
    for long in [LongHint::Stop, LongHint::Shorten] {
        bound(with(2_000_000_000, long), with(1_999_999_999, long), code, warning);
    }
    assert_eq!(found(with(0, LongHint::OwnDelayPlus(secs(5))), &Setting::default()), []);
    let within = with(1_500_000_000, LongHint::Stop).deadline(millis(1_500));
    assert!(codes(within, &Setting::default()).iter().all(|(code, _)| *code != Code::HintBelowCap));
}

#[test]
fn hints_without_spread_bring_all_back_at_once() {
    let with = |spread| {
        let hints = HintRule::new(secs(60), Ratio::from_ppm(spread), LongHint::Stop);
        clean().hints(hints.expect("valid"))
    };
    bound(with(1), with(0), Code::HintWithoutSpread, Severity::Warning);
    // A hint that ends the call brings nobody back.
    let deaf = HintRule::new(Span::ZERO, Ratio::ZERO, LongHint::Stop).expect("valid");
    assert_eq!(
        codes(clean().hints(deaf), &Setting::default()),
        [(Code::HintBelowCap, Severity::Warning)]
    );
}

#[test]
fn a_smaller_breaker_minimum_was_judged_better_and_the_named_fix_failed() {
    let with = |calls, percent| {
        let plan = BreakerPlan::builder().minimum_calls(calls).ratio(Ratio::from_percent(percent));
        clean().breaker(plan.build().expect("valid"))
    };
    let (code, warning) = (Code::BreakerMinimum, Severity::Warning);
    for percent in [5, 10, 25, 50, 100] {
        // One call is too few for each share, and so is every minimum below the one that is named.
        let fix = found(with(1, percent), &Setting::default())[0].fix.clone();
        let enough = fix.trim_start_matches("minimum_calls = ").parse::<u32>().expect("a number");
        bound(with(enough, percent), with(enough - 1, percent), code, warning);
        for calls in 1..enough {
            assert_eq!(codes(with(calls, percent), &Setting::default()), [(code, warning)]);
        }
    }
    let few = BreakerPlan::builder().window(WindowKind::Calls(5)).minimum_calls(1).build();
    let found =
        lint(&clean().breaker(few.expect("valid")).build().expect("valid"), &Setting::default());
    assert!(found[0].fix.contains("in a window of as many calls"), "{found:?}");
    assert_eq!(codes(with(u32::MAX, 50), &Setting::default()), [], "soon, too");
    let row = BreakerPlan::builder().ratio(None).consecutive(5).minimum_calls(1).build();
    assert_eq!(codes(clean().breaker(row.expect("valid")), &Setting::default()), []);
}

#[test]
fn a_breaker_wants_no_more_calls_than_there_are() {
    let policy = clean().breaker(BreakerPlan::default());
    let rps = |rps| Setting { rps: Some(rps), ..Setting::default() };
    let (code, warning) = (Code::BreakerNeverOpens, Severity::Warning);
    bound_of(policy, &rps(2.0), &rps(1.99), code, warning);
    let row = BreakerPlan::builder().consecutive(5).build().expect("valid");
    assert_eq!(found(clean().breaker(row), &rps(0.1)), []);
}

#[test]
fn layers_multiply_from_the_second_on() {
    let layers = |layers| Setting { layers: Some(layers), ..Setting::default() };
    let code = Code::NestedLayers;
    bound_of(clean(), &layers(1), &layers(2), code, Severity::Warning);
    assert!(found(clean(), &layers(3))[0].message.contains("27"));
    let open = codes(clean().budget(BudgetPlan::Unlimited), &layers(2));
    assert_eq!(open, [(Code::NoBudget, Severity::Warning), (code, Severity::Error)]);
}

#[test]
fn copies_wait_for_something_and_are_bounded() {
    let hedge = |nanos| HedgePlan::fixed(Span::from_nanos(nanos), 2).expect("valid");
    let with = |nanos| clean().hedge(hedge(nanos));
    bound(with(1), with(0), Code::HedgeAtOnce, Severity::Warning);
    let pair = with(1).max_attempts(2);
    let open = pair.budget(BudgetPlan::Unlimited);
    bound(pair, open, Code::HedgeWithoutBudget, Severity::Warning);
    // Without a second attempt there is no copy.
    let never = (Code::HedgeNever, Severity::Warning);
    assert_eq!(codes(with(0).max_attempts(1), &Setting::default()), [never]);
    let measured = HedgePlan::quantile(Ratio::from_percent(95), Span::ZERO, 2).expect("valid");
    assert_eq!(found(clean().hedge(measured), &Setting::default()), []);
}

#[test]
fn a_throttle_measures_enough_and_allows_failures() {
    let plan = |percent, window| {
        let plan = ClientThrottlePlan::new(Ratio::from_percent(percent), window).expect("valid");
        clean().adaptive(plan)
    };
    let (multiplier, window) = (Code::ThrottleMultiplier, Code::ThrottleWindow);
    bound(plan(110, secs(60)), plan(109, secs(60)), multiplier, Severity::Warning);
    let longer = secs(1) + Span::from_nanos(1);
    bound(plan(200, longer), plan(200, secs(1)), window, Severity::Warning);
    let rps = |rps| Setting { rps: Some(rps), ..Setting::default() };
    bound_of(plan(200, secs(10)), &rps(1.0), &rps(0.99), window, Severity::Warning);
}

#[test]
fn a_turn_under_cubic_comes_within_the_deadline() {
    let (cubic, code) = (clean().adaptive(AdaptivePlan::Cubic), Code::CubicWait);
    let deadline = |limit| cubic.deadline(millis(limit)).attempt_timeout(millis(900));
    bound(deadline(2_001), deadline(2_000), code, Severity::Warning);
    assert_eq!(codes(cubic, &Setting::default()), [(code, Severity::Warning)]);
}
