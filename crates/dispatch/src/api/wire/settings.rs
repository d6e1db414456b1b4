//! An endpoint in JSON: its settings with their bounds, and how it is shown.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use stagger::{Instant, Ratio, Span};
use stagger_scheduler::QueueView;
use stagger_scheduler::model::{
    ApplicationId, ChannelName, ContentFilter, Endpoint, EndpointId, EventFilter, EventPattern,
    ExternalId, Labels, Pace, Recovery, Secret, Statuses,
};
use stagger_sender::{Sender, check_header};
use stagger_text::Timestamp;
use url::Url;
use utoipa::ToSchema;

use super::auth::{AuthSettings, AuthView};
use super::destination::DestinationSettings;
use super::policy::{EndpointPolicy, PolicyText};
use super::schema::{
    ChannelNameText, ContentFilterJson, EndpointIdText, EventPatternText, ExternalIdText,
    FormatName, SecretText, SignaturesName, SpanText, TimestampText,
};
use super::secret;
use super::secret::{HeaderValue, Headers};
use super::span as span_text;
use super::status::Status;
use crate::Error;

/// Longest description, in characters: a paragraph.
const MAX_DESCRIPTION: usize = 1_000;
/// Longest URL, in bytes: the longest request line that common servers accept.
const MAX_URL: usize = 2_000;
/// Most event types of an endpoint; an endpoint that wants more can subscribe to all.
const MAX_EVENTS: usize = 100;
/// Most statuses that an endpoint names: all that are failures.
const MAX_PERMANENT: usize = 300;
/// Attempts in flight: as many connections as one receiver should have to bear.
const CONCURRENCY: RangeInclusive<u32> = 1..=1_000;
/// Attempts a second: more than a node makes.
const RATE: RangeInclusive<u32> = 1..=100_000;
/// Time for an attempt: a second for a receiver far away, and no slot held for more than two minutes.
const TIMEOUT: RangeInclusive<Span> = Span::from_secs(1)..=Span::from_secs(120);
/// Failing time before an endpoint is disabled: longer than a restart, and short enough to be
/// remembered.
const DISABLE_AFTER: RangeInclusive<Span> =
    Span::from_secs(60 * 60)..=Span::from_secs(365 * 24 * 60 * 60);
/// One stretch of a recovery: longer than an attempt is fast, shorter than an outage is long.
const OVER: RangeInclusive<Span> = Span::from_secs(1)..=Span::from_secs(60 * 60);

