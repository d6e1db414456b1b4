//! Every route of the page, asked for by every role; and the sessions of operators.

use std::collections::BTreeSet;

use stagger_dispatch::access::Role;

use crate::fixture::{Fixture, Operators, get, paths_in, post};

/// The header with the session of whoever has this key.
async fn sign_in(address: std::net::SocketAddr, key: &str) -> String {
    let reply = post(address, "/ui/sign-in", &[], &format!("key={key}")).await;
    assert_eq!(reply.status, 303, "{}", reply.body);
    let cookie = reply.field("set-cookie").unwrap();
    format!("cookie: {}", cookie.split(';').next().unwrap())
}

/// The routes of the page by method, and the least role for each.
const ROUTES: [(&str, &str, Role); 31] = [
    ("GET", "/", Role::Viewer),
    ("GET", "/ui", Role::Viewer),
    ("GET", "/ui/applications", Role::Viewer),
    ("POST", "/ui/applications", Role::Admin),
    ("GET", "/ui/applications/{application}", Role::Viewer),
    ("POST", "/ui/applications/{application}", Role::Admin),
    ("GET", "/ui/applications/{application}/endpoints", Role::Admin),
    ("POST", "/ui/applications/{application}/endpoints", Role::Admin),
    ("GET", "/ui/endpoints/{endpoint}/edit", Role::Admin),
    ("POST", "/ui/endpoints/{endpoint}/edit", Role::Admin),
    ("GET", "/ui/endpoints/{endpoint}", Role::Viewer),
    ("POST", "/ui/endpoints/{endpoint}/enable", Role::Operator),
    ("POST", "/ui/endpoints/{endpoint}/disable", Role::Operator),
    ("POST", "/ui/endpoints/{endpoint}/test", Role::Operator),
    ("POST", "/ui/endpoints/{endpoint}/replay", Role::Operator),
    ("POST", "/ui/endpoints/{endpoint}/retry", Role::Operator),
    ("POST", "/ui/endpoints/{endpoint}/replay-missing", Role::Operator),
    ("GET", "/ui/deliveries", Role::Viewer),
    ("POST", "/ui/deliveries/retry", Role::Operator),
    ("GET", "/ui/deliveries/{message}/{endpoint}", Role::Viewer),
    ("POST", "/ui/deliveries/{message}/{endpoint}/replay", Role::Operator),
    ("POST", "/ui/deliveries/{message}/{endpoint}/cancel", Role::Operator),
    ("POST", "/ui/deliveries/{message}/{endpoint}/retry", Role::Operator),
    ("GET", "/ui/dead", Role::Viewer),
    ("POST", "/ui/dead/replay", Role::Operator),
    ("GET", "/ui/audit", Role::Viewer),
    ("GET", "/ui/operators", Role::Admin),
    ("GET", "/ui/keys", Role::Admin),
    ("POST", "/ui/keys/{key}/delete", Role::Admin),
    ("GET", "/ui/search", Role::Viewer),
    ("GET", "/ui/attempt-rates", Role::Viewer),
];

/// Routes without a session, and that of any session.
const OPEN: [&str; 4] = ["/ui/assets/{name}", "/ui/{*rest}", "/ui/sign-out", "/ui/sign-in/oidc"];

#[test]
fn a_route_of_the_page_was_not_tried_by_every_role() {
    let source = include_str!("../../src/ui/router.rs");
    let found = paths_in(source);
    let tried: BTreeSet<&str> = ROUTES.iter().map(|(_, path, _)| *path).chain(OPEN).collect();
    assert_eq!(found, tried);
}

#[tokio::test]
async fn a_role_could_do_more_or_less_on_the_page_than_it_may() {
    let operators = Operators::new("table");
    let (address, node) = Fixture::empty(operators.options()).await;
    let mut sessions = Vec::new();
    for role in Role::ALL {
        let key = operators.file.add(&format!("the-{role}"), role).unwrap();
        sessions.push((role, sign_in(address, &key).await));
    }
    sessions.push((Role::Admin, sign_in(address, "the+right+key").await));
    let nothing = "0".repeat(32);
    for (method, path, needed) in ROUTES {
        let path = path
            .replace("{application}", &format!("app_{nothing}"))
            .replace("{endpoint}", &format!("ep_{nothing}"))
            .replace("{message}", &format!("msg_{nothing}"))
            .replace("{key}", &format!("key_{nothing}"));
        let ask = async |cookie: &[&str]| match method {
            "GET" => get(address, &path, cookie).await,
            _ => post(address, &path, cookie, "").await,
        };
        for (role, cookie) in &sessions {
            let reply = ask(&[cookie]).await;
            let may = *role >= needed;
            assert_eq!(reply.status != 403, may, "{method} {path} by {role}: {}", reply.body);
        }
        let reply = ask(&[]).await;
        assert_eq!(reply.status, 303, "{method} {path} without a session");
        assert!(reply.field("location").unwrap().starts_with("/ui/sign-in"), "{path}");
    }
    assert!(node.applications().is_empty());
}

