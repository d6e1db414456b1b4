//! Servers under more work than they can do: against published laws, closed formulas and naive loops.

use std::collections::VecDeque;

use stagger_core::{Ratio, Span};
use stagger_sim::{
    ArrivalProcess, AttemptEnd, Autoscaling, Backend, Bystanders, CallerLayer, Crash, Criticality,
    PlayedAttempt, QueueDiscipline, RunPlan, Service, Shedding, Workers,
};

use crate::fixture::{at, every, ms, once, play};

fn server(service: u64, workers: Workers) -> Backend {
    Backend { workers: Some(workers), ..Backend::UNLIMITED.serving_in(ms(service)) }
}

fn shedding(shedding: Shedding, count: u32, service: u64) -> Backend {
    server(service, Workers { shedding, ..Workers::new(count, None) })
}

/// Even calls, so many microseconds apart.
fn even(micros: u64, callers: u32, caller: CallerLayer) -> RunPlan {
    RunPlan::new(ArrivalProcess::Even { callers, spacing: Span::from_micros(micros) }, caller)
}

/// Drops of one worker of 1 ms under calls every half a millisecond, by the pseudo-code of RFC 8289, section
/// 5.3 to 5.6, in floating-point milliseconds.
fn codel_drops(calls: u32) -> u64 {
    let (target, interval) = (5.0, 100.0);
    let mut queue: VecDeque<f64> = (0..calls).map(|n| f64::from(n) / 2.0).collect();
    let (mut first_above, mut drop_next, mut count, mut last_count) = (0.0, 0.0, 0.0, 0.0);
    let (mut dropping, mut drops, mut now) = (false, 0, 0.0);
    let mut pull = |queue: &mut VecDeque<f64>, now: f64| {
        let came = queue.pop_front()?;
        let arrived = queue.front().is_some_and(|&next| next <= now);
        if now - came < target || !arrived {
            first_above = 0.0;
            return Some(false);
        }
        if first_above == 0.0 {
            first_above = now + interval;
            return Some(false);
        }
        Some(now >= first_above)
    };
    let law = |from: f64, count: f64| from + interval / libm::sqrt(count);
    while let Some(&came) = queue.front() {
        now = f64::max(now, came);
        let Some(mut over) = pull(&mut queue, now) else { break };
        if dropping {
            dropping = over;
            while dropping && now >= drop_next {
                (drops, count) = (drops + 1, count + 1.0);
                over = pull(&mut queue, now).unwrap_or(false);
                dropping = over;
                if dropping {
                    drop_next = law(drop_next, count);
                }
            }
        } else if over {
            drops += 1;
            pull(&mut queue, now);
            dropping = true;
            let delta = count - last_count;
            count = if delta > 1.0 && now - drop_next < 16.0 * interval { delta } else { 1.0 };
            drop_next = law(now, count);
            last_count = count;
        }
        now += 1.0;
    }
    drops
}

#[test]
fn codel_sheds_as_its_rfc_does() {
    let rule = Shedding::CoDel { target: ms(5), interval: ms(100) };
    let plan = RunPlan { backend: shedding(rule, 1, 1), ..even(500, 20_000, once()) };
    let played = play(&plan);
    let found = played.calls - played.succeeded;
    let expected = codel_drops(20_000);
    assert!(found.abs_diff(expected) <= expected / 50, "{found}, not {expected}");
    // While the excess is not shed, n drops take 2 * interval * sqrt(n); the others take a millisecond each.
    let drops = f64::from(u32::try_from(found).expect("small"));
    let took = 200.0 * libm::sqrt(drops);
    assert!((took - (20_000.0 - drops)).abs() < 300.0, "{took}");
}

#[test]
fn a_standing_queue_was_waited_in_for_longer_than_the_target() {
    let rule = Shedding::FailFast { target: ms(5), interval: ms(100) };
    let plan = RunPlan { backend: shedding(rule, 1, 1), ..even(500, 20_000, once()) };
    let (played, attempts) = PlayedAttempt::of_run(&plan, 1);
    // The worker never idles, so half of all are served.
    assert!(played.succeeded.abs_diff(10_000) < 110, "{}", played.succeeded);
    let served = attempts.iter().filter(|attempt| attempt.end == AttemptEnd::Served);
    let late = served.filter(|attempt| attempt.began > at(500));
    let longest = late.map(|attempt| attempt.ended - attempt.began).max();
    let longest = longest.expect("some are served");
    assert!(longest <= ms(7), "{longest}");
}