/// The settings of an endpoint. A setting that is left out or `null` has its default.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"url": "https://example.com/webhooks", "events": ["invoice.paid"]}))]
pub(in super::super) struct EndpointSettings {
    /// The address of requests: `http` or `https`, a public address, port 80, 443 or 8443. With a `destination`: the address
    /// of the broker.
    #[schema(value_type = super::schema::UrlText)]
    url: String,
    destination: Option<DestinationSettings>,
    /// A description for people.
    #[schema(max_length = 1_000)]
    description: Option<String>,
    /// The types that it gets, as patterns; none means all but the dispatcher's own.
    #[schema(value_type = Option<Vec<EventPatternText>>, max_items = 100)]
    events: Option<Vec<EventPattern>>,
    /// The channels that it receives: none means all messages, others mean messages in one of them.
    #[schema(value_type = Option<Vec<ChannelNameText>>, max_items = 10)]
    channels: Option<Vec<ChannelName>>,
    /// The filter that payloads must pass: default none. A patch replaces it as a whole.
    #[schema(value_type = Option<ContentFilterJson>)]
    filter: Option<Value>,
    /// The retry policy of its deliveries, and the settings of its breaker: default ten attempts
    /// over three days. A policy uses these defaults for each setting that it leaves out.
    #[schema(value_type = Option<PolicyText>)]
    policy: Option<EndpointPolicy>,
    /// The longest time that one attempt may take, from `1s` to `120s`: default `30s`.
    #[schema(value_type = Option<SpanText>)]
    timeout: Option<Span>,
    /// The most attempts in flight: default 16.
    #[schema(minimum = 1, maximum = 1_000)]
    concurrency: Option<i64>,
    /// The most attempts a second: default no cap.
    #[schema(minimum = 1, maximum = 100_000)]
    rate: Option<i64>,
    recovery: Option<RecoverySettings>,
    /// Whether messages are sent in the order in which they were accepted. A failed one holds up
    /// those after it. Default `false`.
    ordered: Option<bool>,
    /// Statuses that end a delivery immediately: default none.
    #[schema(value_type = Option<Vec<FailedStatus>>, max_items = 300)]
    permanent: Option<Vec<u16>>,
    /// The time for which all attempts must fail before it is disabled, from `1h` to `365d`:
    /// default `5d`.
    #[schema(value_type = Option<SpanText>)]
    disable_after: Option<Span>,
    /// Additional headers of every attempt, at most 32.
    #[schema(value_type = Option<std::collections::BTreeMap<String, HeaderValue>>)]
    headers: Option<Headers>,
    /// Your own id for it, unique among the endpoints of its application: a path may name it as `uid:ID`. Default none.
    #[schema(value_type = Option<ExternalIdText>)]
    uid: Option<ExternalId>,
    /// Texts by name, for your own use: at most 20, of 512 bytes each.
    metadata: Option<BTreeMap<String, String>>,
    auth: Option<AuthSettings>,
    /// The format in which it gets messages: default `plain`, the payload as it came.
    #[schema(value_type = Option<FormatName>)]
    format: Option<String>,
    /// The signatures of its attempts: default `standard-webhooks`.
    #[schema(value_type = Option<SignaturesName>)]
    signatures: Option<String>,
    /// Whether it is asked for its consent before the first message, by the handshake of CloudEvents web hooks 1.0.2. Until
    /// it consents, nothing is sent, and no attempt is counted. Default `false`.
    handshake: Option<bool>,
    /// The secret that signs its attempts; generated if left out. Replace it later at `secrets`.
    #[schema(value_type = Option<SecretText>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

/// The rate at which a backlog is sent once the endpoint has recovered.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Recovery)]
pub(super) struct RecoverySettings {
    /// The share of `rate` to begin with: default 0.1.
    #[schema(value_type = Option<f64>, minimum = 0.001, maximum = 1)]
    from: Option<Ratio>,
    /// Attempts a second at the end of the first stretch: default 100.
    #[schema(minimum = 1, maximum = 100_000)]
    rate: Option<i64>,
    /// The length of each stretch, from `1s` to `1h`: default `10s`.
    #[schema(value_type = Option<SpanText>)]
    #[serde(serialize_with = "span_text::serialize_some")]
    over: Option<Span>,
}

/// A status that an attempt can fail with.
#[derive(ToSchema)]
#[schema(minimum = 300, maximum = 599)]
#[expect(dead_code, reason = "it stands in the document only")]
struct FailedStatus(u16);

/// The facts that a request body does not contain: the owner of the endpoint and the time of the
/// change.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct EndpointContext<'n> {
    pub(in super::super) id: EndpointId,
    pub(in super::super) application: ApplicationId,
    pub(in super::super) now: Instant,
    pub(in super::super) sender: &'n Sender,
}

