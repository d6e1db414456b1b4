//! Endpoints and applications: in one row, on their own pages, and the settings of an endpoint.

use askama::Template;
use serde::Deserialize;
use stagger::{Instant, Policy};
use stagger_scheduler::QueueView;
use stagger_scheduler::model::{
    Application, Endpoint, EndpointAuth, EventFilter, Handshake, HandshakeResult, HeaderTemplate,
    Secret, SecretKind,
};
use stagger_text::coarse;

use super::{Badge, Chart, DeliveryLine, EndpointStatus, ErrorBars, Frame, Moment, Tile, figure};

/// An endpoint, and how its deliveries go.
#[derive(Clone, Debug)]
pub(in crate::ui) struct EndpointRow {
    pub(in crate::ui) href: String,
    pub(in crate::ui) url: String,
    pub(in crate::ui) description: String,
    pub(in crate::ui) application: String,
    pub(in crate::ui) application_href: String,
    pub(in crate::ui) state: Badge,
    pub(in crate::ui) meaning: &'static str,
    pub(in crate::ui) failing_since: Option<Moment>,
    /// Why it fails, unless all is well.
    pub(in crate::ui) failure: Option<FailureLine>,
    /// The time of the next attempt: the next probe, or the end of a pause.
    pub(in crate::ui) back: Option<Moment>,
    pub(in crate::ui) ready: String,
    pub(in crate::ui) waiting: String,
    pub(in crate::ui) in_flight: String,
    /// Attempts a second that are allowed now.
    pub(in crate::ui) rate: Option<String>,
    /// The result of the last handshake, if it wants one.
    pub(in crate::ui) handshake: Option<HandshakeLine>,
}

/// The last handshake with an endpoint.
#[derive(Clone, Debug)]
pub(in crate::ui) struct HandshakeLine {
    /// The result in a sentence.
    pub(in crate::ui) result: String,
    /// Since when it is the same, if there was one.
    pub(in crate::ui) since: Option<Moment>,
}

impl HandshakeLine {
    fn of(endpoint: &Endpoint, last: Option<Handshake>, now: Instant) -> Option<Self> {
        if !endpoint.handshake {
            return None;
        }
        let result = match last.map(|last| last.result) {
            None => "It is asked for its consent before the first message.".to_owned(),
            Some(HandshakeResult::Granted { rate: None }) => "It has consented.".to_owned(),
            Some(HandshakeResult::Granted { rate: Some(rate) }) => {
                format!("It has consented to {rate} attempts a minute.")
            }
            Some(HandshakeResult::Refused { status: Some(status) }) => {
                format!("It has not consented: it answers {status}. It is asked again.")
            }
            Some(HandshakeResult::Refused { status: None }) => {
                "It has not consented: there was no answer. It is asked again.".to_owned()
            }
        };
        Some(Self { result, since: last.map(|last| Moment::new(last.at, now)) })
    }
}

/// The last failed attempt to an endpoint.
#[derive(Clone, Debug)]
pub(in crate::ui) struct FailureLine {
    /// The status, or the name of the failure.
    pub(in crate::ui) result: String,
    /// A description of the failure.
    pub(in crate::ui) detail: String,
    pub(in crate::ui) at: Moment,
    /// The first words of the reply.
    pub(in crate::ui) reply: String,
    /// The delivery that failed.
    pub(in crate::ui) delivery: String,
}

