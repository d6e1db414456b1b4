//! Parts of servers and chains of services against closed formulas and naive loops.

use stagger_core::{Instant, Ratio, Span};
use stagger_sim::{
    ArrivalProcess, Backend, CallerLayer, Fault, Propagation, RateStep, RunPlan, Service,
    Simulation, Trouble, Workers,
};

use crate::fixture::{at, every, fixed, ms, once, play, together};

/// Ten workers of 10 ms that take `refusal` to refuse, under 3000 calls a second for 20 s.
fn served_beside_refusals(refusal: Span) -> u64 {
    let arrivals = ArrivalProcess::poisson(3_000, at(20_000));
    let workers = Workers { refusal, ..Workers::new(10, Some(100)) };
    let backend =
        Backend { service: Service::Fixed(ms(10)), workers: Some(workers), ..Backend::UNLIMITED };
    play(&RunPlan { backend, ..RunPlan::new(arrivals, once()) }).succeeded
}

#[test]
fn refusals_took_no_time_and_so_cost_a_server_nothing() {
    assert!(served_beside_refusals(Span::ZERO).abs_diff(20_000) < 200);
    // Busy workers: served * 10 ms + (3000 - served) * 1 ms = 10 s a second, so 777.8 are served.
    let served = served_beside_refusals(ms(1));
    assert!(served.abs_diff(15_556) < 350, "{served}");
    // 3000 refusals of 4 ms are more than the workers' time: receive livelock.
    let served = served_beside_refusals(ms(4));
    assert!(served < 1_000, "{served}");
}

#[test]
fn a_rate_that_changes_brings_each_step_its_calls() {
    let step = |from, gap: Option<u64>| RateStep { from: at(from), gap: gap.map(ms) };
    let steps = [step(2_000, Some(10)), step(5_000, None), step(7_000, Some(1))];
    let rule = ArrivalProcess::Stepped { steps: steps.into(), until: at(10_000) };
    let times: Vec<Instant> = rule.times(5, 0).collect();
    assert!(times.is_sorted());
    let between = |from, until| times.iter().filter(|&&t| at(from) <= t && t < at(until)).count();
    assert_eq!((between(0, 2_000), between(5_000, 7_000)), (0, 0));
    // 300 and 3000, give or take six standard deviations.
    assert!(between(2_000, 5_000).abs_diff(300) < 104, "{}", between(2_000, 5_000));
    assert!(between(7_000, 10_000).abs_diff(3_000) < 330, "{}", between(7_000, 10_000));
    assert_eq!(times.len(), between(2_000, 5_000) + between(7_000, 10_000));
}

#[test]
fn a_rate_without_steps_is_the_poisson_process() {
    let steps = [RateStep { from: Instant::ORIGIN, gap: Some(ms(2)) }];
    let stepped = ArrivalProcess::Stepped { steps: steps.into(), until: at(60_000) };
    let times = |rule: &ArrivalProcess| -> Vec<u64> {
        rule.times(9, 0).map(|at| at.as_nanos() / 1_000).collect()
    };
    let poisson = times(&ArrivalProcess::Poisson { gap: ms(2), until: at(60_000) });
    let found = times(&stepped);
    assert_eq!(found.len(), poisson.len());
    // The same draws, in another unit: microseconds apart after 30 000 of them.
    assert!(found.iter().zip(&poisson).all(|(a, b)| a.abs_diff(*b) < 50));
}

/// The median and the p99 of 100 000 calls that never wait, in milliseconds.
fn quantiles(service: Service) -> [f64; 2] {
    let backend = Backend { service, ..Backend::UNLIMITED };
    let played = play(&RunPlan { backend, ..together(100_000, once()) });
    [0.5, 0.99]
        .map(|share| played.latency.quantile(share).expect("calls were made").as_secs_f64() * 1e3)
}

#[track_caller]
fn assert_near(found: f64, expected: f64) {
    // A histogram is up to 1/31 too long, and a p99 of so many draws is within some percent.
    assert!(found > 0.96 * expected && found < 1.075 * expected, "{found}, not {expected}");
}

