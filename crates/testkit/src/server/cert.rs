//! The identity of the server under TLS.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// The identity of the server under TLS: a fresh test authority, and a certificate that it signed.
///
/// ```
/// use stagger_testkit::server::Identity;
///
/// let identity = Identity::valid();
/// assert!(identity.authority_pem().starts_with("-----BEGIN CERTIFICATE-----"));
/// assert_ne!(identity.authority_der(), Identity::valid().authority_der());
/// ```
#[derive(Debug)]
#[must_use]
pub struct Identity {
    authority: Certificate,
    chain: Vec<CertificateDer<'static>>,
    key: KeyPair,
    protocols: Vec<Vec<u8>>,
}

/// Another name than that of a certificate which signs itself.
const AUTHORITY: &str = "stagger's test authority";
/// The name in the certificate of [`Identity::wrong_name`].
const SOMEBODY_ELSE: &str = "somebody-else.test";

impl Identity {
    /// Valid for `127.0.0.1` and `localhost`.
    pub fn valid() -> Self {
        Self::signed(params(&["127.0.0.1", "localhost"]))
    }

    /// Signed by the authority, but out of date since the year 2001.
    pub fn expired() -> Self {
        let mut params = params(&["127.0.0.1", "localhost"]);
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(2001, 1, 1);
        Self::signed(params)
    }

    /// Signed by the authority, but for another name.
    pub fn wrong_name() -> Self {
        Self::signed(params(&[SOMEBODY_ELSE]))
    }

    /// Signed by nobody but itself; the authority knows nothing of it.
    pub fn self_signed() -> Self {
        let mut identity = Self::valid();
        identity.key = key();
        let cert = itself(&params(&["127.0.0.1", "localhost"]), &identity.key);
        identity.chain = vec![cert.der().clone()];
        identity
    }

    /// Speaks HTTP/1.1 only; by default the client may choose HTTP/2 by ALPN.
    pub fn http1_only(mut self) -> Self {
        self.protocols = vec![b"http/1.1".to_vec()];
        self
    }

    /// The authority's certificate in PEM: who trusts it accepts [`valid`](Self::valid).
    #[must_use]
    pub fn authority_pem(&self) -> String {
        self.authority.pem()
    }

    /// The authority's certificate in DER.
    #[must_use]
    pub fn authority_der(&self) -> &[u8] {
        self.authority.der()
    }

    pub(super) fn config(&self) -> Arc<ServerConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(self.key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring knows the default versions")
            .with_no_client_auth()
            .with_single_cert(self.chain.clone(), key)
            .expect("the key was made for this certificate");
        config.alpn_protocols.clone_from(&self.protocols);
        Arc::new(config)
    }

    fn signed(params: CertificateParams) -> Self {
        let mut of_authority = self::params(&[]);
        of_authority.distinguished_name.push(DnType::CommonName, AUTHORITY);
        of_authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority_key = key();
        let authority = itself(&of_authority, &authority_key);
        let key = key();
        let issuer = Issuer::from_params(&of_authority, &authority_key);
        let cert = params.signed_by(&key, &issuer).expect("the parameters are constants");
        Self {
            authority,
            chain: vec![cert.der().clone()],
            key,
            protocols: vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        }
    }
}

fn itself(params: &CertificateParams, key: &KeyPair) -> Certificate {
    params.self_signed(key).expect("the parameters are constants")
}

fn params(names: &[&str]) -> CertificateParams {
    let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
    CertificateParams::new(names).expect("the names are constants")
}

fn key() -> KeyPair {
    KeyPair::generate().expect("ring draws keys of its default kind")
}