impl EndpointSettings {
    /// The settings that `endpoint` has. Its secrets are none of them: they are replaced, not set.
    pub(in super::super) fn of(endpoint: &Endpoint) -> Self {
        let events = match &endpoint.events {
            EventFilter::All => None,
            EventFilter::Only(types) => Some(types.clone()),
        };
        Self {
            url: endpoint.url.clone(),
            destination: endpoint.destination.as_ref().map(DestinationSettings::of),
            description: Some(endpoint.description.clone()),
            events,
            channels: Some(endpoint.channels.clone()),
            filter: endpoint.filter.as_ref().map(ContentFilter::to_json),
            policy: Some(EndpointPolicy(endpoint.policy)),
            timeout: Some(endpoint.timeout),
            concurrency: Some(endpoint.pace.concurrency.get().into()),
            rate: endpoint.pace.rate.map(|rate| rate.get().into()),
            recovery: Some(RecoverySettings::of(endpoint.pace.recovery)),
            ordered: Some(endpoint.ordered),
            permanent: Some(endpoint.permanent.clone().into()),
            disable_after: Some(endpoint.disable_after),
            headers: Some(secret::headers_of(&endpoint.headers)),
            uid: endpoint.labels.uid.clone(),
            metadata: Some(endpoint.labels.metadata.clone()),
            auth: endpoint.auth.as_ref().map(AuthSettings::of),
            format: Some(endpoint.format.name().to_owned()),
            signatures: Some(endpoint.signatures.name().to_owned()),
            handshake: Some(endpoint.handshake),
            secret: None,
        }
    }

    /// A new endpoint with these settings.
    ///
    /// # Errors
    /// A value is out of its bounds.
    pub(in super::super) fn create(self, place: EndpointContext<'_>) -> Result<Endpoint, Error> {
        let secrets = vec![secret::parse_or_make(self.secret.as_deref())?];
        self.build(place, secrets, place.now)
    }

    /// `old` with these settings instead of its own.
    ///
    /// # Errors
    /// A value is out of its bounds, or the settings contain a secret.
    pub(in super::super) fn replace(
        self,
        old: &Endpoint,
        place: EndpointContext<'_>,
    ) -> Result<Endpoint, Error> {
        if self.secret.is_some() {
            let bound = "left out here; secrets are replaced at .../secrets";
            return Err(Error::invalid("secret", "...", bound));
        }
        self.build(place, old.secrets.clone(), old.created_at)
    }

    fn build(
        self,
        place: EndpointContext<'_>,
        secrets: Vec<Secret>,
        created_at: Instant,
    ) -> Result<Endpoint, Error> {
        let usual = Endpoint::new(place.id, place.application, String::new(), created_at);
        let pace = self.pace(usual.pace)?;
        let url = short("url", self.url, MAX_URL, "at most 2000 bytes")?;
        let destination = self.destination.map(DestinationSettings::into_destination);
        if destination.is_none() {
            place.sender.check_url(&url)?;
        }
        // Stored as a browser writes it, so that two spellings of one address are seen to be one.
        let url = Url::parse(&url).map_or(url, String::from);
        let headers = secret::header_templates(self.headers.unwrap_or_default())?;
        headers.iter().try_for_each(check_header)?;
        let description = self.description.unwrap_or_default();
        let labels = Labels { uid: self.uid, metadata: self.metadata.unwrap_or_default() };
        labels.check()?;
        let endpoint = Endpoint {
            url,
            destination,
            description: short(
                "description",
                description,
                MAX_DESCRIPTION,
                "at most 1000 characters",
            )?,
            events: subscribed(self.events.unwrap_or_default())?,
            channels: ChannelName::set(self.channels.unwrap_or_default())?,
            filter: self.filter.as_ref().map(ContentFilter::parse).transpose()?,
            policy: self.policy.map_or(usual.policy, |EndpointPolicy(policy)| policy),
            timeout: span("timeout", self.timeout.unwrap_or(usual.timeout), TIMEOUT)?,
            pace,
            ordered: self.ordered.unwrap_or(false),
            permanent: statuses(self.permanent.unwrap_or_default())?,
            disable_after: span(
                "disable_after",
                self.disable_after.unwrap_or(usual.disable_after),
                DISABLE_AFTER,
            )?,
            labels,
            secrets,
            headers,
            auth: self.auth.map(AuthSettings::into_auth),
            format: self.format.as_deref().map_or(Ok(usual.format), str::parse)?,
            signatures: self.signatures.as_deref().map_or(Ok(usual.signatures), str::parse)?,
            handshake: self.handshake.unwrap_or(false),
            updated_at: place.now,
            ..usual
        };
        place.sender.check_auth(&endpoint)?;
        place.sender.check_handshake(&endpoint)?;
        Ok(endpoint)
    }