#[test]
fn heavy_tails_have_the_quantiles_of_their_formulas() {
    let mean = ms(10);
    let [median, p99] = quantiles(Service::Lognormal { mean, sigma: Ratio::ONE });
    assert_near(median, 10.0 * libm::exp(-0.5));
    assert_near(p99, 10.0 * libm::exp(2.326 - 0.5));
    let shape = Ratio::from_percent(250);
    let [median, p99] = quantiles(Service::Pareto { mean, shape });
    assert_near(median, 6.0 * libm::pow(2.0, 0.4));
    assert_near(p99, 6.0 * libm::pow(100.0, 0.4));
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "a few thousand buckets")]
fn a_queue_of_lognormal_work_is_as_long_as_pollaczek_and_khinchine_have_it() {
    let service = Service::Lognormal { mean: ms(5), sigma: Ratio::ONE };
    let backend = Backend { service, workers: Some(Workers::new(1, None)), ..Backend::UNLIMITED };
    let arrivals = ArrivalProcess::poisson(100, at(200_000));
    let plan = RunPlan { backend, ..RunPlan::new(arrivals, once()) };
    let (mut sum, mut buckets) = (0, 0);
    for seed in 0..20 {
        let played = Simulation::new().play(&plan, seed);
        sum += played.series.levels.iter().map(|level| level.0).sum::<u64>();
        buckets += played.series.levels.len();
    }
    // rate^2 * E[S^2] / (2 (1 - load)), and E[S^2] is the mean's square times e.
    let expected = 100.0 * 100.0 * 0.005 * 0.005 * std::f64::consts::E;
    let found = sum as f64 / buckets as f64;
    assert!((found - expected).abs() < 0.08 * expected, "{found}, not {expected}");
}

/// Attempts of an inner layer that is never answered, for an outer one that gives up after a second.
fn inner_attempts(propagation: Propagation, timeout: u64, delay: u64) -> u64 {
    let callers =
        vec![fixed(0, 1).with_timeout(ms(1_000)), fixed(delay, 10).with_timeout(ms(timeout))];
    let silent = Fault::new(Trouble::Silence, Instant::ORIGIN, Instant::FAR);
    let plan = RunPlan { callers, propagation, faults: vec![silent], ..together(1, once()) };
    play(&plan).attempts.total
}

#[test]
fn a_call_within_a_call_went_on_after_its_caller_had_given_up() {
    for (timeout, delay) in [(300, 100), (90, 10), (700, 200), (1_500, 100), (250, 250)] {
        assert_eq!(inner_attempts(Propagation::None, timeout, delay), 10);
        // One attempt after the other, as long as the second lasts.
        let (mut now, mut expected) = (0, 0);
        while now < 1_000 && expected < 10 {
            expected += 1;
            now += timeout + delay;
        }
        let found = inner_attempts(Propagation::Deadline, timeout, delay);
        assert_eq!(found, expected, "timeout {timeout}, delay {delay}");
    }
}

#[test]
fn deadlines_are_inherited_through_every_layer() {
    let layer = |attempts, timeout| fixed(0, attempts).with_timeout(ms(timeout));
    let callers: Vec<CallerLayer> = vec![layer(1, 100), layer(1, 1_000), layer(3, 90)];
    let silent = Fault::new(Trouble::Silence, Instant::ORIGIN, Instant::FAR);
    let plan = |propagation| RunPlan {
        callers: callers.clone(),
        propagation,
        faults: vec![silent],
        ..together(5, once())
    };
    assert_eq!(play(&plan(Propagation::None)).attempts.total, 15);
    // At 0 and 90 ms; the outermost gives up at 100 ms, 80 ms before the third.
    assert_eq!(play(&plan(Propagation::Deadline)).attempts.total, 10);
}

#[test]
fn a_forbidden_share_is_not_retried_and_the_rest_is_served() {
    let forbid =
        |percent| Fault::new(Trouble::Forbid(Ratio::from_percent(percent)), at(0), at(10_000));
    let plan =
        |percent| RunPlan { faults: vec![forbid(percent)], ..every(1, 10_000, fixed(10, 4)) };
    let played = play(&plan(100));
    assert_eq!((played.succeeded, played.attempts.total), (0, 10_000));
    let played = play(&plan(30));
    assert_eq!(played.attempts.total, 10_000);
    // 7000, give or take six standard deviations.
    assert!(played.succeeded.abs_diff(7_000) < 280, "{}", played.succeeded);
}
