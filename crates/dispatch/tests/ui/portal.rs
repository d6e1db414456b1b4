//! The portal, over real sockets: opening it, its pages, its forms, and their bounds.

use serde_json::Value;
use stagger::Span;
use stagger_dispatch::config::PortalSettings;
use stagger_dispatch::ui::UiOptions;
use stagger_scheduler::model::Endpoint;

use crate::fixture::{API_KEY, HOSTILE, call, get, post, post_from};
use crate::portal_fixture::{Portals, now, session_of, token};

async fn portals() -> Portals {
    Portals::set(UiOptions::default()).await
}

/// Every page with everything in it, below the portal of the application.
pub(crate) fn pages(portals: &Portals) -> Vec<String> {
    let (base, fixture) = (format!("/portal/{}", portals.app), &portals.fixture);
    let (message, failing, strict) = (fixture.message, fixture.failing, fixture.strict);
    vec![
        base.clone(),
        format!("{base}/deliveries"),
        format!("{base}/deliveries?state=waiting&endpoint={failing}"),
        format!("{base}/deliveries/{message}/{strict}"),
        format!("{base}/deliveries/{message}/{failing}"),
        format!("{base}/endpoints/{failing}"),
        format!("{base}/endpoints/new"),
        format!("{base}/endpoints/{failing}/edit"),
        format!("{base}/endpoints/{failing}/secret"),
    ]
}

#[tokio::test]
async fn a_link_opens_the_portal_once() {
    let portals = portals().await;
    let (address, app) = (portals.fixture.address, portals.app);
    let (link, token) = portals.link(app, "manage").await;
    assert_eq!(link["capability"], "manage");
    let page = get(address, "/portal/open", &[]).await;
    assert!(page.status == 200 && page.body.contains("/portal/assets/open-"), "{}", page.body);
    let opened = portals.open(&token).await;
    assert_eq!(opened.field("location"), Some(format!("/portal/{app}").as_str()));
    let cookie = opened.field("set-cookie").unwrap();
    assert!(cookie.contains(&format!("; Path=/portal/{app}; Max-Age=")), "{cookie}");
    assert!(cookie.ends_with("; HttpOnly; SameSite=Lax"), "{cookie}");
    let session = session_of(&opened);
    let home = get(address, &format!("/portal/{app}"), &[&session]).await;
    assert!(home.status == 200 && home.body.contains("/failing"), "{}", home.body);
    let again = portals.open(&token).await;
    assert!(again.status == 410 && again.body.contains("opened before"), "{}", again.body);
    assert_eq!(again.field("set-cookie"), None);
}

#[tokio::test]
async fn a_link_that_gives_no_access_opened_the_portal() {
    let portals = portals().await;
    let app = portals.app;
    let (link, deleted) = portals.link(app, "read").await;
    portals.delete(app, &format!("/{}", link["id"].as_str().unwrap())).await;
    let key = portals.key(app);
    let expired = token("pl_", app, now(), 1, &key);
    let forged = token("pl_", app, now() + Span::from_secs(60), 1, &[0; 32]);
    for (token, status) in [
        (&deleted, 410),
        (&expired, 410),
        (&forged, 401),
        (&"pl_AA".into(), 401),
        (&String::new(), 401),
    ] {
        let reply = portals.open(token).await;
        assert_eq!((reply.status, reply.field("set-cookie")), (status, None), "{}", reply.body);
    }
    // Another key ends what was opened before, and what was not.
    let (_, unopened) = portals.link(app, "read").await;
    let session = portals.session(app, "read").await;
    portals.delete(app, "").await;
    let page = format!("/portal/{app}");
    assert_eq!(get(portals.fixture.address, &page, &[&session]).await.status, 401);
    assert_eq!(portals.open(&unopened).await.status, 401);
    let fresh = portals.session(app, "read").await;
    assert_eq!(get(portals.fixture.address, &page, &[&fresh]).await.status, 200);
}

