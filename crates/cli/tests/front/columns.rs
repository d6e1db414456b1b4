//! Pages for people fit into 80 columns where they go to a file, a pipe or a usual terminal.

use std::fs;

use crate::tool::{folder, stagger};

const COLUMNS: usize = 80;

/// A policy with everything that has a part in `explain`, and with findings.
const POLICY: &str = "\
[policy.checkout]
backoff = { base = '333ms', cap = '77777s', jitter = 'decorrelated-clamped' }
throttled_backoff = { base = '1234ms', cap = '12345s', jitter = 'equal' }
limits = { max_attempts = 12, deadline = '98765s', attempt_timeout = '1234ms' }
breaker.consecutive = 5
hedge.delay = '123ms'
[calls.checkout]
slo = '30s'
rps = 1234
fleet = 321
downstream_capacity = 123456
layers = 4
idempotent = false
";

/// Lines that are longer for a reason. `lint` has only such lines: it quotes the file.
fn is_whole(command: &str, line: &str) -> bool {
    // A path cannot be broken.
    let word = !line.trim_start_matches(['#', ' ']).contains(' ');
    match command {
        "import" => word,
        // Logs are searched for whole messages.
        "explain" => ["warning[", "error[", "  fix: "].iter().any(|it| line.starts_with(it)),
        // Lines of Rust, which a formatter breaks.
        "choose" => line.starts_with("        .") || line.starts_with("use "),
        _ => false,
    }
}

#[track_caller]
fn fits(args: &[&str]) {
    let output = stagger(args).output().expect("the binary was built for this test");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let page = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(matches!(output.status.code(), Some(0 | 1)) && !page.is_empty(), "{args:?}: {said}");
    for line in page.lines().filter(|line| !is_whole(args[0], line)) {
        assert!(line.chars().count() <= COLUMNS, "{args:?}:\n{line}\nin\n{page}");
    }
}

#[test]
fn figures_of_policies_were_wider_than_a_terminal() {
    let folder = folder("columns");
    let file = folder.join("p.toml").display().to_string();
    fs::write(&file, POLICY).expect("written");
    fits(&["explain", &file]);
    for preset in stagger::Policy::PRESETS {
        fits(&["explain", "--preset", preset, "--slo", "2s", "--rps", "500", "--fleet", "40"]);
    }
    fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn chosen_and_imported_policies_were_wider_than_a_terminal() {
    fits(&["choose", "--explain-only"]);
    for format in ["toml", "rust", "both"] {
        fits(&["choose", "--format", format]);
        let all =
            ["--idempotent=key", "--background", "--rate-limited", "--rps", "1", "--layers", "3"];
        fits(&[&["choose", "--format", format, "--minimum-wait", "2s"], &all[..]].concat());
        fits(&["choose", "--idempotent", "--callers", "5000", "--slo", "2s", "--format", format]);
    }
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/samples/");
    for sample in ["grpc.json", "envoy.yaml", "polly.json", "resilience4j.yml"] {
        fits(&["import", &format!("{samples}{sample}")]);
    }
}

#[test]
fn tables_of_a_storm_were_wider_than_a_terminal() {
    fits(&["storm", "list"]);
    fits(&["storm", "shapes", "--runs", "1", "--callers", "500"]);
    fits(&["storm", "--runs", "2"]);
    let list = stagger(&["storm", "list", "--format", "json"]).output().expect("built").stdout;
    let list: Vec<serde_json::Value> = serde_json::from_slice(&list).expect("a list");
    for listed in &list {
        let name = listed["name"].as_str().expect("a name");
        // As few callers as the scenario allows, for the figures are not looked at here.
        let all = ["storm", name, "--runs", "1", "--quiet"];
        let few = [&all[..], &["--callers", "1000"]].concat();
        let refused = stagger(&few).output().expect("built").status.code() == Some(2);
        fits(if refused { &all } else { &few });
    }
}

#[test]
fn maps_of_a_sweep_were_wider_than_a_terminal() {
    let sweep = ["storm", "--runs", "1", "--callers", "50", "--law", "full", "--quiet", "--sweep"];
    fits(&[&sweep[..], &["base=100ms..10s/16"]].concat());
    fits(&[&sweep[..], &["base=100ms..10s/12", "--sweep", "up-at=100ms..9s/4"]].concat());
}
