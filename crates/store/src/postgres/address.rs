//! The address of a database, the options of its store, and TLS.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use stagger::Span;
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::Error;

/// The address of a PostgreSQL database, `postgres://user:password@host:5432/database?sslmode=require`.
/// It shows no password.
///
/// `sslmode` is `disable` (the default), `require` or `verify-full`. The last two are the same:
/// TLS, with the certificate checked against the usual roots and those of the file that
/// `sslrootcert` names. All other parameters are as in [`tokio_postgres::Config`].
///
/// ```
/// use stagger_store::PostgresAddress;
/// let address: PostgresAddress = "postgres://me:hunter2@db.example/shop?sslmode=require".parse()?;
/// assert_eq!(address.to_string(), "postgres://me@db.example:5432/shop");
/// assert!("postgres://db/shop?sslmode=prefer".parse::<PostgresAddress>().is_err());
/// assert!("mysql://db/shop".parse::<PostgresAddress>().is_err());
/// # Ok::<(), stagger_store::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresAddress {
    pub(super) config: Config,
    pub(super) tls: bool,
    pub(super) roots: Option<PathBuf>,
}

impl PostgresAddress {
    /// Whether a text is meant to be one.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        SCHEMES.iter().any(|scheme| text.starts_with(scheme))
    }
}

impl FromStr for PostgresAddress {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if !Self::is_meant(text) {
            return Err(refused(format!("an address that begins with {}", SCHEMES[0])));
        }
        let (place, query) = text.split_once('?').unwrap_or((text, ""));
        let (mut tls, mut roots, mut rest) = (false, None, Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", "disable")) => tls = false,
                Some(("sslmode", "require" | "verify-full")) => tls = true,
                Some(("sslmode", other)) => {
                    let bound = "one whose sslmode is disable, require or verify-full, and not";
                    return Err(refused(format!("{bound} {other}")));
                }
                Some(("sslrootcert", path)) => roots = Some(PathBuf::from(path)),
                _ => rest.push(pair),
            }
        }
        let mut config: Config = format!("{place}?{}", rest.join("&"))
            .parse()
            .map_err(|error| refused(format!("an address as psql takes it: {error}")))?;
        config.ssl_mode(if tls { SslMode::Require } else { SslMode::Disable });
        config.application_name("stagger");
        Ok(Self { config, tls, roots })
    }
}

impl fmt::Display for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SCHEMES[0])?;
        if let Some(user) = self.config.get_user() {
            write!(f, "{user}@")?;
        }
        let hosts = self.config.get_hosts().iter();
        let ports = self.config.get_ports();
        for (at, host) in hosts.enumerate() {
            let port = ports.get(at).or(ports.first()).copied().unwrap_or(PORT);
            let comma = if at > 0 { "," } else { "" };
            match host {
                tokio_postgres::config::Host::Tcp(name) => write!(f, "{comma}{name}:{port}")?,
                tokio_postgres::config::Host::Unix(path) => write!(f, "{comma}{}", path.display())?,
            }
        }
        write!(f, "/{}", self.config.get_dbname().unwrap_or_default())
    }
}

impl fmt::Debug for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];
/// PostgreSQL's own port.
const PORT: u16 = 5432;

/// The address itself is not repeated: it may hold a password.
fn refused(bound: String) -> Error {
    Error::invalid("store", "(not shown)", bound)
}

/// Connections and times of the PostgreSQL store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PostgresOptions {
    /// Connections at most. Default: 10, of which accepting takes 3 at most and settling 1. A node that
    /// shares the database takes up to 3 more, for its membership and for hints.
    pub connections: NonZeroUsize,
    /// Calls of `accept` that may wait for a connection; more are refused immediately with
    /// [`Error::busy`](crate::Error::busy), so that no memory fills with them. Default: 4096.
    pub queue: NonZeroUsize,
    /// The longest time to make a connection, and to wait for a free one. Default: 5 s.
    pub connect_time: Span,
    /// The longest time of one statement before the server ends it; the store gives up on a server
    /// that does not answer soon after. Default: 30 s.
    pub statement_time: Span,
    /// The time for which a silent node counts as alive. The bounds of transactions and locks of a
    /// member follow from it: they end well before. At least 100 ms. Default: 10 s.
    pub lease: Span,
    /// Whether a database of an earlier release is brought to this one's version. An empty one always
    /// is. Default: no.
    pub migrate: bool,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            connections: const { NonZeroUsize::new(10).expect("above zero") },
            queue: const { NonZeroUsize::new(4096).expect("above zero") },
            connect_time: Span::from_secs(5),
            statement_time: Span::from_secs(30),
            lease: Span::from_secs(10),
            migrate: false,
        }
    }
}

/// Trusts the usual roots, and those of a file (PEM).
pub(super) fn tls_connector(file: Option<&Path>) -> Result<MakeRustlsConnect, Error> {
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
    let refused = |why: &dyn fmt::Display| {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_shown_wherever_it_stands() {
        let texts = [
            "postgres://me:hunter2@db.example:5433/shop",
            "postgresql:///shop?user=me&password=hunter2&host=/run/postgresql",
        ];
        for text in texts {
            let address: PostgresAddress = text.parse().unwrap();
            assert!(!format!("{address} {address:?}").contains("hunter2"), "{address}");
        }
        for wrong in ["postgres://me:hunter2@db:port/shop", "postgres://me:hunter2@db/?sslmode=no"]
        {
            let error = wrong.parse::<PostgresAddress>().unwrap_err();
            assert!(error.is_invalid() && !error.to_string().contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn tls_is_asked_for_by_the_mode() {
        let tls = |mode| {
            format!("postgres://db/shop?sslmode={mode}").parse().map(|a: PostgresAddress| a.tls)
        };
        assert_eq!(
            (tls("disable"), tls("require"), tls("verify-full")),
            (Ok(false), Ok(true), Ok(true))
        );
        let roots = "postgres://db/shop?sslrootcert=/etc/ca.pem&sslmode=require";
        let roots = roots.parse::<PostgresAddress>().unwrap().roots;
        assert_eq!(roots, Some(PathBuf::from("/etc/ca.pem")));
    }
}
