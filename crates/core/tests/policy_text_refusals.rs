//! Errors of bad policy texts: the field, the value, the bound, and the place.
#![cfg(feature = "serde")]

use stagger_core::Policy;

fn refusal(text: &str) -> toml::de::Error {
    toml::from_str::<Policy>(text).expect_err(text)
}

#[test]
fn what_a_builder_refuses_is_told_as_the_builder_tells_it() {
    for (text, message) in [
        ("backoff = { base = \"20s\" }", "backoff.cap = 10s: must be at least backoff.base (20s)"),
        (
            "throttled_backoff = { base = \"20s\" }",
            "throttled_backoff.cap = 10s: must be at least throttled_backoff.base (20s)",
        ),
        (
            "throttled_backoff.factor = 0",
            "throttled_backoff.factor = 0: must be a finite number from 1 to 1000000",
        ),
        ("backoff.factor = nan", "backoff.factor = NaN: must be a finite number from 1 to 1000000"),
        ("backoff.factor = inf", "backoff.factor = inf: must be a finite number from 1 to 1000000"),
        ("backoff.factor = -2", "backoff.factor = -2: must be a finite number from 1 to 1000000"),
        (
            "backoff = { envelope = \"linear\", factor = 3 }",
            "backoff.factor = 3: must be left out unless the envelope is exponential",
        ),
        (
            "backoff.jitter = { symmetric = 1.5 }",
            "backoff.jitter = 150%: must be a ratio from 0 to 1",
        ),
        (
            "backoff.jitter = { proportional = -inf }",
            "backoff.jitter = -inf: must be a finite number from 0 to 4294.967295",
        ),
        (
            "limits.max_attempts = 0",
            "limits.max_attempts = 0: must be at least 1, which counts the first call",
        ),
        (
            "limits.max_attempts = -1",
            "limits.max_attempts = -1: must be a whole number from 0 to 4294967295",
        ),
        (
            "limits.max_attempts = \"unlimited\"",
            "limits.max_attempts = unlimited: must be limited unless limits.deadline is set",
        ),
        (
            "limits.deadline = \"0s\"",
            "limits.deadline = 0s: must be above zero, or left out for no limit",
        ),
        (
            "limits = { attempt_timeout = \"1s\", min_attempt_time = \"2s\" }",
            "limits.min_attempt_time = 2s: must be below limits.attempt_timeout (1s)",
        ),
        ("hints.spread = nan", "hints.spread = NaN: must be a finite number from 0 to 4294.967295"),
        ("hints.spread = 2", "hints.spread = 2: must be from 0 to 1"),
        (
            "adaptive.throttle.multiplier = 0.9",
            "adaptive.throttle.multiplier = 90%: must be from 100% to 10000%",
        ),
        (
            "adaptive.throttle.multiplier = 101",
            "adaptive.throttle.multiplier = 10100%: must be from 100% to 10000%",
        ),
        (
            "adaptive.throttle.window = \"9ms\"",
            "adaptive.throttle.window = 9ms: must be at least 10ms",
        ),
        (
            "concurrency_limit.max_concurrent = 0",
            "concurrency_limit.max_concurrent = 0: must be from 1 to 1000000",
        ),
        (
            "concurrency_limit = { max_concurrent = 5, max_queued = 1000001 }",
            "concurrency_limit.max_queued = 1000001: must be at most 1000000",
        ),
        (
            "concurrency_limit = { max_concurrent = 5, max_queued = 1, max_wait = 0 }",
            "concurrency_limit.max_wait = 0s: must be above zero, or left out with max_queued for no queue",
        ),
        (
            "concurrency_limit = { max_concurrent = 5, max_wait = \"1s\" }",
            "concurrency_limit.max_wait = 1s: must be left out unless concurrency_limit.max_queued is above \
             zero: nothing waits",
        ),
        ("rate_limit.rate = 0", "rate_limit.rate = 0/s: must be above 0, up to 1000000 a second"),
        (
            "rate_limit.rate = -1",
            "rate_limit.rate = -1: must be a number from 0 to 1000000 a second",
        ),
        ("rate_limit = { rate = 5, burst = 0 }", "rate_limit.burst = 0: must be from 1 to 1000000"),
        ("budget.window.ratio = 11", "budget.window.ratio = 11: must be at most 10 (1000 %)"),
        ("budget.window.window = \"61s\"", "budget.window.window = 61s: must be from 1s to 60s"),
        (
            "budget.window.floor = -1",
            "budget.window.floor = -1: must be a number from 0 to 1000000 a second",
        ),
        (
            "budget.tokens = { capacity = 10, retry = 11 }",
            "budget.tokens.retry = 11: must be from 1 to budget.tokens.capacity (10)",
        ),
        (
            "budget.tokens = { capacity = 10, retry = 1, initial = 11 }",
            "budget.tokens.initial = 11: must be at most budget.tokens.capacity (10)",
        ),
        (
            "budget.throttle = { max_tokens = 1001, token_ratio = 0.1 }",
            "budget.throttle.max_tokens = 1001: must be from 1 to 1000",
        ),
        (
            "budget.throttle = { max_tokens = 10, token_ratio = 0 }",
            "budget.throttle.token_ratio = 0: must be at least 0.001",
        ),
        (
            "budget.interval = { retries = 300, interval = \"30s\" }",
            "budget.interval.retries = 300: must be from 1 to 16",
        ),
        (
            "budget.interval = { retries = 1, interval = 0 }",
            "budget.interval.interval = 0s: must be above 0s",
        ),
        ("breaker.ratio = 0", "breaker.ratio = 0%: must be above 0% and at most 100%"),
        ("breaker.ratio = \"off\"", "breaker.ratio = none: must be set, as no other rule is"),
        (
            "breaker.window = { calls = 1001 }",
            "breaker.window = 1001: must be from 1 to 1000 calls",
        ),
        (
            "breaker.window = { calls = 9 }",
            "breaker.minimum_calls = 20: must be at most breaker.window (9 calls)",
        ),
        (
            "breaker.slow_after = \"1s\"",
            "breaker.slow_ratio = nothing: must be set together with breaker.slow_after",
        ),
        (
            "breaker.slow_ratio = 1",
            "breaker.slow_after = nothing: must be set together with breaker.slow_ratio",
        ),
        ("breaker.open_factor = 0.5", "breaker.open_factor = 50%: must be at least 100%"),
        ("breaker.probes = -1", "breaker.probes = -1: must be a whole number from 0 to 4294967295"),
        ("breaker.ramp_time = \"0s\"", "breaker.ramp_time = 0s: must be above 0s"),
        ("hedge = { delay = \"1s\", copies = 6 }", "hedge.copies = 6: must be from 2 to 5"),
        (
            "hedge = { delay = \"1s\", quantile = 1 }",
            "hedge.quantile = 100%: must be above 0% and below 100%",
        ),
        (
            "backoff.base = 0\nlimits = { max_attempts = \"unlimited\", deadline = \"1s\" }",
            "backoff.base = 0s: must be above zero unless limits.max_attempts is set",
        ),
    ] {
        assert_eq!(refusal(text).message(), message, "{text}");
    }
}

