//! The outage of docs/proxy-outage.toml in virtual time, under the budget and the breaker that routes of the proxy have
//! unless their settings name others.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/proxy-outage.toml");
/// Attempts of a second within the three that a caller waits for.
const LIMITS: &str = "attempt_timeout = '1s', deadline = '3s'";

/// The means of ten runs.
struct Outage {
    recovery: f64,
    attempts: f64,
    served: f64,
}

/// Plays the outage under the policy of a route with these settings.
fn played(name: &str, policy: &str) -> Outage {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("outage-{name}.toml"));
    let routes = format!("[route.{name}]\nupstream = 'http://a.example'\n{policy}\n");
    fs::write(&file, routes).expect("writable");
    let policy = format!("{}#route.{name}", file.display());
    let args =
        ["storm", SCENARIO, "--runs", "10", "--quiet", "--format", "json", "--policy", &policy];
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    let output = command.args(args).stdin(Stdio::null()).output().expect("built for this test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page: Value = serde_json::from_slice(&output.stdout).expect("one JSON value");
    let rows = page["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["law"] == format!("route.{name}")).expect("its row");
    assert_eq!(row["healed"], row["runs"], "{name}: some runs never recovered");
    let figure = |key: &str| row[key].as_f64().expect("a number");
    Outage {
        recovery: figure("time_to_recover_s"),
        attempts: figure("amplification"),
        served: figure("success"),
    }
}

fn once() -> Outage {
    played("once", &format!("policy.limits = {{ max_attempts = 1, {LIMITS} }}"))
}

#[test]
fn a_route_with_the_default_budget_or_breaker_took_half_as_long_again_to_recover() {
    let once = once();
    let default = played("thrice", &format!("policy.limits = {{ max_attempts = 3, {LIMITS} }}"));
    let ratio = default.recovery / once.recovery;
    assert!(ratio <= 1.5, "{} s against {} s", default.recovery, once.recovery);
    assert!(default.attempts > 1.0 && default.attempts <= 1.1, "{} attempts", default.attempts);
    assert!(once.served - default.served < 0.03, "{} served", default.served);
    let broken = format!("policy.limits = {{ max_attempts = 3, {LIMITS} }}\npolicy.breaker = {{}}");
    let broken = played("broken", &broken);
    assert!(broken.recovery / once.recovery <= 1.5, "{} s with a breaker", broken.recovery);
    assert!(once.served - broken.served < 0.03, "{} served with a breaker", broken.served);
    // The test can fail: the budget of the library holds what 10 s have earned.
    let library = "policy.budget.window = { ratio = 0.1 }";
    let limits = format!("policy.limits = {{ max_attempts = 3, {LIMITS} }}");
    let library = played("library", &format!("{limits}\n{library}"));
    assert!(library.recovery / once.recovery > 1.5, "{} s", library.recovery);
}
