//! Servers behind a balancer, against queueing formulas and a naive loop.

use stagger_core::{Instant, Ratio, Span};
use stagger_sim::{
    ArrivalProcess, Backend, Balancer, Ejection, Fault, Routing, RunPlan, Service, Simulation,
    Trouble, Workers,
};

use crate::fixture::{at, every, fixed, ms, once, play};

/// Servers of one exponential worker of 10 ms each.
fn tier(servers: u32, routing: Routing) -> Backend {
    Backend {
        service: Service::Exponential(ms(10)),
        workers: Some(Workers::new(1, None)),
        shards: servers,
        balancer: Some(Balancer::new(routing)),
        ..Backend::UNLIMITED
    }
}

/// The mean number of attempts that wait, under so many calls a second for a server.
#[expect(clippy::cast_precision_loss, reason = "some thousand buckets")]
fn waiting(backend: Backend, rate: u32, seconds: u64, seeds: u64) -> f64 {
    let plan = RunPlan {
        backend,
        ..RunPlan::new(ArrivalProcess::poisson(rate, at(seconds * 1_000)), once())
    };
    let (mut sum, mut buckets) = (0, 0);
    for seed in 0..seeds {
        let played = Simulation::new().play(&plan, seed);
        // The first second fills the queues, and nothing comes after the last call.
        let levels = played.series.levels.iter().skip(20);
        let levels = levels.take(usize::try_from(seconds - 1).expect("small") * 20);
        sum += levels.clone().map(|level| level.0).sum::<u64>();
        buckets += levels.count();
    }
    sum as f64 / buckets as f64
}

#[track_caller]
fn assert_near(found: f64, expected: f64, share: f64) {
    assert!((found - expected).abs() < share * expected, "{found}, not {expected}");
}

#[test]
fn servers_that_are_chosen_at_random_are_as_many_m_m_1_queues() {
    // Load squared over what is left, for each.
    assert_near(waiting(tier(4, Routing::Random), 320, 60, 8), 4.0 * 0.64 / 0.2, 0.1);
}

#[test]
fn round_robin_makes_each_server_a_queue_of_erlang_arrivals() {
    // E4/M/1: sigma is the root of sigma = (4 a / (4 a + 1 - sigma))^4, where a is the load.
    let mut sigma = 0.5;
    for _ in 0..200 {
        sigma = libm::pow(3.2 / (3.2 + 1.0 - sigma), 4.0);
    }
    let expected = 4.0 * 0.8 * sigma / (1.0 - sigma);
    assert_near(waiting(tier(4, Routing::RoundRobin), 320, 60, 8), expected, 0.1);
}

#[test]
fn two_choices_wait_as_mitzenmacher_has_it() {
    // The share of servers with i attempts or more is load^(2^i - 1), and all but the first wait.
    let expected: f64 = (2..8).map(|i| libm::pow(0.9, libm::pow(2.0, f64::from(i)) - 1.0)).sum();
    assert_near(waiting(tier(100, Routing::TwoChoices), 9_000, 21, 1), 100.0 * expected, 0.08);
}

#[test]
fn the_least_busy_server_was_not_better_than_two_choices_and_worse_than_one_queue() {
    let least = waiting(tier(4, Routing::LeastRequests), 320, 60, 4);
    let two = waiting(tier(4, Routing::TwoChoices), 320, 60, 4);
    // Erlang C for 4 workers with one queue and a load of 3.2: 2.39 wait.
    let pool = Backend {
        workers: Some(Workers::new(4, None)),
        shards: 1,
        balancer: None,
        ..tier(1, Routing::Random)
    };
    let pool = waiting(pool, 320, 60, 4);
    assert_near(pool, 2.386, 0.12);
    assert!(pool < least && least < two, "{pool} {least} {two}");
}

/// One server of four is down, under calls of two attempts.
fn one_down(balancer: Balancer) -> RunPlan {
    let backend = Backend { shards: 4, balancer: Some(balancer), ..Backend::UNLIMITED };
    let down = Fault::new(Trouble::PortClosed, at(0), Instant::FAR).in_shard(1);
    RunPlan { backend, faults: vec![down], ..every(1, 40_000, fixed(10, 2)) }
}

#[test]
fn a_retry_that_goes_elsewhere_met_the_same_dead_server() {
    let random = Balancer::new(Routing::Random);
    let played = play(&one_down(random));
    // A sixteenth meets it twice; six standard deviations.
    assert!(played.succeeded.abs_diff(37_500) < 300, "{}", played.succeeded);
    let played = play(&one_down(Balancer { retry_elsewhere: true, ..random }));
    assert_eq!(played.succeeded, 40_000);
    assert!(played.attempts.total.abs_diff(50_000) < 530, "{}", played.attempts.total);
}

#[test]
fn an_ejected_server_got_attempts_or_never_came_back() {
    let ejection = Ejection { failures: 5, lasts: ms(3_000), most: Ratio::from_percent(50) };
    let balancer = Balancer { ejection: Some(ejection), ..Balancer::new(Routing::RoundRobin) };
    let mut plan = one_down(balancer);
    plan.callers = vec![once()];
    plan.faults[0].until = at(20_500);
    // The same rule over milliseconds, with one call in each.
    let (mut turn, mut failures, mut out_until, mut failed) = (0, 0, 0, 0);
    for now in 0..40_000 {
        let server = if turn == 1 && now < out_until { 2 } else { turn };
        turn = (server + 1) % 4;
        if server != 1 {
            continue;
        }
        let fails = now < 20_500;
        failures = if fails { failures + 1 } else { 0 };
        failed += u64::from(fails);
        if failures == 5 {
            (failures, out_until) = (0, now + 3_000);
        }
    }
    let played = play(&plan);
    assert_eq!(played.calls - played.succeeded, failed);
    assert_eq!(failed, 35);
}

#[test]
fn no_more_servers_are_ejected_than_the_rule_says() {
    let ejection = Ejection { failures: 3, lasts: Span::MAX, most: Ratio::from_percent(50) };
    let balancer = Balancer { ejection: Some(ejection), ..Balancer::new(Routing::RoundRobin) };
    let mut plan = one_down(balancer);
    plan.callers = vec![once()];
    plan.faults[0].shard = None;
    plan.faults[0].until = at(100);
    // All fail for 100 ms; two are out for ever after that, and the others serve.
    let played = play(&plan);
    assert_eq!(played.succeeded, 40_000 - 100);
}

// OK because the calls of a test are far below 2^53.
#[expect(clippy::cast_precision_loss, reason = "counts of a test are exact")]
fn share(part: u64, of: u64) -> f64 {
    part as f64 / of as f64
}

#[test]
fn least_requests_sends_more_calls_to_a_server_that_fails_fast() {
    let failing = |routing| {
        let backend = tier(4, routing);
        let broken = Fault::new(Trouble::Refuse, at(0), Instant::FAR).in_shard(1);
        let plan = RunPlan::new(ArrivalProcess::poisson(200, at(60_000)), once());
        let played = play(&RunPlan { backend, faults: vec![broken], ..plan });
        1.0 - share(played.succeeded, played.calls)
    };
    assert_near(failing(Routing::RoundRobin), 0.25, 0.02);
    assert!(failing(Routing::LeastRequests) > 0.3, "{}", failing(Routing::LeastRequests));
}
