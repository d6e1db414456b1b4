//! The stream of a client's connection, which tells its phase of bytes that come and bytes that do not leave, and holds
//! its place among the connections.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::phase::ConnectionPhase;
use super::places::Place;
use super::threads::ThreadShare;

/// A stream whose progress is watched. It may outlive its connection's task, as a tunnel or a WebSocket.
#[derive(Debug)]
pub(super) struct WatchedStream {
    stream: TokioIo<TcpStream>,
    phase: Arc<ConnectionPhase>,
    _place: (Place, ThreadShare),
}

impl WatchedStream {
    pub(super) fn new(
        stream: TcpStream,
        phase: Arc<ConnectionPhase>,
        place: (Place, ThreadShare),
    ) -> Self {
        Self { stream: TokioIo::new(stream), phase, _place: place }
    }

    fn wrote<T>(&self, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        self.phase.wrote(result.is_ready());
        result
    }
}

impl Read for WatchedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_ready() {
            self.phase.read();
        }
        read
    }
}

impl Write for WatchedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wrote(wrote)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        self.wrote(wrote)
    }
}
