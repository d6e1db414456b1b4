//! The default budget holds in every layout, as the released command measures it.

use std::process::Command;

use serde::Deserialize;

/// One row of the command's JSON.
#[derive(Debug, Deserialize)]
struct Row {
    layout: String,
    calls: u64,
    retries_on_wire: u64,
    ratio: f64,
    worst_second_over_mean: f64,
}

/// As many seconds as keep the test short; what a window has in hand at its start weighs a hundredth then.
const SECONDS: &str = "100";

fn measure(layouts: &str) -> Vec<Row> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_harness"));
    command.args([
        "bench",
        "budget",
        "--format",
        "json",
        "--seconds",
        SECONDS,
        "--layouts",
        layouts,
    ]);
    let out = command.output().expect("the command runs");
    serde_json::from_slice(&out.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&out.stderr)))
}

#[test]
fn no_layout_makes_more_retries_than_a_tenth_and_the_floor_or_makes_them_in_pulses() {
    let mut layouts =
        "plain,policy-deadline,tokio-timeout,tower-timeout,axum-disconnect,cancel,hedged,batch,\
        refused-port,tonic,reqwest"
            .to_owned();
    if std::env::var_os("STAGGER_TEST_REDIS").is_some() {
        layouts.push_str(",shared-redis");
    }
    let rows = measure(&layouts);
    let measured: Vec<_> = rows.iter().map(|row| row.layout.as_str()).collect();
    assert_eq!(measured.join(","), layouts);
    for row in rows {
        assert!(row.calls == 10_000 && row.retries_on_wire > 0, "{row:?}");
        assert!((0.05..=0.12).contains(&row.ratio), "{row:?}");
        assert!(row.worst_second_over_mean <= 1.5, "{row:?}");
    }
}

#[test]
fn a_layout_that_does_not_exist_is_refused_by_name() {
    let out = Command::new(env!("CARGO_BIN_EXE_harness"))
        .args(["bench", "budget", "--layouts", "carousel"])
        .output()
        .expect("the command runs");
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("invalid value 'carousel'"));
}
