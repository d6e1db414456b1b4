//! `stagger import`: a policy file on standard output, what was left out there and on standard error.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use stagger::Policy;

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/samples");

fn import(args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_stagger"))
        .arg("import")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built for this test");
    let mut stdin = child.stdin.take().expect("piped");
    // It may have refused its flags, and not be there any more.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

#[test]
fn every_sample_is_a_policy_file_that_says_what_it_lacks() {
    for sample in ["grpc.json", "envoy.yaml", "resilience4j.yml", "polly.json"] {
        let output = import(&[&format!("{SAMPLES}/{sample}")], "");
        assert_eq!(output.status.code(), Some(0), "{sample}");
        let (page, said) = (text(&output.stdout), text(&output.stderr));
        let whole = page.replace("\n#   ", " ");
        for line in said.lines() {
            assert!(whole.contains(&format!("# {line}\n")), "{sample}: {line}");
        }
        assert!(said.contains("not exactly mapped: "), "{said}");
        let file: toml::Table = page.parse().expect("TOML");
        let policies = file["policy"].as_table().expect("several policies");
        assert!(policies.len() > 1, "{sample}");
        let json = import(&[&format!("{SAMPLES}/{sample}"), "--format", "json"], "");
        let json: Value = serde_json::from_slice(&json.stdout).expect("one value");
        for (name, policy) in policies {
            let policy: Policy = policy.clone().try_into().expect("a policy");
            let other: Policy =
                serde_json::from_value(json["policies"][name].clone()).expect("a policy");
            assert_eq!(policy, other, "{sample}: {name}");
        }
    }
}

#[test]
fn one_policy_is_the_whole_file_and_a_pipe_is_read() {
    let output = import(&["-", "--from", "envoy"], "retry_policy: { num_retries: 4 }\n");
    assert_eq!(output.status.code(), Some(0));
    let policy: Policy = toml::from_str(&text(&output.stdout)).expect("a policy");
    assert_eq!(policy.limits().max_attempts(), Some(5));
}

#[test]
fn what_is_wrong_is_refused_in_one_line_and_nothing_is_written() {
    for (args, input, words) in [
        (
            vec!["-"],
            "{\"retry_policy\":{\"num_retries\":-1}}",
            "standard input: retry_policy.num_retries = -1: must be",
        ),
        (vec!["-"], "a: 1", "standard input: no settings of a known format (found the keys a)"),
        (vec!["-"], "", "standard input: nothing: must be a settings file"),
        (vec!["/no/such/file"], "", "/no/such/file: No such file"),
        (vec!["-", "--from", "hystrix"], "", "invalid value 'hystrix'"),
        (vec![], "", "<FILE>"),
    ] {
        let output = import(&args, input);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty(), "{args:?}");
        let said = text(&output.stderr);
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn files_of_other_products_that_are_not_read_became_policies_of_envoy() {
    for (text, found) in [
        (
            r#"{"retryPolicy":{"minimumBackoff":"10s","maximumBackoff":"600s"}}"#,
            "retryPolicy.maximumBackoff",
        ),
        (
            r#"{"RetryPolicy":{"MaximumRetryAttempts":185,"MaximumEventAgeInSeconds":86400}}"#,
            "RetryPolicy.MaximumEventAgeInSeconds",
        ),
        (
            r#"{"retryPolicy":{"type":"exponential","count":4,"interval":"PT7S"}}"#,
            "retryPolicy.count",
        ),
        (
            "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nspec: { retryStrategy: { limit: 3 } }\n",
            "kind Workflow",
        ),
    ] {
        let output = import(&["-"], text);
        assert_eq!(output.status.code(), Some(2), "{text}");
        let said = text_of(&output);
        assert!(said.contains("no settings of a known format") && said.contains(found), "{said}");
    }
    let temporal =
        r#"{"retryPolicy":{"initialInterval":"1s","backoffCoefficient":2,"maximumAttempts":0}}"#;
    let output = import(&["-", "--format", "json"], temporal);
    let page: Value = serde_json::from_slice(&output.stdout).expect("one value");
    assert_eq!(page["from"], serde_json::json!(["temporal"]));
}

fn text_of(output: &Output) -> String {
    text(&output.stderr)
}

#[test]
fn a_folder_is_one_import_and_equal_policies_are_one_table() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/formats/");
    let output = import(&[folder], "");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let page = text(&output.stdout);
    assert!(page.contains("# Also the policy of: "), "{page}");
    let file: toml::Table = page.parse().expect("TOML");
    let policies = file["policy"].as_table().expect("several policies");
    let policies: Vec<Policy> =
        policies.values().map(|it| it.clone().try_into().expect("a policy")).collect();
    for (number, policy) in policies.iter().enumerate() {
        assert!(!policies[..number].contains(policy), "no two tables are equal");
    }
    let said = text(&output.stderr);
    assert!(said.contains("not imported: "), "the entry that gRPC refuses: {said}");
    assert!(said.contains("no known format: ") && said.contains("kind Service of v1"), "{said}");
}
