//! Secrets of an endpoint in JSON, and its headers, whose values may be secret.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use stagger::{Instant, Span};
use stagger_scheduler::model::{Endpoint, HeaderTemplate, Secret, SecretKind};
use stagger_sender::{generate_secret, key_id, parse_secret, public_key_text, secret_text};
use stagger_text::Timestamp;
use url::{Position, Url};
use utoipa::ToSchema;

use super::auth;
use super::schema::{SecretText, SpanText, TimestampText};
use crate::Error;
use crate::random::no_randomness;

/// The time for which an old secret signs beside a new one by default: a day, so that a receiver
/// can be changed within working hours anywhere.
const DEFAULT_OVERLAP: Span = Span::from_secs(24 * 60 * 60);
/// The longest overlap: a secret that leaked should not sign for longer.
const MAX_OVERLAP: Span = Span::from_secs(30 * 24 * 60 * 60);
/// Most secrets of an endpoint: each adds a signature of 50 to 100 bytes to every attempt.
const MAX_SECRETS: usize = 10;

/// A secret to sign with from now on.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct NewSecret {
    /// Your own secret; generated if left out.
    #[schema(value_type = Option<SecretText>)]
    secret: Option<String>,
    /// The time for which the old secrets still sign, up to `30d`: default `24h`.
    #[schema(value_type = Option<SpanText>)]
    overlap: Option<Span>,
}

impl NewSecret {
    /// All secrets from `now` on, the new one first.
    ///
    /// # Errors
    /// The secret or the overlap is out of its bounds; there are too many secrets.
    pub(in super::super) fn rotate(
        self,
        old: &[Secret],
        now: Instant,
    ) -> Result<Vec<Secret>, Error> {
        let overlap = self.overlap.unwrap_or(DEFAULT_OVERLAP);
        if overlap > MAX_OVERLAP {
            return Err(Error::invalid("overlap", overlap, "from 0s to 30d"));
        }
        let new = parse_or_make(self.secret.as_deref())?;
        let end = now + overlap;
        let still = |old: &&Secret| old.signs_at(now) && old.key != new.key;
        let kept: Vec<Secret> = old
            .iter()
            .filter(still)
            .map(|old| Secret {
                until: Some(old.until.map_or(end, |until| until.min(end))),
                ..old.clone()
            })
            .filter(|old| old.until > Some(now))
            .collect();
        if kept.len() >= MAX_SECRETS {
            return Err(Error::conflict(format!(
                "{MAX_SECRETS} secrets sign already; wait for one to end, or give an overlap of 0s"
            )));
        }
        Ok([vec![new], kept].concat())
    }
}

/// A secret of the owner's own, or a new one.
///
/// # Errors
/// The text is no secret.
pub(super) fn parse_or_make(text: Option<&str>) -> Result<Secret, Error> {
    match text {
        Some(text) => Ok(parse_secret(text)?),
        None => generate_secret(SecretKind::Symmetric).map_err(no_randomness),
    }
}

/// A secret that signs.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Secret)]
pub(in super::super) struct SecretView {
    #[schema(value_type = SecretText)]
    secret: String,
    /// The public key with which receivers verify an ed25519 signature; an HMAC is verified with
    /// the secret itself.
    public_key: Option<String>,
    /// Its name in HTTP Message Signatures (`keyid`).
    key_id: Option<String>,
    /// The time at which it stops signing, if it was replaced.
    #[schema(value_type = Option<TimestampText>)]
    until: Option<Timestamp>,
}

impl From<&Secret> for SecretView {
    fn from(secret: &Secret) -> Self {
        Self {
            secret: secret_text(secret),
            public_key: public_key_text(secret),
            key_id: key_id(secret),
            until: secret.until.map(Timestamp),
        }
    }
}

/// All secrets of an endpoint that sign now.
#[derive(Debug, Serialize, ToSchema)]
pub(in super::super) struct Secrets {
    /// The newest first.
    pub(in super::super) secrets: Vec<SecretView>,
}

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
pub(super) fn headers_of(templates: &[HeaderTemplate]) -> Headers {
    let value = |header: &HeaderTemplate| match header.sensitive {
        true => HeaderValue::Marked(Marked { value: header.value.clone(), sensitive: true }),
        false => HeaderValue::Plain(header.value.clone()),
    };
    templates.iter().map(|header| (header.name.clone(), value(header))).collect()
}

/// The `templates` without their secret values.
pub(super) fn shown_headers(templates: &[HeaderTemplate]) -> BTreeMap<String, String> {
    let value = |header: &HeaderTemplate| {
        if header.sensitive { HIDDEN.to_owned() } else { header.value.clone() }
    };
    templates.iter().map(|header| (header.name.clone(), value(header))).collect()
}

/// A merge patch over the settings of `old`, with the names of its headers in lower case, as they are
/// stored. A secret value is not uncovered by a patch that does not give it again, and does not go
/// with the endpoint to another origin.
///
/// # Errors
/// A header is named twice; a secret value is needed and not given.
pub(in super::super) fn header_patch<'p>(
    patch: &'p [u8],
    old: &Endpoint,
) -> Result<Cow<'p, [u8]>, Error> {
    // A patch that is none is refused when it is applied.
    let Ok(Value::Object(mut members)) = serde_json::from_slice(patch) else {
        return Ok(Cow::Borrowed(patch));
    };
    let moves = members.get("url").and_then(Value::as_str).is_some_and(|url| {
        // Up to the port, because the schemes of brokers have no origin.
        let origin = |url: &str| Some(Url::parse(url).ok()?[..Position::AfterPort].to_owned());
        origin(url) != origin(&old.url)
    });
    let resets = members.get("headers").is_some_and(Value::is_null);
    let mut none = Map::new();
    let headers = match members.get_mut("headers") {
        Some(Value::Object(headers)) => headers,
        _ => &mut none,
    };
    for (name, value) in std::mem::take(headers) {
        if headers.insert(name.to_ascii_lowercase(), value).is_some() {
            return Err(Error::invalid("headers", name, "named once, whatever the case"));
        }
    }
    for secret in old.headers.iter().filter(|header| header.sensitive && !resets) {
        keep_secret(headers.get_mut(&secret.name), &secret.name, moves)?;
    }
    auth::complete_patch(&mut members, old, moves)?;
    Ok(Cow::Owned(serde_json::to_vec(&members).unwrap_or_default()))
}

/// Checks the patch of a secret header, and leaves a new value secret unless it says otherwise.
fn keep_secret(patch: Option<&mut Value>, name: &str, moves: bool) -> Result<(), Error> {
    let given = match patch {
        Some(Value::Null) => true,
        Some(value @ Value::String(_)) => {
            *value = json!({ "value": value.take(), "sensitive": true });
            true
        }
        Some(Value::Object(marked)) => {
            let (has_value, uncovers) =
                (marked.contains_key("value"), marked.get("sensitive").is_some());
            if uncovers && !has_value && marked.get("sensitive") != Some(&Value::Bool(true)) {
                let bound = "given with its value again, because its value is secret";
                return Err(Error::invalid("headers", name, bound));
            }
            has_value
        }
        _ => false,
    };
    if moves && !given {
        let bound = "given again or removed (null), because the url moves to another origin and the \
                     value is secret";
        return Err(Error::invalid("headers", name, bound));
    }
    Ok(())
}

/// The templates, not checked yet.
///
/// # Errors
/// There are too many headers, two have the same name, or a value is the placeholder of a hidden
/// one.
pub(super) fn header_templates(headers: Headers) -> Result<Vec<HeaderTemplate>, Error> {
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
