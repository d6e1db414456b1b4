//! The form of an endpoint, on the operator's page and in the portal: the same fields, and what was typed stays.

use stagger_dispatch::ui::UiOptions;
use stagger_scheduler::model::{Endpoint, EndpointAuth};

use crate::fixture::{get, post};
use crate::portal_fixture::Portals;

/// The ways to the form of one endpoint: the header of a session, and the path.
async fn ways(portals: &Portals) -> [(String, String); 2] {
    let address = portals.fixture.address;
    let signed_in = post(address, "/ui/sign-in", &[], "key=the+right+key").await;
    let operator = signed_in.field("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let well = portals.fixture.well;
    [
        (format!("cookie: {operator}"), format!("/ui/endpoints/{well}/edit")),
        (
            portals.session(portals.app, "manage").await,
            format!("/portal/{}/endpoints/{well}/edit", portals.app),
        ),
    ]
}

fn well(portals: &Portals) -> std::sync::Arc<Endpoint> {
    portals.fixture.node.endpoint(portals.fixture.well).unwrap()
}

/// The fields that have to be there, as they were.
fn base(portals: &Portals) -> String {
    format!("url={}&description=a", well(portals).url.replace(':', "%3A").replace('/', "%2F"))
}

#[tokio::test]
async fn every_setting_of_the_form_is_saved_on_both_pages() {
    let portals = Portals::set(UiOptions::default()).await;
    for (session, path) in ways(&portals).await {
        let form = format!(
            "{}&channels=eu,us&events=order.*&format=cloudevents-binary&signatures=both\
             &filter=%7B%22path%22%3A%22%2Fa%22%2C%22ge%22%3A1%7D\
             &auth=basic&auth_username=me&auth_password=hunter2",
            base(&portals)
        );
        let reply = post(portals.fixture.address, &path, &[&session], &form).await;
        assert_eq!(reply.status, 303, "{path}: {}", reply.body);
        let saved = well(&portals);
        assert_eq!((saved.format.name(), saved.signatures.name()), ("cloudevents-binary", "both"));
        assert_eq!(saved.channels.len(), 2);
        assert!(saved.filter.is_some() && saved.auth.is_some());
        let page = get(portals.fixture.address, &path, &[&session]).await.body;
        for shown in [
            "value=\"eu, us\"",
            "value=\"order.*\"",
            "\"cloudevents-binary\" selected",
            "\"both\" selected",
            "\"basic\" selected",
            "value=\"me\"",
        ] {
            assert!(page.contains(shown), "{path} lacks {shown}");
        }
        assert!(!page.contains("hunter2"), "{path} shows a password");
        // An empty secret is kept; another kind replaces all.
        let kept = format!("{}&auth=basic&auth_username=you", base(&portals));
        assert_eq!(post(portals.fixture.address, &path, &[&session], &kept).await.status, 303);
        let Some(EndpointAuth::Basic { username, password }) = &well(&portals).auth else {
            panic!("{path}: another kind")
        };
        assert_eq!((username.as_str(), password.reveal()), ("you", "hunter2"));
        let bare = base(&portals);
        assert_eq!(post(portals.fixture.address, &path, &[&session], &bare).await.status, 303);
        let saved = well(&portals);
        assert!(saved.auth.is_none() && saved.filter.is_none() && saved.channels.is_empty());
        assert_eq!((saved.format.name(), saved.signatures.name()), ("plain", "standard-webhooks"));
    }
}

#[tokio::test]
async fn a_mistake_keeps_what_was_typed_except_secrets() {
    let portals = Portals::set(UiOptions::default()).await;
    let before = well(&portals);
    for (session, path) in ways(&portals).await {
        for (wrong, words) in [
            ("timeout=5m", "timeout = 300s"),
            ("filter=%7B", "filter: must be a filter in JSON"),
            ("format=xml", "format = xml"),
            ("handshake=on", "handshake = true"),
        ] {
            let form = format!(
                "{}&channels=eu&auth=oauth2&auth_client_id=hooks&auth_client_secret=hunter2\
                 &auth_token_url=https%3A%2F%2Flogin.example%2Ftoken&secret_headers=x-key%3A+hunter2&{wrong}",
                base(&portals)
            );
            let reply = post(portals.fixture.address, &path, &[&session], &form).await;
            assert_eq!(reply.status, 400, "{path} {wrong}: {}", reply.body);
            assert!(reply.body.contains(words), "{path} {wrong}: {}", reply.body);
            for typed in [
                "value=\"eu\"",
                "\"oauth2\" selected",
                "value=\"hooks\"",
                "login.example",
                ">x-key</textarea>",
            ] {
                assert!(reply.body.contains(typed), "{path} {wrong} lost {typed}");
            }
            assert!(!reply.body.contains("hunter2"), "{path} {wrong} shows a secret");
        }
    }
    assert_eq!(well(&portals), before, "nothing is half written");
}
