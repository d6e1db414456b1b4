//! TLS to receivers, authorization servers and proxies: the trusted authorities, and client certificates.

use std::fmt;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use stagger::ConfigError;
use stagger_scheduler::model::ClientIdentity;
use tokio_rustls::TlsConnector;

/// Longest PEM text of certificates, and of a private key, in bytes: a chain of ten with room to spare, and an RSA key of 16384 bits.
const MAX_CERTIFICATES: usize = 64 << 10;
const MAX_KEY: usize = 16 << 10;

/// The authorities that are trusted, and the connector without a client certificate.
#[derive(Clone)]
pub(crate) struct TlsRoots {
    roots: Arc<RootCertStore>,
    plain: TlsConnector,
    /// The same for protocols other than HTTP, which is not offered in the handshake.
    bare: TlsConnector,
}

impl TlsRoots {
    /// The usual authorities and those of `more`, PEM.
    ///
    /// # Errors
    /// Certificates that cannot be read.
    pub(crate) fn new(more: &[u8]) -> Result<Self, ConfigError> {
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        add(&mut roots, more).map_err(|why| ConfigError::new("send.roots", "(a file)", why))?;
        let roots = Arc::new(roots);
        let plain = connector(Arc::clone(&roots), None)
            .map_err(|why| ConfigError::new("send.roots", "(a file)", why))?;
        let bare = without_protocols(&plain);
        Ok(Self { roots, plain, bare })
    }

    /// The connector that shows no certificate.
    pub(crate) const fn plain(&self) -> &TlsConnector {
        &self.plain
    }

    /// The connector that shows no certificate, for protocols other than HTTP.
    pub(crate) const fn bare(&self) -> &TlsConnector {
        &self.bare
    }

    /// The connector that shows this certificate.
    ///
    /// # Errors
    /// `auth.certificate`, `auth.key` or `auth.ca`, if it cannot be read, is too long, or does not fit the others.
    pub(crate) fn with_identity(
        &self,
        identity: &ClientIdentity,
    ) -> Result<TlsConnector, ConfigError> {
        let ClientIdentity { certificate, key, ca } = identity;
        short("auth.certificate", certificate, MAX_CERTIFICATES)?;
        short("auth.key", key.reveal(), MAX_KEY)?;
        let wrong = |field, why: String| ConfigError::new(field, "(not shown)", why);
        let chain: Result<Vec<_>, _> =
            CertificateDer::pem_slice_iter(certificate.as_bytes()).collect();
        let chain = chain.map_err(|e| wrong("auth.certificate", format!("PEM: {e:?}")))?;
        if chain.is_empty() {
            return Err(wrong("auth.certificate", "PEM with a certificate".into()));
        }
        let key = PrivateKeyDer::from_pem_slice(key.reveal().as_bytes()).map_err(|_| {
            wrong("auth.key", "PEM with a private key (PKCS 8, PKCS 1 or SEC 1)".into())
        })?;
        let roots = match ca {
            None => Arc::clone(&self.roots),
            Some(ca) => {
                short("auth.ca", ca, MAX_CERTIFICATES)?;
                let mut roots = RootCertStore::empty();
                add(&mut roots, ca.as_bytes()).map_err(|why| wrong("auth.ca", why))?;
                if roots.is_empty() {
                    return Err(wrong("auth.ca", "PEM with a certificate".into()));
                }
                Arc::new(roots)
            }
        };
        connector(roots, Some((chain, key))).map_err(|why| wrong("auth.key", why))
    }
}

impl fmt::Debug for TlsRoots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsRoots").field("roots", &self.roots.len()).finish()
    }
}

type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn connector(
    roots: Arc<RootCertStore>,
    identity: Option<Identity>,
) -> Result<TlsConnector, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has the default versions")
        .with_root_certificates(roots);
    let mut config = match identity {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => builder
            .with_client_auth_cert(chain, key)
            .map_err(|error| format!("the key of the certificate: {error}"))?,
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// The connector without its list of protocols (ALPN), which other servers than those of HTTP may refuse.
pub(crate) fn without_protocols(connector: &TlsConnector) -> TlsConnector {
    let mut config = ClientConfig::clone(connector.config());
    config.alpn_protocols.clear();
    TlsConnector::from(Arc::new(config))
}

fn add(roots: &mut RootCertStore, pem: &[u8]) -> Result<(), String> {
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| format!("PEM: {error:?}"))?;
        roots.add(certificate).map_err(|error| format!("PEM: {error}"))?;
    }
    Ok(())
}

fn short(field: &'static str, text: &str, most: usize) -> Result<(), ConfigError> {
    if text.len() <= most {
        return Ok(());
    }
    Err(ConfigError::new(
        field,
        format!("{} bytes", text.len()),
        format!("PEM of at most {most} bytes"),
    ))
}
