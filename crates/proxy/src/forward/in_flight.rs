//! The body of a reply, and the places that its call holds until it has been read.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use tokio::sync::OwnedSemaphorePermit;

use crate::destination::BoxError;
use crate::edge::ServedRequest;

/// The places that a call holds until its reply has been read: of its route, and of its connection.
#[derive(Debug, Default)]
pub(crate) struct Held {
    _route: Option<OwnedSemaphorePermit>,
    _exchange: Option<ServedRequest>,
}

impl Held {
    /// A call of a route, on a client's connection.
    pub(crate) const fn new(
        route: Option<OwnedSemaphorePermit>,
        exchange: Option<ServedRequest>,
    ) -> Self {
        Self { _route: route, _exchange: exchange }
    }
}

/// The body of a reply, with what its call holds until then.
#[derive(Debug)]
pub(crate) struct ReplyBody {
    body: UnsyncBoxBody<Bytes, BoxError>,
    held: Option<Held>,
}

impl ReplyBody {
    /// A body of this text.
    pub(crate) fn text(text: String) -> Self {
        let body = Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed_unsync();
        Self { body, held: None }
    }

    /// A body as an upstream sends it.
    pub(crate) fn new<B>(body: B) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self { body: body.map_err(Into::into).boxed_unsync(), held: None }
    }

    /// The same, which lets go of `held` at its end.
    pub(crate) fn holding(self, held: Held) -> Self {
        Self { held: Some(held), ..self }
    }
}

impl Default for ReplyBody {
    fn default() -> Self {
        Self::text(String::new())
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if matches!(frame, Poll::Ready(None | Some(Err(_)))) {
            self.held = None;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
