//! The catalogue of event types on the pages, and the page of the API keys.

use stagger_dispatch::ui::UiOptions;

use crate::fixture::{API_KEY, call, get, post};
use crate::portal_fixture::Portals;

const SCHEMA: &str = r#"{"type": "object", "properties": {"<b>": {"const": "</pre><script>"}}}"#;

#[tokio::test]
async fn the_event_types_were_not_offered_in_forms_or_not_described_in_the_portal() {
    let portals = Portals::set(UiOptions::default()).await;
    let address = portals.fixture.address;
    let reader = portals.session(portals.app, "read").await;
    let manager = portals.session(portals.app, "manage").await;
    let page = format!("/portal/{}/event-types", portals.app);
    let empty = get(address, &page, &[&reader]).await;
    assert!(empty.status == 200 && empty.body.contains("No event types"), "{}", empty.body);

    let put = async |name: &str, body: &str| {
        let line = format!("PUT /v1/event-types/{name}");
        let reply = call(address, &line, API_KEY, body).await;
        assert_eq!(reply.status, 201, "{}", reply.body);
    };
    let described = format!(
        r#"{{"description": "An invoice <i>was</i> paid.", "schema": {SCHEMA}, "example": {{"amount": 1}}}}"#
    );
    put("invoice.paid", &described).await;
    put("invoice.old", r#"{"archived": true}"#).await;
    let shown = get(address, &page, &[&reader]).await;
    assert_eq!(shown.status, 200, "{}", shown.body);
    for part in ["invoice.paid", "An invoice &#60;i&#62;was", "&#34;amount&#34;: 1", "JSON Schema"]
    {
        assert!(shown.body.contains(part), "{part}: {}", shown.body);
    }
    assert!(!shown.body.contains("invoice.old") && !shown.body.contains("<script>\""));
    assert!(!shown.body.contains("</pre><script>"), "{}", shown.body);

    let form = format!("/portal/{}/endpoints/new", portals.app);
    let form = get(address, &form, &[&manager]).await;
    let option = r#"<option value="invoice.paid"></option>"#;
    assert!(form.body.contains(option) && form.body.contains(r#"list="event-types""#));
    assert!(!form.body.contains("invoice.old"), "{}", form.body);

    let signed = post(address, "/ui/sign-in", &[], "key=the+right+key").await;
    let cookie = signed.field("set-cookie").unwrap();
    let cookie = format!("cookie: {}", cookie.split(';').next().unwrap());
    let form = format!("/ui/applications/{}/endpoints", portals.app);
    let form = get(address, &form, &[&cookie]).await;
    assert!(form.body.contains(option), "{}", form.body);

    let made = r#"{"name": "billing <b>", "scopes": ["messages:write"]}"#;
    let made = call(address, "POST /v1/api-keys", API_KEY, made).await;
    let made: serde_json::Value = serde_json::from_str(&made.body).unwrap();
    let (id, secret) = (made["id"].as_str().unwrap(), made["key"].as_str().unwrap());
    let keys = get(address, "/ui/keys", &[&cookie]).await;
    assert!(keys.body.contains("billing &#60;b&#62;") && keys.body.contains("messages:write"));
    assert!(!keys.body.contains(secret), "{}", keys.body);
    let deleted = post(address, &format!("/ui/keys/{id}/delete"), &[&cookie], "").await;
    assert_eq!(deleted.status, 303, "{}", deleted.body);
    let line = "POST /v1/applications/app_0/messages";
    assert_eq!(call(address, line, secret, "{}").await.status, 401);
    let keys = get(address, deleted.field("location").unwrap(), &[&cookie]).await;
    assert!(keys.body.contains("The key is deleted") && keys.body.contains("No API keys"));
}
