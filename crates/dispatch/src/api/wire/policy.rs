//! How the document describes a policy; what reads it is the engine's own.

use std::borrow::Cow;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use super::schema::read;

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

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};
    use stagger::Policy;

    use super::*;

    fn schema() -> Value {
        serde_json::from_str(SCHEMA).expect("a schema")
    }

    fn known(schema: &Value, path: &[&str]) -> Vec<String> {
        let at = path.iter().fold(schema, |at, name| &at["properties"][*name]);
        let properties = at["properties"].as_object().map(Map::keys);
        properties.into_iter().flatten().cloned().collect()
    }

    /// The keys that an unknown one is told of.
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
        assert_eq!(known(&schema, &[]), real(""));
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
