//! Attempts with HTTP Message Signatures, as a receiver verifies them.

use bytes::Bytes;
use stagger::{Instant, Span};
use stagger_scheduler::model::{Endpoint, EventFormat, SecretKind, SignatureScheme};
use stagger_sender::{
    MessageRejection, MessageVerifier, ReceivedRequest, Sender, TOLERANCE, generate_secret,
    public_key_text, secret_text,
};
use stagger_testkit::server::{Reaction, Script, SeenRequest, TestServer};

use crate::attempts::{field, wall};
use crate::endpoint::{SECRET, endpoint, message, private};

fn judged(seen: &SeenRequest, url: &str, key: &str) -> Result<(), MessageRejection> {
    let verifier = MessageVerifier::parse([key]).expect("a key");
    let target_uri = url.parse().expect("a URL");
    let received = ReceivedRequest {
        method: seen.method.as_str(),
        target_uri: &target_uri,
        headers: &seen.headers,
        body: &seen.body,
    };
    verifier.verify(&received, Instant::ORIGIN + Span::from_secs(wall()), TOLERANCE)
}

async fn sent(change: impl FnOnce(Endpoint) -> Endpoint) -> (SeenRequest, String) {
    let server = TestServer::start(Script::always(Reaction::status(204))).await;
    let url = server.url("/hook?a=%20b&c");
    let sender = Sender::new(private()).expect("good options");
    let endpoint = change(endpoint(&url));
    let answer = sender.send(&endpoint, &message(), Bytes::from_static(b"{\"a\": 1}"), 1).await;
    assert_eq!(answer.result, Ok(204), "{:?}", answer.detail);
    (server.seen().remove(0), url)
}

#[tokio::test]
async fn a_scheme_has_its_own_headers_and_no_others() {
    for (signatures, standard, own) in [
        (SignatureScheme::StandardWebhooks, true, false),
        (SignatureScheme::HttpMessageSignatures, false, true),
        (SignatureScheme::Both, true, true),
    ] {
        let (seen, url) = sent(|endpoint| Endpoint { signatures, ..endpoint }).await;
        assert_eq!(seen.headers.contains_key("webhook-signature"), standard);
        for name in ["signature", "signature-input", "content-digest"] {
            assert_eq!(seen.headers.contains_key(name), own, "{name}");
        }
        assert_eq!(judged(&seen, &url, SECRET).is_ok(), own);
    }
}

#[tokio::test]
async fn every_secret_in_force_signs_the_request_as_it_was_sent() {
    let new = generate_secret(SecretKind::Asymmetric).expect("randomness");
    let (seen, url) = sent(|endpoint| Endpoint {
        signatures: SignatureScheme::HttpMessageSignatures,
        secrets: [vec![new.clone()], endpoint.secrets.clone()].concat(),
        ..endpoint
    })
    .await;
    let input = field(&seen, "signature-input");
    assert!(input.starts_with("sig1=(\"@method\" \"@target-uri\" \"content-digest\""), "{input}");
    assert!(input.contains(";alg=\"ed25519\";tag=\"webhook\", sig2=("), "{input}");
    let public = public_key_text(&new).expect("it has one");
    for key in [SECRET, &public] {
        assert_eq!(judged(&seen, &url, key), Ok(()));
        let elsewhere = judged(&seen, &url.replace("/hook", "/other"), key);
        assert_eq!(elsewhere, Err(MessageRejection::Signature));
    }
    let other = secret_text(&generate_secret(SecretKind::Symmetric).expect("randomness"));
    assert_eq!(judged(&seen, &url, &other), Err(MessageRejection::Signature));
}

#[tokio::test]
async fn the_attributes_of_an_event_are_signed() {
    let (mut seen, url) = sent(|endpoint| Endpoint {
        signatures: SignatureScheme::HttpMessageSignatures,
        format: EventFormat::CloudEventsBinary,
        ..endpoint
    })
    .await;
    assert_eq!(judged(&seen, &url, SECRET), Ok(()));
    assert!(field(&seen, "signature-input").contains("\"ce-id\" \"ce-source\""));
    seen.headers.insert("ce-type", "invoice.void".parse().expect("a value"));
    assert_eq!(judged(&seen, &url, SECRET), Err(MessageRejection::Signature));
    let (seen, url) = sent(|endpoint| Endpoint {
        signatures: SignatureScheme::Both,
        format: EventFormat::CloudEventsStructured,
        ..endpoint
    })
    .await;
    assert_eq!(judged(&seen, &url, SECRET), Ok(()));
    assert_eq!(field(&seen, "content-type"), "application/cloudevents+json; charset=UTF-8");
    let event: serde_json::Value = serde_json::from_slice(&seen.body).expect("JSON");
    assert_eq!((&event["type"], &event["data"]["a"]), (&"invoice.paid".into(), &1.into()));
}
