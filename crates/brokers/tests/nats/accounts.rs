//! Users whose accounts an operator has signed.

use serde_json::json;
use stagger_brokers::{NatsSource, NatsSourceSettings, Source};
use stagger_scheduler::model::*;

use crate::destination::{core, endpoint, send};
use crate::jwt::{Identity, publisher, trusting};
use crate::server::NatsServer;
use crate::shared::sender;

fn identity(user: &Identity, jwt: &str) -> EndpointAuth {
    let (seed, jwt) = (SecretText::new(user.seed()), Some(SecretText::new(jwt)));
    EndpointAuth::Nkey(NkeyIdentity { seed, jwt })
}

#[tokio::test]
async fn a_user_of_an_account_may_do_what_its_token_says_until_it_expires() {
    let (operator, account) = (Identity::operator(1), Identity::account(2));
    let (user, other) = (Identity::user(3), Identity::user(4));
    let Some(server) = NatsServer::start(&trusting(&operator, &account)).await else { return };
    let (sender, url) = (sender(true), server.url());
    let result = async |subject: &str, auth: EndpointAuth| {
        let to = endpoint(&url, subject, |endpoint| {
            core(endpoint);
            endpoint.auth = Some(auth);
        });
        sender.check(&to).expect("it can be saved");
        let answer = send(&sender, &to, "x").await;
        let shown = format!("{answer:?} {to:?}");
        assert!(!shown.contains(&user.seed()) && !shown.contains("eyJ"), "{shown}");
        answer.result
    };
    let may = publisher(&["events.>"]);
    let token = account.token(&user, &may, &json!({}));
    assert_eq!(result("events.a", identity(&user, &token)).await, Ok(200));
    assert_eq!(result("other.a", identity(&user, &token)).await, Ok(403));
    // Each differs from the token that works in one thing.
    let expired = account.token(&user, &may, &json!({ "exp": 1 }));
    assert_eq!(result("events.a", identity(&user, &expired)).await, Ok(401));
    let foreign = Identity::account(5).token(&user, &may, &json!({}));
    assert_eq!(result("events.a", identity(&user, &foreign)).await, Ok(401));
    assert_eq!(result("events.a", identity(&other, &token)).await, Ok(401));
    let alone = NkeyIdentity { seed: SecretText::new(user.seed()), jwt: None };
    assert_eq!(result("events.a", EndpointAuth::Nkey(alone)).await, Ok(401));
}

#[tokio::test]
async fn a_source_whose_token_is_refused_is_a_failure_without_its_secrets() {
    let (operator, account, user) =
        (Identity::operator(1), Identity::account(2), Identity::user(3));
    let Some(server) = NatsServer::start(&trusting(&operator, &account)).await else { return };
    let expired = account.token(&user, &publisher(&[">"]), &json!({ "exp": 1 }));
    let settings = NatsSourceSettings {
        url: server.url(),
        stream: "ORDERS".into(),
        consumer: "stagger".into(),
        subject: None,
        dead_letter: None,
        auth: Some(identity(&user, &expired)),
    };
    let mut source = NatsSource::new(sender(true).network().clone(), settings).expect("valid");
    let failed = source.receive().await.expect_err("its token has expired").to_string();
    assert!(failed.starts_with("401") && !failed.contains("eyJ"), "{failed}");
}
