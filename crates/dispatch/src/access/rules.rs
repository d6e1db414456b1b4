//! The table of permissions: for each route of the API and of the page, the least role that may call it.
//!
//! [`api::authorize`](crate::api) and the page's sessions look here, and nowhere else is a role compared.

use http::Method;

use super::Role;
use super::Role::{Admin, Operator, Viewer};

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
}

/// A route that the application of the path may use with its own key.
const fn shared(method: &'static str, path: &'static str, role: Role) -> Rule {
    Rule { method, path, role, applications: true }
}

/// A route for operators only.
const fn staff(method: &'static str, path: &'static str, role: Role) -> Rule {
    Rule { method, path, role, applications: false }
}

/// Every route that asks for a key or a session.
pub(crate) const RULES: &[Rule] = &[
    shared("POST", "/v1/applications/{app}/messages", Admin),
    shared("POST", "/v1/applications/{app}/messages/batch", Admin),
    shared("POST", "/v1/applications/{app}/messages/raw", Admin),
    shared("GET", "/v1/applications/{app}/messages", Viewer),
    shared("GET", "/v1/applications/{app}/messages/{msg}", Viewer),
    shared("DELETE", "/v1/applications/{app}/messages/{msg}", Admin),
    shared("GET", "/v1/applications/{app}/messages/{msg}/payload", Viewer),
    shared("DELETE", "/v1/applications/{app}/messages/{msg}/payload", Admin),
    shared("GET", "/v1/applications/{app}/messages/{msg}/deliveries", Viewer),
    shared("GET", "/v1/applications/{app}/messages/{msg}/deliveries/{ep}", Viewer),
    shared("GET", "/v1/applications/{app}/messages/{msg}/deliveries/{ep}/attempts", Viewer),
    shared("POST", "/v1/applications/{app}/messages/{msg}/deliveries/{ep}/cancel", Operator),
    shared("POST", "/v1/applications/{app}/messages/{msg}/deliveries/{ep}/replay", Operator),
    shared("POST", "/v1/applications/{app}/messages/{msg}/deliveries/{ep}/retry", Operator),
    shared("GET", "/v1/applications/{app}/deliveries", Viewer),
    shared("POST", "/v1/applications/{app}/replay", Operator),
    shared("POST", "/v1/applications/{app}/retry", Operator),
    staff("GET", "/v1/applications", Viewer),
    staff("POST", "/v1/applications", Admin),
    shared("GET", "/v1/applications/{app}", Viewer),
    staff("PATCH", "/v1/applications/{app}", Admin),
    staff("DELETE", "/v1/applications/{app}", Admin),
    shared("POST", "/v1/applications/{app}/keys", Admin),
    shared("DELETE", "/v1/applications/{app}/keys", Admin),
    shared("POST", "/v1/applications/{app}/portal-links", Admin),
    shared("DELETE", "/v1/applications/{app}/portal-links", Admin),
    shared("DELETE", "/v1/applications/{app}/portal-links/{link}", Admin),
    shared("GET", "/v1/applications/{app}/endpoints", Viewer),
    shared("POST", "/v1/applications/{app}/endpoints", Admin),
    shared("GET", "/v1/applications/{app}/endpoints/{ep}", Viewer),
    shared("PATCH", "/v1/applications/{app}/endpoints/{ep}", Admin),
    shared("DELETE", "/v1/applications/{app}/endpoints/{ep}", Admin),
    shared("POST", "/v1/applications/{app}/endpoints/{ep}/enable", Operator),
    shared("POST", "/v1/applications/{app}/endpoints/{ep}/disable", Operator),
    shared("POST", "/v1/applications/{app}/endpoints/{ep}/test", Operator),
    shared("POST", "/v1/applications/{app}/endpoints/{ep}/filter-test", Operator),
    shared("POST", "/v1/applications/{app}/endpoints/{ep}/replay", Operator),
    shared("POST", "/v1/applications/{app}/endpoints/{ep}/replay-missing", Operator),
    shared("POST", "/v1/applications/{app}/endpoints/{ep}/retry", Operator),
    shared("GET", "/v1/applications/{app}/endpoints/{ep}/secrets", Admin),
    shared("POST", "/v1/applications/{app}/endpoints/{ep}/secrets", Admin),
    shared("GET", "/v1/applications/{app}/export", Viewer),
    staff("GET", "/v1/audit", Viewer),
    staff("GET", "/v1/nodes", Viewer),
    staff("GET", "/v1/operators", Admin),
    staff("GET", "/", Viewer),
    staff("GET", "/ui", Viewer),
    staff("GET", "/ui/applications", Viewer),
    staff("POST", "/ui/applications", Admin),
    staff("GET", "/ui/applications/{application}", Viewer),
    staff("POST", "/ui/applications/{application}", Admin),
    staff("GET", "/ui/applications/{application}/endpoints", Admin),
    staff("POST", "/ui/applications/{application}/endpoints", Admin),
    staff("GET", "/ui/endpoints/{endpoint}", Viewer),
    staff("GET", "/ui/endpoints/{endpoint}/edit", Admin),
    staff("POST", "/ui/endpoints/{endpoint}/edit", Admin),
    staff("POST", "/ui/endpoints/{endpoint}/enable", Operator),
    staff("POST", "/ui/endpoints/{endpoint}/disable", Operator),
    staff("POST", "/ui/endpoints/{endpoint}/test", Operator),
    staff("POST", "/ui/endpoints/{endpoint}/replay", Operator),
    staff("POST", "/ui/endpoints/{endpoint}/replay-missing", Operator),
    staff("POST", "/ui/endpoints/{endpoint}/retry", Operator),
    staff("GET", "/ui/deliveries", Viewer),
    staff("POST", "/ui/deliveries/retry", Operator),
    staff("GET", "/ui/deliveries/{message}/{endpoint}", Viewer),
    staff("POST", "/ui/deliveries/{message}/{endpoint}/cancel", Operator),
    staff("POST", "/ui/deliveries/{message}/{endpoint}/replay", Operator),
    staff("POST", "/ui/deliveries/{message}/{endpoint}/retry", Operator),
    staff("GET", "/ui/dead", Viewer),
    staff("POST", "/ui/dead/replay", Operator),
    staff("GET", "/ui/audit", Viewer),
    staff("GET", "/ui/operators", Admin),
    staff("GET", "/ui/search", Viewer),
    staff("GET", "/ui/attempt-rates", Viewer),
    staff("GET", "/ui/{*rest}", Viewer),
    staff("POST", "/ui/sign-out", Viewer),
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
    fn a_viewer_may_change_something() {
        for rule in RULES.iter().filter(|rule| rule.role == Viewer) {
            let changes = rule.method != "GET" && rule.path != "/ui/sign-out";
            assert!(!changes && !rule.path.contains("secret"), "{rule:?}");
        }
    }
}
