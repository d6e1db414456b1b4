//! Workers, their queues, and queueing theory.

use stagger_core::{Instant, Ratio, Span};
use stagger_sim::{
    ArrivalProcess, Backend, Cancel, Full, Played, QueueDiscipline, RunPlan, Service, Workers,
};

use crate::fixture::{assert_longest, every, ms, once, play, together};

/// One worker that takes 100 ms.
fn one(workers: Workers) -> Backend {
    Backend { workers: Some(workers), ..Backend::UNLIMITED.serving_in(ms(100)) }
}

#[test]
fn a_full_queue_refuses() {
    let plan = RunPlan { backend: one(Workers::new(1, Some(2))), ..together(5, once()) };
    let played = play(&plan);
    assert_eq!((played.succeeded, played.length), (3, ms(300)));
    assert_eq!(played.series.queued_most, 2);
}

#[test]
fn a_queue_without_bound_serves_all_in_turn() {
    let plan = RunPlan { backend: one(Workers::new(2, None)), ..together(5, once()) };
    let played = play(&plan);
    assert_eq!((played.succeeded, played.length, played.series.queued_most), (5, ms(300), 3));
    assert_eq!(played.served.buckets, [0, 0, 2, 0, 2, 0, 1]);
}

#[test]
fn a_silent_queue_leaves_callers_to_their_timeouts() {
    let workers = Workers { full: Full::Drop, ..Workers::new(1, Some(0)) };
    let plan = RunPlan { backend: one(workers), ..together(2, once().with_timeout(ms(250))) };
    let played = play(&plan);
    assert_eq!((played.succeeded, played.length), (1, ms(250)));
}

#[test]
fn the_newest_waits_least_when_it_is_served_first() {
    let longest = |order| {
        let workers = Workers { order, ..Workers::new(1, None) };
        let timed = once().with_timeout(ms(200));
        play(&RunPlan { backend: one(workers), ..every(10, 3, timed) })
    };
    // Callers at 0, 10 and 20 ms, done at 100, 200 and 300; the third in turn has given up.
    let newest = longest(QueueDiscipline::NewestFirst);
    assert_eq!((newest.succeeded, newest.wasted.total), (2, 1));
    assert_longest(&newest, 180);
    assert_longest(&longest(QueueDiscipline::OldestFirst), 190);
}

#[test]
fn work_for_nobody_is_done_or_dropped_as_the_server_knows() {
    let finished = |cancel| {
        let workers = Workers { cancel, ..Workers::new(1, None) };
        let played =
            play(&RunPlan { backend: one(workers), ..together(3, once().with_timeout(ms(150))) });
        assert_eq!((played.succeeded, played.attempts.total), (1, 3));
        (played.finished, played.wasted.total)
    };
    assert_eq!(finished(Cancel::Never), (3, 2));
    // The second starts at 100 ms, when its caller still waits; the third would at 200 ms.
    assert_eq!(finished(Cancel::Expired), (2, 1));
    assert_eq!(finished(Cancel::Hopeless), (1, 0));
}

#[test]
fn a_crowd_slows_the_work_down() {
    let workers = Workers { collapse: Ratio::from_percent(100), ..Workers::new(1, None) };
    // 100 ms alone; 200 ms while one waits; 100 ms alone again.
    let played = play(&RunPlan { backend: one(workers), ..together(3, once()) });
    assert_eq!(played.length, ms(400));
}

/// So many calls a second to workers that take 1 ms on average, for 200 s.
fn queueing(load: u32, count: u32, queue: Option<u32>, service: Service) -> Played {
    let until = Instant::ORIGIN + Span::from_secs(200);
    let backend =
        Backend { service, workers: Some(Workers::new(count, queue)), ..Backend::UNLIMITED };
    play(&RunPlan { backend, ..RunPlan::new(ArrivalProcess::poisson(load, until), once()) })
}

#[expect(clippy::cast_precision_loss, reason = "a mean of small numbers")]
fn mean_queue(played: &Played) -> f64 {
    let levels = &played.series.levels;
    levels.iter().map(|level| level.0).sum::<u64>() as f64 / levels.len() as f64
}

#[test]
fn one_exponential_worker_is_an_m_m_1_queue() {
    let played = queueing(500, 1, None, Service::Exponential(ms(1)));
    // Time in the system is exponential with rate 500: ln 2 / 500 and so on. The histogram adds up
    // to 3 %, and 100 000 calls in a row that depend on each other a few per cent more.
    for (share, expected) in [(0.5, 1.386), (0.95, 5.991), (0.99, 9.210)] {
        let found = played.latency.quantile(share).expect("all succeeded").as_secs_f64() * 1e3;
        assert!((found / expected - 1.0).abs() < 0.08, "{share}: {found} ms, not {expected}");
    }
    // rho^2 / (1 - rho), seen 4000 times with a standard deviation of 1.2.
    let waiting = mean_queue(&played);
    assert!((waiting - 0.5).abs() < 0.1, "{waiting}");
}

#[test]
fn a_worker_of_fixed_time_has_half_the_queue() {
    // rho^2 / (2 (1 - rho)).
    let waiting = mean_queue(&queueing(500, 1, None, Service::Fixed(ms(1))));
    assert!((waiting - 0.25).abs() < 0.06, "{waiting}");
}

#[test]
fn workers_without_a_queue_refuse_what_erlang_says() {
    // Offered load 1 to two workers: (1/2) / (1 + 1 + 1/2) = 20 %, for every distribution.
    for service in [Service::Exponential(ms(1)), Service::Fixed(ms(1))] {
        let played = queueing(1_000, 2, Some(0), service);
        let refused = 5 * (played.calls - played.succeeded);
        // 200 000 calls: six standard deviations are 2.7 % of what is expected.
        assert!(refused.abs_diff(played.calls) < played.calls * 3 / 100, "{refused}");
    }
}
