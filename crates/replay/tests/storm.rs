//! The full loop: a storm is played, written as a log, read back, and played again.

mod print;

use print::Written;
use stagger_core::{Instant, Ratio, Span};
use stagger_replay::{
    AccessLog, AccessLogFormat, OutageKind, OutageThresholds, Reading, Replay, ReplayOptions,
};
use stagger_sim::{
    ArrivalProcess, BUCKET, Fault, Law, Played, RecoveryVerdict, RunPlan, Schedule, Simulation,
    StormOptions, ThreadPool, Trouble,
};

/// 2023-11-14T22:13:20Z.
const BEGAN: u64 = 1_700_000_000_000;
const DOWN: (u64, u64) = (8_000, 10_000);

fn at(ms: u64) -> Instant {
    Instant::ORIGIN + Span::from_millis(ms)
}

/// 200 calls a second for half a minute, and an outage of two seconds.
fn played() -> Played {
    let caller = Law::Full.caller(&Schedule::default()).expect("a valid schedule");
    let mut plan = RunPlan::new(ArrivalProcess::poisson(200, at(30_000)), caller);
    plan.faults.push(Fault::new(Trouble::Refuse, at(DOWN.0), at(DOWN.1)));
    Simulation::new().play(&plan, 5)
}

fn written(played: &Played) -> Vec<Written> {
    let attempt = |(caller, at): (u32, Instant)| {
        let ms = at.as_nanos() / 1_000_000;
        let status = if (DOWN.0..DOWN.1).contains(&ms) { 503 } else { 200 };
        Written { began: BEGAN + ms, took: 0, status, caller }
    };
    let all: Vec<Written> = played.strip.attempts().map(attempt).collect();
    assert_eq!(all.len() as u64, played.attempts.total, "nothing was thinned");
    all
}

fn read(format: AccessLogFormat, played: &Played) -> AccessLog {
    let text = print::log(format, &written(played));
    let log = Reading::default().read(text.as_bytes()).expect("a log of ours");
    assert_eq!((log.format, log.malformed), (format, 0));
    log
}

fn amplification(log: &AccessLog) -> f64 {
    let options =
        StormOptions { laws: vec![Law::NoRetry], runs: Some(1), ..StormOptions::default() };
    Replay::new(log, &options, None).expect("valid options").observed.amplification
}

#[test]
fn a_storm_is_found_again_in_its_log_of_any_format() {
    let played = played();
    #[expect(clippy::cast_precision_loss, reason = "a few thousand calls")]
    let truth = played.attempts.total as f64 / played.calls as f64;
    for format in AccessLogFormat::ALL {
        let log = read(format, &played);
        let [outage] = log.outages() else { panic!("{format}: {:?}", log.outages()) };
        assert_eq!(outage.kind, OutageKind::Refused, "{format}");
        let wall = |at| log.wall(at).since_epoch.as_nanos() / 1_000_000;
        let off = wall(outage.from)
            .abs_diff(BEGAN + DOWN.0)
            .max(wall(outage.until).abs_diff(BEGAN + DOWN.1));
        assert!(off <= outage.edge.as_nanos() / 1_000_000, "{format}: {outage:?} is {off} ms off");
        let found = amplification(&log);
        assert!((found / truth - 1.0).abs() < 0.01, "{format}: {found} for {truth}");
        assert_eq!(log.calls(), played.calls, "{format}");
    }
}

#[test]
fn the_same_law_comes_out_as_it_was_observed() {
    let played = played();
    let log = read(AccessLogFormat::Csv, &played);
    let laws = vec![Law::None, Law::Full];
    let options = StormOptions { laws, runs: Some(20), ..StormOptions::default() };
    let replay = Replay::new(&log, &options, None).unwrap();
    let report = replay.run(&ThreadPool::single());
    let row = |name: &str| report.cases[0].rows.iter().find(|row| row.name == name).unwrap();
    let (observed, full) = (row("observed"), row("full"));
    assert!((observed.amplification / full.amplification - 1.0).abs() < 0.03);
    assert!((observed.success - full.success).abs() < 0.01);
    assert!((observed.peak.mean / full.peak.mean - 1.0).abs() < 0.25, "{:?}", full.peak);
    assert!(row("no-retry").amplification < 1.001 && row("no-retry").success < observed.success);
    assert_eq!(observed.recovery.healed, 1);
    assert!(report.lesson.contains("attempts were refused"), "{}", report.lesson);
    assert!(report.lesson.contains("told by ids"), "{}", report.lesson);
}

#[test]
fn the_observed_row_had_no_dots_in_the_strips() {
    let log = read(AccessLogFormat::Csv, &played());
    let options = StormOptions { laws: vec![Law::Full], runs: Some(1), ..StormOptions::default() };
    let report = Replay::new(&log, &options, None).unwrap().run(&ThreadPool::single());
    let observed = &report.cases[0].rows[0];
    let (instants, one_in) = observed.strip.instants();
    let instants: Vec<_> = instants.collect();
    let dots = f64::from(u32::try_from(instants.len()).unwrap() * one_in);
    assert!((dots / observed.attempts.mean - 1.0).abs() < 0.01, "{dots} dots");
    assert!(instants.is_sorted());
    // Each dot lies in a bucket in which attempts were counted.
    let bucket = |at: &Instant| usize::try_from(at.as_nanos() / BUCKET.as_nanos()).unwrap();
    assert!(instants.iter().map(bucket).all(|bucket| observed.series.offered[bucket] > 0.0));
}

