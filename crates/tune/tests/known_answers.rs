//! Worlds whose best answer is known: in closed form, or because nothing else can be right.

use stagger_core::{ConfigError, Policy, Ratio, Span};
use stagger_sim::ThreadPool;
use stagger_tune::{
    CHOOSE, CallObjective, DEFAULT, DifferenceVerdict, ENVOY, NO_RETRY, TuneOptions, TuneReport,
    TuneVerdict, WorldModel, WorldSource, tune,
};

fn objective(deadline: Span) -> CallObjective {
    CallObjective::new(Ratio::from_ppm(999_000), deadline).expect("valid")
}

fn options(deadline: Span) -> TuneOptions {
    TuneOptions { events: 2_500_000, ..TuneOptions::new(objective(deadline)) }
}

fn model(load: f64, capacity: f64, outage: &str) -> WorldModel {
    let model = WorldModel::new(load, capacity).expect("valid");
    let model = model.with_processes(2).expect("valid");
    model.with_outages(vec![outage.parse().expect("an outage")]).expect("valid")
}

fn tuned(model: WorldModel, options: &TuneOptions) -> TuneReport {
    let pool = ThreadPool::single();
    tune(&WorldSource::Model(model), options, &pool).expect("valid settings")
}

#[test]
fn an_outage_that_never_ends_is_met_with_next_to_no_retries() {
    let report = tuned(model(6.0, 100.0, "down=forever"), &options(Span::from_secs(2)));
    let (best, envoy) = (report.recommended(), report.row(ENVOY[0]).expect("a reference"));
    // Three quarters of the calls are in the outage; Envoy repeats each of them, and serves none more.
    assert!((envoy.added_load - 0.75).abs() < 0.05, "{}", envoy.added_load);
    assert!(best.added_load < 0.05, "{}: {}", best.name, best.added_load);
    assert!((best.success - envoy.success).abs() < 0.03, "{} {}", best.success, envoy.success);
}

#[test]
fn a_short_outage_with_room_to_spare_is_ridden_out_by_more_attempts() {
    let report = tuned(model(6.0, 100.0, "down=1s..2s"), &options(Span::from_secs(10)));
    let (best, never) = (report.recommended(), report.row(NO_RETRY).expect("a reference"));
    assert_eq!(report.verdict, TuneVerdict::Winner);
    assert!(best.policy.limits().max_attempts() > Some(3), "{:?}", best.policy.limits());
    // Every call can wait for the end of the outage; without retries 1.5 s of 31.5 s are lost.
    assert!(best.success > 0.998 && best.miss < 0.001, "{}", best.success);
    assert!((never.success - 30.0 / 31.5).abs() < 0.02, "{}", never.success);
    assert!(report.against_default.interval().1 < 0.0);
}

#[test]
fn a_stall_that_the_deadline_outlasts_is_best_met_by_one_attempt() {
    // 6 calls a second for 10 places. After 2 s without work 12 calls wait, and are served within 3 s more: every
    // call that stays in line succeeds, and each repeated attempt takes a place from another.
    let stalled = model(6.0, 10.0, "stall=2s").with_service(Span::from_millis(100));
    let report = tuned(stalled.expect("one worker"), &options(Span::from_secs(6)));
    let (best, never) = (report.recommended(), report.row(NO_RETRY).expect("a reference"));
    assert!(never.miss < 0.001 && never.added_load == 0.0, "{never:?}");
    assert!(best.miss < 0.001 && best.added_load <= 0.0, "{best:?}");
    // The decision tree limits each attempt, and its callers come back while their first attempts wait.
    let choose = report.row(CHOOSE).expect("a reference");
    assert_eq!(choose.difference.verdict(), DifferenceVerdict::Higher, "{choose:?}");
    assert!(choose.added_load > 0.02, "{choose:?}");
}

#[test]
fn one_seed_gives_the_same_report_with_any_threads_and_another_one_another() {
    let small = model(4.0, 100.0, "failing:30%=2s..4s");
    let options = options(Span::from_secs(2));
    let source = WorldSource::Model(small.clone());
    let two = ThreadPool::new(std::num::NonZeroUsize::new(2).expect("two"));
    let report = tuned(small.clone(), &options);
    assert_eq!(tune(&source, &options, &two), Ok(report.clone()));
    let other = tuned(small, &TuneOptions { seed: 2, ..options });
    assert_ne!(other.row(DEFAULT), report.row(DEFAULT));
}

#[test]
fn a_policy_of_the_users_own_is_a_candidate_under_the_deadline_of_the_objective() {
    let own = Policy::builder().max_attempts(9).deadline(Span::from_secs(60)).build();
    let own = vec![("own:mine".to_owned(), own.expect("valid"))];
    let options = TuneOptions { own, ..options(Span::from_secs(2)) };
    let report = tuned(model(4.0, 100.0, "down=1s"), &options);
    let row = report.row("own:mine").expect("a row");
    assert!(row.is_reference);
    assert_eq!(row.policy.limits().max_attempts(), Some(9));
    assert_eq!(row.policy.limits().deadline(), Some(Span::from_secs(2)));
}

#[test]
fn too_few_events_are_refused_with_the_least_that_would_do() {
    let options = TuneOptions { events: 1_000_000, ..options(Span::from_secs(2)) };
    let source = WorldSource::Model(model(80.0, 100.0, "down=20s"));
    let error: ConfigError = tune(&source, &options, &ThreadPool::single()).unwrap_err();
    assert_eq!((error.field(), error.value()), ("events", "1000000"));
    assert!(error.bound().starts_with("at least "), "{error}");
    let empty = tune(&WorldSource::Plans(Vec::new()), &options, &ThreadPool::single());
    assert_eq!(empty.unwrap_err().field(), "plans");
}
