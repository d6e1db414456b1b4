//! The HTTP client: TLS by rustls with ring and Mozilla's roots.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use reqwest::redirect;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use stagger::reqwest::client_builder;

use crate::command_error::CommandError;
use crate::flags::HttpFlags;

/// Redirects that are followed; more of them are a loop.
const MAX_REDIRECTS: usize = 10;

/// reqwest's client, which makes no retries by itself.
///
/// # Errors
/// Certificates that cannot be read.
pub(super) fn client(flags: &HttpFlags) -> Result<reqwest::Client, CommandError> {
    let redirects = match flags.location {
        true => redirect::Policy::limited(MAX_REDIRECTS),
        false => redirect::Policy::none(),
    };
    client_builder()
        .user_agent(concat!("stagger/", env!("CARGO_PKG_VERSION")))
        .redirect(redirects)
        // A URL may hold a token, which a redirect would hand to another server.
        .referer(false)
        .tls_backend_preconfigured(tls(flags.cacert.as_deref())?)
        .build()
        .map_err(|error| CommandError::File(format!("error: no client: {error}")))
}

fn tls(trusted: Option<&Path>) -> Result<ClientConfig, CommandError> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(file) = trusted {
        trust(&mut roots, file)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| CommandError::File(format!("error: no TLS: {error}")))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn trust(roots: &mut RootCertStore, file: &Path) -> Result<(), CommandError> {
    let name = file.display().to_string();
    let bytes =
        fs::read(file).map_err(|error| CommandError::File(format!("error: {name}: {error}")))?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let bound = "a file of certificates in PEM";
    let certificates = certificates.map_err(|_| CommandError::invalid("--cacert", &name, bound))?;
    if certificates.is_empty() {
        return Err(CommandError::invalid("--cacert", &name, bound));
    }
    for certificate in certificates {
        roots.add(certificate).map_err(|_| CommandError::invalid("--cacert", &name, bound))?;
    }
    Ok(())
}
