//! Bodies of requests: limited, read as JSON with the place of what is wrong, or merged into settings (JSON
//! merge patch, RFC 7396).

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Deserializer, Map, Value};
use serde_path_to_error::Path;

use super::problem::Problem;
use super::state::Api;

/// The longest text of an error, in bytes: more than any of our own. A longer one has so many characters.
const LONGEST_TEXT: usize = 16 << 10;
const SHORT_TEXT: usize = 200;

/// A body of JSON, not read yet.
#[derive(Debug)]
pub(super) struct JsonBytes(pub(super) Bytes);

impl FromRequest<Api> for JsonBytes {
    type Rejection = Problem;

    async fn from_request(request: Request, api: &Api) -> Result<Self, Problem> {
        let (head, body) = request.into_parts();
        wants_json(&head.headers)?;
        read(&head.headers, body, api.options().max_body).await.map(Self)
    }
}

/// A body of JSON, deserialized. No body at all is an empty object.
#[derive(Debug)]
pub(super) struct Json<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Api> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, api: &Api) -> Result<Self, Problem> {
        let (head, body) = request.into_parts();
        let bytes = read(&head.headers, body, api.options().max_body).await?;
        if bytes.is_empty() {
            return json(b"{}").map(Self);
        }
        wants_json(&head.headers)?;
        json(&bytes).map(Self)
    }
}

/// A body as raw bytes.
#[derive(Debug)]
pub(super) struct RawBytes(pub(super) Bytes);

impl FromRequest<Api> for RawBytes {
    type Rejection = Problem;

    async fn from_request(request: Request, api: &Api) -> Result<Self, Problem> {
        let (head, body) = request.into_parts();
        read(&head.headers, body, api.options().max_payload).await.map(Self)
    }
}

/// The whole body. One that says at its beginning that it is too long is not read at all.
pub(super) async fn read(headers: &HeaderMap, body: Body, limit: usize) -> Result<Bytes, Problem> {
    let told = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if told.is_some_and(|length: u64| usize::try_from(length).map_or(true, |len| len > limit)) {
        return Err(Problem::too_large("the body", limit));
    }
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Problem::too_large("the body", limit)),
        Err(error) => {
            Err(Problem::new(StatusCode::BAD_REQUEST, format!("the body broke off: {error}")))
        }
    }
}

/// JSON must say that it is JSON, as other types can be sent from foreign pages without asking.
pub(super) fn wants_json(headers: &HeaderMap) -> Result<(), Problem> {
    let told = headers.get(CONTENT_TYPE).map_or(&b""[..], |value| value.as_bytes());
    let end = told.iter().position(|byte| *byte == b';').unwrap_or(told.len());
    let essence = told[..end].trim_ascii().to_ascii_lowercase();
    if essence == b"application/json"
        || essence.starts_with(b"application/") && essence.ends_with(b"+json")
    {
        return Ok(());
    }
    let told = String::from_utf8_lossy(told);
    let detail = format!("the body must be application/json, not {told:?}");
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail).at("Content-Type"))
}

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
    let place = shortened(path.to_string());
    let text = shortened(error.to_string());
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
    let problem = match refusal(text) {
        Some((field, value, bound)) => Problem::refused(full(&place, field).into(), value, bound),
        None if place == "." => Problem::new(StatusCode::BAD_REQUEST, stagger_text::advised(text)),
        None => Problem::new(
            StatusCode::BAD_REQUEST,
            format!("{place}: {}", stagger_text::advised(text)),
        )
        .at(place),
    };
    if error.line() == 0 { problem } else { problem.placed(error.line(), error.column()) }
}

/// A text of the caller's in an error: a megabyte of a name tells no more than its beginning, and looking for a
/// similar one would take the node's time.
fn shortened(text: String) -> String {
    if text.len() <= LONGEST_TEXT {
        return text;
    }
    text.chars().take(SHORT_TEXT).chain(" ...".chars()).collect()
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

/// Settings that a patch replaces as a whole: a rule that is merged into another one is neither.
const WHOLE: [&str; 1] = ["filter"];

/// Applies `patch` to `current`: members of the patch replace those of the same name, objects are
/// merged member by member, and `null` resets a setting to its default.
///
/// # Errors
/// The patch is no JSON object, or the result is not valid settings.
pub(super) fn patched<T: Serialize + DeserializeOwned>(
    current: &T,
    patch: &[u8],
) -> Result<T, Problem> {
    let patch: Map<String, Value> = json(patch)?;
    let mut settings = match serde_json::to_value(current) {
        Ok(Value::Object(settings)) => settings,
        _ => Map::new(),
    };
    for (name, value) in patch {
        // At the top a null stays: settings read it as their default, and refuse it under a name that
        // they do not know.
        if value.is_null() || WHOLE.contains(&name.as_str()) {
            settings.insert(name, value);
        } else {
            merge(&mut settings, name, value);
        }
    }
    value(Value::Object(settings))
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
    use axum::response::IntoResponse;
    use http::HeaderValue;
    use http_body_util::BodyExt;
    use serde_json::json;
    use serde_json::value::RawValue;
    use stagger::Policy;

    use super::*;

    #[test]
    fn a_form_passed_for_json() {
        let accepted = |told: &'static str| {
            let headers = [(CONTENT_TYPE, HeaderValue::from_static(told))].into_iter().collect();
            wants_json(&headers).is_ok()
        };
        assert!(accepted("application/json"));
        assert!(accepted("Application/JSON ; charset=utf-8"));
        assert!(accepted("application/merge-patch+json"));
        assert!(!accepted("application/x-www-form-urlencoded"));
        assert!(!accepted("text/plain; application/json"));
        assert!(!accepted("application/jsonp"));
        assert!(wants_json(&HeaderMap::new()).is_err());
    }

    #[tokio::test]
    async fn a_body_that_hid_its_length_filled_the_memory() {
        let limit = 1_000;
        for (length, fits) in [(limit, true), (limit + 1, false)] {
            let got = read(&HeaderMap::new(), Body::from(vec![0; length]), limit).await;
            assert_eq!(got.is_ok(), fits);
        }
    }

    #[tokio::test]
    async fn a_body_that_says_its_length_is_refused_unread() {
        let headers = [(CONTENT_LENGTH, HeaderValue::from_static("99999999999999999999999"))];
        let headers = headers.into_iter().collect();
        assert!(read(&headers, Body::from("x"), 10).await.is_ok(), "hyper refuses such a length");
        let headers = [(CONTENT_LENGTH, HeaderValue::from_static("11"))].into_iter().collect();
        assert!(read(&headers, Body::empty(), 10).await.is_err());
    }

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
    fn a_megabyte_of_a_name_was_answered_with_three() {
        let told = problem(&json!({ "x".repeat(1 << 20): 1 }).to_string());
        assert!(told.to_string().len() < 2000);
        assert!(told["detail"].as_str().unwrap().contains("unknown field `xxx"), "{told}");
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
