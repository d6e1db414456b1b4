//! The table of permissions: for each route of the API and of the page, the least role and the scopes that may call it.
//!
//! [`api::authorize`](crate::api) and the page's sessions look here, and nowhere else is a role or a scope compared.

use http::Method;

use super::Role;
use super::Role::{Admin, Operator, Viewer};
use super::Scope;
use super::Scope::{
    ApplicationsRead, ApplicationsWrite, AuditRead, DeliveriesWrite, EndpointsRead, EndpointsWrite,
    EventTypesRead, EventTypesWrite, MessagesRead, MessagesWrite,
};

/// The callers that may use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) method: &'static str,
    /// The path as the router has it, with its parameters.
    pub(crate) path: &'static str,
    /// The least role.
    pub(crate) role: Role,
    /// Whether an application's own key may use it too, for the application itself.
    pub(crate) applications: bool,
    /// The scopes that an API key needs, all of them. Without any, no API key may use it.
    pub(crate) scopes: &'static [Scope],
}

/// The scopes for everything that a key of an application, or its portal, gives access to: what makes one takes them all,
/// so that no key makes another with more rights than its own.
const WHOLE_APPLICATION: &[Scope] = &[
    ApplicationsRead,
    ApplicationsWrite,
    DeliveriesWrite,
    EndpointsRead,
    EndpointsWrite,
    MessagesRead,
    MessagesWrite,
];

/// A route that the application of the path may use with its own key.
const fn shared(
    method: &'static str,
    path: &'static str,
    role: Role,
    scopes: &'static [Scope],
) -> Rule {
    Rule { method, path, role, applications: true, scopes }
}

/// A route for operators, and for API keys with these scopes.
const fn staff(
    method: &'static str,
    path: &'static str,
    role: Role,
    scopes: &'static [Scope],
) -> Rule {
    Rule { method, path, role, applications: false, scopes }
}

/// A route of the page, which takes a session and no key.
const fn page(method: &'static str, path: &'static str, role: Role) -> Rule {
    Rule { method, path, role, applications: false, scopes: &[] }
}

