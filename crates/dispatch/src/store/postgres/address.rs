//! The address of the database, in the form that `psql` takes.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

use crate::Error;

/// The address of a PostgreSQL database, `postgres://user:password@host:5432/database?sslmode=require`.
/// It shows no password.
///
/// `sslmode` is `disable` (the default), `require` or `verify-full`. The last two are the same:
/// TLS, with the certificate checked against the usual roots and those of the file that
/// `sslrootcert` names. All other parameters are as in [`tokio_postgres::Config`].
///
/// ```
/// use stagger_dispatch::store::PostgresAddress;
/// let address: PostgresAddress = "postgres://me:hunter2@db.example/shop?sslmode=require".parse()?;
/// assert_eq!(address.to_string(), "postgres://me@db.example:5432/shop");
/// assert!("postgres://db/shop?sslmode=prefer".parse::<PostgresAddress>().is_err());
/// assert!("mysql://db/shop".parse::<PostgresAddress>().is_err());
/// # Ok::<(), stagger_dispatch::Error>(())
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
