//! Claims of the guides about scenarios, and lessons that are printed under the tables they were written about.

use stagger_core::adaptive::ClientThrottlePlan;
use stagger_core::budget::{FloorRate, WindowPlan};
use stagger_core::concurrency::ConcurrencyPlan;
use stagger_core::rate_limit::RatePlan;
use stagger_core::{HintRule, Instant, LongHint, PolicyBuilder, Rate, Ratio, Span};
use stagger_sim::{
    ArrivalProcess, Backend, CATALOGUE, CallerLayer, Cancel, EntryReport, Fault, Fleet, Law,
    MeasurementPlan, Named, Played, QueueDiscipline, Recovery, RecoveryVerdict, RunPlan, Schedule,
    Service, Simulation, StormOptions, ThreadPool, Trouble, Workers,
};

use crate::fixture::{at, ms};

/// The stall of the reference tables: ten workers of 10 ms, a queue without bound, nothing served from
/// 10 to 15 s, and callers who wait 0.5 s for an answer.
fn stall(load: u32, caller: CallerLayer) -> RunPlan {
    RunPlan {
        backend: Backend::of_workers(10, ms(10), None),
        faults: vec![Fault::new(Trouble::Stall, at(10_000), at(15_000))],
        watch: MeasurementPlan {
            edge: at(15_000),
            recovery: Recovery::first_tries(),
            ..MeasurementPlan::default()
        },
        ..RunPlan::new(ArrivalProcess::poisson(load, at(90_000)), caller.with_timeout(ms(500)))
    }
}

fn schedule(base: u64, cap: u64, attempts: u32) -> Schedule {
    Schedule { base: ms(base), cap: ms(cap), attempts }
}

fn caller(law: Law, schedule: &Schedule) -> CallerLayer {
    law.caller(schedule).expect("a valid schedule")
}

/// Full jitter with the reference's base and cap.
fn full(attempts: u32) -> CallerLayer {
    caller(Law::Full, &schedule(100, 10_000, attempts))
}

fn play(plan: &RunPlan) -> Played {
    Simulation::new().play(plan, 1)
}

/// Seconds until a run recovered for good.
fn recovers(plan: &RunPlan) -> Option<f64> {
    play(plan).recovery.recovered().map(Span::as_secs_f64)
}

fn share(played: &Played) -> f64 {
    quotient(played.succeeded, played.calls)
}

fn amplification(played: &Played) -> f64 {
    quotient(played.attempts.total, played.calls)
}

#[expect(clippy::cast_precision_loss, reason = "some hundred thousand calls")]
fn quotient(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

/// The rows of the first case of a scenario that ships.
fn rows(name: &str, options: &StormOptions) -> Vec<EntryReport> {
    let scenario = Named::find(name).expect("it ships").scenario(options).expect("valid options");
    scenario.run(&ThreadPool::new(std::num::NonZeroUsize::MIN)).cases.swap_remove(0).rows
}

fn row<'a>(rows: &'a [EntryReport], name: &str) -> &'a EntryReport {
    rows.iter().find(|row| row.name == name).expect("it is compared")
}

#[test]
fn a_stall_was_said_to_stick_at_every_load_and_under_every_base() {
    let jittered = |base, cap| caller(Law::Full, &schedule(base, cap, 4));
    assert_eq!(recovers(&stall(700, jittered(100, 10_000))), None);
    // 100 calls of 4 attempts fit into the capacity: too little comes for a queue that lasts.
    assert!(recovers(&stall(100, jittered(100, 10_000))).is_some());
    // A base far above the time to drain spreads the retries over minutes.
    let slow = recovers(&stall(700, jittered(200_000, 2_000_000))).expect("it recovers");
    assert!((9.0..14.0).contains(&slow), "{slow}");
}

#[test]
fn the_stable_load_was_said_to_be_the_capacity() {
    // After a stall, 1000 a second and four attempts carry about 250 calls a second.
    let stable = |load, attempts| recovers(&stall(load, full(attempts))).is_some();
    assert!(stable(200, 4) && !stable(300, 4));
    assert!(stable(400, 2) && !stable(600, 2));
    assert!(stable(900, 1));
}

