//! The data of the dispatcher: applications, endpoints, messages, deliveries and attempts.
//!
//! An [`Application`] (a tenant) has [`Endpoint`]s and sends [`Message`]s. A message fans out into one
//! [`Delivery`] for each endpoint that wants its type; each delivery is attempted until it is delivered
//! or dead, and every [`DeliveryAttempt`] is kept. Instants are nanoseconds since the Unix epoch, UTC.

mod answer;
mod application;
mod attempt;
mod delivery;
mod endpoint;
mod endpoint_state;
mod event_type;
mod header;
mod id;
mod id_generator;
mod key;
mod message;
mod pace;
mod secret;
mod statuses;

pub use answer::{AttemptAnswer, AttemptFailure};
pub use application::{Application, KeyHash};
pub use attempt::{DeliveryAttempt, REPLY_LIMIT};
pub(crate) use delivery::DeliveryId;
pub use delivery::{Delivery, DeliveryEnding, DeliveryState};
pub use endpoint::{Endpoint, EventFilter};
pub use endpoint_state::{Disabled, EndpointState, Opened};
pub use event_type::EventType;
pub use header::HeaderTemplate;
pub(crate) use header::MAX_HEADERS;
pub use id::{ApplicationId, EndpointId, MessageId};
pub use id_generator::IdGenerator;
pub use key::IdempotencyKey;
pub use message::{Message, NewMessage};
pub use pace::{Pace, Recovery};
pub(crate) use secret::{BASE64, PUBLIC};
pub use secret::{Secret, SecretKind};
pub use statuses::Statuses;