impl EndpointRow {
    pub(in crate::ui) fn new(
        endpoint: &Endpoint,
        application: &Application,
        view: &QueueView,
        now: Instant,
    ) -> Self {
        let state = EndpointStatus::of(view, now);
        let moment = |at: Instant| Moment::new(at, now);
        let count = |n: usize| figure(n as u64);
        let back = match state {
            EndpointStatus::Paused(until) => Some(until),
            EndpointStatus::Disabled(_) => None,
            _ => view.next_probe,
        };
        Self {
            href: format!("/ui/endpoints/{}", endpoint.id),
            url: endpoint.url.clone(),
            description: endpoint.description.clone(),
            application: application.name.clone(),
            application_href: format!("/ui/applications/{}", application.id),
            state: state.into(),
            meaning: state.meaning(),
            failing_since: view.endpoint_state.failing_since.map(moment),
            failure: None,
            back: back.map(moment),
            ready: count(view.ready),
            waiting: count(view.waiting),
            in_flight: count(view.in_flight),
            rate: view.rate.map(figure),
            handshake: HandshakeLine::of(endpoint, view.endpoint_state.handshake, now),
        }
    }
}

/// The page of one endpoint: its state, its settings, its deliveries.
#[derive(Debug, Template)]
#[template(path = "ui/endpoint.html")]
pub(in crate::ui) struct EndpointPage {
    pub(in crate::ui) frame: Frame,
    pub(in crate::ui) id: String,
    pub(in crate::ui) row: EndpointRow,
    pub(in crate::ui) is_disabled: bool,
    /// The results of the last hour, if there are any.
    pub(in crate::ui) errors: Option<ErrorBars>,
    pub(in crate::ui) chart: Chart,
    pub(in crate::ui) tiles: Vec<Tile>,
    pub(in crate::ui) settings: Settings,
    /// The newest ones.
    pub(in crate::ui) deliveries: Vec<DeliveryLine>,
}

/// The settings of an endpoint that were typed, as texts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::ui) struct EndpointForm {
    pub(in crate::ui) url: String,
    pub(in crate::ui) description: String,
    pub(in crate::ui) events: String,
    pub(in crate::ui) timeout: String,
    pub(in crate::ui) concurrency: String,
    pub(in crate::ui) rate: String,
    pub(in crate::ui) ordered: String,
    pub(in crate::ui) permanent: String,
    pub(in crate::ui) disable_after: String,
    /// A header a line.
    pub(in crate::ui) headers: String,
    /// The same, with values that are never shown again.
    pub(in crate::ui) secret_headers: String,
    pub(in crate::ui) channels: String,
    /// As JSON.
    pub(in crate::ui) filter: String,
    pub(in crate::ui) format: String,
    pub(in crate::ui) signatures: String,
    pub(in crate::ui) handshake: String,
    #[serde(flatten)]
    pub(in crate::ui) auth: AuthForm,
}

/// The credentials of an endpoint that were typed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::ui) struct AuthForm {
    #[serde(rename = "auth")]
    pub(in crate::ui) kind: String,
    #[serde(rename = "auth_username")]
    pub(in crate::ui) username: String,
    #[serde(rename = "auth_password")]
    pub(in crate::ui) password: TypedSecret,
    #[serde(rename = "auth_token")]
    pub(in crate::ui) token: TypedSecret,
    #[serde(rename = "auth_token_url")]
    pub(in crate::ui) token_url: String,
    #[serde(rename = "auth_client_id")]
    pub(in crate::ui) client_id: String,
    #[serde(rename = "auth_client_secret")]
    pub(in crate::ui) client_secret: TypedSecret,
    #[serde(rename = "auth_scope")]
    pub(in crate::ui) scope: String,
    #[serde(rename = "auth_audience")]
    pub(in crate::ui) audience: String,
    #[serde(rename = "auth_client_auth")]
    pub(in crate::ui) client_auth: String,
    #[serde(rename = "auth_certificate")]
    pub(in crate::ui) certificate: String,
    #[serde(rename = "auth_key")]
    pub(in crate::ui) key: TypedSecret,
    #[serde(rename = "auth_ca")]
    pub(in crate::ui) ca: String,
}

/// A secret that was typed. No page shows it, so that it has to be typed again after an error.
#[derive(Clone, Default, Deserialize)]
#[serde(transparent)]
pub(in crate::ui) struct TypedSecret(String);

