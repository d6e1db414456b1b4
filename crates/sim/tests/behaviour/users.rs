//! Users who give up and click again, against the formulas of queues with abandonment and of geometric series.

use stagger_core::{Instant, Ratio};
use stagger_sim::{
    Abandonment, ArrivalProcess, Backend, Cancel, Clicks, Fault, RunPlan, Service, Trouble, Users,
    Workers,
};

use crate::fixture::{at, every, fixed, ms, once, play, together};

/// The share of calls that are given up in a queue M/M/c + M (Garnett, Mandelbaum and Reiman, M&SOM 4(3),
/// 2002), by the weights of its states; rates a second.
fn abandoned(calls: f64, served: f64, workers: u32, gives_up: f64) -> f64 {
    let (mut weight, mut all, mut lost) = (1.0, 1.0, 0.0);
    for state in 1..2_000_u32 {
        let busy = f64::from(state.min(workers));
        let waiting = f64::from(state.saturating_sub(workers));
        weight *= calls / (busy * served + waiting * gives_up);
        all += weight;
        lost += weight * waiting * gives_up;
    }
    lost / all / calls
}

#[test]
fn users_give_up_as_often_as_erlang_a_has_it() {
    for (rate, patience) in [(1_100, 100), (900, 200), (2_000, 50)] {
        let workers = Workers { cancel: Cancel::Expired, ..Workers::new(10, None) };
        let service = Service::Exponential(ms(10));
        let backend = Backend { service, workers: Some(workers), ..Backend::UNLIMITED };
        let users = Users { patience: Some(Abandonment::Exponential(ms(patience))), clicks: None };
        let plan = RunPlan::new(ArrivalProcess::poisson(rate, at(120_000)), once());
        let played = play(&RunPlan { backend, users, ..plan });
        let gives_up = 1e3 / f64::from(u32::try_from(patience).expect("small"));
        // Those that are begun still need patience for as long as the work takes.
        let begun = 1.0 - abandoned(f64::from(rate), 100.0, 10, gives_up);
        let expected = begun * 100.0 / (100.0 + gives_up);
        let found = share(played.succeeded, played.calls);
        assert!((found - expected).abs() < 0.012, "{rate}: {found}, not {expected}");
    }
}

#[expect(clippy::cast_precision_loss, reason = "fewer calls than 2^53")]
fn share(part: u64, all: u64) -> f64 {
    part as f64 / all as f64
}

#[test]
fn a_user_gives_up_a_call_with_all_its_attempts() {
    // Refused every 100 ms for ever: at 0, 100, 200, 300 and 400 ms.
    let down = Fault::new(Trouble::Refuse, at(0), Instant::FAR);
    let users = Users { patience: Some(Abandonment::Fixed(ms(450))), clicks: None };
    let plan = RunPlan { users, faults: vec![down], ..together(10, fixed(100, 50)) };
    let played = play(&plan);
    assert_eq!((played.attempts.total, played.succeeded), (50, 0));
    assert_eq!(play(&RunPlan { users: Users::default(), ..plan }).attempts.total, 500);
    assert!(played.series.levels.last().is_none_or(|level| level.1 == 0));
}

#[test]
fn users_click_again_as_often_as_a_geometric_series_has_it() {
    let half = Fault::new(Trouble::Failing(Ratio::from_percent(50)), at(0), Instant::FAR);
    let clicks = |most| Users {
        patience: None,
        clicks: Some(Clicks { share: Ratio::from_percent(60), after: ms(200), most }),
    };
    let calls = |most| {
        let plan = every(1, 50_000, once());
        play(&RunPlan { users: clicks(most), faults: vec![half], ..plan }).calls
    };
    assert_eq!(calls(0), 50_000);
    // 0.3 of the calls are made again, and 0.3 of these.
    assert!(calls(1).abs_diff(65_000) < 700, "{}", calls(1));
    assert!(calls(2).abs_diff(69_500) < 900, "{}", calls(2));
    assert!(calls(100).abs_diff(71_429) < 1_000, "{}", calls(100));
}
