//! The egress proxy: it is asked for a tunnel to an address that the guard has checked.

use std::convert::Infallible;
use std::fmt;
use std::future::{Ready, ready};
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::str::FromStr;
use std::task::{Context, Poll};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{HOST, PROXY_AUTHORIZATION};
use http::{HeaderValue, Request, Uri};
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper_util::client::legacy::connect::proxy::SocksV5;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use stagger::{ConfigError, Span};
use stagger_scheduler::model::{AttemptFailure, SecretText};
use tokio_rustls::TlsConnector;
use tower_service::Service;
use url::{Host as UrlHost, Url};

use crate::address::{Address, Host};
use crate::connection::{ByteStream, within};
use crate::resolver::Resolve;
use crate::send_failure::SendFailure;
use crate::tcp::connect;

/// The longest time for a tunnel, with the connection to the proxy: a proxy that hangs is told from a receiver that does.
const TUNNEL_TIME: Span = Span::from_secs(10);
/// Addresses of a receiver that the proxy is asked for, the preferred ones; all of them are judged.
const MAX_TUNNELS: usize = 2;
/// Longest head of the proxy's reply, in bytes.
const MAX_HEAD: usize = 16 << 10;
/// Longest name and password together, in bytes: what a message of SOCKS 5 has room for.
const MAX_CREDENTIALS: usize = 200;

/// A proxy through which everything is sent: `http://`, `https://` (both with CONNECT) or `socks5://`.
///
/// Names of receivers are resolved and judged by this process, and the proxy is asked for the address that was checked. With
/// `socks5h://` it is asked for the name, once its addresses are judged: for a proxy that has a list of names. The proxy
/// resolves the name again then, so it has to refuse private addresses itself.
///
/// ```
/// use stagger_sender::EgressProxy;
/// let proxy: EgressProxy = "http://me:hunter2@proxy.example:3128".parse()?;
/// assert_eq!(proxy.to_string(), "http://proxy.example:3128");
/// assert!(!format!("{proxy:?}").contains("hunter2"));
/// assert!("ftp://proxy.example".parse::<EgressProxy>().is_err());
/// # Ok::<(), stagger::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct EgressProxy {
    kind: ProxyKind,
    host: Host,
    port: u16,
    /// The name that its certificate must have.
    tls_name: Option<ServerName<'static>>,
    credentials: Option<(String, SecretText)>,
    /// Scheme, host and port.
    shown: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProxyKind {
    Connect,
    Socks {
        /// Whether it gets the names of receivers.
        names: bool,
    },
}

/// Why the proxy makes no tunnel.
enum NoTunnel {
    /// Whatever is asked for: another address is asked for in vain.
    Proxy(SendFailure),
    /// To this address.
    Refused(String),
}

impl EgressProxy {
    /// The same with this name and password, `name:password`, in place of those of its URL. Blanks and line ends around
    /// them are left out.
    ///
    /// # Errors
    /// There is no colon, they are longer than 200 bytes together, or they have control characters.
    pub fn with_credentials(self, text: &str) -> Result<Self, ConfigError> {
        let (name, password) = text.trim().split_once(':').ok_or_else(wrong_credentials)?;
        self.with(name, password)
    }

    fn with(self, name: &str, password: &str) -> Result<Self, ConfigError> {
        let fits = name.len() + password.len() <= MAX_CREDENTIALS && !name.contains(':');
        if !fits || name.contains(char::is_control) || password.contains(char::is_control) {
            return Err(wrong_credentials());
        }
        let credentials = Some((name.to_owned(), SecretText::new(password)));
        Ok(Self { credentials, ..self })
    }

    /// A tunnel to one of the `checked` addresses of a receiver.
    ///
    /// # Errors
    /// [`AttemptFailure::Transport`] with the reason, or the node's own lack of resources.
    pub(crate) async fn tunnel(
        &self,
        reach: (&dyn Resolve, &TlsConnector),
        (checked, to): (&[IpAddr], &Address),
    ) -> Result<Box<dyn ByteStream>, SendFailure> {
        let mut last = String::from("no address");
        for ip in checked.iter().take(MAX_TUNNELS) {
            let asked = self.asked(*ip, to);
            match within(TUNNEL_TIME, pin!(self.open(reach, &asked))).await {
                Some(Ok(tunnel)) => return Ok(tunnel),
                Some(Err(NoTunnel::Proxy(failure))) => return Err(failure),
                Some(Err(NoTunnel::Refused(why))) => last = why,
                None => return Err(failed(format!("makes no tunnel within {TUNNEL_TIME}"))),
            }
        }
        Err(failed(last))
    }

    /// Host and port to ask for.
    fn asked(&self, ip: IpAddr, to: &Address) -> String {
        match (&self.kind, &to.host) {
            (ProxyKind::Socks { names: true }, Host::Name(name)) => format!("{name}:{}", to.port),
            _ => SocketAddr::new(ip, to.port).to_string(),
        }
    }