impl TypedSecret {
    /// The secret, unless it was left empty. Line ends are those of PEM files.
    pub(in crate::ui) fn given(&self) -> Option<String> {
        (!self.0.trim().is_empty()).then(|| self.0.replace("\r\n", "\n"))
    }
}

impl std::fmt::Debug for TypedSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TypedSecret(..)")
    }
}

/// The form of an endpoint's settings.
#[derive(Debug, Template)]
#[template(path = "ui/endpoint_form.html")]
pub(in crate::ui) struct EndpointFormPage {
    pub(in crate::ui) frame: Frame,
    /// The name of its application.
    pub(in crate::ui) application: String,
    pub(in crate::ui) is_new: bool,
    /// The URL that takes the form.
    pub(in crate::ui) path: String,
    /// The page to go back to.
    pub(in crate::ui) back: String,
    pub(in crate::ui) form: EndpointForm,
    /// The names of event types that are offered.
    pub(in crate::ui) event_types: Vec<String>,
    /// The error in what was typed.
    pub(in crate::ui) error: Option<String>,
}

/// Names and values, in the order in which they are shown.
#[derive(Clone, Debug)]
pub(in crate::ui) struct Settings {
    pub(in crate::ui) lines: Vec<(&'static str, String)>,
    /// The policy as TOML says it.
    pub(in crate::ui) policy: String,
    pub(in crate::ui) created: Moment,
    pub(in crate::ui) updated: Moment,
}

impl Settings {
    pub(in crate::ui) fn new(endpoint: &Endpoint, now: Instant) -> Self {
        let pace = &endpoint.pace;
        let recovery = &pace.recovery;
        let rate = pace.rate.map_or("no cap".into(), |rate| format!("at most {rate} a second"));
        let lines = vec![
            ("Events", events(&endpoint.events)),
            ("Channels", channels(endpoint)),
            (
                "Filter",
                endpoint.filter.as_ref().map_or("none".into(), |it| it.to_json().to_string()),
            ),
            ("Timeout of an attempt", endpoint.timeout.to_string()),
            ("At once", pace.concurrency.to_string()),
            ("Rate", rate),
            (
                "Recovery",
                format!(
                    "from {} of {} a second, growing over {}",
                    recovery.from, recovery.rate, recovery.over
                ),
            ),
            ("Order", if endpoint.ordered { "kept" } else { "not kept" }.into()),
            ("Permanent statuses", statuses(endpoint)),
            ("Disabled after failing for", coarse(endpoint.disable_after)),
            (
                "Secrets",
                endpoint.secrets.iter().map(|s| secret(s, now)).collect::<Vec<_>>().join(", "),
            ),
            ("Headers", headers(&endpoint.headers)),
            ("Authentication", endpoint.auth.as_ref().map_or("none", EndpointAuth::kind).into()),
            ("Format", endpoint.format.name().into()),
            ("Signatures", endpoint.signatures.name().into()),
            ("Handshake", if endpoint.handshake { "wanted" } else { "not wanted" }.into()),
        ];
        let policy = policy(&endpoint.policy);
        let moment = |at| Moment::new(at, now);
        let (created, updated) = (moment(endpoint.created_at), moment(endpoint.updated_at));
        Self { lines, policy, created, updated }
    }
}

fn policy(policy: &Policy) -> String {
    toml::to_string(policy).unwrap_or_else(|_| format!("{policy:#?}"))
}

fn events(events: &EventFilter) -> String {
    match events {
        EventFilter::All => "all".into(),
        EventFilter::Only(types) if types.is_empty() => "none".into(),
        EventFilter::Only(types) => types.iter().map(|t| t.as_str()).collect::<Vec<_>>().join(", "),
    }
}

fn channels(endpoint: &Endpoint) -> String {
    if endpoint.channels.is_empty() {
        return "all".into();
    }
    endpoint.channels.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(", ")
}

fn statuses(endpoint: &Endpoint) -> String {
    let statuses = Vec::<u16>::from(endpoint.permanent.clone());
    if statuses.is_empty() {
        return "none".into();
    }
    statuses.iter().map(u16::to_string).collect::<Vec<_>>().join(", ")
}

/// The kind of a secret, without its key.
fn secret(secret: &Secret, now: Instant) -> String {
    let kind = match secret.kind {
        SecretKind::Symmetric => "v1 (HMAC-SHA256)",
        SecretKind::Asymmetric => "v1a (ed25519)",
    };
    match secret.until {
        Some(until) => format!("{kind} until {}", Moment::new(until, now).exact()),
        None => kind.into(),
    }
}

fn headers(headers: &[HeaderTemplate]) -> String {
    if headers.is_empty() {
        return "none".into();
    }
    let line = |header: &HeaderTemplate| {
        let value = if header.sensitive { "(not shown)" } else { &header.value };
        format!("{}: {value}", header.name)
    };
    headers.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// All applications.
#[derive(Debug, Template)]
#[template(path = "ui/applications.html")]
pub(in crate::ui) struct ApplicationsPage {
    pub(in crate::ui) frame: Frame,
    pub(in crate::ui) applications: Vec<ApplicationLine>,
}

/// An application in one row.
#[derive(Clone, Debug)]
pub(in crate::ui) struct ApplicationLine {
    pub(in crate::ui) id: String,
    pub(in crate::ui) name: String,
    pub(in crate::ui) endpoints: String,
    pub(in crate::ui) slots: String,
    /// The time for which its finished messages are kept.
    pub(in crate::ui) retention: String,
    pub(in crate::ui) created: Moment,
}

/// One application with its endpoints.
#[derive(Debug, Template)]
#[template(path = "ui/application.html")]
pub(in crate::ui) struct ApplicationPage {
    pub(in crate::ui) frame: Frame,
    pub(in crate::ui) application: ApplicationLine,
    pub(in crate::ui) endpoints: Vec<EndpointRow>,
    /// The number of entries that are not shown.
    pub(in crate::ui) more: Option<String>,
}

/// The overview page.
#[derive(Debug, Template)]
#[template(path = "ui/overview.html")]
pub(in crate::ui) struct OverviewPage {
    pub(in crate::ui) frame: Frame,
    pub(in crate::ui) chart: Chart,
    pub(in crate::ui) tiles: Vec<Tile>,
    /// Endpoints that are not simply active, as many as are shown.
    pub(in crate::ui) unhealthy: Vec<EndpointRow>,
    /// The number of endpoints that are not shown.
    pub(in crate::ui) more: Option<String>,
    /// Whether there are no applications yet.
    pub(in crate::ui) is_new: bool,
    /// There are no endpoints yet.
    pub(in crate::ui) has_endpoints: bool,
    /// The nodes that work on the store, that of the page first.
    pub(in crate::ui) nodes: Vec<NodeLine>,
}

/// A node in one row.
#[derive(Clone, Debug)]
pub(in crate::ui) struct NodeLine {
    pub(in crate::ui) name: String,
    pub(in crate::ui) version: String,
    pub(in crate::ui) started: Option<Moment>,
    pub(in crate::ui) last_seen: Moment,
    pub(in crate::ui) shards: usize,
    pub(in crate::ui) draining: bool,
    /// Whether it has made the page.
    pub(in crate::ui) is_this: bool,
}

/// The endpoints and deliveries that a search has found.
#[derive(Debug, Template)]
#[template(path = "ui/search.html")]
pub(in crate::ui) struct SearchPage {
    pub(in crate::ui) frame: Frame,
    /// The text that was looked for.
    pub(in crate::ui) text: String,
    pub(in crate::ui) endpoints: Vec<EndpointRow>,
    pub(in crate::ui) deliveries: Vec<DeliveryLine>,
}