    fn pace(&self, usual: Pace) -> Result<Pace, Error> {
        Ok(Pace {
            concurrency: match self.concurrency {
                Some(count) => number("concurrency", count, CONCURRENCY)?,
                None => usual.concurrency,
            },
            rate: self.rate.map(|rate| number("rate", rate, RATE)).transpose()?,
            recovery: match self.recovery {
                Some(recovery) => recovery.check()?,
                None => usual.recovery,
            },
        })
    }
}

impl RecoverySettings {
    pub(super) fn of(recovery: Recovery) -> Self {
        let rate = Some(recovery.rate.get().into());
        Self { from: Some(recovery.from), rate, over: Some(recovery.over) }
    }

    fn check(self) -> Result<Recovery, Error> {
        let usual = Recovery::default();
        let from = self.from.unwrap_or(usual.from);
        // A thousandth: less is a standstill, more than all of it is no recovery.
        if !(Ratio::from_ppm(1_000)..=Ratio::ONE).contains(&from) {
            return Err(Error::invalid("recovery.from", from.as_f64(), "from 0.001 to 1"));
        }
        let rate = match self.rate {
            Some(rate) => number("recovery.rate", rate, RATE)?,
            None => usual.rate,
        };
        let over = span("recovery.over", self.over.unwrap_or(usual.over), OVER)?;
        Ok(Recovery { from, rate, over })
    }
}

fn number(
    field: &'static str,
    given: i64,
    range: RangeInclusive<u32>,
) -> Result<NonZeroU32, Error> {
    let count = u32::try_from(given).ok().filter(|count| range.contains(count));
    count.and_then(NonZeroU32::new).ok_or_else(|| {
        Error::invalid(field, given, format!("from {} to {}", range.start(), range.end()))
    })
}

fn span(field: &'static str, given: Span, range: RangeInclusive<Span>) -> Result<Span, Error> {
    if range.contains(&given) {
        return Ok(given);
    }
    Err(Error::invalid(field, given, format!("from {} to {}", range.start(), range.end())))
}

fn short(field: &'static str, text: String, limit: usize, bound: &str) -> Result<String, Error> {
    if text.chars().count() <= limit { Ok(text) } else { Err(Error::invalid(field, text, bound)) }
}

fn subscribed(mut events: Vec<EventPattern>) -> Result<EventFilter, Error> {
    events.sort_unstable();
    events.dedup();
    match events.len() {
        0 => Ok(EventFilter::All),
        1..=MAX_EVENTS => Ok(EventFilter::Only(events)),
        many => Err(Error::invalid("events", many, "at most 100 types")),
    }
}

fn statuses(statuses: Vec<u16>) -> Result<Statuses, Error> {
    if statuses.len() > MAX_PERMANENT {
        return Err(Error::invalid("permanent", statuses.len(), "at most 300 statuses"));
    }
    Ok(Statuses::try_from(statuses)?)
}

