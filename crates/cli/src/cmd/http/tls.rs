//! TLS of a request, by rustls with ring: the certificates that are trusted, and how far.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, ffi::OsString};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use crate::command_error::CommandError;

/// A file of certificates in place of the usual ones, as OpenSSL reads it.
const FILE: &str = "SSL_CERT_FILE";
/// Folders of such files, with colons between them.
const FOLDERS: &str = "SSL_CERT_DIR";
/// The bound of files of certificates.
const PEM: &str = "a file of certificates in PEM";

/// The configuration of a client that trusts the usual certificates and those of a file, or every one.
///
/// # Errors
/// A file that cannot be read or has no certificates.
pub(crate) fn tls(trusted: Option<&Path>, insecure: bool) -> Result<ClientConfig, CommandError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let environment = of_environment(env::var_os(FILE), env::var_os(FOLDERS))?;
    let mut roots = RootCertStore::empty();
    if environment.is_none() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    let mut named = environment.unwrap_or_default();
    roots.add_parsable_certificates(named.iter().cloned());
    if let Some(file) = trusted {
        for certificate in certificates("--cacert", file)? {
            roots
                .add(certificate.clone())
                .map_err(|_| CommandError::invalid("--cacert", &file.display().to_string(), PEM))?;
            named.push(certificate);
        }
    }
    let failed =
        |error: &dyn ToString| CommandError::File(format!("error: no TLS: {}", error.to_string()));
    let algorithms = provider.signature_verification_algorithms;
    let roots = Some(Arc::new(roots)).filter(|roots| !roots.is_empty());
    let verifier =
        |roots| WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
    let by_roots = roots.map(verifier).transpose().map_err(|error| failed(&error))?;
    let verifier = Verifier { by_roots, algorithms, named, insecure };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&error))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// The certificates that replace the usual ones; `None` when the environment names none.
fn of_environment(
    file: Option<OsString>,
    folders: Option<OsString>,
) -> Result<Option<Vec<CertificateDer<'static>>>, CommandError> {
    let set = |value: Option<OsString>| value.filter(|value| !value.is_empty());
    let (file, folders) = (set(file), set(folders));
    if file.is_none() && folders.is_none() {
        return Ok(None);
    }
    let mut all = match &file {
        Some(file) => certificates(FILE, Path::new(file))?,
        None => Vec::new(),
    };
    let folders = folders.unwrap_or_default();
    let entries = env::split_paths(&folders).filter_map(|folder| fs::read_dir(folder).ok());
    let mut files: Vec<PathBuf> = entries.flatten().flatten().map(|entry| entry.path()).collect();
    // A pipe among them would be read for ever.
    files.retain(|file| file.is_file());
    files.sort();
    // A folder has other files too, such as revocation lists.
    for file in files {
        let found = fs::read(file).unwrap_or_default();
        all.extend(CertificateDer::pem_slice_iter(&found).map_while(Result::ok));
    }
    Ok(Some(all))
}

/// The certificates of a file that a flag or a variable names.
fn certificates(flag: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>, CommandError> {
    let name = file.display().to_string();
    let bytes =
        fs::read(file).map_err(|error| CommandError::File(format!("error: {name}: {error}")))?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(CommandError::invalid(flag, &name, PEM)),
    }
}

/// The rules of webpki, and one more, as OpenSSL has it: a certificate that a file names is trusted as that of a
/// server too, although it is marked as one of an authority. `openssl req -x509` makes such certificates.
#[derive(Debug)]
struct Verifier {
    /// None where nothing is trusted, such as in a folder without certificates.
    by_roots: Option<Arc<WebPkiServerVerifier>>,
    algorithms: WebPkiSupportedAlgorithms,
    /// The certificates of `--cacert` and of the environment.
    named: Vec<CertificateDer<'static>>,
    /// Whether every certificate is trusted.
    insecure: bool,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        server: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.insecure {
            return Ok(ServerCertVerified::assertion());
        }
        let unknown = || Err(Error::InvalidCertificate(CertificateError::UnknownIssuer));
        let Some(by_roots) = &self.by_roots else { return unknown() };
        let verified = by_roots.verify_server_cert(certificate, chain, server, ocsp, now);
        match verified {
            // webpki looks at the dates before it looks at this mark, and at the name after it.
            Err(error) if is_authority(&error) && self.named.contains(certificate) => {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, server)?;
                Ok(ServerCertVerified::assertion())
            }
            // It signs itself, so nobody else has issued it.
            Err(error) if is_authority(&error) => unknown(),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Whether the only complaint is that the certificate is one of an authority.
fn is_authority(error: &Error) -> bool {
    let Error::InvalidCertificate(CertificateError::Other(other)) = error else { return false };
    matches!(other.0.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}
