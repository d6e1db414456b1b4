//! A server under TLS, with certificates of an authority of the test's own.

use std::path::PathBuf;

use bytes::Bytes;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use stagger_brokers::Brokers;
use stagger_scheduler::model::*;
use stagger_sender::{SendOptions, Sender};

use crate::destination::{core, endpoint};
use crate::server::NatsServer;
use crate::shared::message;

struct Authority {
    params: CertificateParams,
    key: KeyPair,
    pem: String,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("randomness");
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Self { params, key, pem }
    }

    /// A certificate for this name and its key, in PEM.
    fn certify(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().expect("randomness");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let issuer = Issuer::from_params(&self.params, &self.key);
        let certificate = params.signed_by(&key, &issuer).expect("a certificate").pem();
        (certificate, key.serialize_pem())
    }
}

/// The certificate files of a server, which go with the test.
struct Files(PathBuf);

impl Files {
    fn new(test: &str) -> Self {
        let name = format!("stagger-nats-tls-{test}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    /// The configuration of TLS with this certificate; `clients` signs those of clients, if they need one.
    fn config(&self, (certificate, key): &(String, String), clients: Option<&Authority>) -> String {
        let write = |name: &str, text: &str| {
            let path = self.0.join(name);
            std::fs::write(&path, text).expect("written");
            path.display().to_string()
        };
        let (certificate, key) = (write("cert.pem", certificate), write("key.pem", key));
        let clients = clients.map_or_else(String::new, |authority| {
            format!("\n  ca_file: \"{}\"\n  verify: true", write("clients.pem", &authority.pem))
        });
        format!("tls {{\n  cert_file: \"{certificate}\"\n  key_file: \"{key}\"{clients}\n}}")
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// A sender that trusts these authorities too.
fn trusting(authorities: &[&Authority]) -> Sender {
    let roots = authorities.iter().map(|it| it.pem.as_str()).collect::<String>().into_bytes();
    let options = SendOptions { allow_private: true, roots, ..SendOptions::default() };
    let sender = Sender::new(options).expect("certificates");
    sender.with_destinations(std::sync::Arc::new(Brokers))
}

fn to(server: &NatsServer, scheme: &str, auth: Option<EndpointAuth>) -> Endpoint {
    endpoint(&format!("{scheme}://127.0.0.1:{}", server.port), "a", |endpoint| {
        core(endpoint);
        endpoint.auth = auth;
    })
}

#[tokio::test]
async fn a_server_whose_authority_is_not_trusted_gets_nothing() {
    let (own, other, files) = (Authority::new(), Authority::new(), Files::new("authority"));
    let config = files.config(&own.certify("127.0.0.1"), None);
    let Some(mut server) = NatsServer::start(&config).await else { return };
    let attempt = async |authority: &Authority, scheme: &str| {
        let to = to(&server, scheme, None);
        trusting(&[authority]).send(&to, &message(7), Bytes::from_static(b"x"), 1).await
    };
    let taken = attempt(&own, "tls").await;
    assert_eq!((taken.result, taken.written), (Ok(200), true), "{taken:?}");
    let refused = attempt(&other, "tls").await;
    assert_eq!((refused.result, refused.written), (Err(AttemptFailure::Tls), false), "{refused:?}");
    let clear = attempt(&own, "nats").await;
    assert_eq!(clear.result, Ok(400), "{clear:?}");
    assert!(clear.detail.as_deref().is_some_and(|it| it.contains("tls://")), "{clear:?}");
    // A certificate of the right authority for another name.
    server.restart(&files.config(&own.certify("nats.example"), None)).await;
    let to = to(&server, "tls", None);
    let named = trusting(&[&own]).send(&to, &message(7), Bytes::from_static(b"x"), 1).await;
    assert_eq!((named.result, named.written), (Err(AttemptFailure::Tls), false), "{named:?}");
}

#[tokio::test]
async fn a_rotation_of_the_servers_certificate_goes_through_where_both_authorities_are_trusted() {
    let (old, new, files) = (Authority::new(), Authority::new(), Files::new("rotation"));
    let config = files.config(&old.certify("127.0.0.1"), None);
    let Some(mut server) = NatsServer::start(&config).await else { return };
    let (of_old, of_both) = (trusting(&[&old]), trusting(&[&old, &new]));
    let to = to(&server, "tls", None);
    let (stale, rotating) = (of_old.prepare(&to), of_both.prepare(&to));
    let payload = || Bytes::from_static(b"x");
    for (sender, target) in [(&of_old, &stale), (&of_both, &rotating)] {
        assert_eq!(sender.send_to(target, &message(7), payload(), 1).await.result, Ok(200));
    }
    // Both have an idle connection now, which the restart closes.
    server.restart(&files.config(&new.certify("127.0.0.1"), None)).await;
    let answer = of_both.send_to(&rotating, &message(7), payload(), 1).await;
    assert_eq!(answer.result, Ok(200), "{answer:?}");
    let answer = of_old.send_to(&stale, &message(7), payload(), 1).await;
    assert_eq!((answer.result, answer.written), (Err(AttemptFailure::Tls), false), "{answer:?}");
}

#[tokio::test]
async fn a_server_that_asks_for_a_certificate_takes_that_of_the_endpoint_until_it_is_rotated() {
    let (own, clients, next) = (Authority::new(), Authority::new(), Authority::new());
    let files = Files::new("client");
    let certificate = own.certify("127.0.0.1");
    let config = files.config(&certificate, Some(&clients));
    let Some(mut server) = NatsServer::start(&config).await else { return };
    // The endpoint's own list of authorities replaces that of the node, which does not trust the server.
    let sender = trusting(&[]);
    let identity = |authority: &Authority, ca: Option<&Authority>| {
        let (certificate, key) = authority.certify("shop");
        let (key, ca) = (SecretText::new(key), ca.map(|it| it.pem.clone()));
        Some(EndpointAuth::Mtls(ClientIdentity { certificate, key, ca }))
    };
    let port = server.port;
    let attempt = async |auth: Option<EndpointAuth>| {
        let to = endpoint(&format!("tls://127.0.0.1:{port}"), "a", |endpoint| {
            core(endpoint);
            endpoint.auth = auth;
        });
        sender.check(&to).expect("it can be saved");
        sender.send(&to, &message(7), Bytes::from_static(b"x"), 1).await
    };
    let taken = attempt(identity(&clients, Some(&own))).await;
    assert_eq!(taken.result, Ok(200), "{taken:?}");
    let distrusted = attempt(identity(&clients, Some(&next))).await;
    assert_eq!(distrusted.result, Err(AttemptFailure::Tls), "{distrusted:?}");
    let refused = attempt(identity(&next, Some(&own))).await;
    assert!(refused.result.is_err() && !refused.written, "{refused:?}");
    assert!(!format!("{refused:?}").contains("PRIVATE KEY"));

    server.restart(&files.config(&certificate, Some(&next))).await;
    let late = attempt(identity(&clients, Some(&own))).await;
    assert!(late.result.is_err() && !late.written, "{late:?}");
    let rotated = attempt(identity(&next, Some(&own))).await;
    assert_eq!(rotated.result, Ok(200), "{rotated:?}");
}

#[tokio::test]
async fn the_guard_holds_for_servers_under_tls() {
    let own = Authority::new();
    let options = SendOptions { roots: own.pem.clone().into_bytes(), ..SendOptions::default() };
    let sender = Sender::new(options).expect("certificates");
    let sender = sender.with_destinations(std::sync::Arc::new(Brokers));
    for host in ["127.0.0.1", "[::1]", "169.254.169.254", "localhost"] {
        let to = endpoint(&format!("tls://{host}:4222"), "a", core);
        let answer = sender.send(&to, &message(7), Bytes::from_static(b"x"), 1).await;
        assert_eq!(
            (answer.result, answer.written),
            (Err(AttemptFailure::Egress), false),
            "{host}: {answer:?}"
        );
    }
}
