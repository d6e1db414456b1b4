//! Reading JSON so that an error says where it is: field, line and column.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Deserializer, Value};
use serde_path_to_error::Path;

use super::problem::Problem;
use http::StatusCode;

/// Parses `bytes` as JSON.
///
/// # Errors
/// The bytes are no JSON, or not a `T`. They are then read again, to find the place.
pub(super) fn json<'b, T: Deserialize<'b>>(bytes: &'b [u8]) -> Result<T, Problem> {
    serde_json::from_slice(bytes).map_err(|error| {
        let mut again = Deserializer::from_slice(bytes);
        match serde_path_to_error::deserialize::<_, T>(&mut again) {
            Err(placed) if error.is_data() => wrong(placed.path(), &error),
            _ => broken(&error),
        }
    })
}

/// Deserializes a JSON value.
///
/// # Errors
/// The value is not a `T`.
pub(super) fn value<T: DeserializeOwned>(value: Value) -> Result<T, Problem> {
    serde_path_to_error::deserialize(value).map_err(|error| wrong(error.path(), error.inner()))
}

fn broken(error: &serde_json::Error) -> Problem {
    let problem = Problem::new(StatusCode::BAD_REQUEST, format!("the body is no JSON: {error}"));
    problem.placed(error.line(), error.column())
}

/// JSON, but not of the expected type.
fn wrong(path: &Path, error: &serde_json::Error) -> Problem {
    let place = path.to_string();
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
    let problem = match refusal(text) {
        Some((field, value, bound)) => Problem::refused(full(&place, field).into(), value, bound),
        None if place == "." => Problem::new(StatusCode::BAD_REQUEST, advised(text)),
        None => {
            Problem::new(StatusCode::BAD_REQUEST, format!("{place}: {}", advised(text))).at(place)
        }
    };
    if error.line() == 0 { problem } else { problem.placed(error.line(), error.column()) }
}

/// Field, value and bound of a refused setting, from its text: serde keeps no more of it.
fn refusal(text: &str) -> Option<(&str, &str, &str)> {
    let (field, rest) = text.split_once(" = ")?;
    let (value, bound) = rest.rsplit_once(": must be ")?;
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    field.chars().all(word).then_some((field, value, bound))
}

/// A policy's settings name themselves from the policy's top; all others stand where they are.
fn full(place: &str, field: &str) -> String {
    let in_policy = place == "policy" || place.starts_with("policy.");
    if in_policy { format!("policy.{field}") } else { place.to_owned() }
}

/// The text of an error, with the nearest known name for an unknown one.
fn advised(text: &str) -> String {
    let mut names = text.split('`').skip(1).step_by(2);
    let unknown = text.starts_with("unknown ").then(|| names.next()).flatten();
    match unknown.and_then(|name| stagger_text::nearest(name, names)) {
        Some(known) => format!("{text}; did you mean `{known}`?"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;
    use http_body_util::BodyExt;
    use serde_json::json;
    use serde_json::value::RawValue;
    use stagger::Policy;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "read for the errors only")]
    struct Thing<'t> {
        timeout: Option<u32>,
        policy: Option<Policy>,
        #[serde(borrow)]
        payload: Option<&'t RawValue>,
    }

    fn problem(body: &str) -> Value {
        let problem = json::<Thing<'_>>(body.as_bytes()).expect_err("it is wrong");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let body = runtime.block_on(problem.into_response().into_body().collect()).unwrap();
        serde_json::from_slice(&body.to_bytes()).unwrap()
    }

    #[test]
    fn an_unknown_member_is_named_with_what_was_meant() {
        let told = problem("{\n  \"tiemout\": 3}");
        let detail = told["detail"].as_str().unwrap();
        assert!(detail.ends_with("did you mean `timeout`?"), "{detail}");
        assert_eq!((&told["line"], &told["column"]), (&json!(2), &json!(11)));
    }

    #[test]
    fn a_wrong_type_is_named_with_its_place() {
        let told = problem("{\"timeout\": \"soon\"}");
        assert_eq!(told["field"], "timeout");
        assert_eq!(told["detail"], "timeout: invalid type: string \"soon\", expected u32");
    }

    #[test]
    fn a_setting_of_a_policy_is_named_in_full() {
        let told = problem("{\"policy\": {\"backoff\": {\"base\": \"9s\", \"cap\": \"1s\"}}}");
        assert_eq!(told["field"], "policy.backoff.cap");
        assert_eq!(told["value"], "1s");
        assert_eq!(told["bound"], "at least backoff.base (9s)");
        let told = problem("{\"policy\": {\"limits\": {\"max_attempts\": 0}}}");
        assert_eq!(told["field"], "policy.limits.max_attempts");
    }

    #[test]
    fn an_error_in_json_has_its_position() {
        for (body, line, column) in [("", 1, 0), ("{\"timeout\": 1", 1, 13), ("{}\n}", 2, 1)] {
            let told = problem(body);
            assert_eq!((&told["line"], &told["column"]), (&json!(line), &json!(column)), "{told}");
        }
    }

    #[test]
    fn a_payload_came_back_in_other_words() {
        let body = "{\"payload\": {\"amount\": 10.0,\"id\":\"\\u00e9vt_1\"} , \"timeout\": 1}";
        let thing: Thing<'_> = json(body.as_bytes()).expect("right");
        let payload = thing.payload.map(RawValue::get);
        assert_eq!(payload, Some("{\"amount\": 10.0,\"id\":\"\\u00e9vt_1\"}"));
    }
}