/// Every route that asks for a key or a session.
pub(crate) const RULES: &[Rule] = &[
    shared("POST", "/v1/applications/{app}/messages", Admin, &[MessagesWrite]),
    shared("POST", "/v1/applications/{app}/messages/batch", Admin, &[MessagesWrite]),
    shared("POST", "/v1/applications/{app}/messages/raw", Admin, &[MessagesWrite]),
    shared("GET", "/v1/applications/{app}/messages", Viewer, &[MessagesRead]),
    shared("GET", "/v1/applications/{app}/messages/{msg}", Viewer, &[MessagesRead]),
    shared("DELETE", "/v1/applications/{app}/messages/{msg}", Admin, &[MessagesWrite]),
    shared("GET", "/v1/applications/{app}/messages/{msg}/payload", Viewer, &[MessagesRead]),
    shared("DELETE", "/v1/applications/{app}/messages/{msg}/payload", Admin, &[MessagesWrite]),
    shared("GET", "/v1/applications/{app}/messages/{msg}/deliveries", Viewer, &[MessagesRead]),
    shared("GET", "/v1/applications/{app}/messages/{msg}/deliveries/{ep}", Viewer, &[MessagesRead]),
    shared(
        "GET",
        "/v1/applications/{app}/messages/{msg}/deliveries/{ep}/attempts",
        Viewer,
        &[MessagesRead],
    ),
    shared(
        "POST",
        "/v1/applications/{app}/messages/{msg}/deliveries/{ep}/cancel",
        Operator,
        &[DeliveriesWrite],
    ),
    shared(
        "POST",
        "/v1/applications/{app}/messages/{msg}/deliveries/{ep}/replay",
        Operator,
        &[DeliveriesWrite],
    ),
    shared(
        "POST",
        "/v1/applications/{app}/messages/{msg}/deliveries/{ep}/retry",
        Operator,
        &[DeliveriesWrite],
    ),
    shared("GET", "/v1/applications/{app}/deliveries", Viewer, &[MessagesRead]),
    shared("POST", "/v1/applications/{app}/replay", Operator, &[DeliveriesWrite]),
    shared("POST", "/v1/applications/{app}/retry", Operator, &[DeliveriesWrite]),
    staff("GET", "/v1/applications", Viewer, &[ApplicationsRead]),
    staff("POST", "/v1/applications", Admin, WHOLE_APPLICATION),
    shared("GET", "/v1/applications/{app}", Viewer, &[ApplicationsRead]),
    staff("PATCH", "/v1/applications/{app}", Admin, &[ApplicationsWrite]),
    staff("DELETE", "/v1/applications/{app}", Admin, &[ApplicationsWrite]),
    shared("POST", "/v1/applications/{app}/keys", Admin, WHOLE_APPLICATION),
    shared("DELETE", "/v1/applications/{app}/keys", Admin, WHOLE_APPLICATION),
    shared("POST", "/v1/applications/{app}/portal-links", Admin, WHOLE_APPLICATION),
    shared("DELETE", "/v1/applications/{app}/portal-links", Admin, &[ApplicationsWrite]),
    shared("DELETE", "/v1/applications/{app}/portal-links/{link}", Admin, &[ApplicationsWrite]),
    shared("GET", "/v1/applications/{app}/endpoints", Viewer, &[EndpointsRead]),
    shared("POST", "/v1/applications/{app}/endpoints", Admin, &[EndpointsWrite]),
    shared("GET", "/v1/applications/{app}/endpoints/{ep}", Viewer, &[EndpointsRead]),
    shared("PATCH", "/v1/applications/{app}/endpoints/{ep}", Admin, &[EndpointsWrite]),
    shared("DELETE", "/v1/applications/{app}/endpoints/{ep}", Admin, &[EndpointsWrite]),
    shared("POST", "/v1/applications/{app}/endpoints/{ep}/enable", Operator, &[EndpointsWrite]),
    shared("POST", "/v1/applications/{app}/endpoints/{ep}/disable", Operator, &[EndpointsWrite]),
    shared("POST", "/v1/applications/{app}/endpoints/{ep}/test", Operator, &[EndpointsWrite]),
    shared(
        "POST",
        "/v1/applications/{app}/endpoints/{ep}/filter-test",
        Operator,
        &[EndpointsRead, MessagesRead],
    ),
    shared("POST", "/v1/applications/{app}/endpoints/{ep}/replay", Operator, &[DeliveriesWrite]),
    shared(
        "POST",
        "/v1/applications/{app}/endpoints/{ep}/replay-missing",
        Operator,
        &[DeliveriesWrite],
    ),
    shared("POST", "/v1/applications/{app}/endpoints/{ep}/retry", Operator, &[DeliveriesWrite]),
    shared("GET", "/v1/applications/{app}/endpoints/{ep}/secrets", Admin, &[EndpointsWrite]),
    shared("POST", "/v1/applications/{app}/endpoints/{ep}/secrets", Admin, &[EndpointsWrite]),
    shared("GET", "/v1/applications/{app}/export", Viewer, &[MessagesRead]),
    staff("GET", "/v1/audit", Viewer, &[AuditRead]),
    staff("GET", "/v1/nodes", Viewer, &[Scope::Admin]),
    staff("GET", "/v1/operators", Admin, &[Scope::Admin]),
    staff("GET", "/v1/event-types", Viewer, &[EventTypesRead]),
    staff("POST", "/v1/event-types", Admin, &[EventTypesWrite]),
    staff("GET", "/v1/event-types/{name}", Viewer, &[EventTypesRead]),
    staff("PUT", "/v1/event-types/{name}", Admin, &[EventTypesWrite]),
    staff("DELETE", "/v1/event-types/{name}", Admin, &[EventTypesWrite]),
    staff("GET", "/v1/api-keys", Admin, &[Scope::Admin]),
    staff("POST", "/v1/api-keys", Admin, &[Scope::Admin]),
    staff("DELETE", "/v1/api-keys/{key}", Admin, &[Scope::Admin]),
    page("GET", "/", Viewer),
    page("GET", "/ui", Viewer),
    page("GET", "/ui/applications", Viewer),
    page("POST", "/ui/applications", Admin),
    page("GET", "/ui/applications/{application}", Viewer),
    page("POST", "/ui/applications/{application}", Admin),
    page("GET", "/ui/applications/{application}/endpoints", Admin),
    page("POST", "/ui/applications/{application}/endpoints", Admin),
    page("GET", "/ui/endpoints/{endpoint}", Viewer),
    page("GET", "/ui/endpoints/{endpoint}/edit", Admin),
    page("POST", "/ui/endpoints/{endpoint}/edit", Admin),
    page("POST", "/ui/endpoints/{endpoint}/enable", Operator),
    page("POST", "/ui/endpoints/{endpoint}/disable", Operator),
    page("POST", "/ui/endpoints/{endpoint}/test", Operator),
    page("POST", "/ui/endpoints/{endpoint}/replay", Operator),
    page("POST", "/ui/endpoints/{endpoint}/replay-missing", Operator),
    page("POST", "/ui/endpoints/{endpoint}/retry", Operator),
    page("GET", "/ui/deliveries", Viewer),
    page("POST", "/ui/deliveries/retry", Operator),
    page("GET", "/ui/deliveries/{message}/{endpoint}", Viewer),
    page("POST", "/ui/deliveries/{message}/{endpoint}/cancel", Operator),
    page("POST", "/ui/deliveries/{message}/{endpoint}/replay", Operator),
    page("POST", "/ui/deliveries/{message}/{endpoint}/retry", Operator),
    page("GET", "/ui/dead", Viewer),
    page("POST", "/ui/dead/replay", Operator),
    page("GET", "/ui/audit", Viewer),
    page("GET", "/ui/operators", Admin),
    page("GET", "/ui/keys", Admin),
    page("POST", "/ui/keys/{key}/delete", Admin),
    page("GET", "/ui/search", Viewer),
    page("GET", "/ui/attempt-rates", Viewer),
    page("GET", "/ui/{*rest}", Viewer),
    page("POST", "/ui/sign-out", Viewer),
];

