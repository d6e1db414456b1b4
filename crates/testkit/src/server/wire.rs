//! One connection, in the clear or under TLS.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
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
