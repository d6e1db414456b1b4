//! Breakers against bugs that other breakers had.

use stagger_core::breaker::{
    Admission, Breaker, BreakerPlan, BreakerPlanBuilder, Report, StateKind, Ticket, Transition,
    Trip, WindowKind,
};
use stagger_core::{Cause, ConfigError, Instant, Outcome, Ratio, Span, Verdict};
use stagger_testkit::{Mix, Scripted, highest, lowest};

const OPEN: Span = Span::from_secs(30);

fn at(seconds: u64) -> Instant {
    Instant::ORIGIN + Span::from_secs(seconds)
}

/// Opens after one failure, for 30 s, up to 120 s; the rest is the default.
fn touchy() -> BreakerPlanBuilder {
    BreakerPlan::builder().consecutive(1).open_time(OPEN).open_cap(Span::from_secs(120))
}

fn ticket(breaker: &mut Breaker, now: Instant) -> Ticket {
    breaker.admit(now).ticket().expect("admitted")
}

/// One call that takes no time.
fn call(breaker: &mut Breaker, now: Instant, report: Report) -> Option<Transition> {
    let ticket = ticket(breaker, now);
    breaker.report(now, ticket, report, &mut lowest())
}

/// A breaker that opened at 0 s until 30 s.
fn opened(plan: BreakerPlan) -> Breaker {
    let mut breaker = Breaker::new(plan);
    let moved = call(&mut breaker, at(0), Report::Failure);
    assert_eq!(moved, Some(Transition::Opened { trip: Trip::Consecutive, until: at(30) }));
    breaker
}

// diegosouzapw/OmniRoute #13836, getnora-io/nora #585: half-open for days, the upstream healthy.
#[test]
fn a_probe_that_hangs_loses_its_place_when_the_lease_ends() -> Result<(), ConfigError> {
    let mut breaker = opened(touchy().build()?);
    let hung = ticket(&mut breaker, at(30));
    assert_eq!(breaker.admit(at(59)), Admission::Refused { until: at(60) });
    let second = ticket(&mut breaker, at(60));
    assert_eq!(breaker.report(at(61), hung, Report::Failure, &mut lowest()), None, "too late");
    let closed = breaker.report(at(61), second, Report::Success, &mut lowest());
    assert_eq!(closed, Some(Transition::Closed { ramp_ends: None }));
    Ok(())
}

#[test]
fn a_probe_that_is_dropped_frees_its_place_at_once() -> Result<(), ConfigError> {
    let mut breaker = opened(touchy().build()?);
    assert_eq!(call(&mut breaker, at(30), Report::Neutral), None);
    assert_eq!(breaker.state(at(30)), StateKind::HalfOpen);
    assert!(ticket(&mut breaker, at(30)).is_probe());
    Ok(())
}

#[test]
fn a_probe_that_finds_404_closes_the_breaker() -> Result<(), ConfigError> {
    let mut breaker = opened(touchy().build()?);
    let report = Report::of(&Outcome::new(Verdict::Permanent));
    assert_eq!(call(&mut breaker, at(30), report), Some(Transition::Closed { ramp_ends: None }));
    Ok(())
}

// tsouza/cerberus PR 738: nine cancelled calls opened it, 74 of the next 80 were refused.
#[test]
fn cancelled_calls_count_for_nothing_and_timeouts_do() -> Result<(), ConfigError> {
    let mut breaker = Breaker::new(BreakerPlan::builder().consecutive(5).build()?);
    let cancelled = Report::of(&Outcome::new(Verdict::Cancelled).with_cause(Cause::Timeout));
    for _ in 0..90 {
        assert_eq!(call(&mut breaker, at(1), cancelled), None);
    }
    assert_eq!(breaker.counts(at(1)).calls, 0);
    let timeout = Report::of(&Outcome::new(Verdict::Transient).with_cause(Cause::Timeout));
    let moves = [(); 5].map(|()| call(&mut breaker, at(1), timeout).is_some());
    assert_eq!(moves, [false, false, false, false, true]);
    Ok(())
}

#[test]
fn a_throttle_opens_nothing_unless_asked() -> Result<(), ConfigError> {
    let mut polite = Breaker::new(touchy().build()?);
    assert_eq!(call(&mut polite, at(0), Report::Throttled), None);
    let mut asked = Breaker::new(touchy().throttled_fails(true).build()?);
    assert!(call(&mut asked, at(0), Report::Throttled).is_some());
    Ok(())
}

