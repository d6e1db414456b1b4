//! Client certificates: shown to the receiver, replaced, and never shared between endpoints.

use bytes::Bytes;
use stagger_scheduler::model::{
    AttemptFailure, ClientIdentity, Endpoint, EndpointAuth, EndpointId, SecretText,
};
use stagger_sender::{SendOptions, Sender};

use crate::authority::{Authority, CertificateServer, Certified, der};
use crate::endpoint::{endpoint, message, private};

fn shown(certified: &Certified, ca: Option<&Authority>) -> Option<EndpointAuth> {
    Some(EndpointAuth::Mtls(ClientIdentity {
        certificate: certified.certificate.clone(),
        key: SecretText::new(certified.key.clone()),
        ca: ca.map(|authority| authority.pem.clone()),
    }))
}

async fn send(sender: &Sender, endpoint: &Endpoint) -> Result<u16, AttemptFailure> {
    assert_eq!(sender.check(endpoint), Ok(()));
    sender.send(endpoint, &message(), Bytes::from_static(b"{}"), 1).await.result
}

#[tokio::test]
async fn a_receiver_that_wants_a_certificate_gets_the_one_of_the_endpoint() {
    let (servers, clients) = (Authority::new(), Authority::new());
    let server = CertificateServer::start(&servers.certify("127.0.0.1"), &clients).await;
    let (first, second) = (clients.certify("first"), clients.certify("second"));
    let roots = servers.pem.clone().into_bytes();
    let sender = Sender::new(SendOptions { roots, ..private() }).expect("a certificate");
    let plain = endpoint(&server.url());
    let with_first = Endpoint { auth: shown(&first, None), ..plain.clone() };
    for _ in 0..2 {
        assert_eq!(send(&sender, &with_first).await, Ok(200));
    }
    // An endpoint of the same address without a certificate must not find that connection waiting.
    assert!(send(&sender, &plain).await.is_err());
    let id: EndpointId = "ep_0190163d8694739b84f6b0d3ccc3a5ff".parse().expect("an id");
    let other = Endpoint { id, auth: shown(&second, None), ..plain.clone() };
    assert_eq!(send(&sender, &other).await, Ok(200));
    // Nor may the endpoint itself, once its certificate is rotated.
    let rotated = Endpoint { auth: shown(&second, None), ..plain.clone() };
    assert_eq!(send(&sender, &rotated).await, Ok(200));
    let (first, second) = (der(&first.certificate), der(&second.certificate));
    assert_eq!(server.seen(), [first.clone(), first, second.clone(), second]);

    // A certificate of another authority is refused by the receiver.
    let strange = Authority::new().certify("first");
    let strange = Endpoint { auth: shown(&strange, None), ..plain };
    assert!(matches!(
        send(&sender, &strange).await,
        Err(AttemptFailure::Tls | AttemptFailure::Transport)
    ));
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test]
async fn with_an_authority_of_its_own_an_endpoint_trusts_no_other() {
    let (servers, clients) = (Authority::new(), Authority::new());
    let server = CertificateServer::start(&servers.certify("127.0.0.1"), &clients).await;
    let own = clients.certify("first");
    let with = |ca| Endpoint { auth: shown(&own, ca), ..endpoint(&server.url()) };
    let sender = Sender::new(private()).expect("no certificates to read");
    assert_eq!(send(&sender, &with(None)).await, Err(AttemptFailure::Tls));
    assert_eq!(send(&sender, &with(Some(&servers))).await, Ok(200));
    // Where the node trusts the receiver, and the endpoint does not.
    let roots = servers.pem.clone().into_bytes();
    let sender = Sender::new(SendOptions { roots, ..private() }).expect("a certificate");
    assert_eq!(send(&sender, &with(None)).await, Ok(200));
    assert_eq!(send(&sender, &with(Some(&clients))).await, Err(AttemptFailure::Tls));
}

#[test]
fn a_certificate_without_its_key_is_refused_when_saved() {
    let authority = Authority::new();
    let (own, other) = (authority.certify("a"), authority.certify("b"));
    let sender = Sender::new(private()).expect("no certificates to read");
    let check = |certificate: &str, key: &str, ca: Option<&str>, url: &str| {
        let identity = ClientIdentity {
            certificate: certificate.into(),
            key: SecretText::new(key),
            ca: ca.map(Into::into),
        };
        let endpoint = Endpoint { auth: Some(EndpointAuth::Mtls(identity)), ..endpoint(url) };
        assert!(!format!("{endpoint:?}").contains("PRIVATE KEY"));
        sender.check(&endpoint).map_err(|error| {
            assert!(!error.to_string().contains("PRIVATE KEY"), "{error}");
            error.field()
        })
    };
    let (certificate, key, url) = (&own.certificate, &own.key, "https://127.0.0.1:1/");
    assert_eq!(check(certificate, key, Some(&authority.pem), url), Ok(()));
    assert_eq!(check(certificate, &other.key, None, url), Err("auth.key"));
    assert_eq!(check(certificate, certificate, None, url), Err("auth.key"));
    assert_eq!(check("", key, None, url), Err("auth.certificate"));
    assert_eq!(
        check("-----BEGIN CERTIFICATE-----\nAAAA\n", key, None, url),
        Err("auth.certificate")
    );
    assert_eq!(check(&certificate.repeat(200), key, None, url), Err("auth.certificate"));
    assert_eq!(check(certificate, key, Some(""), url), Err("auth.ca"));
    assert_eq!(check(certificate, key, None, "http://127.0.0.1:1/"), Err("auth"));
}
