//! The TLS client of a route: trusted roots, the client certificate, and the versions that ALPN offers.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};

use crate::config::{SettingsFault, UpstreamTls};

/// The TLS settings of a route as rustls has them. Versions of HTTP are for the connector to offer.
///
/// # Errors
/// A file that cannot be read or holds no certificate or key, named with its setting.
pub(super) fn client_config(route: &str, tls: &UpstreamTls) -> Result<ClientConfig, SettingsFault> {
    let mut roots = RootCertStore::empty();
    if tls.public_roots {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    if let Some(file) = &tls.ca_file {
        let fault = |why: String| fault(route, "ca_file", file, &why);
        let certificates = certificates(file).map_err(fault)?;
        for certificate in certificates {
            roots.add(certificate).map_err(|error| fault(error.to_string()))?;
        }
    }
    let builder = builder(route)?.with_root_certificates(roots);
    let Some((chain, key)) = &tls.client_certificate else {
        return Ok(builder.with_no_client_auth());
    };
    let chain_fault = |why: String| fault(route, "cert_file", chain, &why);
    let certificates = certificates(chain).map_err(chain_fault)?;
    let private = PrivateKeyDer::from_pem_file(key);
    let private = private.map_err(|error| fault(route, "key_file", key, &error.to_string()))?;
    let config = builder.with_client_auth_cert(certificates, private);
    config.map_err(|error| chain_fault(error.to_string()))
}

/// A client that trusts nobody, for connections that have no TLS.
pub(super) fn without_roots(route: &str) -> Result<ClientConfig, SettingsFault> {
    Ok(builder(route)?.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}

fn builder(route: &str) -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, SettingsFault> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions();
    builder.map_err(|error| SettingsFault::new(format!("route.{route}.tls: {error}")))
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    let certificates: Vec<_> =
        read.map_err(|error: rustls::pki_types::pem::Error| error.to_string())?;
    if certificates.is_empty() {
        return Err("must hold a certificate (PEM)".to_owned());
    }
    Ok(certificates)
}

/// The key in a file is never part of a message, only its path.
fn fault(route: &str, key: &str, file: &Path, why: &str) -> SettingsFault {
    SettingsFault::new(format!("route.{route}.tls.{key} = {}: {why}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_holds_no_certificate_is_named_with_its_setting() {
        let file = std::env::temp_dir().join(format!("stagger-proxy-{}.pem", std::process::id()));
        std::fs::write(&file, "not a certificate").unwrap();
        let tls = UpstreamTls { ca_file: Some(file.clone()), ..UpstreamTls::default() };
        let refused = client_config("pay", &tls).expect_err("it is no certificate").to_string();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(
            refused,
            format!("route.pay.tls.ca_file = {}: must hold a certificate (PEM)", file.display())
        );
        assert!(client_config("pay", &UpstreamTls::default()).is_ok());
    }
}
