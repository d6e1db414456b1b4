//! An upstream that demands a client certificate: which one it is shown, also after the files have changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    SerialNumber,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use stagger_proxy::Proxy;
use stagger_proxy::config::ProxySettings;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use crate::client::{RunningProxy, text};

/// An authority, a folder with the files of a client, and an upstream that answers with the serial number of the
/// client's certificate, which is one byte, and then closes the connection.
struct Upstream {
    authority: CertifiedIssuer<'static, KeyPair>,
    folder: PathBuf,
    url: String,
}

impl Upstream {
    async fn start(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, key()).expect("constants");
        let folder =
            std::env::temp_dir().join(format!("stagger-mtls-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder");
        fs::write(folder.join("ca.pem"), authority.pem()).expect("writable");
        let server_key = key();
        let params = CertificateParams::new(["127.0.0.1".to_owned()]).expect("an address");
        let certificate = params.signed_by(&server_key, &authority).expect("constants");
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::clone(authority.der())).expect("an authority");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone());
        let server_key = PrivatePkcs8KeyDer::from(server_key.serialize_der());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring has them")
            .with_client_cert_verifier(verifier.build().expect("a root"))
            .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::from(server_key))
            .expect("its own key");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("https://{}", listener.local_addr().expect("it is bound"));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                // A client without a certificate fails in the handshake.
                tokio::spawn(async move { answer(acceptor.accept(stream).await?).await });
            }
        });
        Self { authority, folder, url }
    }

    /// Replaces the client's certificate by one with this serial number, and returns its key.
    fn issue(&self, serial: u8) -> KeyPair {
        let own = key();
        let mut params = CertificateParams::new(["client".to_owned()]).expect("a name");
        params.serial_number = Some(SerialNumber::from_slice(&[serial]));
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&own, &self.authority).expect("constants");
        self.replace("cert.pem", &certificate.pem());
        own
    }

    /// Replaces a file as agents do: by renaming a new one.
    fn replace(&self, file: &str, text: &str) {
        let new = self.folder.join("new");
        fs::write(&new, text).expect("writable");
        fs::rename(new, self.folder.join(file)).expect("the same folder");
    }

    fn routes(&self) -> String {
        let folder = self.folder.display();
        format!(
            "[route.pay]\nupstream = '{}'\npolicy = {{ limits = {{ max_attempts = 1 }} }}\n\
             tls = {{ ca_file = '{folder}/ca.pem', public_roots = false, cert_file = '{folder}/cert.pem', \
             key_file = '{folder}/key.pem' }}\n",
            self.url
        )
    }

    fn settings(&self) -> ProxySettings {
        let text = format!("proxy.listen = '127.0.0.1:0'\n{}", self.routes());
        ProxySettings::parse("routes.toml", &text).expect("good settings")
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.folder);
    }
}

async fn answer(mut stream: TlsStream<TcpStream>) -> std::io::Result<()> {
    let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let serial = certificates.first().map_or(0, serial_of);
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let body = serial.to_string();
    let length = body.len();
    let reply =
        format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
    stream.write_all(reply.as_bytes()).await?;
    stream.shutdown().await
}

/// The serial number of a certificate (RFC 5280, 4.1): the integer of one byte after the version.
fn serial_of(certificate: &CertificateDer<'_>) -> u8 {
    const VERSION_3: [u8; 5] = [0xa0, 3, 2, 1, 2];
    let at = certificate.windows(5).position(|bytes| bytes == VERSION_3).expect("version 3");
    assert_eq!(certificate[at + 5..at + 7], [2, 1], "an integer of one byte");
    certificate[at + 7]
}

fn key() -> KeyPair {
    KeyPair::generate().expect("ring draws keys")
}

async fn shown(proxy: &RunningProxy) -> String {
    let reply = proxy.ask("GET", "/").await;
    assert_eq!(reply.status(), 200, "{}", text(reply.headers(), "stagger-stop"));
    String::from_utf8_lossy(reply.body()).into_owned()
}

fn line(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "route.pay.tls.key_file = {folder}/key.pem: must be the key of the certificate in \
         cert_file = {folder}/cert.pem"
    )
}

#[tokio::test]
async fn a_rotated_client_certificate_was_shown_after_a_restart_only() {
    let upstream = Upstream::start("rotated").await;
    upstream.replace("key.pem", &upstream.issue(7).serialize_pem());
    let proxy = RunningProxy::start(&upstream.routes()).await;
    assert_eq!(shown(&proxy).await, "7");
    let next = upstream.issue(8);
    assert_eq!(shown(&proxy).await, "7", "the old pair until the new key is there too");
    upstream.replace("key.pem", &next.serialize_pem());
    assert_eq!(shown(&proxy).await, "8", "no session of the old certificate is resumed");
    upstream.replace("key.pem", "no key");
    assert_eq!(shown(&proxy).await, "8");
    fs::remove_file(upstream.folder.join("key.pem")).expect("it is there");
    assert_eq!(shown(&proxy).await, "8");
}

#[tokio::test]
async fn a_key_of_another_certificate_was_refused_in_a_handshake_or_replaced_a_good_one() {
    let upstream = Upstream::start("pair").await;
    upstream.replace("key.pem", &upstream.issue(7).serialize_pem());
    let good = RunningProxy::start(&upstream.routes()).await;
    upstream.replace("key.pem", &key().serialize_pem());
    let refused = Proxy::check(&upstream.settings()).expect_err("a key of another certificate");
    assert_eq!(refused.to_string(), line(&upstream.folder));
    let refused = good.handle.reload(&upstream.settings()).await.expect_err("the same");
    assert_eq!(refused.to_string(), line(&upstream.folder));
    assert_eq!(shown(&good).await, "7", "the old settings stay in force");
    let pair = upstream.issue(9);
    upstream.replace("key.pem", &pair.serialize_pem());
    good.handle.reload(&upstream.settings()).await.expect("a pair");
    assert_eq!(shown(&good).await, "9");
}

#[tokio::test]
async fn an_upstream_that_demands_a_certificate_served_a_route_without_one() {
    let upstream = Upstream::start("none").await;
    let routes = format!(
        "[route.pay]\nupstream = '{}'\ntls = {{ ca_file = '{}/ca.pem', public_roots = false }}\n",
        upstream.url,
        upstream.folder.display()
    );
    let proxy = RunningProxy::start(&routes).await;
    let reply = proxy.ask("GET", "/").await;
    assert_ne!(reply.status(), 200);
    assert!(!text(reply.headers(), "stagger-stop").is_empty());
}