#[test]
fn a_herd_without_jitter_was_said_to_take_52_times_as_long_at_every_size() {
    let times = |callers| {
        let laws = vec![Law::None, Law::Full];
        let options =
            StormOptions { callers: Some(callers), laws, runs: Some(3), ..StormOptions::default() };
        let rows = rows("herd", &options);
        row(&rows, "none").recovery.seconds.mean / row(&rows, "full").recovery.seconds.mean
    };
    let (small, large) = (times(1_000), times(10_000));
    assert!((15.0..21.0).contains(&small), "{small}");
    assert!((48.0..56.0).contains(&large), "{large}");
}

#[test]
fn full_jitter_was_said_to_need_one_attempt_more_than_equal_jitter_at_the_cap_too() {
    let served = |law, attempts| {
        let plan = RunPlan {
            faults: vec![Fault::new(Trouble::Refuse, Instant::ORIGIN, at(9_000))],
            ..RunPlan::new(
                ArrivalProcess::Together { callers: 2_000 },
                caller(law, &schedule(100, 1_000, attempts)),
            )
        };
        share(&play(&plan))
    };
    let (equal, full) = (served(Law::Equal, 16), served(Law::Full, 17));
    assert!(equal > 0.7 && full < 0.05, "{equal} {full}");
    let six_more = served(Law::Full, 22);
    assert!((0.5..0.7).contains(&six_more), "{six_more}");
}

#[test]
fn a_spread_hint_was_said_to_be_enough_for_any_crowd() {
    // Half of a hint, times 1000 a second, is how many find room.
    let refused = |callers, hint| {
        let rule = HintRule::new(Span::from_secs(60), Ratio::from_percent(50), LongHint::Stop);
        let policy = full(6).policy.to_builder().hints(rule.expect("valid")).build();
        let up = Instant::ORIGIN + Span::from_secs(hint);
        let plan = RunPlan {
            backend: Backend::of_workers(10, ms(10), Some(100)),
            faults: vec![Fault::new(
                Trouble::RefuseFor(Span::from_secs(hint)),
                Instant::ORIGIN,
                up,
            )],
            watch: MeasurementPlan::around(up),
            ..RunPlan::new(
                ArrivalProcess::Together { callers },
                CallerLayer::new(policy.expect("valid")),
            )
        };
        amplification(&play(&plan)) - 2.0
    };
    assert!(refused(10_000, 60) < 0.01, "{}", refused(10_000, 60));
    assert!(refused(10_000, 10) > 0.5, "{}", refused(10_000, 10));
}

#[test]
fn a_hedge_was_said_to_cost_4_percent_at_every_load() {
    let at_load = |load| {
        let laws = vec![Law::Full];
        rows(
            "hedge",
            &StormOptions { callers: Some(load), laws, runs: Some(1), ..StormOptions::default() },
        )
    };
    let half_full = at_load(2_000);
    let hedge = row(&half_full, "hedge after p95");
    assert!(hedge.amplification < 1.06 && hedge.success > 0.999, "{}", hedge.amplification);
    // At three quarters of the capacity, with nothing wrong, copies fill the queue that they wait for.
    let fuller = at_load(2_800);
    let (plain, hedge) = (row(&fuller, "no hedge"), row(&fuller, "hedge after p95"));
    assert!(plain.success > 0.999, "{}", plain.success);
    assert!(hedge.success < 0.5 && hedge.amplification > 2.0, "{}", hedge.success);
    assert!(row(&fuller, "hedge after p95, budget").success > 0.99, "a budget keeps it up");
}

#[test]
fn a_budget_of_10_percent_was_said_to_bound_a_fleet_whatever_its_floor() {
    let fleet_of = |processes, floor| {
        let plan = WindowPlan::new(Ratio::from_percent(10)).expect("valid");
        let budget = plan.with_floor(FloorRate::Add(floor));
        let caller = full(4);
        let policy = caller.policy.to_builder().budget(budget).build().expect("valid");
        let fleet = Fleet { processes, ..Fleet::default() };
        RunPlan { fleet, ..stall(700, CallerLayer { policy, ..caller }) }
    };
    let usual = WindowPlan::default().floor().rate();
    assert!(
        recovers(&fleet_of(1_000, Rate::ZERO)).is_some(),
        "700 calls a second of 1000 processes"
    );
    assert!(recovers(&fleet_of(1_000, usual)).is_some(), "their floors are 50 retries a second");
    assert_eq!(recovers(&fleet_of(1_000, Rate::per_second(1))), None, "1000 retries a second");
    assert_eq!(
        recovers(&fleet_of(10_000, usual)),
        None,
        "500 retries a second, and 20 000 in hand"
    );
}