#[test]
fn an_adaptive_queue_serves_the_newest_when_it_stands_and_the_oldest_when_not() {
    let served = |order, micros| {
        let backend = server(1, Workers { order, ..Workers::new(1, None) });
        let plan = even(micros, 20_000, once().with_timeout(ms(50)));
        play(&RunPlan { backend, ..plan }).succeeded
    };
    // Twice the capacity: oldest first serves nobody in time, once the queue is longer than 50 ms.
    assert!(served(QueueDiscipline::OldestFirst, 500) < 200);
    assert!(served(QueueDiscipline::Adaptive, 500) > 9_000);
    assert_eq!(served(QueueDiscipline::Adaptive, 1_250), 20_000);
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "some thousand calls")]
fn critical_calls_wait_as_cobham_has_it() {
    let order = QueueDiscipline::ByCriticality;
    let workers = Workers { order, ..Workers::new(1, None) };
    let service = Service::Exponential(ms(10));
    let backend = Backend { service, workers: Some(workers), ..Backend::UNLIMITED };
    let until = at(600_000);
    let batch = CallerLayer { criticality: Criticality::Sheddable, ..once() };
    let bystanders =
        vec![Bystanders { arrivals: ArrivalProcess::poisson(50, until), caller: batch }];
    let plan = RunPlan::new(ArrivalProcess::poisson(30, until), once());
    let (_, attempts) = PlayedAttempt::of_run(&RunPlan { backend, bystanders, ..plan }, 3);
    let mean = |source| {
        let own = attempts.iter().filter(|attempt| attempt.source == source);
        let took = own.clone().map(|attempt| (attempt.ended - attempt.began).as_secs_f64());
        1e3 * took.sum::<f64>() / own.count() as f64
    };
    // Loads of 0.3 and 0.5; work under way has 0.8 * 10 ms left in the mean.
    let (critical, sheddable) = (mean(0) - 10.0, mean(1) - 10.0);
    assert!((critical - 8.0 / 0.7).abs() < 1.0, "{critical}");
    assert!((sheddable - 8.0 / (0.7 * 0.2)).abs() < 6.0, "{sheddable}");
}

#[test]
fn a_full_queue_refused_critical_calls_for_the_sake_of_batch_work() {
    let share = |order| {
        let backend = server(10, Workers { order, ..Workers::new(10, Some(50)) });
        let batch = CallerLayer { criticality: Criticality::Sheddable, ..once() };
        let arrivals = ArrivalProcess::poisson(2_000, at(20_000));
        let plan = RunPlan::new(ArrivalProcess::poisson(500, at(20_000)), once());
        let bystanders = vec![Bystanders { arrivals, caller: batch }];
        let played = play_others(&RunPlan { backend, bystanders, ..plan });
        played.0 * 100 / played.1
    };
    assert!((30..50).contains(&share(QueueDiscipline::OldestFirst)));
    assert_eq!(share(QueueDiscipline::ByCriticality), 100);
}

/// Calls served, and all of them, beside bystanders.
fn play_others(plan: &RunPlan) -> (u64, u64) {
    let played = stagger_sim::Simulation::new().play(plan, 7);
    let heap = stagger_sim::Simulation::on(stagger_sim::Heap::default()).play(plan, 7);
    assert_eq!(played, heap, "the queues disagree");
    (played.succeeded, played.calls)
}

/// The latency of the served calls that begin after five seconds, in milliseconds: least, mean and most.
#[expect(clippy::cast_precision_loss, reason = "some thousand calls")]
fn latencies(plan: &RunPlan) -> [f64; 3] {
    let (_, attempts) = PlayedAttempt::of_run(plan, 1);
    let late = attempts.iter().filter(|it| it.end == AttemptEnd::Served && it.began > at(5_000));
    let took: Vec<f64> = late.map(|it| (it.ended - it.began).as_secs_f64() * 1e3).collect();
    let mean = took.iter().sum::<f64>() / took.len() as f64;
    [
        took.iter().copied().fold(f64::INFINITY, f64::min),
        mean,
        took.iter().copied().fold(0.0, f64::max),
    ]
}

