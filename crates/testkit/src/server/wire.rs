//! One connection, in the clear or under TLS, the identity of the server, and the frames of HTTP/2.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::{Buf, BytesMut};
use h2::Reason;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The first bytes of HTTP/2 in the clear (RFC 9113, 3.4), with which no method of HTTP/1.1 begins.
const PREFACE: &[u8] = b"PRI";

#[derive(Debug)]
pub(super) struct Wire {
    stream: WireStream,
    /// Read already, to find out who speaks.
    ahead: BytesMut,
}

#[derive(Debug)]
enum WireStream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Wire {
    pub(super) fn plain(stream: TcpStream) -> Self {
        Self { stream: WireStream::Plain(stream), ahead: BytesMut::new() }
    }

    /// The same connection under TLS, after the handshake.
    pub(super) async fn secure(self, acceptor: &TlsAcceptor) -> io::Result<Self> {
        match self.stream {
            WireStream::Plain(stream) => {
                let stream = WireStream::Tls(Box::new(acceptor.accept(stream).await?));
                Ok(Self { stream, ahead: self.ahead })
            }
            WireStream::Tls(_) => Ok(self),
        }
    }

    /// HTTP/2, by what the client says first or by ALPN.
    pub(super) async fn speaks_http2(&mut self) -> io::Result<bool> {
        if let WireStream::Tls(stream) = &self.stream {
            return Ok(stream.get_ref().1.alpn_protocol() == Some(b"h2"));
        }
        loop {
            let known = self.ahead.len().min(PREFACE.len());
            if self.ahead[..known] != PREFACE[..known] {
                return Ok(false);
            }
            if known == PREFACE.len() {
                return Ok(true);
            }
            let mut bytes = [0; PREFACE.len()];
            match self.tcp_read(&mut bytes).await? {
                0 => return Ok(false),
                n => self.ahead.extend_from_slice(&bytes[..n]),
            }
        }
    }

    /// Waits until the client sends something; false when it leaves.
    pub(super) async fn readable(&mut self) -> io::Result<bool> {
        if !self.ahead.is_empty() {
            return Ok(true);
        }
        match &mut self.stream {
            WireStream::Plain(stream) => Ok(stream.peek(&mut [0]).await? > 0),
            // What came with the end of the handshake is in TLS already, and TCP knows nothing of it.
            WireStream::Tls(stream) => Ok(stream.read_buf(&mut self.ahead).await? > 0),
        }
    }

    /// Resets the connection instead of closing it: RST, with nothing sent any more.
    pub(super) fn reset(&self) {
        _ = self.tcp().set_zero_linger();
    }

    async fn tcp_read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match &mut self.stream {
            WireStream::Plain(stream) => stream.read(bytes).await,
            WireStream::Tls(stream) => stream.read(bytes).await,
        }
    }

    fn tcp(&self) -> &TcpStream {
        match &self.stream {
            WireStream::Plain(stream) => stream,
            WireStream::Tls(stream) => stream.get_ref().0,
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.ahead.is_empty() {
            let n = self.ahead.len().min(into.remaining());
            into.put_slice(&self.ahead[..n]);
            self.ahead.advance(n);
            return Poll::Ready(Ok(()));
        }
        match &mut self.stream {
            WireStream::Plain(stream) => Pin::new(stream).poll_read(context, into),
            WireStream::Tls(stream) => Pin::new(stream).poll_read(context, into),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            WireStream::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            WireStream::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            WireStream::Plain(stream) => Pin::new(stream).poll_flush(context),
            WireStream::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            WireStream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            WireStream::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

/// A connection that HTTP/2 owns and that we may write to as well, between its frames.
#[derive(Clone, Debug)]
pub(super) struct Tap(Arc<Mutex<Wire>>);

impl Tap {
    pub(super) fn new(wire: Wire) -> Self {
        Self(Arc::new(Mutex::new(wire)))
    }

    /// Sends `GOAWAY` (RFC 9113, 6.8). Whoever calls has flushed its own frames.
    pub(super) async fn go_away(&mut self, last_stream: u32, reason: Reason) -> io::Result<()> {
        let mut frame = vec![0, 0, 8, 7, 0, 0, 0, 0, 0];
        frame.extend_from_slice(&last_stream.to_be_bytes());
        frame.extend_from_slice(&u32::from(reason).to_be_bytes());
        self.write_all(&frame).await?;
        self.flush().await
    }

    pub(super) fn reset(&self) {
        self.with(|wire| wire.reset());
    }

    fn with<T>(&self, act: impl FnOnce(Pin<&mut Wire>) -> T) -> T {
        act(Pin::new(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl AsyncRead for Tap {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.with(|wire| wire.poll_read(context, into))
    }
}

impl AsyncWrite for Tap {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.with(|wire| wire.poll_write(context, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|wire| wire.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|wire| wire.poll_shutdown(context))
    }
}

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

    /// Signed by nobody but itself, and marked as an authority, as `openssl req -x509` does: its own certificate is the
    /// authority's.
    pub fn self_signed_authority() -> Self {
        let mut identity = Self::self_signed();
        let mut params = params(&["127.0.0.1", "localhost"]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        identity.authority = itself(&params, &identity.key);
        identity.chain = vec![identity.authority.der().clone()];
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

    /// The key of the certificate in PEM.
    #[must_use]
    pub fn key_pem(&self) -> String {
        self.key.serialize_pem()
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