#[test]
fn longer_delays_were_said_to_lower_the_load_of_an_open_loop() {
    // Callers who come whether or not the server answers: a longer delay moves attempts, it drops none.
    let down = |base| {
        let fault = Fault::new(Trouble::Refuse, Instant::ORIGIN, Instant::FAR);
        let caller = caller(Law::Full, &schedule(base, 100 * base, 4));
        let plan = RunPlan::new(ArrivalProcess::poisson(100, at(60_000)), caller);
        amplification(&play(&RunPlan { faults: vec![fault], ..plan }))
    };
    assert_eq!(down(100).to_bits(), 4.0_f64.to_bits());
    assert_eq!(down(10_000).to_bits(), 4.0_f64.to_bits());
}

#[test]
fn a_load_test_with_a_closed_loop_showed_a_tail_that_no_open_loop_has() {
    // 700 calls a second both ways, while all is well: who waits for an answer sends nothing meanwhile.
    let tail = |arrivals| {
        let plan = stall(700, caller(Law::NoRetry, &Schedule::default()));
        let plan = RunPlan { arrivals: vec![arrivals], ..plan };
        let caller = plan.callers[0].clone().with_timeout(Span::from_secs(60));
        let played = play(&RunPlan { callers: vec![caller], ..plan });
        played.latency.quantile(0.99).expect("calls are served").as_secs_f64()
    };
    let open = tail(ArrivalProcess::poisson(700, at(90_000)));
    let closed = tail(ArrivalProcess::Closed { clients: 70, think: ms(90), until: at(90_000) });
    assert!(open > 20.0 * closed, "{open} {closed}");
}

#[test]
fn only_fewer_retries_were_said_to_end_a_stall() {
    let served = |change: fn(&mut Workers)| {
        let mut plan = stall(700, full(4));
        plan.backend.workers.as_mut().map(change).expect("it has workers");
        recovers(&plan)
    };
    assert_eq!(served(|_| {}), None);
    assert!(
        served(|workers| workers.order = QueueDiscipline::NewestFirst).expect("it recovers") < 5.0
    );
    assert!(served(|workers| workers.cancel = Cancel::Hopeless).expect("it recovers") < 5.0);
    assert_eq!(served(|workers| workers.cancel = Cancel::Expired), None);
}

#[test]
fn a_shorter_timeout_was_said_to_protect_the_server() {
    // 70 % load, exponential work of 10 ms on average: nothing is wrong with this server.
    let patient = |timeout| {
        let backend = Backend {
            service: Service::Exponential(ms(10)),
            ..Backend::of_workers(10, ms(10), None)
        };
        let plan = RunPlan::new(
            ArrivalProcess::poisson(700, at(60_000)),
            full(4).with_timeout(ms(timeout)),
        );
        play(&RunPlan { backend, ..plan })
    };
    let (long, short) = (patient(500), patient(15));
    assert!(share(&long) > 0.999 && long.wasted.total == 0);
    assert!(share(&short) < 0.5, "{}", share(&short));
    assert!(short.wasted.total * 2 > short.finished, "{} wasted", short.wasted.total);
}

#[test]
fn breakers_without_jitter_were_said_to_keep_a_stalled_server_down() {
    let laws = vec![Law::Full];
    let options =
        StormOptions { callers: Some(700), laws, runs: Some(2), ..StormOptions::default() };
    let rows = rows("stall", &options);
    let took = |name| {
        let row = row(&rows, name);
        assert_eq!(row.verdict(), RecoveryVerdict::Recovered, "{name}");
        row.recovery.seconds.mean
    };
    assert!(took("full + breaker, no jitter") <= took("full + breaker"));
}

