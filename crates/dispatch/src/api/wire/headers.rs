//! The headers of an endpoint in JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Error;
use crate::model::HeaderTemplate;

/// Most headers of an endpoint: as many as a person sets, far fewer than a server refuses.
const MAX_HEADERS: usize = 32;
/// The text shown in place of a secret value.
const HIDDEN: &str = "********";

/// Headers by name.
pub(super) type Headers = BTreeMap<String, HeaderValue>;

/// The value of a header; `{message.id}`, `{event.type}` and `{attempt.number}` are filled in.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(untagged, expecting = "a text, or an object with value and sensitive")]
pub(super) enum HeaderValue {
    /// The value.
    Plain(String),
    /// The value, and whether it must never be shown again. `authorization` never is.
    Marked(Marked),
}

/// A value that may have to be hidden.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = MarkedHeaderValue)]
pub(super) struct Marked {
    value: String,
    #[serde(default)]
    sensitive: bool,
}

/// The headers from which `templates` were built.
pub(super) fn of(templates: &[HeaderTemplate]) -> Headers {
    let value = |header: &HeaderTemplate| match header.sensitive {
        true => HeaderValue::Marked(Marked { value: header.value.clone(), sensitive: true }),
        false => HeaderValue::Plain(header.value.clone()),
    };
    templates.iter().map(|header| (header.name.clone(), value(header))).collect()
}

/// The `templates` without their secret values.
pub(super) fn shown(templates: &[HeaderTemplate]) -> BTreeMap<String, String> {
    let value = |header: &HeaderTemplate| {
        if header.sensitive { HIDDEN.to_owned() } else { header.value.clone() }
    };
    templates.iter().map(|header| (header.name.clone(), value(header))).collect()
}

/// The templates, not checked yet.
///
/// # Errors
/// There are too many headers, two have the same name, or a value is the placeholder of a hidden
/// one.
pub(super) fn templates(headers: Headers) -> Result<Vec<HeaderTemplate>, Error> {
    if headers.len() > MAX_HEADERS {
        return Err(Error::invalid("headers", headers.len(), "32 headers at most"));
    }
    let mut templates: BTreeMap<String, HeaderTemplate> = BTreeMap::new();
    for (name, value) in headers {
        let name = name.to_ascii_lowercase();
        let (value, marked) = match value {
            HeaderValue::Plain(value) => (value, false),
            HeaderValue::Marked(Marked { value, sensitive }) => (value, sensitive),
        };
        if value == HIDDEN {
            return Err(Error::invalid("headers", name, "given with its real value, or left out"));
        }
        let sensitive = marked || name == "authorization";
        let template = HeaderTemplate { name: name.clone(), value, sensitive };
        if templates.insert(name.clone(), template).is_some() {
            return Err(Error::invalid("headers", name, "named once, whatever the case"));
        }
    }
    Ok(templates.into_values().collect())
}
