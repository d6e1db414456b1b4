//! The description of the API (OpenAPI 3.1), besides its operations.

use std::borrow::Cow;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{OpenApi, RefOr};
use utoipa::{IntoParams, PartialSchema, ToSchema};

pub(super) use super::problem::Document as Problem;
use super::wire::{
    ApiKeyIdText, ApplicationPathText, ApplicationSettings, EndpointPathText, EndpointSettings,
    EventTypeText, MessageIdText, PortalLinkIdText, patch_of,
};
use crate::access::rule;

/// The path of the document.
pub(super) const PATH: &str = "/v1/openapi.json";

/// The parts of the document besides the operations: title, keys, webhooks, shared problems.
const FRAME: &str = include_str!("frame.json");

/// The application that a path names.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "it stands in the document only")]
pub(super) struct ApplicationPath {
    app: ApplicationPathText,
}

/// The endpoint that a path names.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "it stands in the document only")]
pub(super) struct EndpointPath {
    ep: EndpointPathText,
}

/// The message that a path names.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "it stands in the document only")]
pub(super) struct MessagePath {
    msg: MessageIdText,
}

/// The link to a portal that a path names.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "it stands in the document only")]
pub(super) struct PortalLinkPath {
    link: PortalLinkIdText,
}

/// The event type that a path names.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "it stands in the document only")]
pub(super) struct EventTypePath {
    name: EventTypeText,
}

/// The API key that a path names.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "it stands in the document only")]
pub(super) struct ApiKeyPath {
    key: ApiKeyIdText,
}

/// The header that names a message.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "it stands in the document only")]
pub(super) struct IdempotencyKeyHeader {
    /// The sender's own name for the message: the same one answers with the same message.
    #[param(rename = "Idempotency-Key", pattern = "^[!-~]([ -~]{0,253}[!-~])?$")]
    key: Option<String>,
}

/// The body of a merge patch over an application.
pub(super) struct ApplicationPatch;

impl PartialSchema for ApplicationPatch {
    fn schema() -> RefOr<Schema> {
        patch_of::<ApplicationSettings>(&[])
    }
}

impl ToSchema for ApplicationPatch {}

/// The body of a merge patch over an endpoint.
pub(super) struct EndpointPatch;

impl PartialSchema for EndpointPatch {
    fn schema() -> RefOr<Schema> {
        patch_of::<EndpointSettings>(&["secret"])
    }
}

impl ToSchema for EndpointPatch {}

/// Bytes of any type.
pub(super) struct AnyBytes;

impl PartialSchema for AnyBytes {
    fn schema() -> RefOr<Schema> {
        serde_json::from_value(json!({"type": "string", "format": "binary"})).unwrap_or_default()
    }
}

impl ToSchema for AnyBytes {
    fn name() -> Cow<'static, str> {
        "Bytes".into()
    }
}

/// The whole document as it is served: `operations` within their frame.
pub(super) fn text(operations: OpenApi) -> Bytes {
    let mut text = serde_json::to_string_pretty(&document(operations)).unwrap_or_default();
    text.push('\n');
    text.into()
}

fn document(operations: OpenApi) -> Value {
    let mut document: Value = serde_json::from_str(FRAME).unwrap_or_default();
    let mut found = serde_json::to_value(operations).unwrap_or_default();
    document["info"]["version"] = env!("CARGO_PKG_VERSION").into();
    document["paths"] = found["paths"].take();
    let schemas = document["components"]["schemas"].as_object_mut();
    if let (Some(schemas), Value::Object(found)) = (schemas, found["components"]["schemas"].take())
    {
        schemas.extend(found);
        // Of parameters only the references are collected.
        schemas.extend([
            named_schema::<ApplicationPathText>(),
            named_schema::<EndpointPathText>(),
            named_schema::<PortalLinkIdText>(),
        ]);
    }
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    paths.for_each(|(path, methods)| add_problems(path, methods));
    document
}

fn named_schema<T: ToSchema>() -> (String, Value) {
    (T::name().into_owned(), serde_json::to_value(T::schema()).unwrap_or_default())
}

/// Adds the refusals that follow from the inputs of an operation.
fn add_problems(path: &str, methods: &mut Value) {
    for (method, operation) in methods.as_object_mut().into_iter().flatten() {
        if path.starts_with("/v1/") {
            for (status, name) in problems(method, path, operation) {
                let reference = format!("#/components/responses/{name}");
                operation["responses"][status] = json!({ "$ref": reference });
            }
        }
    }
}

