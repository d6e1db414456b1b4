//! A call over HTTP: its attempts, and its reply or the refusal in its place; and the switch to another protocol.

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use stagger::engine::Ledger;
use stagger::http::DeadlineBody;
use stagger::tower::ServiceError;
use stagger::{Cause, Clock, Done, Error, Span, Stop, TokioTime};
use stagger_core::classify::sources;
use tower_service::Service;

use super::body_memory::CountedBody;
use super::fields::set_upgrade;
use super::in_flight::{Held, ReplyBody};
use super::refusal::OwnReply;
use super::relay::relay;
use super::route::{Route, UpstreamServices};
use crate::destination::{BoxError, UpstreamServer};

pub(super) type UpstreamReply = Response<DeadlineBody<Incoming, TokioTime>>;

/// Makes the call of a request that goes to this upstream.
pub(super) async fn call(
    (route, services): (&Route, &UpstreamServices),
    request: Request<CountedBody<Incoming>>,
    held: Held,
) -> Result<Response<ReplyBody>, OwnReply> {
    let upstream = &*services.upstream;
    upstream.stats.call();
    let reply = answered(upstream, services.http.clone().call(request).await);
    let reply = reply.map_err(|end| refusal(route, upstream, &end))?;
    Ok(passed_on(reply).map(|body| body.holding(held)))
}

/// Makes the call of a request that wants to switch to `protocol`. The switch of the server is that of the client.
pub(super) async fn upgrade(
    (route, services): (&Route, &UpstreamServices),
    (request, client): (Request<CountedBody<Incoming>>, hyper::upgrade::OnUpgrade),
    held: Held,
) -> Result<Response<ReplyBody>, OwnReply> {
    let upstream = &*services.upstream;
    upstream.stats.call();
    let reply = answered(upstream, services.upgrade.clone().call(request).await);
    let mut reply = reply.map_err(|end| refusal(route, upstream, &end))?;
    if reply.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Ok(passed_on(reply).map(|body| body.holding(held)));
    }
    let protocol = reply.headers().get(http::header::UPGRADE).cloned();
    let server = hyper::upgrade::on(&mut reply);
    let idle = route.settings.tunnel_idle_timeout;
    tokio::spawn(async move {
        if let (Ok(client), Ok(server)) = tokio::join!(client, server) {
            relay(TokioIo::new(client), TokioIo::new(server), (held, idle)).await;
        }
    });
    super::fields::strip_hop_by_hop(reply.headers_mut());
    let protocol = protocol.unwrap_or(HeaderValue::from_static("websocket"));
    set_upgrade(reply.headers_mut(), protocol);
    Ok(reply.map(|_| ReplyBody::default()))
}

/// Counts the end of a call.
fn answered(
    upstream: &UpstreamServer,
    result: Result<UpstreamReply, ServiceError>,
) -> Result<UpstreamReply, ServiceError> {
    match &result {
        Ok(reply) => match reply.extensions().get::<Done>() {
            Some(done) if done.stop != Stop::Succeeded => upstream.stats.stop(done.stop.name()),
            _ => upstream.stats.success(),
        },
        Err(error) => upstream.stats.stop(error.end().map_or("not_ready", |end| end.stop().name())),
    }
    result
}

/// The reply as the client gets it. Events that a server sends have no end, so they have no deadline.
pub(super) fn passed_on(reply: UpstreamReply) -> Response<ReplyBody> {
    let (mut head, body) = reply.into_parts();
    super::fields::strip_hop_by_hop(&mut head.headers);
    let events = head.headers.get(CONTENT_TYPE);
    let events = events.is_some_and(|it| it.as_bytes().starts_with(b"text/event-stream"));
    let body = if events { body.without_deadline() } else { body };
    Response::from_parts(head, ReplyBody::new(body))
}

/// The refusal of a call that came to no reply.
fn refusal(route: &Route, upstream: &UpstreamServer, error: &ServiceError) -> OwnReply {
    match error.end() {
        Some(end) => refused(route, upstream, end),
        None => OwnReply::for_now("not_ready", error.to_string(), Span::from_secs(1)),
    }
}

/// The refusal of a call that ended so.
pub(super) fn refused(route: &Route, upstream: &UpstreamServer, end: &Error<BoxError>) -> OwnReply {
    let late = end.history().last().is_some_and(|last| last.cause == Cause::Timeout);
    let status = match end.stop() {
        Stop::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        Stop::AttemptsExhausted | Stop::NotIdempotent if late => StatusCode::GATEWAY_TIMEOUT,
        Stop::Permanent | Stop::NotIdempotent => StatusCode::BAD_GATEWAY,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    };
    let after =
        end.hint().max(time_to_wait(upstream)).unwrap_or(route.settings.policy.backoff().base());
    OwnReply {
        status,
        stop: end.stop().name(),
        detail: format!(
            "no reply from {}: {end}{}",
            upstream.url.destination().as_str(),
            root(end)
        ),
        retry_after: may_come_back(end.stop()).then_some(after),
        attempts: end.attempts(),
        destination: Some(upstream.url.destination().as_str().to_owned()),
    }
}

/// Whether the caller is told when to come back: not where no repetition helps, and not where the server may have acted
/// on a request that must not be sent twice.
pub(super) const fn may_come_back(stop: Stop) -> bool {
    !matches!(stop, Stop::Permanent | Stop::NotIdempotent)
}

/// The root of the last failure, which says more than the client's own words: that a connection was refused, or why a
/// certificate was.
fn root(end: &Error<BoxError>) -> String {
    let root = end.get_ref().and_then(|error| sources(&**error).skip(1).last());
    root.map_or_else(String::new, |root| format!(": {root}"))
}

/// The time for which the breaker or a hint keeps callers away.
pub(super) fn time_to_wait(upstream: &UpstreamServer) -> Option<Span> {
    let now = TokioTime.now();
    let by_breaker = upstream.ledger.stats(now).breaker_until;
    let by_hint = (&mut &*upstream.ledger).paused_until(now);
    by_breaker.max(by_hint).map(|until| until - now)
}
