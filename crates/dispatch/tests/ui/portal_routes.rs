//! Every route of the portal, asked for by every identity; and the reach of a session beyond them.

use std::collections::BTreeSet;

use stagger::Span;
use stagger_dispatch::ui::UiOptions;

use crate::fixture::{API_KEY, Reply, call, get, paths_in, post};
use crate::portal_fixture::{OWN_KEY, Portals, cookie, now, token};

/// The routes by method, and whether they take more than reading. Leaving is the last, because it ends the session.
const ROUTES: [(&str, &str, bool); 22] = [
    ("GET", "/portal/{app}", false),
    ("GET", "/portal/{app}/deliveries", false),
    ("GET", "/portal/{app}/deliveries/{msg}/{ep}", false),
    ("GET", "/portal/{app}/event-types", false),
    ("POST", "/portal/{app}/deliveries/{msg}/{ep}/retry", true),
    ("POST", "/portal/{app}/deliveries/{msg}/{ep}/replay", true),
    ("GET", "/portal/{app}/endpoints/new", true),
    ("POST", "/portal/{app}/endpoints/new", true),
    ("GET", "/portal/{app}/endpoints/{ep}", false),
    ("GET", "/portal/{app}/endpoints/{ep}/edit", true),
    ("POST", "/portal/{app}/endpoints/{ep}/edit", true),
    ("GET", "/portal/{app}/endpoints/{ep}/secret", true),
    ("POST", "/portal/{app}/endpoints/{ep}/secret", true),
    ("POST", "/portal/{app}/endpoints/{ep}/enable", true),
    ("POST", "/portal/{app}/endpoints/{ep}/disable", true),
    ("POST", "/portal/{app}/endpoints/{ep}/test", true),
    ("POST", "/portal/{app}/endpoints/{ep}/retry", true),
    ("POST", "/portal/{app}/endpoints/{ep}/replay", true),
    ("POST", "/portal/{app}/endpoints/{ep}/replay-missing", true),
    ("POST", "/portal/{app}/endpoints/{ep}/delete", true),
    ("GET", "/portal/{app}/{*rest}", false),
    ("POST", "/portal/{app}/leave", false),
];

/// Routes that take no session.
const OPEN: [&str; 1] = ["/portal/assets/{name}"];

#[test]
fn a_route_of_the_portal_was_not_tried_by_every_identity() {
    let source = include_str!("../../src/ui/portal/router.rs");
    let found = paths_in(source);
    let tried: BTreeSet<&str> = ROUTES.iter().map(|(_, path, _)| *path).chain(OPEN).collect();
    assert_eq!(found, tried);
}

async fn ask(portals: &Portals, method: &str, path: &str, fields: &[&str]) -> Reply {
    match method {
        "GET" => get(portals.fixture.address, path, fields).await,
        _ => post(portals.fixture.address, path, fields, "").await,
    }
}

#[tokio::test]
async fn an_identity_could_do_more_or_less_in_the_portal_than_it_may() {
    let portals = Portals::set(UiOptions::default()).await;
    let (app, other) = (portals.app, portals.other);
    let read = portals.session(app, "read").await;
    let manage = portals.session(app, "manage").await;
    let (revoked_link, revoked_token) = portals.link(app, "manage").await;
    let revoked = crate::portal_fixture::session_of(&portals.open(&revoked_token).await);
    portals.delete(app, &format!("/{}", revoked_link["id"].as_str().unwrap())).await;
    let (_, unopened) = portals.link(app, "manage").await;
    // In whole seconds, so that it has passed when it is looked at.
    let (later, earlier) = (now() + Span::from_secs(600), now());
    let key = portals.key(app);
    let own = token("ps_", app, later, 0, &key);
    let outside: Vec<(&str, String)> = vec![
        ("nobody", "x-nothing: 1".into()),
        ("expired", cookie(&token("ps_", app, earlier, 1, &key))),
        ("of another tenant", portals.session(other, "manage").await),
        (
            "signed by another tenant's key",
            cookie(&token("ps_", app, later, 1, &portals.key(other))),
        ),
        ("forged", cookie(&token("ps_", app, later, 1, &[0; 32]))),
        ("of no capability", cookie(&token("ps_", app, later, 7, &key))),
        ("cut", cookie(&own[..own.len() - 1])),
        ("revoked", revoked),
        ("a link instead of a session", cookie(&unopened)),
        ("a link in disguise", cookie(&unopened.replacen("pl_", "ps_", 1))),
        ("the application's key", format!("authorization: Bearer {OWN_KEY}")),
        ("the admin key", format!("authorization: Bearer {API_KEY}")),
    ];
    // The format is what its description says: this one is valid.
    let path = format!("/portal/{app}");
    assert_eq!(ask(&portals, "GET", &path, &[&cookie(&own)]).await.status, 200);
    let nothing = "0".repeat(32);
    for (method, route, manages) in ROUTES {
        let path = route
            .replace("{app}", &app.to_string())
            .replace("{ep}", &format!("ep_{nothing}"))
            .replace("{msg}", &format!("msg_{nothing}"))
            .replace("{*rest}", "nothing/here");
        for (name, identity) in &outside {
            let reply = ask(&portals, method, &path, &[identity]).await;
            assert_eq!(reply.status, 401, "{method} {route}, {name}: {}", reply.body);
            assert!(reply.body.contains("Your session has ended"), "{method} {route}, {name}");
        }
        let by_reader = ask(&portals, method, &path, &[&read]).await;
        assert_eq!(by_reader.status == 403, manages, "{method} {route}: {}", by_reader.body);
        let by_manager = ask(&portals, method, &path, &[&manage]).await;
        assert!(![401, 403].contains(&by_manager.status), "{method} {route}: {}", by_manager.body);
    }
    for ended in [read, manage] {
        assert_eq!(ask(&portals, "GET", &format!("/portal/{app}"), &[&ended]).await.status, 401);
    }
}

