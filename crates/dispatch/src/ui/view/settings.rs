//! The settings of an endpoint, without its secrets.

use stagger::{Instant, Policy};
use stagger_text::coarse;

use super::Moment;
use crate::model::{Endpoint, EventFilter, HeaderTemplate, Secret, SecretKind};

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
