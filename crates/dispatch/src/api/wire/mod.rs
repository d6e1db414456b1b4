//! The JSON of requests and replies, apart from the schemas of single values.

mod application;
mod attempt;
mod delivery;
mod endpoint;
mod headers;
mod message;
mod page;
mod policy;
mod replay;
mod schema;
mod secret;
mod settings;
mod status;

pub(super) use application::{
    ApplicationCreated, ApplicationSettings, ApplicationView, KeyCreated,
};
pub(super) use attempt::{AttemptView, Attempts};
pub(super) use delivery::{Deliveries, DeliveryView};
pub(super) use endpoint::{EndpointCreated, EndpointView};
pub(super) use message::{
    AcceptedBatch, AcceptedMessage, MessageView, NewBatch, NewMessage, TestSent,
};
pub(super) use page::PageOf;
pub(super) use replay::{ReplayFilter, Replayed};
pub(super) use schema::{
    ApplicationIdText, EndpointIdText, MessageIdText, StateName, TimestampText, patch_of,
};
pub(super) use secret::{NewSecret, SecretView, Secrets};
pub(super) use settings::{EndpointContext, EndpointSettings};
