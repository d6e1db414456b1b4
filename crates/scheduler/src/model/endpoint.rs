//! An endpoint: where an application's messages go, how, and its learned state.

use std::fmt;

use serde::{Deserialize, Serialize};
use stagger_core::{Instant, Policy, Span};

use super::{
    ApplicationId, AttemptFailure, ChannelName, ContentFilter, EndpointAuth, EndpointDestination,
    EndpointId, EventFormat, EventPattern, EventType, Handshake, Labels, MessageId, Pace,
    SignatureScheme, Statuses, nanos,
};

/// The longest timeout that Standard Webhooks 1.0.0 advises: no caller waits for it.
const DEFAULT_TIMEOUT: Span = Span::from_secs(30);
/// A weekend and the working days around it.
const DEFAULT_DISABLE_AFTER: Span = Span::from_secs(5 * 24 * 60 * 60);

/// The settings of an endpoint. Its learned state is its [`EndpointState`](super::EndpointState).
///
/// Serialized without secrets, headers and credentials: a store adds them, all others must not show them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Endpoint {
    /// Its name in the API.
    pub id: EndpointId,
    /// The application that owns it.
    pub application: ApplicationId,
    /// The URL of requests, as written: checked by the egress guard when saved and at each attempt.
    pub url: String,
    /// The broker at `url` to which messages are published: none for a receiver of HTTP requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<EndpointDestination>,
    /// A description for people.
    #[serde(default)]
    pub description: String,
    /// The events that it receives.
    #[serde(default)]
    pub events: EventFilter,
    /// The channels that it receives: all if there are none, else only messages that name one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<ChannelName>,
    /// The filter that payloads must pass, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<ContentFilter>,
    /// The retry policy of its deliveries, and the settings of its breaker.
    pub policy: Policy,
    /// The longest time that one attempt may take, from resolving the name to the last byte read.
    pub timeout: Span,
    /// Its rate limits.
    pub pace: Pace,
    /// Whether messages are sent in the order in which they were accepted: one at a time, and a
    /// failed one holds up those after it.
    #[serde(default)]
    pub ordered: bool,
    /// Statuses that end a delivery immediately.
    #[serde(default)]
    pub permanent: Statuses,
    /// The time for which all attempts must fail before it is disabled.
    pub disable_after: Span,
    /// The caller's own id for it, and metadata.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// The format of its attempts.
    #[serde(default, skip_serializing_if = "EventFormat::is_default")]
    pub format: EventFormat,
    /// The signatures of its attempts.
    #[serde(default, skip_serializing_if = "SignatureScheme::is_default")]
    pub signatures: SignatureScheme,
    /// Whether it is asked for its consent before the first attempt (`CloudEvents` web hooks 1.0.2 section 4).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub handshake: bool,
    /// The secrets that sign its attempts: at least one.
    #[serde(skip)]
    pub secrets: Vec<Secret>,
    /// The headers of its attempts.
    #[serde(skip)]
    pub headers: Vec<HeaderTemplate>,
    /// The credentials of its attempts, besides signatures and headers.
    #[serde(skip)]
    pub auth: Option<EndpointAuth>,
    /// The time at which it was created.
    #[serde(with = "nanos")]
    pub created_at: Instant,
    /// The time at which its settings were last changed.
    #[serde(with = "nanos")]
    pub updated_at: Instant,
}

impl Endpoint {
    /// An endpoint at `url` that receives all events, with the default of every setting, and without
    /// a secret.
    #[must_use]
    pub fn new(
        id: EndpointId,
        application: ApplicationId,
        url: impl Into<String>,
        now: Instant,
    ) -> Self {
        Self {
            id,
            application,
            url: url.into(),
            destination: None,
            description: String::new(),
            events: EventFilter::All,
            channels: Vec::new(),
            filter: None,
            policy: Policy::webhook(),
            timeout: DEFAULT_TIMEOUT,
            pace: Pace::default(),
            ordered: false,
            permanent: Statuses::default(),
            disable_after: DEFAULT_DISABLE_AFTER,
            labels: Labels::default(),
            format: EventFormat::default(),
            signatures: SignatureScheme::default(),
            handshake: false,
            secrets: Vec::new(),
            headers: Vec::new(),
            auth: None,
            created_at: now,
            updated_at: now,
        }
    }

    /// Whether it receives messages of this type in these channels, if its filter passes their payload.
    #[must_use]
    pub fn subscribes_to(&self, event_type: &EventType, channels: &[ChannelName]) -> bool {
        self.listens_on(event_type, channels) && self.events.wants(event_type)
    }

