//! TLS to the database.

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::Error;

/// Trusts the usual roots, and those of a file (PEM).
pub(super) fn connector(file: Option<&Path>) -> Result<MakeRustlsConnect, Error> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(file) = file {
        add(&mut roots, file)?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::store(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

fn add(roots: &mut RootCertStore, file: &Path) -> Result<(), Error> {
    let refused = |why: &dyn std::fmt::Display| {
        Error::invalid("sslrootcert", file.display(), format!("certificates (PEM): {why}"))
    };
    let found = CertificateDer::pem_file_iter(file).map_err(|error| refused(&error))?;
    let mut any = false;
    for certificate in found {
        let certificate = certificate.map_err(|error| refused(&error))?;
        roots.add(certificate).map_err(|error| refused(&error))?;
        any = true;
    }
    if any { Ok(()) } else { Err(refused(&"there is none in it")) }
}