// nodeshift/opossum #217: the first failure of all was 100 %.
#[test]
fn one_failure_is_not_a_hundred_percent() -> Result<(), ConfigError> {
    for window in [WindowKind::Time(Span::from_secs(20)), WindowKind::Calls(10)] {
        let plan = BreakerPlan::builder().window(window).minimum_calls(10).build()?;
        let mut breaker = Breaker::new(plan);
        for _ in 0..9 {
            assert_eq!(call(&mut breaker, at(0), Report::Failure), None);
        }
        let moved = call(&mut breaker, at(0), Report::Failure);
        assert!(matches!(moved, Some(Transition::Opened { trip: Trip::FailureRatio, .. })));
    }
    Ok(())
}

#[test]
fn the_success_that_reaches_the_minimum_decides_too() -> Result<(), ConfigError> {
    let mut breaker = Breaker::new(BreakerPlan::builder().minimum_calls(10).build()?);
    for _ in 0..9 {
        assert_eq!(call(&mut breaker, at(0), Report::Failure), None);
    }
    assert!(call(&mut breaker, at(0), Report::Success).is_some());
    Ok(())
}

// nodeshift/opossum #119, smallrye/smallrye-fault-tolerance #319: all thousand went through.
#[test]
fn half_open_lets_in_as_many_as_the_plan_says() -> Result<(), ConfigError> {
    let mut breaker = opened(touchy().probes(3).build()?);
    let probes: Vec<_> = (0..1000).filter_map(|_| breaker.admit(at(30)).ticket()).collect();
    assert_eq!(probes.len(), 3);
    for probe in &probes[..2] {
        assert_eq!(breaker.report(at(31), *probe, Report::Success, &mut lowest()), None);
        assert!(breaker.admit(at(31)).ticket().is_none(), "a good probe keeps its place");
    }
    let closed = breaker.report(at(31), probes[2], Report::Success, &mut lowest());
    assert_eq!(closed, Some(Transition::Closed { ramp_ends: None }));
    assert_eq!((breaker.counts(at(31)).calls, breaker.consecutive_failures()), (0, 0));
    Ok(())
}

#[test]
fn one_bad_probe_opens_again_with_a_longer_timer() -> Result<(), ConfigError> {
    let mut breaker = opened(touchy().probes(3).build()?);
    let probes = [(); 3].map(|()| ticket(&mut breaker, at(30)));
    assert_eq!(breaker.report(at(31), probes[0], Report::Success, &mut lowest()), None);
    let opened = breaker.report(at(31), probes[1], Report::Failure, &mut lowest());
    assert_eq!(opened, Some(Transition::Opened { trip: Trip::Probe, until: at(31 + 60) }));
    let late = breaker.report(at(32), probes[2], Report::Success, &mut lowest());
    assert_eq!((late, breaker.state(at(32))), (None, StateKind::Open));
    Ok(())
}

#[test]
fn the_open_time_grows_to_its_cap_and_starts_over_after_closing() -> Result<(), ConfigError> {
    let mut breaker = opened(touchy().build()?);
    let mut now = at(30);
    for open in [60, 120, 120] {
        let until = now + Span::from_secs(open);
        let moved = call(&mut breaker, now, Report::Failure);
        assert_eq!(moved, Some(Transition::Opened { trip: Trip::Probe, until }));
        now = until;
    }
    assert!(call(&mut breaker, now, Report::Success).is_some());
    let moved = call(&mut breaker, now, Report::Failure);
    assert_eq!(moved, Some(Transition::Opened { trip: Trip::Consecutive, until: now + OPEN }));
    Ok(())
}

#[test]
fn a_ticket_reported_twice_stands_for_one_call() -> Result<(), ConfigError> {
    let mut breaker = opened(touchy().probes(2).build()?);
    let probe = ticket(&mut breaker, at(30));
    for _ in 0..5 {
        assert_eq!(breaker.report(at(30), probe, Report::Success, &mut lowest()), None);
    }
    assert_eq!(breaker.state(at(30)), StateKind::HalfOpen, "two good probes, not one twice");

    let mut closed = Breaker::new(BreakerPlan::builder().consecutive(2).build()?);
    let only = ticket(&mut closed, at(0));
    for _ in 0..5 {
        assert_eq!(closed.report(at(0), only, Report::Failure, &mut lowest()), None);
    }
    assert_eq!(closed.counts(at(0)).calls, 1);
    Ok(())
}

#[test]
fn results_from_before_the_breaker_opened_say_nothing_after_it() -> Result<(), ConfigError> {
    let mut breaker = Breaker::new(touchy().build()?);
    let old = [(); 3].map(|()| ticket(&mut breaker, at(0)));
    assert!(breaker.report(at(0), old[0], Report::Failure, &mut lowest()).is_some());
    let probe = ticket(&mut breaker, at(30));
    assert_eq!(breaker.report(at(31), old[1], Report::Failure, &mut lowest()), None);
    assert!(breaker.report(at(31), probe, Report::Success, &mut lowest()).is_some());
    assert_eq!(breaker.report(at(31), old[2], Report::Failure, &mut lowest()), None);
    assert_eq!(breaker.state(at(31)), StateKind::Closed);
    Ok(())
}

