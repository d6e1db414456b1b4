//! A storm of each family is seen, and a calm load of each raises no alarm, as the released command measures them.

use std::process::Command;

use serde_json::Value;

#[test]
fn one_storm_of_each_family_is_seen_in_time_and_no_calm_load_is_one() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_harness"));
    command.args(["watch", "--variants", "1", "--calm-minutes", "11", "--format", "json"]);
    let out = command.output().expect("the command runs");
    let report: Value = serde_json::from_slice(&out.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&out.stderr)));
    assert_eq!(report["storms"], 6, "{report}");
    assert_eq!((&report["recall"], &report["false_alarms"]), (&1.0.into(), &0.into()), "{report}");
    assert!(report["delay_s_p95"].as_f64().is_some_and(|delay| delay <= 10.0), "{report}");
    assert!(report["calm_days"].as_f64().is_some_and(|days| days > 0.04), "{report}");
    assert_eq!(out.status.code(), Some(0));
}