    async fn open(
        &self,
        (resolver, tls): (&dyn Resolve, &TlsConnector),
        asked: &str,
    ) -> Result<Box<dyn ByteStream>, NoTunnel> {
        let addresses = match &self.host {
            Host::Literal(ip) => vec![*ip],
            Host::Name(name) => resolver
                .resolve(name)
                .await
                .map_err(|error| NoTunnel::Proxy(failed(format!("cannot be resolved: {error}"))))?,
        };
        let stream = connect(&addresses, self.port).await.map_err(|failure| {
            // Tenants read it: it does not say where the proxy is.
            NoTunnel::Proxy(match failure.failure {
                AttemptFailure::Local => failure,
                _ => failed("cannot be connected to"),
            })
        })?;
        let stream: Box<dyn ByteStream> = match &self.tls_name {
            None => Box::new(TokioIo::new(stream)),
            Some(name) => match tls.connect(name.clone(), stream).await {
                Ok(stream) => Box::new(TokioIo::new(stream)),
                Err(error) => {
                    let detail = SendFailure::by(AttemptFailure::Transport, &error).detail;
                    return Err(NoTunnel::Proxy(failed(format!(
                        "fails the TLS handshake: {detail}"
                    ))));
                }
            },
        };
        match self.kind {
            ProxyKind::Connect => self.connect_tunnel(stream, asked).await,
            ProxyKind::Socks { .. } => self.socks_tunnel(stream, asked).await,
        }
    }

    /// RFC 9110 section 9.3.6.
    async fn connect_tunnel(
        &self,
        stream: Box<dyn ByteStream>,
        asked: &str,
    ) -> Result<Box<dyn ByteStream>, NoTunnel> {
        let by = |error: hyper::Error| {
            let detail = SendFailure::by(AttemptFailure::Transport, &error).detail;
            NoTunnel::Proxy(failed(format!("breaks off: {detail}")))
        };
        let mut request = Request::connect(asked)
            .body(Empty::<Bytes>::new())
            .map_err(|_| NoTunnel::Refused(format!("cannot be asked for {asked}")))?;
        let host = HeaderValue::from_str(asked)
            .map_err(|_| NoTunnel::Refused(format!("cannot be asked for {asked}")))?;
        request.headers_mut().insert(HOST, host);
        request.headers_mut().extend(self.authorization().map(|it| (PROXY_AUTHORIZATION, it)));
        let mut builder = http1::Builder::new();
        let (mut sender, connection) =
            builder.max_buf_size(MAX_HEAD).handshake(stream).await.map_err(by)?;
        let mut work = pin!(async move {
            let reply = sender.send_request(request).await.map_err(by)?;
            let status = reply.status();
            if status.is_success() {
                return hyper::upgrade::on(reply).await.map_err(by);
            }
            Err(match status.as_u16() {
                407 => NoTunnel::Proxy(failed("answers 407: its credentials are missing or wrong")),
                status => NoTunnel::Refused(format!("answers {status} to CONNECT")),
            })
        });
        let mut connection = pin!(connection.with_upgrades());
        let upgraded = tokio::select! {
            biased;
            upgraded = &mut work => upgraded,
            // Its error, if it has one, comes out of the request.
            _ = &mut connection => work.await,
        };
        Ok(Box::new(upgraded?))
    }

    /// RFC 1928, with names and passwords by RFC 1929.
    async fn socks_tunnel(
        &self,
        stream: Box<dyn ByteStream>,
        asked: &str,
    ) -> Result<Box<dyn ByteStream>, NoTunnel> {
        let target: Uri =
            asked.parse().map_err(|_| NoTunnel::Refused(format!("cannot be asked for {asked}")))?;
        // It is connected already: the address is for the library's own connector only.
        let mut socks = SocksV5::new(Uri::from_static("proxy:1"), Connected(Some(stream)));
        if let Some((name, password)) = &self.credentials {
            socks = socks.with_auth(name.clone(), password.reveal().to_owned());
        }
        socks.call(target).await.map_err(|error| NoTunnel::Refused(format!("refuses: {error}")))
    }