#[test]
fn a_stalled_backend_is_replayed_with_its_workers() {
    let hangs = |ms: u64| (8_000..12_000).contains(&ms);
    let attempts: Vec<Written> = (0..30_000)
        .step_by(5)
        .map(|ms| {
            let (status, took) = if hangs(ms) { (504, 2_000) } else { (200, 10) };
            Written { began: BEGAN + ms, took, status, caller: u32::try_from(ms).unwrap() }
        })
        .collect();
    let text = print::log(AccessLogFormat::Envoy, &attempts);
    let log = Reading::default().read(text.as_bytes()).expect("a log of ours");
    let kinds: Vec<OutageKind> = log.outages().iter().map(|outage| outage.kind).collect();
    assert_eq!(kinds, [OutageKind::Hung]);
    let options = StormOptions { laws: vec![Law::Full], runs: Some(2), ..StormOptions::default() };
    for capacity in [None, Some(4)] {
        let report = Replay::new(&log, &options, capacity).unwrap().run(&ThreadPool::single());
        let [observed, no_retry, full] = &report.cases[0].rows[..] else { panic!("three rows") };
        assert!(no_retry.success < 1.0 && full.amplification > 1.0, "{capacity:?}");
        assert!((observed.success - 26.0 / 30.0).abs() < 0.01);
    }
    // Two workers at 10 ms each serve 200 a second, which is all that comes: no law heals then.
    let report = Replay::new(&log, &options, Some(2)).unwrap().run(&ThreadPool::single());
    assert!(report.cases[0].rows[2].recovery.healed == 0);
}

#[test]
fn a_capacity_needs_durations() {
    let log = Reading::default().read("time,status\n1700000000,200\n".as_bytes()).unwrap();
    let error = Replay::new(&log, &StormOptions::default(), Some(4)).unwrap_err();
    assert_eq!(error.field(), "capacity");
    let quiet = Replay::new(&log, &StormOptions::default(), None).unwrap();
    assert!(quiet.scenario.lesson.contains("No outage was found"));
}

/// 200 calls a second, each with one attempt, of which those that `fails` names fail.
fn log_of(seconds: u64, fails: impl Fn(u64) -> bool) -> AccessLog {
    let text = text_of(seconds, fails);
    Reading::default().read(text.as_bytes()).expect("a log of ours")
}

fn text_of(seconds: u64, fails: impl Fn(u64) -> bool) -> String {
    let attempt = |ms: u64| {
        let status = if fails(ms) { 503 } else { 200 };
        Written {
            began: BEGAN + ms,
            took: 1,
            status,
            caller: u32::try_from(ms).expect("callers are few"),
        }
    };
    let all: Vec<Written> = (0..1_000 * seconds).step_by(5).map(attempt).collect();
    print::log(AccessLogFormat::Csv, &all)
}

/// The rows of the log and of a replay without retries.
fn verdicts(log: &AccessLog) -> [RecoveryVerdict; 2] {
    let options =
        StormOptions { laws: vec![Law::NoRetry], runs: Some(1), ..StormOptions::default() };
    let report =
        Replay::new(log, &options, None).expect("the log can be played").run(&ThreadPool::single());
    let [observed, no_retry] = &report.cases[0].rows[..] else { panic!("two rows") };
    [observed.verdict(), no_retry.verdict()]
}

#[test]
fn a_log_recovered_by_its_first_good_row_although_a_quarter_failed_from_then_on() {
    // Too little for a second outage, too much for a recovery.
    let relapsed = |ms: u64| ms >= 20_000 && ms.is_multiple_of(20);
    let text = text_of(32, |ms| (DOWN.0..DOWN.1).contains(&ms) || relapsed(ms));
    let thresholds = OutageThresholds { sustained: Ratio::ONE, ..OutageThresholds::default() };
    let reading = Reading { thresholds, ..Reading::default() };
    let log = reading.read(text.as_bytes()).expect("a log of ours");
    assert_eq!(log.outages().len(), 1, "{:?}", log.outages());
    assert_eq!(verdicts(&log)[0], RecoveryVerdict::Relapsed);
}

#[test]
fn a_log_that_ends_in_its_outage_was_never_to_recover() {
    let log = log_of(30, |ms| ms >= 20_000);
    assert_eq!(verdicts(&log), [RecoveryVerdict::NotWithinWatch; 2]);
}

#[test]
fn a_log_without_an_outage_never_recovered() {
    assert_eq!(verdicts(&log_of(30, |_| false)), [RecoveryVerdict::Recovered; 2]);
}

#[test]
fn a_stated_fault_is_played_and_what_outlasts_it_leaves_no_verdict() {
    let log = log_of(60, |ms| (20_000..40_000).contains(&ms));
    let options =
        StormOptions { laws: vec![Law::NoRetry], runs: Some(1), ..StormOptions::default() };
    let stated = |text: &str| {
        let outages = vec![text.parse().expect("an outage")];
        let known = ReplayOptions { capacity: None, outages };
        let replay = Replay::with(&log, &options, &known).expect("it lies in the log");
        let rows = replay.run(&ThreadPool::single()).cases[0].rows.clone();
        (rows[1].success, replay.verdict.none_because)
    };
    let (success, reason) = stated("20s+20s");
    // The log begins with the first attempt, and is played from there to its end.
    assert!((success - 40.0 / 60.0).abs() < 0.01, "{success}");
    assert_eq!(reason, None);
    let (success, reason) = stated("20s+5s");
    assert!((success - 55.0 / 60.0).abs() < 0.01, "{success}");
    assert!(reason.is_some_and(|why| why.contains("failures went on for 15s")), "it ends early");
}