#[test]
fn a_refusal_points_at_its_table() {
    let error = refusal("[backoff]\nbase = \"1s\"\n\n[hints]\nspread = 2\n").to_string();
    assert!(error.contains("at line 4, column 1"), "{error}");
    assert!(error.contains("hints.spread = 2: must be from 0 to 1"), "{error}");
}

#[test]
fn a_text_that_is_no_span_points_at_its_value() {
    let error = refusal("[limits]\ndeadline = \"-5s\"\n").to_string();
    assert!(error.contains("at line 2, column 12"), "{error}");
    assert!(error.contains("\"-5s\": must be a span of zero or more"), "{error}");
    let error = refusal("limits.deadline = 5").to_string();
    assert!(error.contains("a span as text, such as \"250ms\""), "{error}");
}

#[test]
fn an_unknown_key_is_named_with_the_known_ones() {
    for (text, key, known) in [
        ("backof = {}", "backof", "`backoff`"),
        ("[backoff]\nbse = \"1s\"", "bse", "`base`"),
        ("[throttled_backoff]\nbse = \"1s\"", "bse", "`base`"),
        ("[limits]\nmax_retries = 3", "max_retries", "`max_attempts`"),
        ("[hints]\nmaximum = \"1s\"", "maximum", "`max`"),
        ("[budget.window]\npercent = 10", "percent", "`ratio`"),
        ("[budget.tokens]\ncapacity = 9\nretry = 1\nretries = 2", "retries", "`retry`"),
        ("[budget.throttle]\ntokens = 9", "tokens", "`max_tokens`"),
        ("[budget.interval]\nretry = 9", "retry", "`retries`"),
        ("[breaker]\nthreshold = 0.5", "threshold", "`ratio`"),
        ("[breaker]\nwindow = { call = 5 }", "call", "`calls`"),
        ("[hedge]\nafter = \"1s\"", "after", "`delay`"),
        ("[on_refusal]\nwait = true", "wait", "`wait_for_breaker`"),
    ] {
        let message = refusal(text).message().to_owned();
        assert!(message.starts_with(&format!("unknown field `{key}`")), "{text}: {message}");
        assert!(message.contains(known), "{text}: {message}");
    }
}

#[test]
fn an_unknown_word_is_named_with_the_known_ones() {
    for (text, word, known) in [
        ("backoff.envelope = \"quadratic\"", "quadratic", "`exponential`"),
        ("backoff.jitter = \"gaussian\"", "gaussian", "`decorrelated-clamped`"),
        ("hints.long = \"ignore\"", "ignore", "`shorten`"),
        ("budget = \"off\"", "off", "`unlimited`"),
        ("[budget.windows]\nratio = 0.1", "windows", "`window`"),
        ("budget.window.floor_rule = \"max\"", "max", "`at-least`"),
        ("limits.max_attempts = \"endless\"", "endless", "\"unlimited\""),
        ("breaker.ratio = \"none\"", "none", "\"off\""),
    ] {
        let message = refusal(text).message().to_owned();
        assert!(message.contains(word) && message.contains(known), "{text}: {message}");
    }
}

#[test]
fn two_budgets_are_one_too_many() {
    let text = "[budget.window]\nratio = 0.1\n[budget.interval]\nretries = 1\ninterval = \"1s\"";
    assert!(refusal(text).message().contains("exactly 1"), "{}", refusal(text));
}

#[test]
fn a_bad_policy_in_json_is_told_the_same() {
    let error = serde_json::from_str::<Policy>(r#"{"hints": {"spread": 2}}"#).unwrap_err();
    assert!(error.to_string().starts_with("hints.spread = 2: must be from 0 to 1"), "{error}");
    let error = serde_json::from_str::<Policy>(r#"{"limits": {"tries": 2}}"#).unwrap_err();
    assert!(error.to_string().starts_with("unknown field `tries`"), "{error}");
}