#[test]
fn slow_calls_open_it_and_a_slow_probe_does_not_close_it() -> Result<(), ConfigError> {
    let slow = Span::from_secs(2);
    let plan = BreakerPlan::builder().slow_calls(slow, Ratio::from_percent(50)).minimum_calls(2);
    let mut breaker = Breaker::new(plan.build()?);
    let tickets = [(); 2].map(|()| ticket(&mut breaker, at(0)));
    assert_eq!(breaker.report(at(2), tickets[0], Report::Success, &mut lowest()), None, "just so");
    let moved = breaker.report(at(3), tickets[1], Report::Success, &mut lowest());
    assert_eq!(moved, Some(Transition::Opened { trip: Trip::SlowRatio, until: at(8) }));
    let probe = ticket(&mut breaker, at(8));
    let moved = breaker.report(at(11), probe, Report::Success, &mut lowest());
    assert_eq!(moved, Some(Transition::Opened { trip: Trip::Probe, until: at(21) }));
    Ok(())
}

#[test]
fn a_ramp_admits_a_growing_share_and_a_relapse_opens_longer() -> Result<(), ConfigError> {
    let plan = touchy().ramp(Ratio::from_percent(10), Span::from_secs(10)).build()?;
    let mut breaker = opened(plan);
    let ramp_ends = Some(at(40));
    assert_eq!(call(&mut breaker, at(30), Report::Success), Some(Transition::Closed { ramp_ends }));
    let mut admitted = |now| (0..100).filter(|_| breaker.admit(now).ticket().is_some()).count();
    assert!((10..=11).contains(&admitted(at(30))));
    assert!((54..=56).contains(&admitted(at(35))));
    assert_eq!(admitted(at(40)), 100);
    assert_eq!(breaker.state(at(40)), StateKind::Closed);

    let mut relapsed = opened(plan);
    assert!(call(&mut relapsed, at(30), Report::Success).is_some());
    let moved = call(&mut relapsed, at(30), Report::Failure);
    assert_eq!(moved, Some(Transition::Opened { trip: Trip::Consecutive, until: at(30 + 60) }));
    Ok(())
}

// resilience4j/resilience4j #920: three refusals and three seconds of sleep before the answer.
#[test]
fn a_refusal_says_until_when_asking_again_is_in_vain() -> Result<(), ConfigError> {
    let mut breaker = opened(touchy().build()?);
    for second in [0, 1, 29] {
        assert_eq!(breaker.admit(at(second)), Admission::Refused { until: at(30) });
    }
    assert!(breaker.admit(at(30)).ticket().is_some());
    Ok(())
}

#[test]
fn a_fleet_cut_off_at_once_does_not_probe_at_once() -> Result<(), ConfigError> {
    let plan = touchy().build()?;
    let mut chance = Mix::new(7);
    let mut per_second = [0; 16];
    for _ in 0..1600 {
        let mut breaker = Breaker::new(plan);
        let ticket = ticket(&mut breaker, at(0));
        assert!(breaker.report(at(0), ticket, Report::Failure, &mut chance).is_some());
        let until = breaker.open_until(at(0)).expect("open");
        assert!(at(30) <= until && until <= at(45), "upward only");
        let second = (until - at(30)).as_nanos() / 1_000_000_000;
        per_second[usize::try_from(second).expect("below 16")] += 1;
    }
    assert!(per_second.iter().all(|n| *n < 160), "evenly about 107: {per_second:?}");
    Ok(())
}

#[test]
fn opening_draws_one_word_and_nothing_else_draws_any() -> Result<(), ConfigError> {
    let mut breaker = Breaker::new(touchy().build()?);
    let mut script = Scripted::new([u64::MAX]);
    for report in [Report::Success, Report::Neutral, Report::Throttled, Report::Failure] {
        assert_eq!(script.left(), 1);
        let ticket = ticket(&mut breaker, at(0));
        breaker.report(at(0), ticket, report, &mut script);
    }
    assert_eq!((script.left(), breaker.open_until(at(0))), (0, Some(at(45))));
    Ok(())
}

#[test]
fn the_longest_open_time_does_not_overflow() -> Result<(), ConfigError> {
    let mut breaker = Breaker::new(touchy().open_time(Span::MAX).open_cap(Span::MAX).build()?);
    let ticket = ticket(&mut breaker, at(5));
    assert!(breaker.report(at(5), ticket, Report::Failure, &mut highest()).is_some());
    assert_eq!(breaker.open_until(at(5)), Some(Instant::FAR));
    Ok(())
}

