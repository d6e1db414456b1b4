//! TLS to upstreams: the roots that are trusted, and the certificate that the proxy shows.

use std::path::{Path, PathBuf};

use stagger_text::settings::{Flaw, Reader};

/// The TLS settings of a route, for its upstreams of `https`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamTls {
    /// Whether the roots of the Mozilla program are trusted. Default: true.
    pub public_roots: bool,
    /// A file of certificates (PEM) that are trusted too.
    pub ca_file: Option<PathBuf>,
    /// Files of the certificate chain and of the key (PEM) that the proxy shows to upstreams.
    pub client_certificate: Option<(PathBuf, PathBuf)>,
    /// The name that the upstream's certificate must have. Default: the host of its URL.
    pub server_name: Option<String>,
}

impl Default for UpstreamTls {
    fn default() -> Self {
        Self { public_roots: true, ca_file: None, client_certificate: None, server_name: None }
    }
}

impl UpstreamTls {
    /// Reads `[route.NAME.tls]`.
    pub(super) fn read(table: &Reader<'_, '_>, folder: &Path) -> Result<Self, Flaw> {
        let path = |key| Ok(table.text(key)?.map(|path| folder.join(path)));
        let public_roots = table.boolean("public_roots")?.unwrap_or(true);
        let ca_file = path("ca_file")?;
        let (certificate, key) = (path("cert_file")?, path("key_file")?);
        let server_name = table.text("server_name")?.map(str::to_owned);
        table.done()?;
        if !public_roots && ca_file.is_none() {
            return Err(table.flaw("trusts no roots: set ca_file, or leave public_roots out"));
        }
        let client_certificate = match (certificate, key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => return Err(table.flaw("cert_file and key_file must be set together")),
        };
        if let Some(name) = &server_name {
            let valid = rustls::pki_types::ServerName::try_from(name.as_str()).is_ok();
            if !valid {
                return Err(table.wrong("server_name", "a host name or an address"));
            }
        }
        Ok(Self { public_roots, ca_file, client_certificate, server_name })
    }
}