fn problems(method: &str, path: &str, operation: &Value) -> Vec<(&'static str, &'static str)> {
    let body = &operation["requestBody"];
    let json = body["content"].as_object().is_some_and(|it| it.contains_key("application/json"));
    let operators_only = !operation["security"].is_null();
    let method = Method::from_bytes(method.to_ascii_uppercase().as_bytes()).unwrap_or_default();
    // An API key may lack the scope.
    let forbids = rule(&method, path).is_some();
    let parameters = operation["parameters"].as_array().map_or(&[][..], Vec::as_slice);
    let refusable = parameters.iter().any(|parameter| parameter["in"] != "path");
    let mut problems = vec![("401", "Unauthorized"), ("503", "Unavailable")];
    let more = [
        (!body.is_null() || refusable, ("400", "BadRequest")),
        (forbids, ("403", "Forbidden")),
        (path.contains('{'), ("404", "NotFound")),
        (!body.is_null(), ("413", "ContentTooLarge")),
        (json, ("415", "UnsupportedMediaType")),
        (!operators_only, ("429", "TooManyRequests")),
    ];
    problems.extend(more.into_iter().filter_map(|(due, problem)| due.then_some(problem)));
    problems
}

#[cfg(test)]
mod tests {
    use super::super::router;
    use super::*;

    const SNAPSHOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");

    fn served() -> String {
        let document = router::documented().into_openapi();
        String::from_utf8(text(document).to_vec()).expect("JSON")
    }

    fn parsed() -> Value {
        serde_json::from_str(&served()).expect("JSON")
    }

    /// The operations with their paths and methods.
    fn operations(document: &Value) -> Vec<(String, String, Value)> {
        let paths = document["paths"].as_object().expect("paths");
        let methods = |(path, item): (&String, &Value)| {
            let path = path.clone();
            let item = item.as_object().expect("methods").clone();
            item.into_iter().map(move |(method, operation)| (path.clone(), method, operation))
        };
        paths.iter().flat_map(methods).collect()
    }

    #[test]
    fn the_document_that_is_checked_in_is_the_one_that_is_served() {
        let (served, kept) = (served(), std::fs::read_to_string(SNAPSHOT).unwrap_or_default());
        if std::env::var_os("STAGGER_WRITE_OPENAPI").is_some() {
            std::fs::write(SNAPSHOT, served).expect("writable");
            return;
        }
        let at = served.lines().zip(kept.lines()).position(|(now, then)| now != then);
        assert!(
            served == kept,
            "openapi.json is not what is served (line {at:?}). If that is meant, renew it: \
             STAGGER_WRITE_OPENAPI=1 cargo test -p stagger-dispatch --lib openapi",
        );
    }

    #[test]
    fn every_reference_leads_somewhere() {
        fn check(value: &Value, document: &Value) {
            if let Some(Value::String(target)) = value.get("$ref") {
                let pointer = target.strip_prefix('#').expect("within the document");
                assert!(document.pointer(pointer).is_some(), "{target} is missing");
            }
            match value {
                Value::Object(members) => members.values().for_each(|it| check(it, document)),
                Value::Array(items) => items.iter().for_each(|it| check(it, document)),
                _ => {}
            }
        }
        let document = parsed();
        check(&document, &document);
    }

    #[test]
    fn every_operation_says_what_it_does_and_what_goes_wrong() {
        let document = parsed();
        let mut ids = std::collections::BTreeSet::new();
        for (path, method, operation) in operations(&document) {
            let name = format!("{method} {path}");
            assert!(operation["summary"].is_string(), "{name}");
            assert!(ids.insert(operation["operationId"].to_string()), "{name} has another's id");
            let responses = operation["responses"].as_object().expect("responses");
            assert!(responses.keys().any(|status| status.starts_with('2')), "{name}");
            let keyless =
                operation["security"] == json!([{}]) || operation["security"] == json!([]);
            assert_eq!(responses.contains_key("401"), !keyless, "{name}");
            let method =
                Method::from_bytes(method.to_ascii_uppercase().as_bytes()).expect("a method");
            let rule = rule(&method, &path);
            assert_eq!(rule.is_some(), !keyless, "{name}: the table of permissions");
            let for_all = operation["security"].is_null();
            assert!(rule.is_none_or(|rule| rule.applications == for_all), "{name}");
        }
    }
}
