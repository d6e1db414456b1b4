//! The table of the portal's routes: for each, the capability that it takes.
//!
//! The sessions of the portal look here, and nowhere else is a capability compared. A route that is not in the table is
//! refused.

use http::Method;

use super::Capability;
use super::Capability::{Manage, Read};

/// The routes that take a session, by method and pattern.
pub(super) const PORTAL_RULES: &[(&str, &str, Capability)] = &[
    ("GET", "/portal/{app}", Read),
    ("POST", "/portal/{app}/leave", Read),
    ("GET", "/portal/{app}/deliveries", Read),
    ("GET", "/portal/{app}/event-types", Read),
    ("GET", "/portal/{app}/deliveries/{msg}/{ep}", Read),
    ("POST", "/portal/{app}/deliveries/{msg}/{ep}/retry", Manage),
    ("POST", "/portal/{app}/deliveries/{msg}/{ep}/replay", Manage),
    ("GET", "/portal/{app}/endpoints/new", Manage),
    ("POST", "/portal/{app}/endpoints/new", Manage),
    ("GET", "/portal/{app}/endpoints/{ep}", Read),
    ("GET", "/portal/{app}/endpoints/{ep}/edit", Manage),
    ("POST", "/portal/{app}/endpoints/{ep}/edit", Manage),
    ("GET", "/portal/{app}/endpoints/{ep}/secret", Manage),
    ("POST", "/portal/{app}/endpoints/{ep}/secret", Manage),
    ("POST", "/portal/{app}/endpoints/{ep}/enable", Manage),
    ("POST", "/portal/{app}/endpoints/{ep}/disable", Manage),
    ("POST", "/portal/{app}/endpoints/{ep}/test", Manage),
    ("POST", "/portal/{app}/endpoints/{ep}/retry", Manage),
    ("POST", "/portal/{app}/endpoints/{ep}/replay", Manage),
    ("POST", "/portal/{app}/endpoints/{ep}/replay-missing", Manage),
    ("POST", "/portal/{app}/endpoints/{ep}/delete", Manage),
];

/// The capability that a route takes; `path` is its pattern. A `HEAD` is a `GET` without its body.
pub(crate) fn capability_for(method: &Method, path: &str) -> Option<Capability> {
    let method = if method == Method::HEAD { "GET" } else { method.as_str() };
    let rule = PORTAL_RULES.iter().find(|(of, route, _)| *of == method && *route == path);
    rule.map(|(.., capability)| *capability)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_may_change_something_or_see_a_secret() {
        for (method, path, _) in PORTAL_RULES.iter().filter(|rule| rule.2 == Read) {
            let changes = *method != "GET" && !path.ends_with("/leave");
            assert!(!changes && !path.contains("secret") && !path.ends_with("/edit"), "{path}");
        }
    }

    #[test]
    fn a_route_of_the_portal_is_also_one_of_operators() {
        assert!(PORTAL_RULES.iter().all(|(_, path, _)| path.starts_with("/portal/{app}")));
        let there = capability_for(&Method::HEAD, "/portal/{app}");
        assert_eq!((there, capability_for(&Method::PUT, "/portal/{app}")), (Some(Read), None));
    }
}