#[test]
fn a_plan_that_cannot_work_is_refused_by_name() {
    let plan = BreakerPlan::builder;
    let cases = [
        (plan().ratio(Ratio::ZERO), "breaker.ratio"),
        (plan().ratio(Ratio::from_percent(101)), "breaker.ratio"),
        (plan().ratio(None), "breaker.ratio"),
        (plan().minimum_calls(0), "breaker.minimum_calls"),
        (plan().window(WindowKind::Calls(19)), "breaker.minimum_calls"),
        (plan().window(WindowKind::Calls(1001)), "breaker.window"),
        (plan().window(WindowKind::Time(Span::ZERO)), "breaker.window"),
        (plan().consecutive(0), "breaker.consecutive"),
        (plan().slow_calls(Span::ZERO, Ratio::ZERO), "breaker.slow_ratio"),
        (plan().open_time(Span::ZERO), "breaker.open_time"),
        (plan().open_factor(Ratio::from_percent(99)), "breaker.open_factor"),
        (plan().open_cap(Span::from_secs(4)), "breaker.open_cap"),
        (plan().probes(0), "breaker.probes"),
        (plan().probes(101), "breaker.probes"),
        (plan().lease(Span::ZERO), "breaker.lease"),
        (plan().ramp(Ratio::ZERO, OPEN), "breaker.ramp_from"),
        (plan().ramp(Ratio::ONE, Span::ZERO), "breaker.ramp_time"),
    ];
    for (builder, field) in cases {
        let refused = builder.build().err();
        assert_eq!(refused.as_ref().map(ConfigError::field), Some(field), "{refused:?}");
    }
}

#[test]
fn whoever_counts_by_himself_cannot_open_a_breaker_that_has_moved_on() {
    let plan = BreakerPlan::builder().consecutive(1).build().unwrap();
    let (mut breaker, now) = (Breaker::new(plan), Instant::ORIGIN);
    let generation = breaker.generation();
    let opened = breaker.trip(now, generation, Trip::Consecutive, &mut || 0);
    let until = now + Span::from_secs(5);
    assert_eq!(opened, Some(Transition::Opened { trip: Trip::Consecutive, until }));

    assert_eq!(breaker.trip(now, generation, Trip::Consecutive, &mut || 0), None, "open already");
    let probe = breaker.admit(until).ticket().unwrap();
    assert_eq!(breaker.trip(until, breaker.generation(), Trip::Consecutive, &mut || 0), None);
    let closed = breaker.report(until, probe, Report::Success, &mut || 0);
    assert_eq!(closed, Some(Transition::Closed { ramp_ends: None }));
    assert_eq!(breaker.trip(until, generation, Trip::Consecutive, &mut || 0), None, "long ago");
    let stale = Ticket::of_closed(generation, now);
    assert_eq!(breaker.report(until, stale, Report::Failure, &mut || 0), None);
    assert_eq!(breaker.state(until), StateKind::Closed);
}

#[test]
fn a_restart_forgets_neither_the_open_time_nor_how_long_it_has_grown() {
    let plan = BreakerPlan::builder().consecutive(1).build().unwrap();
    let (mut breaker, mut chance) = (Breaker::new(plan), || 0);
    let mut now = Instant::ORIGIN;
    for _ in 0..3 {
        let ticket = breaker.admit(now).ticket().unwrap();
        let moved = breaker.report(now, ticket, Report::Failure, &mut chance);
        assert!(matches!(moved, Some(Transition::Opened { .. })));
        now = breaker.open_until(now).unwrap();
    }
    assert_eq!(breaker.open_time(), Span::from_secs(20));

    let mut other = Breaker::reopened(plan, now, breaker.open_time());
    let before = Instant::from_nanos(now.as_nanos() - 1);
    assert_eq!(other.open_until(before), Some(now));
    assert_eq!(other.admit(before).ticket(), None);
    for breaker in [&mut breaker, &mut other] {
        let probe = breaker.admit(now).ticket().unwrap();
        assert!(probe.is_probe());
        let _ = breaker.report(now, probe, Report::Failure, &mut chance);
        assert_eq!(breaker.open_until(now), Some(now + Span::from_secs(40)));
    }
}

#[test]
fn a_saved_open_time_out_of_the_bounds_of_a_changed_plan_is_moved_into_them() {
    let plan = BreakerPlan::default();
    for (saved, used) in [(Span::ZERO, plan.open_time()), (Span::MAX, plan.open_cap())] {
        assert_eq!(Breaker::reopened(plan, Instant::ORIGIN, saved).open_time(), used);
    }
}
