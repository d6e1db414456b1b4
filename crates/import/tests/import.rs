//! Settings files of each product: what they come to, what is left out, and what is refused.

use std::fmt::Write;

use stagger_core::breaker::WindowKind;
use stagger_core::budget::{BudgetPlan, FloorRate};
use stagger_core::{Jitter, Policy, Rate, Ratio, Span};
use stagger_import::{ImportSource, Imported, import};

/// Each file, whose it is, and everything that comes of it. With STAGGER_WRITE_GOLDEN set, the last
/// one is written anew, to be looked at.
const SAMPLES: [(&str, &str, &str, &str); 5] = [
    ("grpc", "grpc", include_str!("samples/grpc.json"), include_str!("samples/grpc.golden")),
    ("envoy", "envoy", include_str!("samples/envoy.yaml"), include_str!("samples/envoy.golden")),
    (
        "resilience4j",
        "resilience4j",
        include_str!("samples/resilience4j.yml"),
        include_str!("samples/resilience4j.golden"),
    ),
    (
        "properties",
        "resilience4j",
        include_str!("samples/resilience4j.properties"),
        include_str!("samples/properties.golden"),
    ),
    ("polly", "polly", include_str!("samples/polly.json"), include_str!("samples/polly.golden")),
];

fn read(text: &str) -> Imported {
    import(text, None).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn policy(imported: &Imported, name: &str) -> Policy {
    let found = imported.policies.iter().find(|known| known.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", imported.policies)).policy
}

fn shown(imported: &Imported) -> String {
    let mut page = String::new();
    for known in &imported.policies {
        let (name, policy) = (&known.name, &known.policy);
        let json = serde_json::to_string(policy).expect("every policy can be written");
        let _ = writeln!(page, "{name}: {json}");
    }
    for left in &imported.left_out {
        let _ = writeln!(page, "left out: {} = {}: {}", left.path, left.value, left.why);
    }
    for note in &imported.notes {
        let _ = writeln!(page, "note: {note}");
    }
    page
}

#[test]
fn samples_come_to_what_they_came_to() {
    for (name, source, text, golden) in SAMPLES {
        let imported = read(text);
        let source: ImportSource = source.parse().expect("a format");
        assert_eq!(imported.sources, [source], "{name}: told by its keys");
        assert_eq!(imported, import(text, Some(source)).expect("the same"), "{name}");
        let page = shown(&imported);
        if std::env::var_os("STAGGER_WRITE_GOLDEN").is_some() {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples");
            std::fs::write(format!("{folder}/{name}.golden"), page).expect("written");
        } else {
            assert_eq!(page, golden, "{name}");
        }
    }
}

#[test]
fn envoys_defaults_are_a_base_of_25_ms_ten_times_that_and_one_retry_in_15_s() {
    let imported = read("route:\n  retry_policy: { retry_on: 5xx }\n");
    let policy = policy(&imported, "envoy");
    assert_eq!(policy.backoff().base(), Span::from_millis(25));
    assert_eq!(policy.backoff().cap(), Span::from_millis(250));
    assert_eq!(policy.backoff().jitter(), Jitter::Full);
    assert_eq!(policy.limits().max_attempts(), Some(2));
    assert_eq!(policy.limits().deadline(), Some(Span::from_secs(15)));
    assert_eq!(policy.budget(), &BudgetPlan::Unlimited);
}

#[test]
fn envoys_json_spelling_and_its_zero_timeout_are_read() {
    let imported = read(
        r#"{ "retryPolicy": { "numRetries": 2, "retryBackOff": { "baseInterval": "1s" } }, "timeout": "0s" }"#,
    );
    let policy = policy(&imported, "envoy");
    assert_eq!((policy.limits().max_attempts(), policy.limits().deadline()), (Some(3), None));
    assert_eq!(policy.backoff().cap(), Span::from_secs(10));
}

#[test]
fn an_envoy_budget_belongs_to_its_cluster() {
    let imported = read(include_str!("samples/envoy.yaml"));
    let BudgetPlan::Window(plan) = *policy(&imported, "orders").budget() else {
        panic!("a window")
    };
    assert_eq!(
        (plan.ratio(), plan.floor()),
        (Ratio::from_percent(25), FloorRate::AtLeast(Rate::per_second(10)))
    );
    assert_eq!(policy(&imported, "search").budget(), &BudgetPlan::Unlimited);
}

#[test]
fn resilience4j_s_attempts_count_the_first_and_its_defaults_hold() {
    let imported = read("resilience4j.retry.instances.a.max-attempts=3\n");
    let policy = policy(&imported, "a");
    assert_eq!(policy.limits().max_attempts(), Some(3));
    assert_eq!(policy.backoff().base(), Span::from_millis(500));
    assert_eq!(policy.backoff().jitter(), Jitter::None);
    let grows = read(
        "resilience4j.retry.instances.a.enableExponentialBackoff=true\n\
         resilience4j.retry.instances.a.maxAttempts=4\n",
    );
    let rule = *self::policy(&grows, "a").backoff();
    assert_eq!([1, 2, 3].map(|k| rule.ceiling(k)), [500, 750, 1_125].map(Span::from_millis));
}

#[test]
fn a_breaker_of_resilience4j_judges_by_the_last_hundred_calls() {
    let imported = read(include_str!("samples/resilience4j.yml"));
    let breaker = *policy(&imported, "breaker-only").breaker().expect("a breaker");
    assert_eq!((breaker.window(), breaker.minimum_calls()), (WindowKind::Calls(100), 100));
    assert_eq!((breaker.open_time(), breaker.probes()), (Span::from_secs(60), 10));
    assert_eq!(
        policy(&imported, "orders").limits().max_attempts(),
        Some(4),
        "from configs.default"
    );
}

#[test]
fn pollys_retries_are_one_more_attempt_and_the_standard_handler_has_its_own_defaults() {
    let imported = read(include_str!("samples/polly.json"));
    assert_eq!(policy(&imported, "Catalog").limits().max_attempts(), Some(5));
    let standard = policy(&imported, "Standard");
    assert_eq!(standard.limits().attempt_timeout(), Some(Span::from_secs(10)));
    assert_eq!(standard.limits().deadline(), Some(Span::from_secs(60)));
    assert_eq!(standard.backoff().jitter(), Jitter::Full);
    assert_eq!(standard.breaker().expect("a breaker").ratio(), Some(Ratio::from_percent(10)));
    let plain = read(r#"{ "MaxRetryAttempts": 2 }"#);
    let rule = *policy(&plain, "polly").backoff();
    assert_eq!((rule.ceiling(2), rule.jitter()), (Span::from_secs(2), Jitter::None));
}

#[test]
fn one_name_for_two_policies_loses_neither() {
    let imported = read(
        r#"{ "a": { "Http": { "AttemptTimeout": {} } }, "b": { "Http": { "AttemptTimeout": {} } } }"#,
    );
    let names: Vec<_> = imported.policies.iter().map(|known| known.name.as_str()).collect();
    assert_eq!(names, ["Http", "Http-2"]);
}

#[test]
fn what_is_wrong_is_named_with_its_bound() {
    for (text, words) in [
        ("", "nothing: must be a settings file"),
        ("{", "must be JSON without mistakes"),
        ("a: [", "must be YAML without mistakes"),
        ("hello", "must be a file of keys and values"),
        ("a: 1", "no settings of a known format (found the keys a)"),
        ("resilience4j: {}", "no retry settings found"),
        (
            r#"{"retry_policy":{"num_retries":-1}}"#,
            "retry_policy.num_retries = -1: must be a whole number from 0 to 4294967294",
        ),
        (
            r#"{"retry_policy":{"per_try_timeout":"1 minute"}}"#,
            "retry_policy.per_try_timeout = \"1 minute\": must be seconds such as 0.025s",
        ),
        (
            r#"{"retry_policy":{"retry_back_off":{"base_interval":"1s","max_interval":"0.5s"}}}"#,
            "retry_policy.retry_back_off.max_interval = \"0.5s\": must be at least",
        ),
        (
            r#"{"Retry":{"MaxRetryAttempts":0},"CircuitBreaker":{}}"#,
            "Retry.MaxRetryAttempts = 0: must be a whole number from 1 to 4294967294",
        ),
        (
            r#"{"Retry":{"Delay":"2s","MaxRetryAttempts":1}}"#,
            "Retry.Delay = \"2s\": must be a TimeSpan such as 00:00:02",
        ),
        (
            r#"{"CircuitBreaker":{"FailureRatio":1.5}}"#,
            "CircuitBreaker.FailureRatio = 1.5: must be a number from 0 to 1",
        ),
        (
            "resilience4j.circuitbreaker.instances.a.failureRateThreshold=0",
            "resilience4j.circuitbreaker.instances.a.failureRateThreshold = \"0\"",
        ),
        (
            "resilience4j.retry.instances.a.baseConfig=b",
            "resilience4j.retry.instances.a.baseConfig = b: must be the name of a table in configs",
        ),
        (
            r#"{"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":1}}]}"#,
            "must be a service config as gRFC A6 has it",
        ),
    ] {
        let error = import(text, None).expect_err(text).to_string();
        assert!(error.contains(words), "{text}: {error}");
    }
}

#[test]
fn a_hint_shorter_than_the_longest_own_delay_ended_the_call() {
    let grpc = |backoff: &str| {
        let text = format!(
            r#"{{"methodConfig": [{{"name": [{{"service": "a.B"}}], "timeout": "600s",
              "retryPolicy": {{"maxAttempts": 5, "initialBackoff": "10s", "maxBackoff": "{backoff}",
              "backoffMultiplier": 4, "retryableStatusCodes": ["UNAVAILABLE"]}}}}]}}"#
        );
        policy(&read(&text), "a.B").hints().max()
    };
    // gRPC draws a fifth up and down.
    assert_eq!(grpc("100s"), Span::from_secs(120));
    assert_eq!(grpc("10s"), Span::from_secs(60), "the default is longer");
    let envoy = read(
        "retry_policy: { retry_on: 5xx, num_retries: 5, retry_back_off: { base_interval: 2s, \
         max_interval: 20s }, rate_limited_retry_back_off: { max_interval: 1s } }",
    );
    assert_eq!(envoy.policies[0].policy.hints().max(), Span::from_secs(20));
}
