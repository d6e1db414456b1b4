//! The data of the dispatcher: applications, endpoints, messages, deliveries and attempts.
//!
//! An [`Application`] (a tenant) has [`Endpoint`]s and sends [`Message`]s. A message fans out into one
//! [`Delivery`] for each endpoint that wants its type; each delivery is attempted until it is delivered
//! or dead, and every [`DeliveryAttempt`] is kept. Instants are nanoseconds since the Unix epoch, UTC.

mod attempt;
mod channel;
mod content_filter;
mod delivery;
mod destination;
mod endpoint;
mod endpoint_auth;
mod event_attributes;
mod event_format;
mod event_schema;
mod event_validation;
mod handshake;
mod id;
mod labels;
mod message;
mod nanos;
mod pace;
mod payload_fields;
mod portal;
mod signature_scheme;
mod subscription;
mod text_form;
mod trace_context;

pub use attempt::{AttemptAnswer, AttemptFailure, DeliveryAttempt, REPLY_LIMIT};
pub use channel::ChannelName;
pub use content_filter::{ContentFilter, FieldResult};
pub use delivery::{Delivery, DeliveryEnding, DeliveryId, DeliveryState};
pub use destination::{
    EndpointDestination, KafkaDestination, KafkaSasl, NatsDestination, PubSubDestination,
    SqsDestination,
};
pub use endpoint::{
    Disabled, Endpoint, EndpointState, EventFilter, HeaderTemplate, LastFailure, Opened, Secret,
    SecretKind,
};
pub use endpoint_auth::{
    AwsIdentity, ClientAuthStyle, ClientIdentity, EndpointAuth, NkeyIdentity, OAuth2Client,
    SecretText,
};
pub use event_attributes::{AttributeValue, EventAttributes};
pub use event_format::EventFormat;
pub use event_schema::{EventSchema, SchemaViolation};
pub use event_validation::EventValidation;
pub use handshake::{Handshake, HandshakeResult};
pub use id::{ApiKeyId, ApplicationId, EndpointId, MessageId, PortalLinkId};
pub use labels::{ExternalId, Labels};
pub use message::{Application, EventType, IdempotencyKey, KeyHash, Message, NewMessage};
pub use pace::{Pace, Recovery, Statuses};
pub use payload_fields::{FieldPaths, PayloadFields};
pub use portal::{ClosedLink, LinkEnd, PortalAccess};
pub use signature_scheme::SignatureScheme;
pub use subscription::EventPattern;
pub use trace_context::TraceContext;
