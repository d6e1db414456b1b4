//! The policy of an endpoint in JSON: read over the dispatcher's defaults, and written in full.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::{Map, Value};
use stagger::Policy;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use super::schema::read;
use super::span;

/// The schema, in the words of `docs/policy.md`.
const SCHEMA: &str = include_str!("policy.json");

/// A policy.
pub(super) struct PolicyText;

impl PartialSchema for PolicyText {
    fn schema() -> RefOr<Schema> {
        read(serde_json::from_str(SCHEMA).unwrap_or_default())
    }
}

impl ToSchema for PolicyText {
    fn name() -> Cow<'static, str> {
        "Policy".into()
    }
}

/// A policy that was given, with the dispatcher's defaults for whatever it leaves out.
///
/// The engine's own defaults are for callers that wait: they give up at the first long hint.
/// Creating and changing an endpoint both read this type, so that one body gives one policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct EndpointPolicy(pub(super) Policy);

impl Serialize for EndpointPolicy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        in_full(&self.0).map_err(ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for EndpointPolicy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut given = Map::deserialize(deserializer)?;
        let usual = Policy::webhook();
        fill(&mut given, in_full(&usual).map_err(de::Error::custom)?);
        let read = serde_path_to_error::deserialize(Value::Object(given));
        let policy: Policy = read.map_err(|error| de::Error::custom(placed(&error)))?;
        match unfit(&policy) {
            None => Ok(Self(policy)),
            Some(table) => Err(de::Error::custom(format!("{table}: {UNFIT}"))),
        }
    }
}

/// The table of a policy that an endpoint has no use for.
fn unfit(policy: &Policy) -> Option<&'static str> {
    let tables = [
        (policy.adaptive().is_some(), "adaptive"),
        (policy.concurrency_limit().is_some(), "concurrency_limit"),
        (policy.rate_limit().is_some(), "rate_limit"),
    ];
    tables.into_iter().find_map(|(is_there, table)| is_there.then_some(table))
}

/// A delivery can wait, so it is held back by its endpoint's breaker and rate limits, never refused. Those
/// hold for the whole cluster, and the limits of a policy for one process.
const UNFIT: &str = "must be left out for an endpoint, whose breaker, `rate` and `concurrency` hold \
    deliveries back";

/// The text of an error below `policy`, with its place unless the text has it.
fn placed(error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    let (place, text) = (error.path().to_string(), error.inner().to_string());
    let says_where = place == "." || text.starts_with("unknown ") || text.contains(": must be ");
    if says_where { text } else { format!("{place}: {text}") }
}

/// The tables of a policy, with the factor that the engine leaves out where it is its own default: read
/// back, it would become the dispatcher's.
fn in_full(policy: &Policy) -> Result<Map<String, Value>, serde_json::Error> {
    let mut tables: Map<String, Value> = serde_json::from_value(serde_json::to_value(policy)?)?;
    for name in RULES {
        if let Some(Value::Object(rule)) = tables.get_mut(name)
            && grows_by_a_factor(rule)
        {
            rule.entry("factor").or_insert_with(|| 2.into());
        }
    }
    tables.values_mut().for_each(span::rewrite);
    Ok(tables)
}

/// Puts `usual` settings where `given` has none, or `null`.
fn fill(given: &mut Map<String, Value>, usual: Map<String, Value>) {
    let delays = usual.get(RULES[0]).cloned();
    for (name, value) in usual {
        fill_one(given, name, value);
    }
    // Delays after throttling are the usual ones, unless some are given.
    if let (Some(Value::Object(_)), Some(delays)) = (given.get(RULES[1]), delays) {
        fill_one(given, RULES[1].to_owned(), delays);
    }
}

fn fill_one(given: &mut Map<String, Value>, name: String, usual: Value) {
    match (given.get_mut(&name), usual) {
        (None | Some(Value::Null), usual) => _ = given.insert(name, usual),
        (Some(Value::Object(own)), Value::Object(mut usual)) => {
            if RULES.contains(&name.as_str()) && !grows_by_a_factor(own) {
                // The engine refuses a factor here.
                usual.remove("factor");
            }
            if own.get("envelope").is_some_and(|envelope| envelope == "constant") {
                // Without a cap it is the base.
                usual.remove("cap");
            }
            usual.into_iter().for_each(|(name, value)| fill_one(own, name, value));
        }
        // A given value of another kind stands for the whole: `budget = "none"`.
        (Some(_), _) => {}
    }
}

/// The tables that are delay rules.
const RULES: [&str; 2] = ["backoff", "throttled_backoff"];

