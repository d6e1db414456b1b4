//! The schemas of values that are written as text.

use std::borrow::Cow;

use serde_json::{Value, json};
use stagger_scheduler::model::{AttemptFailure, DeliveryEnding, DeliveryState, Disabled};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// A text of a certain form: a type for the document only.
macro_rules! text {
    ($(#[$doc:meta])* $name:ident as $shown:literal, $pattern:literal, $example:literal, $says:literal) => {
        $(#[$doc])*
        pub(in super::super) struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                ObjectBuilder::new()
                    .schema_type(Type::String)
                    .pattern(Some($pattern))
                    .examples([json!($example)])
                    .description(Some($says))
                    .into()
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                $shown.into()
            }
        }
    };
}

text!(
    /// The id of an application.
    ApplicationIdText as "ApplicationId", "^app_[0-9a-f]{32}$",
    "app_0190163d8694739b84f6b0d3ccc3a5a1", "The name of an application."
);
text!(
    /// The id of an endpoint.
    EndpointIdText as "EndpointId", "^ep_[0-9a-f]{32}$",
    "ep_0190163d8694739b84f6b0d3ccc3a5a1", "The name of an endpoint."
);
text!(
    /// The id of a message.
    MessageIdText as "MessageId", "^msg_[0-9a-f]{32}$",
    "msg_0190163d8694739b84f6b0d3ccc3a5a1",
    "The name of a message: the `webhook-id` that receivers see, the same on every attempt."
);
text!(
    /// The id of a link to a portal.
    PortalLinkIdText as "PortalLinkId", "^link_[0-9a-f]{32}$",
    "link_0190163d8694739b84f6b0d3ccc3a5a1", "The name of a link to a portal."
);
text!(
    /// An event type.
    EventTypeText as "EventType", "^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*$", "invoice.paid",
    "What kind of thing happened: words joined by full stops, at most 128 characters in all. Those \
     under `stagger.` are the dispatcher's own."
);
text!(
    /// A span.
    SpanText as "Span", "^([0-9]+(\\.[0-9]+)?(d|h|m|s|ms|us|ns) ?)+$|^0$", "30s",
    "A length of time: numbers with their units, the longest first, such as `250ms`, `1.5s` or \
     `1h30m`."
);
text!(
    /// An idempotency key.
    IdempotencyKeyText as "IdempotencyKey", "^[ -~]{1,255}$", "order-17-paid",
    "The sender's own name for a message: 1 to 255 visible ASCII characters. As long as the message \
     is kept, the same key answers with the same message, and nothing is sent twice."
);
text!(
    /// A secret.
    SecretText as "SecretText", "^(whsec_|whsk_)[A-Za-z0-9+/]+={0,2}$",
    "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
    "A signing secret as Standard Webhooks writes it: `whsec_` and the base64 of 16 to 64 bytes for \
     HMAC-SHA256 (`v1`), `whsk_` and that of 32 bytes for ed25519 (`v1a`)."
);

/// An address.
pub(super) struct UrlText;

impl PartialSchema for UrlText {
    fn schema() -> RefOr<Schema> {
        read(json!({
            "type": "string",
            "format": "uri",
            "minLength": 1,
            "maxLength": 2_000,
            "examples": ["https://example.com/webhooks"],
        }))
    }
}

impl ToSchema for UrlText {
    fn name() -> Cow<'static, str> {
        "Url".into()
    }
}

/// An instant.
pub(in super::super) struct TimestampText;

impl PartialSchema for TimestampText {
    fn schema() -> RefOr<Schema> {
        let schema = json!({
            "type": "string",
            "format": "date-time",
            "description": "An instant as in RFC 3339; replies have UTC and milliseconds.",
            "examples": ["2026-11-28T06:17:37.123Z"],
        });
        read(schema)
    }
}

impl ToSchema for TimestampText {
    fn name() -> Cow<'static, str> {
        "Timestamp".into()
    }
}

/// Any JSON at all.
pub(super) struct AnyJson;

impl PartialSchema for AnyJson {
    fn schema() -> RefOr<Schema> {
        read(json!({}))
    }
}

impl ToSchema for AnyJson {
    fn name() -> Cow<'static, str> {
        "Payload".into()
    }

    fn schemas(_: &mut Vec<(String, RefOr<Schema>)>) {}
}

/// One of several names.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident as $shown:literal, $says:literal, $all:expr) => {
        $(#[$doc])*
        pub(in super::super) struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                ObjectBuilder::new()
                    .schema_type(Type::String)
                    .enum_values(Some($all))
                    .description(Some($says))
                    .into()
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                $shown.into()
            }
        }
    };
}

words!(
    /// A state's name.
    StateName as "DeliveryState",
    "Where a delivery stands. `pending` and `waiting` are open: attempts are still to come.",
    DeliveryState::ALL.map(DeliveryState::name)
);
words!(
    /// An ending's name.
    EndingName as "Ending", "Why a delivery ended without success.", DeliveryEnding::ALL.map(DeliveryEnding::name)
);
words!(
    /// A failure's name.
    FailureName as "Failure", "Why there was no reply.", AttemptFailure::ALL.map(AttemptFailure::name)
);
words!(
    /// A reason's name.
    DisabledName as "DisabledReason",
    "The reason for which an endpoint is disabled: by an operator, by a 410, or by failing for too long.",
    Disabled::ALL.map(Disabled::name)
);
words!(
    /// A verdict's name.
    VerdictName as "Verdict", "What an attempt's outcome means for what happens next.",
    ["ok", "transient", "throttled", "unprocessed", "permanent", "cancelled"]
);

/// The schema of a merge patch over settings of this schema: nothing is required, and settings that
/// cannot change are left out.
pub(in super::super) fn patch_of<T: PartialSchema>(without: &[&str]) -> RefOr<Schema> {
    let mut schema = serde_json::to_value(T::schema()).unwrap_or_default();
    if let Value::Object(schema) = &mut schema {
        schema.remove("required");
        schema.remove("example");
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            without.iter().for_each(|name| drop(properties.remove(*name)));
        }
    }
    read(schema)
}

/// A schema that is written down as JSON.
pub(super) fn read(schema: Value) -> RefOr<Schema> {
    serde_json::from_value(schema).unwrap_or_default()
}
