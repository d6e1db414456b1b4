//! The vectors of RFC 9421, and what a verifier of webhooks must refuse.

use http::{HeaderMap, HeaderName};
use stagger::hint::structured::{BareItem, Dictionary, Member};
use stagger::{Instant, Span};
use stagger_scheduler::model::{Secret, SecretKind};
use url::Url;

use crate::TOLERANCE;
use crate::content_digest::content_digest;
use crate::message_signature::written;
use crate::message_verifier::*;
use crate::secret::{public_key_text, secret_text};
use crate::signature_base::{SignedRequest, names};
use crate::signer::{Signer, key_id};

const NOW: u64 = 1_700_000_000;
const COVERED: [&str; 6] =
    ["@method", "@target-uri", "content-digest", "content-type", "webhook-id", "webhook-timestamp"];

fn vectors() -> serde_json::Value {
    let text = include_str!("../../../vectors/message-signatures/rfc9421.json");
    serde_json::from_str(text).expect("JSON")
}

fn headers_of(fields: &serde_json::Value) -> HeaderMap {
    let fields = fields.as_array().expect("pairs");
    let text = |field: &serde_json::Value, at: usize| field[at].as_str().expect("text").to_owned();
    let pair = |field| {
        let name: HeaderName = text(field, 0).parse().expect("a name");
        (name, text(field, 1).parse().expect("a value"))
    };
    fields.iter().map(pair).collect()
}

#[test]
fn the_signatures_of_the_standard_fit_and_are_made_alike() {
    let document = vectors();
    let mut headers = headers_of(&document["request"]["headers"]);
    let url = document["request"]["url"].as_str().expect("text").parse().expect("a URL");
    for case in document["cases"].as_array().expect("cases") {
        let text = |name: &str| case[name].as_str().expect("text");
        let input = Dictionary::parse(text("input").as_bytes()).expect("a dictionary");
        let Some((_, Member::InnerList(list))) = input.iter().next() else { panic!("a list") };
        let covered = names(list).expect("names");
        let parameters = written(list).expect("it can be written");
        let request = SignedRequest { method: "POST", target_uri: &url, headers: &headers };
        let base = request.base(&covered, &parameters);
        assert_eq!(base.as_deref(), Some(text("base")), "{}", text("section"));
        headers.insert("signature-input", text("input").parse().expect("a value"));
        headers.insert("signature", text("signature").parse().expect("a value"));
        let verifier = MessageVerifier::parse([text("key")]).expect("a key").requiring(covered);
        let received =
            ReceivedRequest { method: "POST", target_uri: &url, headers: &headers, body: b"" };
        let made = Instant::ORIGIN + Span::from_secs(1_618_884_473);
        assert_eq!(verifier.verify(&received, made, TOLERANCE), Ok(()), "{}", text("section"));
        let mut other = headers.clone();
        other.insert("content-type", "text/plain".parse().expect("a value"));
        let other = ReceivedRequest { headers: &other, ..received };
        let refused = verifier.verify(&other, made, TOLERANCE);
        assert_eq!(refused, Err(MessageRejection::Signature), "{}", text("section"));
        // Both algorithms are deterministic.
        let signer = Signer::new(&[crate::parse_secret(text("signing_key")).expect("a key")]);
        let signer = signer.expect("a key");
        let key = signer.keys_at(made).next().expect("a key");
        let bytes = BareItem::Bytes(key.sign(text("base").as_bytes()));
        let item = stagger::hint::structured::Item::from(bytes);
        let (_, value) = text("signature").split_once('=').expect("a label");
        assert_eq!(item.serialize().expect("bytes"), value, "{}", text("section"));
    }
}

fn secrets() -> [Secret; 2] {
    [SecretKind::Symmetric, SecretKind::Asymmetric].map(|kind| Secret {
        kind,
        key: vec![7; 32],
        until: None,
    })
}

/// A webhook that was signed with `secrets` over `covered`.
struct Webhook {
    url: Url,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Webhook {
    fn signed(secrets: &[Secret], covered: &[&str]) -> Self {
        let url: Url = "https://example.com/hook?a=1".parse().expect("a URL");
        let body = b"{}".to_vec();
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("content-digest", content_digest(&body)),
            ("content-type", "application/json".to_owned()),
            ("webhook-id", "msg_1".to_owned()),
            ("webhook-timestamp", NOW.to_string()),
        ] {
            headers.insert(name, value.parse().expect("a value"));
        }
        let request = SignedRequest { method: "POST", target_uri: &url, headers: &headers };
        let signed = Signer::new(secrets).expect("keys").sign_request(&request, covered, NOW);
        let signed = signed.expect("it has all components");
        headers.insert("signature-input", signed.input.parse().expect("a value"));
        headers.insert("signature", signed.signature.parse().expect("a value"));
        Self { url, headers, body }
    }

    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.insert(name, value.parse().expect("a value"));
        self
    }

    fn judged(&self, keys: &[&str], now: u64) -> Result<(), MessageRejection> {
        let verifier = MessageVerifier::parse(keys.iter().copied()).expect("keys");
        let Self { url, headers, body } = self;
        let received = ReceivedRequest { method: "POST", target_uri: url, headers, body };
        verifier.verify(&received, Instant::ORIGIN + Span::from_secs(now), TOLERANCE)
    }
}

