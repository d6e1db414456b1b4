//! The responses of the page, over real sockets.

use stagger_dispatch::ui::UiOptions;
use stagger_scheduler::model::{DeliveryState, KeyHash};

use crate::fixture::{Fixture, HOSTILE, get, post, post_from};

const LOCKED: &str = "the right key";

fn locked() -> UiOptions {
    UiOptions { admin_key: Some(KeyHash::of(LOCKED)), ..UiOptions::default() }
}

#[tokio::test]
async fn every_page_is_whole_and_says_what_browsers_must_not_do() {
    let fixture = Fixture::set(UiOptions::default()).await;
    for path in fixture.paths() {
        let reply = get(fixture.address, &path, &[]).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        assert!(reply.body.trim_end().ends_with("</html>"), "{path}");
        assert!(!reply.body.contains(HOSTILE), "{path}");
        assert_eq!(reply.field("cache-control"), Some("no-store"), "{path}");
    }
    let absent = ["/ui/endpoints/ep_1", "/ui/none", "/ui/deliveries?cursor=x", "/ui/assets/x.js"];
    for path in absent {
        assert!((400..500).contains(&get(fixture.address, path, &[]).await.status), "{path}");
    }
    for path in
        fixture.paths().iter().map(String::as_str).chain(absent).chain(["/ui/attempt-rates"])
    {
        let reply = get(fixture.address, path, &[]).await;
        let policy = reply.field("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'"), "{path}: {policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
        assert_eq!(reply.field("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(reply.field("referrer-policy"), Some("same-origin"), "{path}");
    }
}

#[tokio::test]
async fn an_empty_dispatcher_says_what_to_do_first() {
    let (address, _node) = Fixture::empty(UiOptions::default()).await;
    for path in ["/", "/ui/applications"] {
        let reply = get(address, path, &[]).await;
        assert!(reply.body.contains("/v1/applications -H"), "{path}: {}", reply.body);
    }
    assert!(get(address, "/ui/dead", &[]).await.body.contains("No dead letters"));
}

#[tokio::test]
async fn states_attempts_and_reasons_are_shown() {
    let fixture = Fixture::set(UiOptions::default()).await;
    let Fixture { address, message, strict, failing, .. } = fixture;
    let dead = get(address, &format!("/ui/deliveries/{message}/{strict}"), &[]).await.body;
    for words in ["422 Unprocessable", "permanent status", "&#60;script&#62;", "order-1204"] {
        assert!(dead.contains(words), "{words}: {dead}");
    }
    let open = get(address, &format!("/ui/endpoints/{failing}"), &[]).await.body;
    assert!(open.contains(">breaker open</span>") && open.contains("Failing since"), "{open}");
    for words in ["Last failure: 500 Internal Server Error", "&#60;script&#62;", "1 (100 %)"] {
        assert!(open.contains(words), "{words}: {open}");
    }
    let refusing = get(address, &format!("/ui/endpoints/{strict}"), &[]).await.body;
    assert!(refusing.contains("badge bad\">failing</span>"), "{refusing}");
    let trouble = get(address, "/", &[]).await.body;
    for words in
        ["/failing", "/gone", "/strict", "422 Unprocessable", ">disabled</span>", "Acme &#38; Sons"]
    {
        assert!(trouble.contains(words), "{words}: {trouble}");
    }
    let columns = get(address, "/ui/attempt-rates", &[]).await.body;
    let columns: serde_json::Value = serde_json::from_str(&columns).unwrap();
    let sum = |name: &str| -> u64 {
        columns[name].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum()
    };
    assert_eq!(columns["at"].as_array().unwrap().len(), 300);
    assert_eq!(sum("first"), 4);
}

#[tokio::test]
async fn buttons_do_what_they_say_and_lead_to_what_came_of_it() {
    let fixture = Fixture::set(UiOptions::default()).await;
    let Fixture { address, message, well, strict, failing, .. } = fixture;
    let press = async |path: String, form: &str| {
        let reply = post(address, &path, &[], form).await;
        assert_eq!(reply.status, 303, "{path}: {}", reply.body);
        let to = reply.field("location").unwrap().to_owned();
        let page = get(address, &to, &[]).await;
        assert_eq!(page.status, 200, "{to}");
        page.body
    };
    let page = press(format!("/ui/endpoints/{well}/disable"), "").await;
    assert!(
        page.contains(">disabled</span>") && page.contains("An operator disabled it."),
        "{page}"
    );
    let page = press(format!("/ui/endpoints/{well}/enable"), "").await;
    assert!(page.contains("<p>Enabled."), "{page}");
    let page = press(format!("/ui/endpoints/{well}/test"), "").await;
    assert!(
        page.contains("stagger.test") && page.contains("A test event is on its way."),
        "{page}"
    );
    let page = press(format!("/ui/endpoints/{strict}/replay"), "since=2100-01-01T00:00").await;
    assert!(page.contains("There was nothing to replay."), "{page}");
    let page = press("/ui/dead/replay".into(), &format!("endpoint={strict}")).await;
    assert!(page.contains("One delivery is pending again."), "{page}");
    let page = press(format!("/ui/deliveries/{message}/{failing}/retry"), "").await;
    assert!(page.contains("It is attempted now"), "{page}");
    let page = press(format!("/ui/endpoints/{failing}/retry"), "").await;
    assert!(page.contains("waiting.") || page.contains("attempted now"), "{page}");
    let page = press("/ui/deliveries/retry".into(), "event_type=other").await;
    assert!(page.contains("No delivery was waiting"), "{page}");
    let page =
        press(format!("/ui/endpoints/{well}/replay-missing"), "since=2020-01-01T00:00").await;
    assert!(page.contains("has missed no message"), "{page}");
    let page = press(format!("/ui/deliveries/{message}/{failing}/cancel"), "").await;
    assert!(page.contains("cancelled by hand"), "{page}");
    let page = press(format!("/ui/deliveries/{message}/{failing}/replay"), "").await;
    assert!(page.contains("Replayed once."), "{page}");
    let again = post(address, &format!("/ui/deliveries/{message}/{failing}/replay"), &[], "").await;
    assert_eq!(again.status, 409, "it is open: {}", again.body);
    let wrong = post(address, &format!("/ui/endpoints/{strict}/replay"), &[], "since=soon").await;
    assert_eq!(wrong.status, 400);
}

#[tokio::test]
async fn nothing_is_shown_before_signing_in() {
    let fixture = Fixture::set(locked()).await;
    let address = fixture.address;
    for path in fixture.paths() {
        let reply = get(address, &path, &[]).await;
        assert_eq!(reply.status, 303, "{path}");
        assert!(reply.field("location").unwrap().starts_with("/ui/sign-in?next="), "{path}");
    }
    let polled = get(address, "/", &["hx-request: true"]).await;
    assert_eq!((polled.status, polled.field("hx-redirect")), (401, Some("/ui/sign-in")));
    let wrong = post(address, "/ui/sign-in", &[], "key=wrong").await;
    assert_eq!((wrong.status, wrong.field("set-cookie")), (401, None));
    let form = "key=the+right+key&next=%2Fui%2Fdead";
    let right = post(address, "/ui/sign-in", &[], form).await;
    assert_eq!((right.status, right.field("location")), (303, Some("/ui/dead")));
    let cookie = right.field("set-cookie").unwrap().split(';').next().unwrap();
    let cookie = format!("cookie: {cookie}");
    assert_eq!(get(address, "/ui/dead", &[&cookie]).await.status, 200);
    post(address, "/ui/sign-out", &[&cookie], "").await;
    assert_eq!(get(address, "/ui/dead", &[&cookie]).await.status, 303);
}

#[tokio::test]
async fn forms_of_foreign_pages_change_nothing() {
    let fixture = Fixture::set(UiOptions::default()).await;
    let Fixture { address, message, strict, .. } = fixture;
    let path = format!("/ui/deliveries/{message}/{strict}/replay");
    let own = format!("origin: http://{address}");
    let foreign: [&[&str]; 4] = [
        &["origin: https://evil.example"],
        &["origin: null"],
        &["sec-fetch-site: cross-site", &own],
        &[],
    ];
    for fields in foreign {
        assert_eq!(post_from(address, &path, fields, "").await.status, 403, "{fields:?}");
    }
    let rebound = ["host: evil.example", "origin: http://evil.example"];
    assert_eq!(post_from(address, &path, &rebound, "").await.status, 403);
    assert_eq!(get(address, "/", &["host: evil.example"]).await.status, 403);
    let delivery = fixture.node.store().delivery(message, strict).await.unwrap().unwrap();
    assert_eq!((delivery.state, delivery.replays), (DeliveryState::Dead, 0));
}

#[tokio::test]
async fn files_are_kept_by_the_browser_for_ever() {
    let (address, _node) = Fixture::empty(locked()).await;
    let page = get(address, "/ui/sign-in", &[]).await.body;
    let paths: Vec<_> = page.split('"').filter(|part| part.starts_with("/ui/assets/")).collect();
    assert_eq!(paths.len(), 6);
    for path in paths {
        let first = get(address, path, &[]).await;
        assert_eq!(first.status, 200, "{path}");
        assert!(first.field("cache-control").unwrap().contains("immutable"), "{path}");
        let tag = format!("if-none-match: {}", first.field("etag").unwrap());
        assert_eq!(get(address, path, &[&tag]).await.status, 304, "{path}");
    }
}

#[tokio::test]
async fn a_search_leads_to_what_it_names() {
    let fixture = Fixture::set(UiOptions::default()).await;
    let Fixture { address, message, failing, application, .. } = fixture;
    let find = async |text: &str| get(address, &format!("/ui/search?q={text}"), &[]).await;
    for (text, path) in [
        (failing.to_string(), format!("/ui/endpoints/{failing}")),
        (application.to_string(), format!("/ui/applications/{application}")),
        ("FAILING".into(), format!("/ui/endpoints/{failing}")),
    ] {
        let reply = find(&text).await;
        assert_eq!((reply.status, reply.field("location")), (303, Some(path.as_str())), "{text}");
    }
    let of_message = find(&message.to_string()).await;
    assert!(of_message.body.contains("/failing") && of_message.body.contains("/strict"));
    let several = find("127.0.0.1").await.body;
    assert!(several.contains("/well") && several.contains("/gone"), "{several}");
    assert!(find("nowhere").await.body.contains("Nothing found"));
}

#[tokio::test]
async fn lists_are_filtered_by_type_status_and_time() {
    let fixture = Fixture::set(UiOptions::default()).await;
    let list = async |query: &str| {
        get(fixture.address, &format!("/ui/deliveries?{query}"), &[]).await.body
    };
    let five = list("status=500").await;
    assert!(five.contains("/failing") && !five.contains("/strict</a>"), "{five}");
    assert!(list("event_type=invoice.paid&since=2020-01-01T00:00").await.contains("/strict"));
    assert!(list("until=2020-01-01T00:00").await.contains("No such deliveries"));
    assert!(list("status=abc").await.contains("A status is a number"));
    let waiting = list("state=waiting").await;
    assert!(waiting.contains("Retry all now") && waiting.contains("/retry\"><button"), "{waiting}");
}

#[tokio::test]
async fn a_delivery_shows_its_payload_and_headers_without_secrets() {
    let fixture = Fixture::set(UiOptions::default()).await;
    let Fixture { address, message, strict, .. } = fixture;
    let page = get(address, &format!("/ui/deliveries/{message}/{strict}"), &[]).await.body;
    for words in ["{&#34;id&#34;: 42}", "webhook-id: msg_", "webhook-signature: (not shown)"] {
        assert!(page.contains(words), "{words}: {page}");
    }
}

#[tokio::test]
async fn examples_name_the_address_at_which_the_page_is_served() {
    let options = UiOptions { base: Some("https://hooks.example".into()), ..UiOptions::default() };
    let (address, _node) = Fixture::empty(options).await;
    for path in ["/", "/ui/applications"] {
        let page = get(address, path, &[]).await.body;
        assert!(page.contains("https://hooks.example") && !page.contains(":8080"), "{path}");
    }
}

#[tokio::test]
async fn applications_and_endpoints_are_made_and_changed_on_the_page() {
    let (address, node) = Fixture::empty(locked()).await;
    let right = post(address, "/ui/sign-in", &[], "key=the+right+key").await;
    let cookie = right.field("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let cookie = format!("cookie: {cookie}");
    let send = async |path: &str, form: &str| post(address, path, &[&cookie], form).await;
    assert_eq!(send("/ui/applications", "name=").await.status, 400);
    let made = send("/ui/applications", "name=Acme").await;
    assert!(made.body.contains("sk_") && made.field("cache-control") == Some("no-store"));
    let application = node.applications()[0].id;
    let own = format!("/ui/applications/{application}");
    assert_eq!(send(&own, "name=Acme+Two").await.status, 303);
    assert_eq!(node.application(application).unwrap().name, "Acme Two");

    let path = format!("{own}/endpoints");
    assert_eq!(get(address, &path, &[&cookie]).await.status, 200);
    let wrong = send(&path, "url=http%3A%2F%2F127.0.0.1%2F&timeout=5m").await;
    assert_eq!(wrong.status, 400);
    assert!(
        wrong.body.contains("from 1s to 2m") || wrong.body.contains("timeout"),
        "{}",
        wrong.body
    );
    assert!(wrong.body.contains("value=\"5m\""), "what was typed stays");
    let form = "url=http%3A%2F%2F127.0.0.1%3A1%2Fhook&events=invoice.paid%2C+invoice.void&rate=7\
                &ordered=on&permanent=422&headers=x-tenant%3A+acme&secret_headers=x-key%3A+hunter2";
    let made = send(&path, form).await;
    assert!(made.body.contains("whsec_"), "{}", made.body);
    let endpoint = node.endpoints(application)[0].clone();
    assert_eq!((endpoint.ordered, endpoint.pace.rate.map(u32::from)), (true, Some(7)));
    assert_eq!(endpoint.headers.len(), 2);

    let edit = format!("/ui/endpoints/{}/edit", endpoint.id);
    let page = get(address, &edit, &[&cookie]).await.body;
    assert!(page.contains("x-key: ********") && !page.contains("hunter2"), "{page}");
    let form = "url=http%3A%2F%2F127.0.0.1%3A1%2Fother&secret_headers=x-key%3A+********";
    assert_eq!(send(&edit, form).await.status, 303);
    let changed = node.endpoint(endpoint.id).unwrap();
    assert!(changed.url.ends_with("/other") && !changed.ordered && changed.pace.rate.is_none());
    assert_eq!((changed.headers.len(), &changed.headers[0].value[..]), (1, "hunter2"));
    let moved = "url=http%3A%2F%2F127.0.0.2%3A1%2F&secret_headers=x-key%3A+********";
    let refused = send(&edit, moved).await;
    assert!(refused.status == 400 && refused.body.contains("another origin"), "{}", refused.body);
    let foreign = ["origin: https://evil.example", cookie.as_str()];
    assert_eq!(post_from(address, &edit, &foreign, form).await.status, 403);
}

#[tokio::test]
async fn changes_are_in_the_audit_log() {
    let fixture = Fixture::set(UiOptions::default()).await;
    let Fixture { address, well, .. } = fixture;
    assert!(get(address, "/ui/audit", &[]).await.body.contains("No changes"));
    post(address, &format!("/ui/endpoints/{well}/disable"), &[], "").await;
    post(address, "/ui/endpoints/ep_1/disable", &[], "").await;
    let page = get(address, "/ui/audit", &[]).await.body;
    assert!(page.contains(&format!("POST /ui/endpoints/{well}/disable")), "{page}");
    assert!(page.contains("admin on the page") && !page.contains("/ep_1/"), "{page}");
}