#[tokio::test]
async fn a_viewer_was_offered_what_is_refused() {
    let operators = Operators::new("offers");
    let fixture = Fixture::set(operators.options()).await;
    let address = fixture.address;
    for role in Role::ALL {
        let key = operators.file.add(&format!("the-{role}"), role).unwrap();
        let cookie = sign_in(address, &key).await;
        for path in fixture.paths() {
            let page = get(address, &path, &[&cookie]).await;
            if page.status == 403 {
                assert!(role < Role::Admin && page.body.contains("has the role"), "{path}");
                continue;
            }
            assert_eq!(page.status, 200, "{path}");
            assert!(page.body.contains(&format!(">the-{role}</span>")), "{path}");
            let forms = page.body.matches("method=\"post\"").count();
            let is_list = path == "/"
                || path.contains("search")
                || path == "/ui/audit"
                || path == "/ui/operators";
            let steers = path.contains("/ui/endpoints/") || path.contains("/ui/deliveries/");
            assert_eq!(
                forms > 1,
                steers && role >= Role::Operator && !is_list
                    || role == Role::Admin && path.starts_with("/ui/applications")
                    || role >= Role::Operator
                        && (path.starts_with("/ui/dead") || path.starts_with("/ui/deliveries")),
                "{path} by {role}: {forms}"
            );
            let edits = page.body.contains(">Edit</a>") || page.body.contains("New endpoint");
            assert!(!edits || role == Role::Admin, "{path} by {role}");
            assert!(!page.body.contains("whsec_"), "{path} shows a secret");
        }
    }
}

#[tokio::test]
async fn a_session_outlived_its_operator() {
    let operators = Operators::new("ends");
    let fixture = Fixture::set(operators.options()).await;
    let (address, well) = (fixture.address, fixture.well);
    let key = operators.file.add("alice", Role::Operator).unwrap();
    let cookie = sign_in(address, &key).await;
    let disable = format!("/ui/endpoints/{well}/disable");
    assert_eq!(post(address, &disable, &[&cookie], "").await.status, 303);
    let log = get(address, "/ui/audit", &[&cookie]).await.body;
    assert!(log.contains("alice on the page"), "{log}");
    // The same name with another key is another operator.
    operators.file.remove("alice").unwrap();
    operators.file.add("alice", Role::Admin).unwrap();
    assert_eq!(get(address, "/", &[&cookie]).await.status, 303);
    assert_eq!(
        post(address, &format!("/ui/endpoints/{well}/enable"), &[&cookie], "").await.status,
        303
    );
    assert!(fixture.node.endpoint(well).is_some());
    let signed_out = post(address, "/ui/sign-in", &[], &format!("key={key}")).await;
    assert_eq!(signed_out.status, 401);
}

#[tokio::test]
async fn an_admin_did_not_see_the_operators() {
    let operators = Operators::new("shown");
    let fixture = Fixture::set(operators.options()).await;
    let address = fixture.address;
    let alice = operators.file.add("alice", Role::Viewer).unwrap();
    let root = operators.file.add("root", Role::Admin).unwrap();
    let (alice, root) = (sign_in(address, &alice).await, sign_in(address, &root).await);
    operators.file.add("bob", Role::Operator).unwrap();
    let refused = get(address, "/ui/operators", &[&alice]).await;
    assert_eq!(refused.status, 403);
    assert!(!get(address, "/", &[&alice]).await.body.contains("/ui/operators"));
    let page = get(address, "/ui/operators", &[&root]).await.body;
    let row = |name: &str| {
        let (_, rest) = page.split_once(&format!(">{name}</th>")).unwrap();
        rest.split("</tr>").next().unwrap().to_owned()
    };
    assert!(row("alice").contains(">viewer<") && row("alice").contains("<time"), "{page}");
    assert!(row("bob").contains(">operator<"), "{page}");
    assert!(row("bob").contains("Not since it started"), "{page}");
    operators.file.remove("alice").unwrap();
    assert!(!get(address, "/ui/operators", &[&root]).await.body.contains("alice"));
}
