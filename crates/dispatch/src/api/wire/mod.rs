//! The JSON of requests and replies, apart from the schemas of single values.

mod application;
mod auth;
mod delivery;
mod destination;
mod event_type;
mod policy;
mod schema;
mod secret;
mod settings;
mod span;
mod status;

pub(super) use application::{
    ApplicationCreated, ApplicationSettings, ApplicationView, KeyCreated, PageOf,
};
pub(super) use delivery::{
    AcceptedBatch, AcceptedMessage, AttemptView, Attempts, Deliveries, DeliveryView, MessageView,
    MissingFilter, NewBatch, NewMessage, ReplayFilter, Replayed, RetryFilter, RetryReply, TestSent,
};
pub(super) use event_type::{EventTypeChange, EventTypeList, EventTypeView, NewEventType};
pub(super) use schema::{
    AnyJson, ApiKeyIdText, ApplicationIdText, ApplicationPathText, ChannelNameText,
    ContentFilterJson, EndpointIdText, EndpointPathText, EventTypeText, MessageIdText,
    PortalLinkIdText, ScopeName, SpanText, StateName, TimestampText, patch_of,
};
pub(super) use secret::{NewSecret, SecretView, Secrets, header_patch};
pub(super) use settings::{EndpointContext, EndpointCreated, EndpointSettings, EndpointView};
pub(crate) use span::text as span_text;
