//! The three formulas of recovery, over random parameters.

use stagger_core::budget::BudgetPlan;
use stagger_core::{Entropy, Instant, Ratio, Span};
use stagger_sim::{
    ArrivalProcess, Backend, CallerLayer, Deposit, Fault, FirstTriesRule, Fleet, Law, LedgerModel,
    MeasurementPlan, Paying, Purpose, RandomStream, Recovery, RunPlan, Schedule, Simulation,
    Trouble,
};

/// A stall of a backend of ten workers, whose callers give up and are served all the same.
#[derive(Clone, Copy, Debug)]
struct Storm {
    /// Calls a second.
    load: u32,
    /// The capacity of ten workers, in attempts a second.
    capacity: u32,
    stall: Span,
    timeout: Span,
    attempts: u32,
    queue: Option<u32>,
    /// Retries that are let through, and none after; all of them when `None`.
    budget: Option<u32>,
    length: Span,
}

const FROM: Instant = Instant::from_nanos(5_000_000_000);

impl Storm {
    /// The time after the stall until first attempts succeed again, in seconds.
    fn recovery(&self, seed: u64) -> Option<f64> {
        let schedule = Schedule {
            base: Span::from_millis(100),
            cap: Span::from_secs(10),
            attempts: self.attempts,
        };
        let law = Law::Full.policy(&schedule).expect("valid").to_builder();
        let law = law.attempt_timeout(self.timeout);
        let (policy, ledger) = match self.budget {
            None => (law.build().expect("valid"), LedgerModel::Engine),
            Some(bucket) => {
                let rule = Deposit { paying: Paying::Successes, amount: Ratio::ZERO, bucket };
                (law.budget(BudgetPlan::None).build().expect("valid"), LedgerModel::Deposit(rule))
            }
        };
        let until = FROM + self.stall;
        let work = Span::from_nanos(10_000_000_000 / u64::from(self.capacity));
        let plan = RunPlan {
            fleet: Fleet { ledger, ..Fleet::default() },
            backend: Backend::of_workers(10, work, self.queue),
            faults: vec![Fault::new(Trouble::Stall, FROM, until)],
            watch: MeasurementPlan { edge: until, recovery: rule(), ..MeasurementPlan::default() },
            ..RunPlan::new(
                ArrivalProcess::poisson(self.load, until + self.length),
                CallerLayer::new(policy),
            )
        };
        Simulation::new().play(&plan, seed).recovery.recovered().map(Span::as_secs_f64)
    }
}

fn rule() -> Recovery {
    Recovery::FirstTries(FirstTriesRule {
        bucket: Span::from_millis(500),
        row: 10,
        share: Ratio::from_percent(99),
        within: Span::MAX,
    })
}

/// So many draws of parameters, each from its own source.
fn draws(
    purpose: Purpose,
    cases: u32,
    mut check: impl FnMut(u64, &mut dyn FnMut(u64, u64) -> u64),
) {
    let stream = RandomStream::new(11, purpose);
    for case in 0..cases {
        let mut draw = stream.at(case, 0);
        let mut between = |low: u64, high: u64| {
            draw.draw(Span::from_nanos(low), Span::from_nanos(high)).as_nanos()
        };
        check(u64::from(case), &mut between);
    }
}

fn number(n: u64) -> u32 {
    u32::try_from(n).expect("drawn from a small range")
}

#[test]
fn recovery_takes_the_backlog_over_the_spare_capacity() {
    draws(Purpose::Arrival, 20, |seed, between| {
        let capacity = number(between(500, 2_000));
        let load = capacity * number(between(30, 85)) / 100;
        let stall = Span::from_millis(between(2_000, 6_000));
        let timeout = Span::from_millis(between(300, 1_000));
        let (lambda, mu) = (f64::from(load), f64::from(capacity));
        let missed = lambda * stall.as_secs_f64();
        // The bucket is used up, because at least all who came in the stall want one.
        let budget = number(between(0, 50)) * load * number(stall.as_nanos() / 1_000_000) / 100_000;
        let backlog = missed + f64::from(budget) - mu * timeout.as_secs_f64();
        let predicted = (backlog / (mu - lambda)).max(0.0);
        let storm = Storm {
            load,
            capacity,
            stall,
            timeout,
            attempts: 4,
            queue: None,
            budget: Some(budget),
            length: Span::from_secs(110),
        };
        let found = storm.recovery(seed).unwrap_or(f64::INFINITY);
        // Four standard deviations of the arrivals until then, a bucket of half a second, and the
        // retries that a budget lets through late.
        let noise = (lambda * (stall.as_secs_f64() + predicted)).sqrt() / (mu - lambda);
        let tolerance = 4.0 * noise + 1.0;
        assert!((found - predicted).abs() < tolerance, "{storm:?}: {found}, not {predicted}");
    });
}

#[test]
fn above_capacity_over_attempts_a_stall_never_ends() {
    draws(Purpose::Delay, 8, |seed, between| {
        let capacity = number(between(500, 1_200));
        let attempts = number(between(2, 5));
        let storm = |percent: u32| Storm {
            load: capacity * percent / 100 / attempts,
            capacity,
            stall: Span::from_secs(5),
            timeout: Span::from_millis(500),
            attempts,
            queue: None,
            budget: None,
            length: Span::from_secs(90),
        };
        let (below, above) = (storm(80), storm(120));
        assert!(below.recovery(seed).is_some(), "{below:?}");
        assert_eq!(above.recovery(seed), None, "{above:?}");
    });
}

#[test]
fn a_queue_below_capacity_times_timeout_heals_and_one_above_does_not() {
    draws(Purpose::Service, 8, |seed, between| {
        let capacity = number(between(600, 1_500));
        let timeout = Span::from_millis(between(300, 800));
        let fits = u64::from(capacity) * timeout.as_nanos() / 1_000_000_000;
        let load = capacity * number(between(65, 85)) / 100;
        let storm = |percent: u64| Storm {
            load,
            capacity,
            stall: Span::from_secs(5),
            timeout,
            attempts: 4,
            queue: Some(number(fits * percent / 100)),
            budget: None,
            length: Span::from_secs(60),
        };
        let (below, above) = (storm(85), storm(120));
        assert!(below.recovery(seed).is_some(), "{below:?}");
        assert_eq!(above.recovery(seed), None, "{above:?}");
    });
}