#[tokio::test]
async fn every_page_is_whole_and_says_what_browsers_must_not_do() {
    let portals = portals().await;
    let address = portals.fixture.address;
    let session = portals.session(portals.app, "manage").await;
    for path in pages(&portals) {
        let reply = get(address, &path, &[&session]).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        assert!(reply.body.trim_end().ends_with("</html>"), "{path}");
        assert!(!reply.body.contains(HOSTILE) && !reply.body.contains("\"/ui/"), "{path}");
        let secret = reply.body.contains("whsec_");
        assert_eq!(secret, path.ends_with("/secret"), "{path}");
    }
    let others = ["/portal/open".to_owned(), format!("/portal/{}/none", portals.app)];
    for path in pages(&portals).into_iter().chain(others) {
        let reply = get(address, &path, &[&session]).await;
        let policy = reply.field("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; "), "{path}: {policy}");
        assert!(policy.ends_with("frame-ancestors 'none'"), "{path}: {policy}");
        for (name, value) in [
            ("x-frame-options", "DENY"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(reply.field(name), Some(value), "{path}");
        }
    }
}

#[tokio::test]
async fn only_allowed_pages_may_frame_the_portal() {
    let settings = PortalSettings {
        title: "Acme <hooks>".into(),
        logo_url: Some("https://cdn.example/logo.svg?a=1&b=2".into()),
        accent: Some("#ffd400".parse().unwrap()),
        frame_ancestors: vec!["https://app.example".into(), "https://b.example".into()],
    };
    let options = UiOptions { portal: settings, secure: true, ..UiOptions::default() };
    let portals = Portals::set(options).await;
    let address = portals.fixture.address;
    let page = get(address, "/portal/open", &[]).await;
    let policy = page.field("content-security-policy").unwrap();
    assert!(policy.ends_with("frame-ancestors https://app.example https://b.example"), "{policy}");
    assert!(policy.contains("img-src 'self' data: https://cdn.example;"), "{policy}");
    assert_eq!(page.field("x-frame-options"), None);
    assert!(page.body.contains("Acme &#60;hooks&#62;"), "{}", page.body);
    assert!(
        page.body.contains("src=\"https://cdn.example/logo.svg?a=1&#38;b=2\""),
        "{}",
        page.body
    );
    let theme = page.body.split('"').find(|part| part.contains("/theme-")).unwrap();
    let theme = get(address, theme, &[]).await;
    assert!(theme.body.contains("--accent: #ffd400"), "{}", theme.body);
    // The operator's page stays in no frame.
    let policy = get(address, "/ui/sign-in", &[]).await;
    let policy = policy.field("content-security-policy").unwrap().to_owned();
    assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    let (_, token) = portals.link(portals.app, "read").await;
    let framed = ["sec-fetch-dest: iframe", "sec-fetch-site: same-origin"];
    let opened = post_from(address, "/portal/open", &framed, &format!("token={token}")).await;
    let cookie = opened.field("set-cookie").unwrap();
    assert!(cookie.starts_with("__Secure-stagger-portal=ps_"), "{cookie}");
    assert!(cookie.ends_with("; HttpOnly; SameSite=None; Secure; Partitioned"), "{cookie}");
    let session = session_of(&opened);
    let home = get(address, &format!("/portal/{}", portals.app), &[&session]).await;
    assert_eq!(home.status, 200);
}

