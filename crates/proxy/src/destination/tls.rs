//! The TLS client of a route: trusted roots, the client certificate, and the versions that ALPN offers.

use std::path::Path;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};

use super::client_certificate::ClientCertificate;
use super::tls_files::{certificates, fault, provider};
use crate::config::{SettingsFault, UpstreamTls};

/// The TLS of a route's upstreams, with the files that its settings name.
#[derive(Clone, Debug, Default)]
pub(super) struct RouteTls {
    /// `None` for a route whose upstreams have no TLS.
    settings: Option<UpstreamTls>,
    /// The certificates of `ca_file`.
    trusted: Vec<CertificateDer<'static>>,
    certificate: Option<Arc<ClientCertificate>>,
}

impl RouteTls {
    /// Reads the files that the settings name; the client certificate is that of `before` where that has the same files.
    ///
    /// # Errors
    /// A file that cannot be read or holds no certificate or key, named with its setting.
    pub(super) fn read(
        route: &str,
        tls: &UpstreamTls,
        before: Option<&Self>,
    ) -> Result<Self, SettingsFault> {
        let trusted = tls
            .ca_file
            .as_ref()
            .map(|file| certificates(file).map_err(|why| fault(route, "ca_file", file, &why)));
        let same = before.filter(|before| before.settings.as_ref() == Some(tls));
        let certificate =
            match (same.and_then(|it| it.certificate.as_ref()), &tls.client_certificate) {
                (Some(known), _) => {
                    known.read_again()?;
                    Some(Arc::clone(known))
                }
                (None, Some((chain, key))) => {
                    Some(Arc::new(ClientCertificate::read(route, chain, key)?))
                }
                (None, None) => None,
            };
        let trusted = trusted.transpose()?.unwrap_or_default();
        Ok(Self { settings: Some(tls.clone()), trusted, certificate })
    }

    /// Whether connections under both are interchangeable: a client certificate follows its files by itself.
    pub(super) fn is_as(&self, other: &Self) -> bool {
        self.settings == other.settings && self.trusted == other.trusted
    }

    /// The same as rustls has it. Versions of HTTP are for the connector to offer.
    ///
    /// # Errors
    /// A certificate that cannot be trusted.
    pub(super) fn config(&self, route: &str) -> Result<ClientConfig, SettingsFault> {
        let mut roots = RootCertStore::empty();
        let Some(tls) = &self.settings else {
            // Roots are a megabyte for each version, for nothing where no upstream has TLS.
            return Ok(builder(route)?.with_root_certificates(roots).with_no_client_auth());
        };
        if tls.public_roots {
            roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        }
        for certificate in &self.trusted {
            let added = roots.add(certificate.clone());
            let file = tls.ca_file.as_deref().unwrap_or(Path::new(""));
            added.map_err(|error| fault(route, "ca_file", file, &error.to_string()))?;
        }
        let builder = builder(route)?.with_root_certificates(roots);
        let Some(certificate) = &self.certificate else { return Ok(builder.with_no_client_auth()) };
        let mut config =
            builder.with_client_cert_resolver(Arc::<ClientCertificate>::clone(certificate));
        // A resumed session would show the certificate with which it began.
        config.resumption = Resumption::disabled();
        Ok(config)
    }
}

fn builder(route: &str) -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, SettingsFault> {
    let builder = ClientConfig::builder_with_provider(provider());
    let builder = builder.with_safe_default_protocol_versions();
    builder.map_err(|error| SettingsFault::new(format!("route.{route}.tls: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_holds_no_certificate_is_named_with_its_setting() {
        let file = std::env::temp_dir().join(format!("stagger-proxy-{}.pem", std::process::id()));
        std::fs::write(&file, "not a certificate").unwrap();
        let tls = UpstreamTls { ca_file: Some(file.clone()), ..UpstreamTls::default() };
        let refused =
            RouteTls::read("pay", &tls, None).expect_err("it is no certificate").to_string();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(
            refused,
            format!("route.pay.tls.ca_file = {}: must hold a certificate (PEM)", file.display())
        );
        let plain = RouteTls::read("pay", &UpstreamTls::default(), None).unwrap();
        assert!(plain.config("pay").is_ok());
    }
}