#[tokio::test]
async fn a_session_reached_what_is_another_tenants() {
    let portals = Portals::set(UiOptions::default()).await;
    let Portals { app, other, other_endpoint, other_message, .. } = portals;
    let manage = portals.session(app, "manage").await;
    let node = &portals.fixture.node;
    let before = node.endpoint(other_endpoint).unwrap();
    let delivery = node.store().delivery(other_message, other_endpoint).await.unwrap().unwrap();
    for (method, route, _) in ROUTES.into_iter().filter(|(_, path, _)| path.contains("{ep}")) {
        let path = route
            .replace("{app}", &app.to_string())
            .replace("{ep}", &other_endpoint.to_string())
            .replace("{msg}", &other_message.to_string());
        let reply = ask(&portals, method, &path, &[&manage]).await;
        assert_eq!(reply.status, 404, "{method} {route}: {}", reply.body);
    }
    assert_eq!(node.endpoint(other_endpoint).unwrap(), before);
    let after = node.store().delivery(other_message, other_endpoint).await.unwrap().unwrap();
    assert_eq!(after.replays, delivery.replays);
    let list = format!("/portal/{app}/deliveries?endpoint={other_endpoint}");
    assert_eq!(ask(&portals, "GET", &list, &[&manage]).await.status, 404);
    let own_message = portals.fixture.message;
    let mixed = format!("/portal/{app}/deliveries/{own_message}/{other_endpoint}");
    assert_eq!(ask(&portals, "GET", &mixed, &[&manage]).await.status, 404);
    let elsewhere = ask(&portals, "GET", &format!("/portal/{other}"), &[&manage]).await;
    assert_eq!(elsewhere.status, 401);
    for path in ["", "/deliveries", "/endpoints/new"] {
        let page = ask(&portals, "GET", &format!("/portal/{app}{path}"), &[&manage]).await.body;
        assert!(!page.to_lowercase().contains("umbrella"), "{path}: {page}");
    }
}

#[tokio::test]
async fn a_session_reached_operators_pages_or_the_api() {
    let portals = Portals::set(UiOptions::default()).await;
    let address = portals.fixture.address;
    let manage = portals.session(portals.app, "manage").await;
    let value = manage.strip_prefix("cookie: stagger-portal=").unwrap().to_owned();
    let disguised = format!("cookie: stagger={value}");
    for cookie in [&manage, &disguised] {
        for path in portals.fixture.paths() {
            let reply = get(address, &path, &[cookie]).await;
            assert_eq!(reply.status, 303, "{path}");
            assert!(reply.field("location").unwrap().starts_with("/ui/sign-in"), "{path}");
        }
        let disable = format!("/ui/endpoints/{}/disable", portals.fixture.well);
        assert_eq!(post(address, &disable, &[cookie], "").await.status, 303);
    }
    let view = portals.fixture.node.view(portals.fixture.well).await.unwrap();
    assert!(view.endpoint_state.disabled.is_none());
    let own = format!("GET /v1/applications/{}", portals.app);
    for line in [own.as_str(), "GET /v1/applications", "GET /v1/audit"] {
        assert_eq!(call(address, line, &value, "").await.status, 401, "{line}");
    }
    let (_, link) = portals.link(portals.app, "manage").await;
    assert_eq!(call(address, &own, &link, "").await.status, 401);
    // And an operator's session is none of the portal.
    let signed_in = post(address, "/ui/sign-in", &[], "key=the+right+key").await;
    let operator = signed_in.field("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let page = format!("/portal/{}", portals.app);
    assert_eq!(get(address, &page, &[&format!("cookie: {operator}")]).await.status, 401);
    let swapped = operator.replacen("stagger=", "stagger-portal=", 1);
    assert_eq!(get(address, &page, &[&format!("cookie: {swapped}")]).await.status, 401);
}

#[tokio::test]
async fn a_link_was_made_or_deleted_by_another_tenant() {
    let portals = Portals::set(UiOptions::default()).await;
    let Portals { app, other, .. } = portals;
    let address = portals.fixture.address;
    let links = |app| format!("/v1/applications/{app}/portal-links");
    for (line, status) in [
        (format!("POST {}", links(app)), 201),
        (format!("POST {}", links(other)), 404),
        (format!("DELETE {}", links(other)), 404),
        (format!("DELETE {}/link_{}", links(other), "0".repeat(32)), 404),
        (format!("DELETE {}/link_{}", links(app), "0".repeat(32)), 204),
        (format!("DELETE {}/link_1", links(app)), 404),
    ] {
        assert_eq!(call(address, &line, OWN_KEY, "{}").await.status, status, "{line}");
    }
    for body in [
        r#"{"expires_in": "59s"}"#,
        r#"{"expires_in": "7d 1s"}"#,
        r#"{"capability": "admin"}"#,
        r#"{"application": "app_1"}"#,
    ] {
        let reply = call(address, &format!("POST {}", links(app)), OWN_KEY, body).await;
        assert_eq!(reply.status, 400, "{body}: {}", reply.body);
    }
}
