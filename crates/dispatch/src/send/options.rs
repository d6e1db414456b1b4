//! The addresses that may be reached, and their TLS roots.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

use crate::Error;

/// The addresses that may be reached, and their TLS roots.
#[derive(Clone, Debug, Default)]
pub struct SendOptions {
    /// Whether loopback and private addresses may be reached, for tests. Link-local ones never.
    pub allow_private: bool,
    /// Ports that may be reached; all of them if empty and `allow_private`, else 80, 443 and 8443.
    pub ports: Vec<u16>,
    /// Certificates (PEM) to trust besides the usual ones.
    pub roots: Vec<u8>,
}

impl SendOptions {
    /// The TLS connector: the usual roots and these.
    ///
    /// # Errors
    /// Certificates that cannot be read.
    pub(super) fn tls(&self) -> Result<TlsConnector, Error> {
        let wrong = |why: String| Error::invalid("send.roots", "(a file)", format!("PEM: {why}"));
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        for certificate in CertificateDer::pem_slice_iter(&self.roots) {
            let certificate = certificate.map_err(|error| wrong(format!("{error:?}")))?;
            roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::busy(error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsConnector::from(Arc::new(config)))
    }
}