fn grows_by_a_factor(rule: &Map<String, Value>) -> bool {
    rule.get("envelope").is_none_or(|envelope| envelope.is_null() || envelope == "exponential")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(body: &Value) -> Policy {
        let EndpointPolicy(policy) = serde_json::from_value(body.clone()).expect("a policy");
        policy
    }

    #[test]
    fn a_policy_that_leaves_settings_out_had_the_defaults_of_callers_who_wait() {
        let usual = Policy::webhook();
        assert_eq!(read(&json!({})), usual);
        let nulls = json!({"backoff": null, "hints": {"max": null}, "limits": {"deadline": null}});
        assert_eq!(read(&nulls), usual);
        for example in schema()["examples"].as_array().expect("examples") {
            assert_eq!(read(example).hints(), usual.hints(), "{example}");
        }
        let slow = read(&json!({"backoff": {"base": "20s"}, "throttled_backoff": {"base": "40s"}}));
        assert_eq!(slow.backoff().cap(), usual.backoff().cap());
        assert_eq!(slow.throttled_backoff().envelope(), usual.backoff().envelope());
        let own = read(&json!({"hints": {"max": "1s", "long": "stop"}, "budget": "none"}));
        assert_eq!(own.hints().max(), stagger::Span::from_secs(1));
        assert_eq!(own.budget(), &stagger::budget::BudgetPlan::None);
    }

    #[test]
    fn a_policy_that_was_written_and_read_back_was_another() {
        for body in [
            json!({}),
            json!({"backoff": {"factor": 2}, "throttled_backoff": {"factor": 2}}),
            json!({"backoff": {"envelope": "constant", "base": "3s"}}),
            json!({"backoff": {"envelope": "linear", "base": "3s"}}),
            json!({"limits": {"max_attempts": "unlimited", "deadline": "1h"}}),
            json!({"hints": {"long": {"own_delay_plus": "3s"}}, "breaker": {}}),
        ] {
            let policy = read(&body);
            let written = serde_json::to_value(EndpointPolicy(policy)).expect("it is written");
            assert_eq!(read(&written), policy, "{body}");
        }
    }

    #[test]
    fn an_error_in_a_policy_did_not_say_where() {
        let told = |body: Value| {
            serde_json::from_value::<EndpointPolicy>(body).expect_err("it is wrong").to_string()
        };
        let wrong = told(json!({"backoff": {"base": 5}}));
        assert!(wrong.starts_with("backoff.base: invalid type"), "{wrong}");
        let adaptive = told(json!({"adaptive": "cubic"}));
        assert!(adaptive.starts_with("adaptive: must be left out"), "{adaptive}");
        let places = told(json!({"concurrency_limit": {"max_concurrent": 5}}));
        assert!(places.starts_with("concurrency_limit: must be left out"), "{places}");
        let rate = told(json!({"rate_limit": {"rate": 5}}));
        assert!(rate.starts_with("rate_limit: must be left out"), "{rate}");
        let unknown = told(json!({"backof": null}));
        assert!(unknown.starts_with("unknown field `backof`"), "{unknown}");
    }

    fn schema() -> Value {
        serde_json::from_str(SCHEMA).expect("a schema")
    }

    fn known(schema: &Value, path: &[&str]) -> Vec<String> {
        let at = path.iter().fold(schema, |at, name| &at["properties"][*name]);
        let properties = at["properties"].as_object().map(Map::keys);
        properties.into_iter().flatten().cloned().collect()
    }

    /// The known keys, for the message about an unknown one.
    fn real(part: &str) -> Vec<String> {
        let body = match part {
            "" => json!({"nonsense": 1}),
            _ => json!({part: {"nonsense": 1}}),
        };
        let error = serde_json::from_value::<Policy>(body).expect_err("unknown").to_string();
        let mut names: Vec<String> =
            error.split('`').skip(3).step_by(2).map(str::to_owned).collect();
        names.sort();
        names
    }

    #[test]
    fn a_key_of_a_policy_was_missing_in_the_document() {
        let schema = schema();
        let mut tables = real("");
        // Refused for an endpoint.
        tables.retain(|name| {
            !["adaptive", "concurrency_limit", "rate_limit"].contains(&name.as_str())
        });
        assert_eq!(known(&schema, &[]), tables);
        for part in ["backoff", "limits", "hints", "breaker", "hedge", "on_refusal"] {
            assert_eq!(known(&schema, &[part]), real(part), "{part}");
        }
    }

    #[test]
    fn the_examples_of_the_document_are_policies() {
        let schema = schema();
        let examples = schema["examples"].as_array().expect("examples");
        assert!(!examples.is_empty());
        for example in examples {
            serde_json::from_value::<Policy>(example.clone()).expect("a policy");
        }
    }
}