/// An endpoint: where messages go, how, and how it stands.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Endpoint)]
pub(in super::super) struct EndpointView {
    #[schema(value_type = EndpointIdText)]
    id: EndpointId,
    #[schema(example = "https://example.com/webhooks")]
    url: String,
    /// The broker at `url` that gets the messages, if it is one.
    destination: Option<DestinationSettings>,
    description: String,
    /// The types that it gets, as patterns; none means all.
    #[schema(value_type = Vec<EventPatternText>)]
    events: Vec<EventPattern>,
    /// The channels that it receives; none means all messages.
    #[schema(value_type = Vec<ChannelNameText>)]
    channels: Vec<ChannelName>,
    /// The filter that payloads must pass, if there is one.
    #[schema(value_type = Option<ContentFilterJson>)]
    filter: Option<Value>,
    #[schema(value_type = PolicyText)]
    policy: EndpointPolicy,
    /// The longest time that one attempt may take.
    #[schema(value_type = SpanText)]
    #[serde(serialize_with = "span_text::serialize")]
    timeout: Span,
    /// The most attempts in flight.
    #[schema(value_type = u32)]
    concurrency: NonZeroU32,
    /// The most attempts a second, if there is a cap.
    #[schema(value_type = Option<u32>)]
    rate: Option<NonZeroU32>,
    recovery: RecoverySettings,
    /// Whether messages arrive in the order in which they were accepted.
    ordered: bool,
    /// Statuses that end a delivery immediately.
    #[schema(value_type = Vec<u16>)]
    permanent: Statuses,
    /// The time for which all attempts must fail before it is disabled.
    #[schema(value_type = SpanText)]
    #[serde(serialize_with = "span_text::serialize")]
    disable_after: Span,
    /// The headers of every attempt. Secret values are shown as `********`.
    headers: BTreeMap<String, String>,
    /// The caller's own id for it.
    #[schema(value_type = Option<ExternalIdText>)]
    uid: Option<ExternalId>,
    /// Texts by name, for the caller's own use.
    metadata: BTreeMap<String, String>,
    /// Its credentials, without their secrets.
    auth: Option<AuthView>,
    #[schema(value_type = FormatName)]
    format: &'static str,
    #[schema(value_type = SignaturesName)]
    signatures: &'static str,
    /// Whether it is asked for its consent before the first message. `status.handshake` has the result.
    handshake: bool,
    #[schema(value_type = TimestampText)]
    created_at: Timestamp,
    #[schema(value_type = TimestampText)]
    updated_at: Timestamp,
    /// Nothing while the endpoint is being made or deleted.
    status: Option<Status>,
}

impl EndpointView {
    pub(in super::super) fn new(
        endpoint: &Endpoint,
        queue: Option<QueueView>,
        now: Instant,
    ) -> Self {
        let events = match &endpoint.events {
            EventFilter::All => Vec::new(),
            EventFilter::Only(types) => types.clone(),
        };
        Self {
            id: endpoint.id,
            url: endpoint.url.clone(),
            destination: endpoint.destination.as_ref().map(DestinationSettings::of),
            description: endpoint.description.clone(),
            events,
            channels: endpoint.channels.clone(),
            filter: endpoint.filter.as_ref().map(ContentFilter::to_json),
            policy: EndpointPolicy(endpoint.policy),
            timeout: endpoint.timeout,
            concurrency: endpoint.pace.concurrency,
            rate: endpoint.pace.rate,
            recovery: RecoverySettings::of(endpoint.pace.recovery),
            ordered: endpoint.ordered,
            permanent: endpoint.permanent.clone(),
            disable_after: endpoint.disable_after,
            headers: secret::shown_headers(&endpoint.headers),
            uid: endpoint.labels.uid.clone(),
            metadata: endpoint.labels.metadata.clone(),
            auth: endpoint.auth.as_ref().map(AuthView::from),
            format: endpoint.format.name(),
            signatures: endpoint.signatures.name(),
            handshake: endpoint.handshake,
            created_at: Timestamp(endpoint.created_at),
            updated_at: Timestamp(endpoint.updated_at),
            status: queue.map(|queue| Status::of(&queue, now)),
        }
    }
}

/// An endpoint that was just made.
#[derive(Debug, Serialize, ToSchema)]
pub(in super::super) struct EndpointCreated {
    #[serde(flatten)]
    pub(in super::super) endpoint: EndpointView,
    /// The secrets that sign its attempts.
    #[schema(value_type = SecretText)]
    pub(in super::super) secret: String,
    /// The public key with which receivers verify an ed25519 signature; an HMAC is verified with the
    /// secret itself.
    pub(in super::super) public_key: Option<String>,
}
