//! The data of the dispatcher: applications, endpoints, messages, deliveries and attempts.
//!
//! An [`Application`] (a tenant) has [`Endpoint`]s and sends [`Message`]s. A message fans out into one
//! [`Delivery`] for each endpoint that wants its type; each delivery is attempted until it is delivered
//! or dead, and every [`DeliveryAttempt`] is kept. Instants are nanoseconds since the Unix epoch, UTC.

mod application;
mod endpoint;
mod event_type;
mod header;
mod id_generator;
mod key;
mod message;
mod secret;

pub use application::{Application, KeyHash};
pub use endpoint::{Endpoint, EventFilter};
pub use event_type::EventType;
pub use header::HeaderTemplate;
pub(crate) use header::MAX_HEADERS;
pub use id_generator::IdGenerator;
pub use key::IdempotencyKey;
pub use message::{Message, NewMessage};
pub(crate) use secret::{BASE64, PUBLIC};
pub use secret::{Secret, SecretKind};
pub use stagger_scheduler::model::{
    ApplicationId, AttemptAnswer, AttemptFailure, Delivery, DeliveryAttempt, DeliveryEnding,
    DeliveryId, DeliveryState, Disabled, EndpointId, EndpointState, MessageId, Opened, Pace,
    REPLY_LIMIT, Recovery, Statuses,
};