#[test]
fn a_lesson_contradicted_the_table_of_other_parameters() {
    let lesson = |name, options: &StormOptions| {
        let named = Named::find(name).expect("it ships");
        named.scenario(options).expect("the options are valid").lesson
    };
    let callers = |callers| StormOptions { callers: Some(callers), ..StormOptions::default() };
    let up_at = |ms| StormOptions { up_at: Some(Span::from_millis(ms)), ..StormOptions::default() };
    assert_eq!(lesson("stall", &callers(100)), "");
    assert_eq!(lesson("retry-after", &up_at(1_000)), "");
    assert_eq!(lesson("herd", &StormOptions { beside: Some(5), ..callers(1_000) }), "");
    // Cases that ship are what the lesson was written about.
    assert_ne!(lesson("stall", &callers(700)), "");
    assert_ne!(lesson("lockstep", &up_at(200)), "");
    let seeded = StormOptions { seed: Some(9), runs: Some(1), laws: vec![Law::Full], ..up_at(200) };
    assert_ne!(lesson("lockstep", &seeded), "");
    for named in CATALOGUE {
        assert_ne!(lesson(named.name, &StormOptions::default()), "", "{}", named.name);
    }
}

/// The stall at 700 calls a second of four attempts, which lasts for ever without a limit.
fn limited(limit: impl FnOnce(PolicyBuilder) -> PolicyBuilder) -> RunPlan {
    let mut plan = stall(700, full(4));
    let policy = limit(plan.callers[0].policy.to_builder());
    plan.callers[0].policy = policy.build().expect("a valid policy");
    plan
}

#[test]
fn a_concurrency_limit_was_said_to_save_an_overloaded_server_at_any_size() {
    // The server serves 1000 a second and callers wait 0.5 s: an attempt that they gave up frees its place,
    // and not its worker. So the limit bounds the load at places / 0.5 s, and ends the stall below 1000.
    let places = |most| {
        let plan = ConcurrencyPlan::new(most).and_then(|it| it.with_queue(1_000, ms(200)));
        plan.expect("a valid limit")
    };
    assert_eq!(recovers(&stall(700, full(4))), None);
    assert!(recovers(&limited(|policy| policy.concurrency_limit(places(400)))).is_some());
    assert_eq!(recovers(&limited(|policy| policy.concurrency_limit(places(700)))), None);
    // Each process has its own places, and together they are too many again.
    let mut fleet = limited(|policy| policy.concurrency_limit(places(400)));
    fleet.fleet.processes = 4;
    assert_eq!(recovers(&fleet), None);
    // Where the limit is small the server idles while callers are refused.
    let tight =
        play(&limited(|policy| policy.concurrency_limit(ConcurrencyPlan::new(2).expect("valid"))));
    assert!(share(&tight) < 0.7, "{}", share(&tight));
}

#[test]
fn a_rate_limit_was_said_to_save_an_overloaded_server_at_any_rate() {
    let rate = |most| {
        let plan = RatePlan::new(Rate::per_second(most), 10).expect("a valid limit");
        plan.with_max_wait(ms(200))
    };
    assert!(recovers(&limited(|policy| policy.rate_limit(rate(900)))).is_some());
    assert_eq!(recovers(&limited(|policy| policy.rate_limit(rate(1_200)))), None);
}

#[test]
fn client_side_throttling_was_said_to_protect_a_silent_server_as_one_that_refuses() {
    let throttled = |attempts| {
        let plan = ClientThrottlePlan::default();
        let policy = full(attempts).policy.to_builder().adaptive(plan).build();
        CallerLayer::new(policy.expect("a valid policy"))
    };
    // 3000 calls a second for a server of 1000 whose refusals take 4 ms: they take all of its time.
    let drowning = |caller: CallerLayer| {
        let workers = Workers { refusal: ms(4), ..Workers::new(10, Some(100)) };
        let mut backend = Backend::of_workers(10, ms(10), None);
        backend.workers = Some(workers);
        let plan = RunPlan::new(ArrivalProcess::poisson(3_000, at(20_000)), caller);
        share(&play(&RunPlan { backend, ..plan }))
    };
    assert!(drowning(full(1)) < 0.02);
    assert!(drowning(throttled(1)) > 0.2);
    // A stall is silent: it does better than retries alone, and worse than no retries.
    let served = |caller| share(&play(&stall(700, caller)));
    let (retries, none) = (served(full(4)), served(full(1)));
    let with = served(throttled(4));
    assert!(retries < with && with < none, "{retries} {with} {none}");
}