    /// Whether messages of this type in these channels are among those of its channels. Operational messages
    /// are in no channel, and reach every endpoint that names their type.
    #[must_use]
    pub fn listens_on(&self, event_type: &EventType, channels: &[ChannelName]) -> bool {
        self.channels.is_empty()
            || event_type.is_operational()
            || self.channels.iter().any(|own| channels.contains(own))
    }
}

/// The messages that an endpoint receives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventFilter {
    /// All but the operational ones.
    #[default]
    All,
    /// Messages whose types match one of these patterns.
    Only(Vec<EventPattern>),
}

impl EventFilter {
    /// Whether messages of this type pass.
    #[must_use]
    pub fn wants(&self, event_type: &EventType) -> bool {
        match self {
            Self::All => !event_type.is_operational(),
            Self::Only(patterns) => patterns.iter().any(|it| it.matches(event_type)),
        }
    }
}

/// A header of every attempt: a name, and a value in which `{message.id}`, `{event.type}` and
/// `{attempt.number}` are filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderTemplate {
    /// The name, in lower case.
    pub name: String,
    /// The value before filling in.
    pub value: String,
    /// Whether the value must not be shown: `authorization`, and headers that their owner marks.
    pub sensitive: bool,
}

/// A key to sign with.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// The kind of signature it makes.
    pub kind: SecretKind,
    /// The bytes of the key: 16 to 64 for HMAC-SHA256, the 32 of the seed for ed25519.
    pub key: Vec<u8>,
    /// The time at which it stops signing, if it was replaced.
    pub until: Option<Instant>,
}

/// The signature schemes of Standard Webhooks 1.0.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SecretKind {
    /// `v1`: HMAC-SHA256.
    Symmetric,
    /// `v1a`: ed25519.
    Asymmetric,
}

impl Secret {
    /// Whether it still signs.
    #[must_use]
    pub fn signs_at(&self, now: Instant) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret")
            .field("kind", &self.kind)
            .field("key", &"..")
            .field("until", &self.until)
            .finish()
    }
}

/// The state of an endpoint besides its settings; written whenever it changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EndpointState {
    /// Why it is not attempted at all, if so.
    pub disabled: Option<Disabled>,
    /// Since when all its attempts have failed.
    #[serde(with = "nanos::option")]
    pub failing_since: Option<Instant>,
    /// Until when it asked to be left alone.
    #[serde(with = "nanos::option")]
    pub paused_until: Option<Instant>,
    /// Whether its breaker is open.
    pub open: Option<Opened>,
    /// Since when its backlog has been leaving slowly.
    #[serde(with = "nanos::option")]
    pub recovering_since: Option<Instant>,
    /// Its last failed attempt, if it has had one.
    pub last_failure: Option<LastFailure>,
    /// Since when the operator of the node knows that it fails: until it is told of the recovery.
    #[serde(with = "nanos::option", skip_serializing_if = "Option::is_none")]
    pub alerted_since: Option<Instant>,
    /// The last handshake with its present URL, if there was one.
    pub handshake: Option<Handshake>,
}

/// The last failed attempt to an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastFailure {
    /// The message that it carried: its delivery's attempts have the reply.
    pub message: MessageId,
    /// The time at which it was settled.
    #[serde(with = "nanos")]
    pub at: Instant,
    /// The status, if there was a reply.
    pub status: Option<u16>,
    /// The kind of failure, if no reply came.
    pub failure: Option<AttemptFailure>,
}

/// An open breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    /// The time at which the next probe may be sent.
    #[serde(with = "nanos")]
    pub until: Instant,
    /// The open time before jitter: the next one is longer.
    pub open_time: Span,
}

/// Why an endpoint is not attempted. Its deliveries wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Disabled {
    /// By an operator.
    ByHand,
    /// It answered 410.
    Gone,
    /// It had failed for too long.
    Failing,
}

impl Disabled {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::ByHand, Self::Gone, Self::Failing];

    /// Its name in the API.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ByHand => "by_hand",
            Self::Gone => "gone",
            Self::Failing => "failing",
        }
    }

    /// The reason of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_key_of_a_secret() {
        let secret = Secret { kind: SecretKind::Symmetric, key: vec![1, 2, 3], until: None };
        let text = format!("{secret:?}");
        assert!(text.contains("\"..\"") && !text.contains("[1, 2"));
    }
}
