//! The routes of a proxy in a file: the policy of each as the proxy has it, and the facts that lint judges.

use std::path::Path;

use stagger::classify::is_idempotent;
use stagger_explain::RouteFacts;
use stagger_proxy::config::{AddedKey, ProxySettings, RouteSettings, RouteTarget, SettingsFault};
use stagger_text::settings::Value;

/// The name of a route's policy in reports, which is not taken for `[policy.NAME]`.
const PREFIX: &str = "route.";

/// A route of a file, beside its policy.
#[derive(Clone, Debug)]
pub(crate) struct SurveyedRoute<'t> {
    pub(crate) facts: RouteFacts,
    /// Whether its policy is a `[policy.NAME]` of the same file, which is looked at under that name.
    pub(crate) names_policy: bool,
    pub(super) table: Value<'t>,
}

/// The name of a route's policy in reports and behind `#`.
pub(super) fn name_of(route: &str) -> String {
    format!("{PREFIX}{route}")
}

/// Whether this is the name of a route's policy, whose route has that name.
pub(crate) fn is_route(name: &str, route: &str) -> bool {
    name.strip_prefix(PREFIX) == Some(route)
}

/// `policy checkout`, or `route checkout`.
pub(crate) fn titled(name: &str) -> String {
    match name.strip_prefix(PREFIX) {
        Some(route) => format!("route {route}"),
        None => format!("policy {name}"),
    }
}

/// The settings as the proxy reads them; `file` is `-` for a text from standard input.
///
/// # Errors
/// The first mistake, also in another file that the settings name.
pub(super) fn settings(file: &Path, text: &str) -> Result<ProxySettings, SettingsFault> {
    if file.as_os_str() == "-" {
        return ProxySettings::parse("standard input", text);
    }
    ProxySettings::read(file)
}

/// The facts of a route that its policy does not say; `sets` tells whether the file has a key of the route.
pub(super) fn facts(
    settings: &ProxySettings,
    route: &RouteSettings,
    sets: impl Fn(&str) -> bool,
) -> RouteFacts {
    let rules = &route.retry;
    let methods = rules.methods.as_deref().unwrap_or_default();
    let adds_key = rules.added_key != AddedKey::None;
    let repeats_grpc = !rules.grpc_methods.is_empty();
    let unsafe_methods = methods.iter().filter(|method| !is_idempotent(method.as_str()));
    let has_body = |name: &str| matches!(name, "PUT" | "POST" | "PATCH");
    // OK because a usize has at most 64 bits.
    let wide = |count: usize| count as u64;
    RouteFacts {
        unsafe_methods: unsafe_methods.map(ToString::to_string).collect(),
        adds_key,
        repeats_grpc,
        repeats_bodies: adds_key
            || repeats_grpc
            || methods.iter().any(|method| has_body(method.as_str())),
        names_repeats: adds_key || repeats_grpc || rules.methods.is_some(),
        has_service_config: route.service_config.is_some(),
        replay_limit: wide(rules.replay_limit),
        max_in_flight: wide(route.max_in_flight),
        connect_timeout: sets("connect_timeout").then_some(route.connect_timeout),
        tunnel: matches!(route.target, RouteTarget::Tunnels(_)),
        drain: settings.limits.drain,
    }
}
