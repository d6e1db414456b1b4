//! The schemas of values that are written as text.

use std::borrow::Cow;

use serde_json::{Value, json};
use stagger_scheduler::model::{
    AttemptFailure, DeliveryEnding, DeliveryState, Disabled, EventFormat, EventValidation,
    SignatureScheme,
};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::access::Scope;

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
    /// The id of an application, or the one that a caller gave it.
    ApplicationPathText as "ApplicationPathId", "^(app_[0-9a-f]{32}|uid:[A-Za-z0-9_.:@-]{1,128})$",
    "app_0190163d8694739b84f6b0d3ccc3a5a1", "The name of an application, or `uid:` and the id that you gave it."
);
text!(
    /// The id of an endpoint, or the one that a caller gave it.
    EndpointPathText as "EndpointPathId", "^(ep_[0-9a-f]{32}|uid:[A-Za-z0-9_.:@-]{1,128})$",
    "ep_0190163d8694739b84f6b0d3ccc3a5a1", "The name of an endpoint, or `uid:` and the id that you gave it."
);
text!(
    /// The id of a message.
    MessageIdText as "MessageId", "^msg_[0-9a-f]{32}$",
    "msg_0190163d8694739b84f6b0d3ccc3a5a1",
    "The name of a message: the `webhook-id` that receivers see, the same on every attempt."
);
text!(
    /// An id of the caller's own.
    ExternalIdText as "Uid", "^[A-Za-z0-9_.:@-]{1,128}$", "customer-17",
    "The caller's own id for an application or an endpoint. Where a path has their id, it may have `uid:` and this one."
);
text!(
    /// The id of a link to a portal.
    PortalLinkIdText as "PortalLinkId", "^link_[0-9a-f]{32}$",
    "link_0190163d8694739b84f6b0d3ccc3a5a1", "The name of a link to a portal."
);
text!(
    /// The id of an API key.
    ApiKeyIdText as "ApiKeyId", "^key_[0-9a-f]{32}$",
    "key_0190163d8694739b84f6b0d3ccc3a5a1", "The name of an API key, which is no secret."
);
text!(
    /// An event type.
    EventTypeText as "EventType", "^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*$", "invoice.paid",
    "What kind of thing happened: words joined by full stops, at most 128 characters in all. Those \
     under `stagger.` are the dispatcher's own."
);
text!(
    /// A pattern of event types.
    EventPatternText as "EventPattern", "^([A-Za-z0-9_-]+|\\*)(\\.([A-Za-z0-9_-]+|\\*))*$", "invoice.*",
    "An event type, or a pattern in which the word `*` stands for one or more whole words: `invoice.*`, \
     `*.failed`. At most 128 characters and 4 wildcards. The dispatcher's own types are matched only by \
     patterns that begin with `stagger.`."
);
text!(
    /// A channel.
    ChannelNameText as "Channel", "^[A-Za-z0-9_.:-]{1,128}$", "project:17",
    "A channel of messages, such as a customer or a project."
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
    /// A `traceparent`.
    TraceParentText as "TraceParent", "^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "A trace, and the span of its producer, as W3C Trace Context writes them."
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

/// A filter on payloads.
pub(in super::super) struct ContentFilterJson;

impl PartialSchema for ContentFilterJson {
    fn schema() -> RefOr<Schema> {
        let rules = json!({
            "type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/ContentFilter"}
        });
        let scalar = json!({"type": ["null", "boolean", "number", "string"], "maxLength": 256});
        let ordered = json!({"type": ["number", "string"], "maxLength": 256});
        let comparisons = json!({
            "path": {
                "type": "string", "maxLength": 256, "pattern": "^(/([^~]|~[01])*)?$",
                "description": "A JSON pointer (RFC 6901) of at most 16 steps.",
            },
            "eq": scalar, "ne": scalar, "lt": ordered, "le": ordered, "gt": ordered, "ge": ordered,
            "in": {"type": "array", "minItems": 1, "maxItems": 50, "items": scalar},
            "exists": {"type": "boolean"},
            "prefix": {"type": "string", "maxLength": 256},
        });
        let only = |name: &str, schema: Value| {
            json!({
                "type": "object", "required": [name], "properties": {name: schema},
                "additionalProperties": false,
            })
        };
        let rule = json!({"$ref": "#/components/schemas/ContentFilter"});
        read(json!({
            "description": "A filter on the payload: `all`, `any` or `not` of rules, or a comparison of the \
                field at `path`. At most 32 comparisons, nested 8 deep, 8 KiB in all. A payload that is not \
                JSON passes no filter.",
            "examples": [{"path": "/amount", "ge": 100}],
            "oneOf": [
                only("all", rules.clone()),
                only("any", rules),
                only("not", rule),
                {
                    "type": "object", "required": ["path"], "minProperties": 2, "properties": comparisons,
                    "additionalProperties": false,
                },
            ],
        }))
    }
}

impl ToSchema for ContentFilterJson {
    fn name() -> Cow<'static, str> {
        "ContentFilter".into()
    }
}

/// The JSON Schema of an event type.
pub(super) struct EventSchemaJson;

impl PartialSchema for EventSchemaJson {
    fn schema() -> RefOr<Schema> {
        read(json!({
            "type": ["object", "boolean"],
            "description": "A JSON Schema of draft 2020-12, or of draft-07 where `$schema` names that. References lead to \
                places within it only; regular expressions have neither look-around nor back-references; `format` refuses \
                nothing. At most 64 KiB, nested 32 deep.",
            "examples": [{"type": "object", "required": ["amount"], "properties": {"amount": {"type": "integer"}}}],
        }))
    }
}

impl ToSchema for EventSchemaJson {
    fn name() -> Cow<'static, str> {
        "EventSchema".into()
    }
}

/// Any JSON at all.
pub(in super::super) struct AnyJson;

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
    /// A validation's name.
    EventValidationName as "EventValidation",
    "The checks of a message against the catalogue of event types: none; its type is known; its payload matches the \
     schema of its type, too.",
    EventValidation::ALL.map(EventValidation::name)
);
words!(
    /// A scope's name.
    ScopeName as "Scope", "A permission of an API key.", Scope::ALL.map(Scope::name)
);
words!(
    /// A verdict's name.
    VerdictName as "Verdict", "What an attempt's outcome means for what happens next.",
    ["ok", "transient", "throttled", "unprocessed", "permanent", "cancelled"]
);

words!(
    /// A format's name.
    FormatName as "Format",
    "The format of an endpoint's attempts: the payload as it came, or a CloudEvents event with its attributes in headers \
     (binary) or in one JSON object with the payload (structured).",
    EventFormat::ALL.map(EventFormat::name)
);
words!(
    /// A signature scheme's name.
    SignaturesName as "Signatures",
    "The signatures of an endpoint's attempts: those of Standard Webhooks, HTTP Message Signatures (RFC 9421), or both.",
    SignatureScheme::ALL.map(SignatureScheme::name)
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
