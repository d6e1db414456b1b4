//! A body whose chunks come from a channel.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::sync::mpsc;

use crate::Error;

/// Sends what its channel brings, and ends with it. A full channel makes its sender wait for the client.
#[derive(Debug)]
pub(crate) struct ChannelBody {
    chunks: mpsc::Receiver<Result<Bytes, Error>>,
}

impl ChannelBody {
    pub(crate) const fn new(chunks: mpsc::Receiver<Result<Bytes, Error>>) -> Self {
        Self { chunks }
    }
}

impl Body for ChannelBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        self.chunks.poll_recv(cx).map(|chunk| chunk.map(|chunk| chunk.map(Frame::data)))
    }
}