#[test]
fn each_secret_in_force_makes_a_signature_that_its_key_accepts() {
    let [hmac, ed25519] = secrets();
    let ended = Secret { until: Some(Instant::ORIGIN), key: vec![9; 32], ..hmac.clone() };
    let webhook = Webhook::signed(&[hmac.clone(), ended, ed25519.clone()], &COVERED);
    let input = webhook.headers["signature-input"].to_str().expect("text");
    assert!(input.contains("sig1=(") && input.contains("sig2=(") && !input.contains("sig3"));
    for (secret, algorithm) in [(&hmac, "hmac-sha256"), (&ed25519, "ed25519")] {
        let id = key_id(secret).expect("it signs");
        assert!(input.contains(&format!("keyid=\"{id}\";alg=\"{algorithm}\"")), "{input}");
    }
    let public = public_key_text(&ed25519).expect("it has one");
    for key in [secret_text(&hmac), secret_text(&ed25519), public] {
        assert_eq!(webhook.judged(&[&key], NOW), Ok(()));
    }
    let other = secret_text(&Secret { key: vec![8; 32], ..hmac });
    assert_eq!(webhook.judged(&[&other], NOW), Err(MessageRejection::Signature));
    assert_eq!(webhook.judged(&[], NOW), Err(MessageRejection::Signature));
}

/// RFC 8037 appendix A.3.
#[test]
fn a_public_key_is_named_by_its_thumbprint() {
    let text = "whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=";
    let id = key_id(&crate::parse_secret(text).expect("a key"));
    assert_eq!(id.as_deref(), Some("kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"));
}

#[test]
fn a_webhook_that_was_changed_is_refused() {
    let [hmac, _] = secrets();
    let key = secret_text(&hmac);
    let good = || Webhook::signed(std::slice::from_ref(&hmac), &COVERED);
    assert_eq!(good().judged(&[&key], NOW), Ok(()));
    for name in ["webhook-id", "webhook-timestamp", "content-type"] {
        let changed = good().with(name, "other").judged(&[&key], NOW);
        assert_eq!(changed, Err(MessageRejection::Signature), "{name}");
    }
    let body = Webhook { body: b"[]".to_vec(), ..good() };
    assert_eq!(body.judged(&[&key], NOW), Err(MessageRejection::Digest));
    let digest = content_digest(b"[]");
    let body = body.with("content-digest", &digest);
    assert_eq!(body.judged(&[&key], NOW), Err(MessageRejection::Signature));
    let moved = Webhook { url: "https://example.com/hook?a=2".parse().unwrap(), ..good() };
    assert_eq!(moved.judged(&[&key], NOW), Err(MessageRejection::Signature));
    for (now, why) in [(NOW + 301, MessageRejection::Stale), (NOW - 301, MessageRejection::Early)] {
        assert_eq!(good().judged(&[&key], now), Err(why));
    }
    for now in [NOW + 300, NOW - 300] {
        assert_eq!(good().judged(&[&key], now), Ok(()));
    }
}

#[test]
fn a_signature_over_less_than_the_webhook_is_refused() {
    let [hmac, _] = secrets();
    let key = secret_text(&hmac);
    for missing in REQUIRED {
        let covered: Vec<_> = COVERED.into_iter().filter(|name| *name != missing).collect();
        let webhook = Webhook::signed(std::slice::from_ref(&hmac), &covered);
        assert_eq!(webhook.judged(&[&key], NOW), Err(MessageRejection::Components), "{missing}");
    }
}

#[test]
fn headers_that_are_no_signatures_are_refused() {
    let [hmac, ed25519] = secrets();
    let key = secret_text(&hmac);
    let good = || Webhook::signed(std::slice::from_ref(&hmac), &COVERED);
    let input = good().headers["signature-input"].to_str().expect("text").to_owned();
    let signature = good().headers["signature"].to_str().expect("text").to_owned();
    let long = format!("sig1=:{}:", "AAAA".repeat(5_000));
    for text in ["", "sig2=:AAAA:", "sig1=AAAA", "sig1=(\"a\")", "=", "sig1", &long] {
        let refused = good().with("signature", text).judged(&[&key], NOW);
        assert_eq!(refused, Err(MessageRejection::Unsigned), "{text}");
    }
    let wrong = |input: &str| good().with("signature-input", input).judged(&[&key], NOW);
    for (from, to, why) in [
        (";created=1700000000", "", MessageRejection::Timestamp),
        (";created=1700000000", ";created=\"1700000000\"", MessageRejection::Timestamp),
        (";created=1700000000", ";created=-1", MessageRejection::Timestamp),
        (";created=1700000000", ";created=1700000001", MessageRejection::Signature),
        ("hmac-sha256", "ed25519", MessageRejection::Signature),
        (";alg=\"hmac-sha256\"", ";alg=1", MessageRejection::Signature),
        (";alg=", ";expires=1700000000;alg=", MessageRejection::Stale),
        ("\"webhook-id\"", "\"webhook-id\" \"webhook-id\"", MessageRejection::Components),
        ("\"webhook-id\"", "\"webhook-id\";sf", MessageRejection::Components),
        ("\"webhook-id\"", "\"webhook-id\" \"x-none\"", MessageRejection::Components),
    ] {
        assert_eq!(wrong(&input.replace(from, to)), Err(why), "{from} {to}");
    }
    assert_eq!(wrong("sig1=1"), Err(MessageRejection::Unsigned));
    for end in 7..signature.len() - 2 {
        let part = format!("{}:", &signature[..end]);
        assert!(good().with("signature", &part).judged(&[&key], NOW).is_err(), "{part}");
    }
    // The key of one algorithm accepts no signature that says it is of the other.
    let refused = good().judged(&[&secret_text(&ed25519)], NOW);
    assert_eq!(refused, Err(MessageRejection::Signature));
}
