//! The body of a reply, and the places that its call holds until it has been read.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};

use super::route_state::RoutePlace;
use crate::destination::BoxError;
use crate::edge::ServedRequest;

/// The places that a call holds until its reply has been read: of its route, and of its connection.
#[derive(Debug, Default)]
pub(crate) struct Held {
    _route: Option<RoutePlace>,
    request: Option<ServedRequest>,
}

impl Held {
    /// A call of a route, on a client's connection.
    pub(super) const fn new(route: Option<RoutePlace>, request: Option<ServedRequest>) -> Self {
        Self { _route: route, request }
    }

    /// Ready when all connections end.
    pub(super) async fn closed(&self) {
        match &self.request {
            Some(request) => request.closed().await,
            None => std::future::pending().await,
        }
    }
}

/// The body of a reply, with what its call holds until then.
#[derive(Debug)]
pub(crate) struct ReplyBody {
    body: UnsyncBoxBody<Bytes, BoxError>,
    held: Option<Held>,
    /// Whether the client has yet to take what was handed out last.
    unread: bool,
}

impl ReplyBody {
    fn mark(&mut self, unread: bool) {
        let request = self.held.as_ref().and_then(|held| held.request.as_ref());
        if let Some(request) = request
            && self.unread != unread
        {
            request.reply_unread(unread);
            self.unread = unread;
        }
    }

    /// A body of this text.
    pub(crate) fn text(text: String) -> Self {
        let body = Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed_unsync();
        Self { body, held: None, unread: false }
    }

    /// A body as an upstream sends it.
    pub(crate) fn new<B>(body: B) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self { body: body.map_err(Into::into).boxed_unsync(), held: None, unread: false }
    }

    /// The same, which lets go of `held` at its end. The reply begins.
    pub(crate) fn holding(self, held: Held) -> Self {
        if let Some(request) = &held.request {
            request.answered();
        }
        let mut this = self;
        this.held = Some(held);
        this
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
        self.mark(false);
        let frame = Pin::new(&mut self.body).poll_frame(context);
        match &frame {
            Poll::Ready(Some(Ok(_))) => self.mark(true),
            Poll::Ready(None | Some(Err(_))) => self.held = None,
            Poll::Pending => {}
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

impl Drop for ReplyBody {
    fn drop(&mut self) {
        self.mark(false);
    }
}