#[test]
fn a_gradient_limit_settles_where_its_formula_does() {
    // limit = K + sqrt(limit), where K is the workers times 1 + buffer; and latency is limit over capacity.
    for (buffer, spare) in [(0, 10.0), (50, 15.0)] {
        let rule = Shedding::Gradient { buffer: Ratio::from_percent(buffer), every: ms(100) };
        let plan = RunPlan { backend: shedding(rule, 10, 10), ..even(333, 60_000, once()) };
        let root = f64::midpoint(1.0, libm::sqrt(1.0 + 4.0 * spare));
        let [_, mean, _] = latencies(&plan);
        assert!((mean - root * root).abs() < 1.5, "{mean}, not {}", root * root);
        let served = play(&plan).succeeded;
        assert!(served.abs_diff(20_000) < 300, "{served}");
    }
}

#[test]
fn an_aimd_limit_is_a_saw_below_its_latency() {
    let rule = Shedding::Aimd { latency: ms(50), decrease: Ratio::from_percent(80) };
    let plan = RunPlan { backend: shedding(rule, 10, 10), ..even(333, 60_000, once()) };
    let [least, mean, most] = latencies(&plan);
    // From 0.8 * 50 to 50 ms, evenly, and a turn of the workers more until the first late answer is there.
    assert!(least > 37.0 && most < 61.0, "{least} {most}");
    assert!((mean - 45.0).abs() < 4.0, "{mean}");
    let served = play(&plan).succeeded;
    assert!(served.abs_diff(20_000) < 300, "{served}");
}

#[test]
fn a_server_that_fell_over_kept_its_work_or_never_came_back() {
    // One worker of 10 ms under calls every 5 ms: over with the 40th, and back a second later.
    let crash = Some(Crash { at: 40, restart: ms(1_000) });
    let backend = server(10, Workers { crash, ..Workers::new(1, None) });
    let played = play(&RunPlan { backend, ..every(5, 12_000, once()) });
    let (mut served, mut held, mut up_from, mut free_at) = (0, 0, 0, 0);
    for now in (0..60_000).step_by(5) {
        while held > 0 && free_at <= now {
            (served, held) = (served + 1, held - 1);
            free_at += if held > 0 { 10 } else { 0 };
        }
        if now < up_from {
            continue;
        }
        free_at = if held == 0 { now + 10 } else { free_at };
        held += 1;
        if held == 40 {
            (held, up_from) = (0, now + 1_000);
        }
    }
    served += held;
    assert_eq!(played.succeeded, served);
    assert!(served < 4_000, "half of the time it is down or full: {served}");
}

#[test]
fn workers_come_after_the_delay_and_drain_the_backlog() {
    let scaling = Autoscaling {
        most: 25,
        step: 5,
        every: ms(1_000),
        delay: ms(10_000),
        above: Ratio::from_percent(80),
        below: Ratio::from_percent(30),
    };
    let with = |scaling| {
        let backend = server(10, Workers { scaling, ..Workers::new(10, None) });
        play(&RunPlan { backend, ..even(500, 120_000, once()) })
    };
    // 1000 a second too many for 11 s, 500 for one more, none for another, and then 500 fewer.
    let played = with(Some(scaling));
    let most = played.series.queued_most;
    assert!(most.abs_diff(11_500) < 60, "{most}");
    let empty = played.series.levels.iter().rposition(|level| level.0 > 100);
    let empty = empty.expect("it was full") / 20;
    assert!(empty.abs_diff(36) <= 1, "{empty} s");
    assert!(played.length < ms(61_000), "{}", played.length);
    assert!(with(None).length >= ms(119_000));
}

#[test]
fn workers_that_were_not_needed_any_more_stayed() {
    let scaling = Autoscaling {
        most: 20,
        step: 10,
        every: ms(100),
        delay: ms(100),
        above: Ratio::from_percent(80),
        below: Ratio::from_percent(30),
    };
    // Busy, idle for a minute, and busy again: the second time is as slow as the first.
    let backend = server(10, Workers { scaling: Some(scaling), ..Workers::new(1, None) });
    let burst = |from| ArrivalProcess::Spread { callers: 1_000, from, over: ms(1_000) };
    let one = RunPlan { backend, ..RunPlan::new(burst(at(0)), once()) };
    let calm = ArrivalProcess::Spread { callers: 100, from: at(30_000), over: ms(60_000) };
    let both = RunPlan { arrivals: vec![burst(at(0)), calm, burst(at(95_000))], ..one.clone() };
    let most = |plan: &RunPlan| play(plan).series.queued_most;
    assert!(most(&one).abs_diff(most(&both)) < 15, "{} {}", most(&one), most(&both));
    assert!(play(&one).length < Span::from_secs(2));
}
