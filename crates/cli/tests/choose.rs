//! `stagger choose`: what it prints is the policy, in both languages, and passes the lint.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use stagger::Policy;

#[expect(unreachable_pub, reason = "as it is printed")]
mod fleet {
    include!("choose/fleet.rs");
}
#[expect(unreachable_pub, reason = "as it is printed")]
mod limited {
    include!("choose/limited.rs");
}
#[expect(unreachable_pub, reason = "as it is printed")]
mod once {
    include!("choose/once.rs");
}
#[expect(unreachable_pub, reason = "as it is printed")]
mod patient {
    include!("choose/patient.rs");
}
#[expect(unreachable_pub, reason = "as it is printed")]
mod tight {
    include!("choose/tight.rs");
}

type Build = fn() -> Result<Policy, stagger::ConfigError>;

/// Flags, the function that they print, and what it builds. To print one anew:
/// `stagger choose FLAGS --format rust > crates/cli/tests/choose/NAME.rs`.
const CASES: [(&str, &str, Build); 5] = [
    (
        "--callers 5000 --idempotent --slo 5s --p99 300ms",
        include_str!("choose/fleet.rs"),
        fleet::policy,
    ),
    (
        "--idempotent --rate-limited --slo 10s --rps 50",
        include_str!("choose/limited.rs"),
        limited::policy,
    ),
    ("--callers 3", include_str!("choose/once.rs"), once::policy),
    (
        "--idempotent=key --background --rate-limited --rps 1 --layers 3 --minimum-wait 2s",
        include_str!("choose/patient.rs"),
        patient::policy,
    ),
    (
        "--idempotent --minimum-wait 500ms --slo 4200ms --callers 9",
        include_str!("choose/tight.rs"),
        tight::policy,
    ),
];

fn stagger(args: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    let command = command.args(args).stdin(Stdio::piped());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built for this test");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(input.as_bytes()).expect("it reads");
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

#[track_caller]
fn chosen(flags: &str, format: &str) -> String {
    let args: Vec<&str> = ["choose"].into_iter().chain(flags.split_whitespace()).collect();
    let output = stagger(&[args.as_slice(), &["--format", format]].concat(), "");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn the_function_that_is_printed_compiles_and_builds_the_same_policy() {
    for (flags, function, policy) in CASES {
        assert_eq!(chosen(flags, "rust"), function, "{flags}");
        let built = policy().expect("constants");
        let file: Policy = toml::from_str(&chosen(flags, "toml")).expect("a policy");
        assert_eq!(built, file, "{flags}");
        let page: Value = serde_json::from_str(&chosen(flags, "json")).expect("one value");
        let json: Policy = serde_json::from_value(page["policy"].clone()).expect("a policy");
        assert_eq!(built, json, "{flags}");
    }
}

#[test]
fn what_is_chosen_passes_the_lint() {
    for (flags, ..) in CASES {
        let output = stagger(&["lint", "--deny", "warnings", "-"], &chosen(flags, "toml"));
        assert_eq!(output.status.code(), Some(0), "{flags}: {output:?}");
    }
}

#[test]
fn every_line_has_its_reason() {
    for (flags, ..) in CASES {
        let page = chosen(flags, "toml");
        for (above, line) in page.lines().zip(page.lines().skip(1)) {
            let setting = line.contains(" = ") && !line.starts_with('#');
            assert!(!setting || line.contains("  # ") || above.starts_with("# "), "{line}");
        }
        let json: Value = serde_json::from_str(&chosen(flags, "json")).expect("one value");
        for line in json["lines"].as_array().expect("a list") {
            assert!(!line["value"].is_null(), "{line}");
        }
    }
}

#[test]
fn what_nobody_said_is_named() {
    let page = chosen("--callers 3", "toml");
    assert!(page.contains("# Answers: callers = 3\n"), "{page}");
    assert!(page.contains("# Not said, so taken as usual: retryable = yes, idempotent = no"));
    let json: Value = serde_json::from_str(&chosen("--slo 2s", "json")).expect("one value");
    assert_eq!(json["answers"]["slo"], "2s");
    let defaults = json["defaults"].as_array().expect("a list");
    assert!(defaults.contains(&"callers".into()) && !defaults.contains(&"slo".into()));
}

#[test]
fn both_is_the_file_and_then_the_function() {
    let both = chosen("--idempotent", "both");
    let (toml, rust) = (chosen("--idempotent", "toml"), chosen("--idempotent", "rust"));
    assert_eq!(both, format!("{toml}\n{rust}"));
}

#[test]
fn what_does_not_heal_gets_no_policy_but_the_reason() {
    let output = stagger(&["choose", "--retryable=no"], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("does not heal"));
    let output = stagger(&["choose", "--retryable=no", "--format", "json"], "");
    let page: Value = serde_json::from_slice(&output.stdout).expect("one value");
    assert!(page["policy"].is_null() && page["notes"][0].is_string());
}

#[test]
fn a_wrong_flag_is_refused_with_its_bound() {
    for (flags, words) in [
        (
            vec!["--callers", "0"],
            "'0' for '--callers': must be a whole number from 1 to 1000000000",
        ),
        (vec!["--callers", "-1"], "'-1' for '--callers'"),
        (vec!["--slo", "5"], "'5' for '--slo': must be a span with its unit"),
        (vec!["--idempotent=perhaps"], "'perhaps' for '--idempotent': must be yes, no or key"),
        (vec!["--format", "yaml"], "invalid value 'yaml'"),
        (vec!["--caller", "5"], "--callers"),
    ] {
        let output = stagger(&[&["choose"], flags.as_slice()].concat(), "");
        assert_eq!(output.status.code(), Some(2), "{flags:?}");
        assert!(output.stdout.is_empty());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains(words), "{told}");
    }
}

#[test]
fn the_tree_has_every_question() {
    let output = stagger(&["choose", "--explain-only"], "");
    let page = String::from_utf8(output.stdout).expect("UTF-8");
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for flag in [
        "retryable",
        "idempotent",
        "callers",
        "rps",
        "minimum-wait",
        "background",
        "slo",
        "rate-limited",
        "layers",
    ] {
        assert!(page.contains(&format!("--{flag} [")), "{flag}");
    }
}