    fn authorization(&self) -> Option<HeaderValue> {
        let (name, password) = self.credentials.as_ref()?;
        let joined = STANDARD.encode(format!("{name}:{}", password.reveal()));
        let mut value = HeaderValue::from_str(&format!("Basic {joined}")).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl FromStr for EgressProxy {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let bound = "http://, https://, socks5:// or socks5h:// with a host, a port, and nothing but a name and a password \
                     beside them";
        let wrong = || ConfigError::new("egress_proxy", "(not shown)", bound);
        let url = Url::parse(text).map_err(|_| wrong())?;
        let (kind, usual_port) = match url.scheme() {
            "http" => (ProxyKind::Connect, Some(80)),
            "https" => (ProxyKind::Connect, Some(443)),
            "socks5" => (ProxyKind::Socks { names: false }, Some(1080)),
            "socks5h" => (ProxyKind::Socks { names: true }, Some(1080)),
            _ => return Err(wrong()),
        };
        let is_plain =
            matches!(url.path(), "" | "/") && url.query().is_none() && url.fragment().is_none();
        let port = url.port().or(usual_port).filter(|port| *port != 0 && is_plain);
        let (port, name) = (port.ok_or_else(wrong)?, url.host_str().ok_or_else(wrong)?);
        // The library takes the host of a scheme that it does not know as it stands.
        let host = match UrlHost::parse(name).map_err(|_| wrong())? {
            UrlHost::Domain(name) => Host::Name(name.into()),
            UrlHost::Ipv4(ip) => Host::Literal(ip.into()),
            UrlHost::Ipv6(ip) => Host::Literal(ip.into()),
        };
        let tls_name = match (url.scheme(), &host) {
            ("https", Host::Literal(ip)) => Some(ServerName::from(*ip)),
            ("https", Host::Name(name)) => {
                Some(ServerName::try_from(name.to_string()).map_err(|_| wrong())?)
            }
            _ => None,
        };
        let shown = format!("{}://{name}:{port}", url.scheme());
        let proxy = Self { kind, host, port, tls_name, credentials: None, shown };
        if url.username().is_empty() && url.password().is_none() {
            return Ok(proxy);
        }
        let decoded = |part: &str| percent_decoded(part).ok_or_else(wrong);
        proxy.with(&decoded(url.username())?, &decoded(url.password().unwrap_or_default())?)
    }
}

impl fmt::Display for EgressProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for EgressProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "EgressProxy({}, {})",
            self.shown,
            match self.credentials {
                Some(_) => "with credentials",
                None => "no credentials",
            }
        )
    }
}

/// A connection that is there, for a library that wants to make one.
struct Connected(Option<Box<dyn ByteStream>>);

impl Service<Uri> for Connected {
    type Response = Box<dyn ByteStream>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        ready(Ok(self.0.take().expect("it is called once")))
    }
}

fn wrong_credentials() -> ConfigError {
    let bound = "name:password of at most 200 bytes, without control characters";
    ConfigError::new("egress_proxy", "(not shown)", bound)
}

fn failed(why: impl AsRef<str>) -> SendFailure {
    SendFailure::new(AttemptFailure::Transport, format!("the egress proxy {}", why.as_ref()))
}

/// A part of a URL's user info.
fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let pair = [rest.next()?, rest.next()?];
        let digits = std::str::from_utf8(&pair).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<EgressProxy, ConfigError> {
        text.parse()
    }

    #[test]
    fn a_proxy_is_read_from_its_url_and_shown_without_its_password() {
        for (text, shown, port) in [
            ("http://10.0.0.7:3128", "http://10.0.0.7:3128", 3128),
            ("https://Proxy.example/", "https://proxy.example:443", 443),
            ("socks5://u:p%40ss@[fd00::1]", "socks5://[fd00::1]:1080", 1080),
            ("socks5h://proxy.example:1", "socks5h://proxy.example:1", 1),
        ] {
            let proxy = parse(text).unwrap();
            assert_eq!((proxy.to_string().as_str(), proxy.port), (shown, port));
            assert!(!format!("{proxy:?}").contains("p@ss"));
        }
        let proxy = parse("http://u%20x:p%40ss%3A@a").unwrap();
        let (name, password) = proxy.credentials.clone().unwrap();
        assert_eq!((name.as_str(), password.reveal()), ("u x", "p@ss:"));
        let value = proxy.authorization().unwrap();
        assert!(value.is_sensitive() && value == "Basic dSB4OnBAc3M6");
        let replaced = proxy.with_credentials("me:hunter2\n").unwrap();
        assert_eq!(replaced.credentials.map(|it| it.0).as_deref(), Some("me"));
    }

    #[test]
    fn a_proxy_that_is_none_is_refused_without_its_password() {
        for text in [
            "",
            "proxy.example:3128",
            "ftp://u:hunter2@a",
            "http://u:hunter2@a/path",
            "http://u:hunter2@a?x",
            "socks5://u:hunter2@a#x",
            "http://u:hunter2@a:0",
            "http://u:hunter2@a:99999",
            "socks4://u:hunter2@a",
            "http://u%:hunter2@a",
            "http://u%3ax:hunter2@a",
            "http://u:hunter2%0a@a",
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
        let proxy = parse("http://a").unwrap();
        assert!(proxy.clone().with_credentials("hunter2").is_err());
        assert!(proxy.with_credentials(&format!("a:{}", "x".repeat(200))).is_err());
    }
}
