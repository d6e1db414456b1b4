//! Files of certificates and keys, and the cryptography that reads them.

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::config::SettingsFault;

pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

pub(super) fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    let certificates: Vec<_> =
        read.map_err(|error: rustls::pki_types::pem::Error| error.to_string())?;
    if certificates.is_empty() {
        return Err("must hold a certificate (PEM)".to_owned());
    }
    Ok(certificates)
}

/// The key in a file is never part of a message, only its path.
pub(super) fn fault(route: &str, key: &str, file: &Path, why: &str) -> SettingsFault {
    SettingsFault::new(format!("route.{route}.tls.{key} = {}: {why}", file.display()))
}