/// The rule of a route; `path` is its pattern. A `HEAD` is a `GET` without its body.
pub(crate) fn rule(method: &Method, path: &str) -> Option<&'static Rule> {
    let method = if method == Method::HEAD { "GET" } else { method.as_str() };
    RULES.iter().find(|rule| rule.method == method && rule.path == path)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_route_stood_in_the_table_twice() {
        let routes: BTreeSet<_> = RULES.iter().map(|rule| (rule.method, rule.path)).collect();
        assert_eq!(routes.len(), RULES.len());
    }

    #[test]
    fn a_scope_that_reads_may_change_something() {
        for rule in
            RULES.iter().filter(|rule| rule.scopes.iter().all(|it| it.name().ends_with(":read")))
        {
            let reads = rule.method == "GET" || rule.path.ends_with("/filter-test");
            assert!(rule.scopes.is_empty() || (reads && !rule.path.contains("secret")), "{rule:?}");
        }
    }

    #[test]
    fn a_route_of_the_api_is_without_scopes_or_one_of_the_page_has_some() {
        for rule in RULES {
            assert_eq!(rule.scopes.is_empty(), !rule.path.starts_with("/v1/"), "{rule:?}");
        }
    }

    #[test]
    fn a_viewer_may_change_something() {
        for rule in RULES.iter().filter(|rule| rule.role == Viewer) {
            let changes = rule.method != "GET" && rule.path != "/ui/sign-out";
            assert!(!changes && !rule.path.contains("secret"), "{rule:?}");
        }
    }
}
