//! JSON merge patch (RFC 7396) over settings.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::problem::Problem;
use super::reading;

/// Applies `patch` to `current`: members of the patch replace those of the same name, objects are
/// merged member by member, and `null` resets a setting to its default.
///
/// # Errors
/// The patch is no JSON object, or the result is not valid settings.
pub(super) fn patched<T: Serialize + DeserializeOwned>(
    current: &T,
    patch: &[u8],
) -> Result<T, Problem> {
    let patch: Map<String, Value> = reading::json(patch)?;
    let mut settings = match serde_json::to_value(current) {
        Ok(Value::Object(settings)) => settings,
        _ => Map::new(),
    };
    for (name, value) in patch {
        // At the top a null stays: settings read it as their default, and refuse it under a name that
        // they do not know.
        if value.is_null() {
            settings.insert(name, Value::Null);
        } else {
            merge(&mut settings, name, value);
        }
    }
    reading::value(Value::Object(settings))
}

fn merge(target: &mut Map<String, Value>, name: String, patch: Value) {
    match patch {
        Value::Null => {
            target.remove(&name);
        }
        Value::Object(members) => {
            let mut below = match target.remove(&name) {
                Some(Value::Object(below)) => below,
                _ => Map::new(),
            };
            members.into_iter().for_each(|(name, value)| merge(&mut below, name, value));
            target.insert(name, Value::Object(below));
        }
        other => {
            target.insert(name, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The examples of RFC 7396, appendix A, that begin and end with an object.
    #[test]
    fn the_examples_of_the_rfc_come_out_as_it_says() {
        for (target, patch, result) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (
                json!({"a": {"b": "c"}}),
                json!({"a": {"b": "d", "c": null}}),
                json!({"a": {"b": "d"}}),
            ),
            (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        ] {
            let merged: Value = patched(&target, patch.to_string().as_bytes()).expect("an object");
            assert_eq!(merged, result, "{target} with {patch}");
        }
    }

    #[test]
    fn a_patch_that_is_no_object_replaced_everything() {
        for patch in ["[1]", "null", "7", "\"a\"", "", "{"] {
            assert!(patched(&json!({"a": 1}), patch.as_bytes()).is_err(), "{patch}");
        }
    }
}
