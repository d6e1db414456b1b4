//! The certificate that a route shows to its upstreams, read again when one of its files has changed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::ResolvesClientCert;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::sign::CertifiedKey;
use rustls::{Error, SignatureScheme};

use super::file_stamp::FileStamp;
use super::tls_files::{certificates, fault, provider};
use crate::config::SettingsFault;

/// A certificate chain with its key. New connections show the pair that is in the files; while the files hold no pair,
/// because one of both has been replaced already, they show the last one.
#[derive(Debug)]
pub(super) struct ClientCertificate {
    route: String,
    chain: PathBuf,
    key: PathBuf,
    read: Mutex<ReadPair>,
}

struct ReadPair {
    /// The stamps of the files when they were read last, with whatever result.
    stamps: [Option<FileStamp>; 2],
    pair: Arc<CertifiedKey>,
}

impl ClientCertificate {
    /// The pair in the files of a chain and of a key.
    ///
    /// # Errors
    /// A file that cannot be read or holds no certificate or key, and a key of another certificate.
    pub(super) fn read(route: &str, chain: &Path, key: &Path) -> Result<Self, SettingsFault> {
        let stamps = [chain, key].map(FileStamp::at);
        let read = Mutex::new(ReadPair { stamps, pair: pair(route, chain, key)? });
        Ok(Self { route: route.to_owned(), chain: chain.to_owned(), key: key.to_owned(), read })
    }

    /// Reads the files again if they have changed.
    ///
    /// # Errors
    /// As of [`read`](Self::read). The last pair stays.
    pub(super) fn read_again(&self) -> Result<(), SettingsFault> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = [&self.chain, &self.key].map(|file| FileStamp::at(file));
        read.pair = pair(&self.route, &self.chain, &self.key)?;
        read.stamps = stamps;
        Ok(())
    }

    fn current(&self) -> Arc<CertifiedKey> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = [&self.chain, &self.key].map(|file| FileStamp::at(file));
        if stamps != read.stamps {
            // The stamps are those from before the reading, so that a change during it is seen.
            read.stamps = stamps;
            match pair(&self.route, &self.chain, &self.key) {
                Ok(pair) => {
                    tracing::info!(route = %self.route, "client certificate read again");
                    read.pair = pair;
                }
                Err(error) => {
                    tracing::warn!(%error, "client certificate not read, last one kept");
                }
            }
        }
        Arc::clone(&read.pair)
    }
}

impl ResolvesClientCert for ClientCertificate {
    fn resolve(&self, _: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let pair = self.current();
        pair.key.choose_scheme(schemes).is_some().then_some(pair)
    }

    fn has_certs(&self) -> bool {
        true
    }
}

/// Without the key.
impl std::fmt::Debug for ReadPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadPair").field("stamps", &self.stamps).finish_non_exhaustive()
    }
}

fn pair(route: &str, chain: &Path, key: &Path) -> Result<Arc<CertifiedKey>, SettingsFault> {
    let certificates = certificates(chain).map_err(|why| fault(route, "cert_file", chain, &why))?;
    let key_fault = |why: String| fault(route, "key_file", key, &why);
    let private = PrivateKeyDer::from_pem_file(key).map_err(|e| key_fault(e.to_string()))?;
    let pair = CertifiedKey::from_der(certificates, private, &provider());
    pair.map(Arc::new).map_err(|error| match error {
        Error::InconsistentKeys(_) => key_fault(format!(
            "must be the key of the certificate in cert_file = {}",
            chain.display()
        )),
        error => fault(route, "cert_file", chain, &error.to_string()),
    })
}