#[tokio::test]
async fn forms_of_foreign_pages_change_nothing() {
    let portals = portals().await;
    let address = portals.fixture.address;
    let session = portals.session(portals.app, "manage").await;
    let disable = format!("/portal/{}/endpoints/{}/disable", portals.app, portals.fixture.well);
    let (_, token) = portals.link(portals.app, "read").await;
    let own = format!("origin: http://{address}");
    let foreign: [&[&str]; 4] = [
        &["origin: https://evil.example"],
        &["origin: null"],
        &["sec-fetch-site: cross-site", &own],
        &[],
    ];
    for fields in foreign {
        let fields = [fields, &[session.as_str()]].concat();
        assert_eq!(post_from(address, &disable, &fields, "").await.status, 403, "{fields:?}");
        let form = format!("token={token}");
        assert_eq!(post_from(address, "/portal/open", &fields, &form).await.status, 403);
    }
    let view = portals.fixture.node.view(portals.fixture.well).await.unwrap();
    assert!(view.endpoint_state.disabled.is_none());
    assert_eq!(portals.open(&token).await.status, 303, "the link was not used up");
}

#[tokio::test]
async fn a_reader_was_offered_what_is_refused() {
    let portals = portals().await;
    let address = portals.fixture.address;
    let session = portals.session(portals.app, "read").await;
    for path in pages(&portals) {
        let page = get(address, &path, &[&session]).await;
        if page.status == 403 {
            assert!(page.body.contains("lets you look"), "{path}");
            continue;
        }
        assert_eq!(page.status, 200, "{path}");
        let forms = page.body.matches("method=\"post\"").count();
        assert_eq!(forms, 1, "{path} has more than leaving: {}", page.body);
        assert!(!page.body.contains("/edit\"") && !page.body.contains("/new\""), "{path}");
    }
}

#[tokio::test]
async fn buttons_do_what_they_say_and_the_audit_log_names_the_portal() {
    let portals = portals().await;
    let fixture = &portals.fixture;
    let (address, base) = (fixture.address, format!("/portal/{}", portals.app));
    let (message, failing, strict, well) =
        (fixture.message, fixture.failing, fixture.strict, fixture.well);
    let session = portals.session(portals.app, "manage").await;
    let press = async |path: String, form: &str, says: &str| {
        let reply = post(address, &format!("{base}{path}"), &[&session], form).await;
        assert_eq!(reply.status, 303, "{path}: {}", reply.body);
        let to = reply.field("location").unwrap().to_owned();
        let page = get(address, &to, &[&session]).await;
        assert!(page.status == 200 && page.body.contains(says), "{path}: {}", page.body);
    };
    press(format!("/endpoints/{well}/disable"), "", "disabled by hand").await;
    press(format!("/endpoints/{well}/enable"), "", "<p>Enabled.").await;
    press(format!("/endpoints/{well}/test"), "", "A test event is on its way.").await;
    press(format!("/deliveries/{message}/{failing}/retry"), "", "It is attempted now").await;
    press(format!("/endpoints/{failing}/retry"), "", "<div id=\"note\" role=\"status\"><p>").await;
    press(format!("/endpoints/{strict}/replay"), "since=2100-01-01T00:00", "nothing to replay")
        .await;
    press(format!("/deliveries/{message}/{strict}/replay"), "", "pending again").await;
    let missed = "since=2020-01-01T00:00";
    press(format!("/endpoints/{well}/replay-missing"), missed, "has missed no message").await;
    let wrong =
        post(address, &format!("{base}/endpoints/{well}/replay-missing"), &[&session], "").await;
    assert_eq!(wrong.status, 400);
    press(format!("/endpoints/{strict}/delete"), "", "The endpoint is deleted.").await;
    assert!(fixture.node.endpoint(strict).is_none());

    let before = fixture.node.endpoint(well).unwrap().secrets.clone();
    let secret = format!("{base}/endpoints/{well}/secret");
    let replaced = post(address, &secret, &[&session], "").await;
    assert_eq!(replaced.body.matches("whsec_").count(), 2, "{}", replaced.body);
    let after = fixture.node.endpoint(well).unwrap().secrets.clone();
    assert_eq!((after.len(), &after[1].key), (2, &before[0].key));

    let log = call(address, "GET /v1/audit", API_KEY, "").await.body;
    let log: Value = serde_json::from_str(&log).unwrap();
    let first = &log["items"][0];
    assert_eq!(first["actor"], format!("portal of {}", portals.app));
    assert_eq!(first["action"], format!("POST {secret}"));
    assert!(first["detail"].as_str().unwrap().starts_with("link_"), "{first}");
    let opened =
        log["items"].as_array().unwrap().iter().any(|it| it["action"] == "POST /portal/open");
    assert!(opened, "{log}");
}

