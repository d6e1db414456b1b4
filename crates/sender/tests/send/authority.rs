//! Certificates made for a test, and a server that asks its clients for theirs.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// An authority.
pub(crate) struct Authority {
    params: CertificateParams,
    key: KeyPair,
    pub(crate) pem: String,
}

/// A certificate and its key, in PEM.
#[derive(Clone)]
pub(crate) struct Certified {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("randomness");
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Self { params, key, pem }
    }

    pub(crate) fn certify(&self, name: &str) -> Certified {
        let key = KeyPair::generate().expect("randomness");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let issuer = Issuer::from_params(&self.params, &self.key);
        let certificate = params.signed_by(&key, &issuer).expect("a certificate").pem();
        Certified { certificate, key: key.serialize_pem() }
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(der(&self.pem)).expect("a certificate");
        roots
    }
}

/// The bytes of a certificate.
pub(crate) fn der(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).expect("PEM")
}

/// TLS with this certificate; only for clients of `clients`, if it is given.
pub(crate) fn acceptor(own: &Certified, clients: Option<&Authority>) -> TlsAcceptor {
    let provider = Arc::new(default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("the provider has them");
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let roots = Arc::new(authority.roots());
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
            builder.with_client_cert_verifier(verifier.build().expect("it has roots"))
        }
    };
    let key = PrivateKeyDer::from_pem_slice(own.key.as_bytes()).expect("PEM");
    let config = builder.with_single_cert(vec![der(&own.certificate)], key).expect("its key");
    TlsAcceptor::from(Arc::new(config))
}

/// A receiver that takes only clients with a certificate, and notes which one each request came with.
pub(crate) struct CertificateServer {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<CertificateDer<'static>>>>,
}

impl CertificateServer {
    pub(crate) async fn start(own: &Certified, clients: &Authority) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("it is bound");
        let acceptor = acceptor(own, Some(clients));
        let seen = Arc::<Mutex<Vec<_>>>::default();
        let noted = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, noted) = (acceptor.clone(), Arc::clone(&noted));
                tokio::spawn(async move {
                    let Ok(mut stream) = acceptor.accept(stream).await else { return };
                    let shown = stream.get_ref().1.peer_certificates();
                    let shown = shown.expect("it is asked for")[0].clone().into_owned();
                    while read_request(&mut stream).await.is_some() {
                        noted.lock().expect("no panic").push(shown.clone());
                        let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
                        if stream.write_all(reply).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self { address, seen }
    }

    pub(crate) fn url(&self) -> String {
        format!("https://{}/", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<CertificateDer<'static>> {
        self.seen.lock().expect("no panic").clone()
    }
}

/// The head of a request, once it and its body of a known length have come.
pub(crate) async fn read_request<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
) -> Option<String> {
    let head = read_head(stream).await?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok()).flatten()
    });
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await.ok()?;
    Some(head)
}

/// All up to the empty line, and not a byte more.
pub(crate) async fn read_head<S: AsyncRead + Unpin>(stream: &mut S) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}