#[tokio::test]
async fn endpoints_are_made_and_changed_within_the_bounds_on_the_applications_keys() {
    let portals = portals().await;
    let fixture = &portals.fixture;
    let (address, node) = (fixture.address, &fixture.node);
    let base = format!("/portal/{}", portals.app);
    let session = portals.session(portals.app, "manage").await;
    let send = async |path: &str, form: &str| {
        post(address, &format!("{base}{path}"), &[&session], form).await
    };
    let url = "url=http%3A%2F%2F127.0.0.1%3A1%2Fmine";
    let wrong = send("/endpoints/new", &format!("{url}&concurrency=129")).await;
    assert_eq!(wrong.status, 400);
    assert!(wrong.body.contains("at most 128 by a key of the application"), "{}", wrong.body);
    assert!(wrong.body.contains("value=\"129\"") && wrong.body.contains("<details open>"));
    let made = send("/endpoints/new", &format!("{url}&events=invoice.paid&concurrency=128")).await;
    assert!(made.status == 200 && made.body.contains("whsec_"), "{}", made.body);
    let endpoint = node.endpoints(portals.app).into_iter().find(|it| it.url.ends_with("/mine"));
    let endpoint = endpoint.unwrap();
    assert_eq!((endpoint.application, endpoint.pace.concurrency.get()), (portals.app, 128));

    // What an operator has allowed stays, and the policy, which the form does not have, too.
    let attempts = stagger::Policy::builder().max_attempts(3);
    let policy = attempts.attempt_timeout(Span::from_secs(30)).build().unwrap();
    let mut allowed = Endpoint { policy, ..Endpoint::clone(&endpoint) };
    allowed.pace.concurrency = std::num::NonZeroU32::new(500).unwrap();
    node.put_endpoint(allowed).await.unwrap();
    let edit = format!("/endpoints/{}/edit", endpoint.id);
    let page = get(address, &format!("{base}{edit}"), &[&session]).await.body;
    assert!(page.contains("value=\"500\""), "{page}");
    let more = send(&edit, &format!("{url}&concurrency=501")).await;
    assert_eq!(more.status, 400);
    let same = send(&edit, &format!("{url}&concurrency=500&description=mine&rate=7")).await;
    assert_eq!(same.status, 303, "{}", same.body);
    let changed = node.endpoint(endpoint.id).unwrap();
    assert_eq!((&changed.description[..], changed.pace.concurrency.get()), ("mine", 500));
    assert_eq!((changed.pace.rate.map(u32::from), &changed.policy), (Some(7), &policy));
    let huge = send(&edit, &format!("{url}&description={}", "x".repeat(40_000))).await;
    assert_eq!(huge.status, 413);
}

#[tokio::test]
async fn a_session_asked_as_often_as_it_liked() {
    let portals = portals().await;
    let session = portals.session(portals.app, "read").await;
    let path = format!("/portal/{}/nothing", portals.app);
    let mut refused = None;
    for _ in 0..500 {
        let reply = get(portals.fixture.address, &path, &[&session]).await;
        if reply.status == 429 {
            refused = reply.field("retry-after").map(str::to_owned);
            break;
        }
    }
    assert_eq!(refused.as_deref(), Some("1"), "10 requests a second, and 60 at once");
}

#[tokio::test]
async fn a_page_that_is_left_open_is_led_out_when_its_session_ends() {
    let portals = portals().await;
    let polled =
        get(portals.fixture.address, &format!("/portal/{}", portals.app), &["hx-request: true"])
            .await;
    assert_eq!((polled.status, polled.field("hx-redirect")), (401, Some("/portal/open")));
}
