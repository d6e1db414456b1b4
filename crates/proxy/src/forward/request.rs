//! One request of a client: checked, given to its route, and answered.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::{Pin, pin};

use http::header::{CONNECTION, CONTENT_LENGTH, EXPECT, HOST, TRANSFER_ENCODING, VIA};
use http::uri::{Authority, PathAndQuery};
use http::{HeaderValue, Method, Request, Response, StatusCode, Version};
use hyper::body::Incoming;
use stagger::Span;
use stagger::http::{CallerDeadline, InboundAttempt};

use super::body_memory::CountedBody;
use super::fields::{add_via, asked_upgrade, set_forwarded, strip_hop_by_hop};
use super::in_flight::{Held, ReplyBody};
use super::refusal::{OwnReply, STAGGER_STOP};
use super::route::{Route, is_grpc};
use super::route_table::{RouteQuery, RouteTable, has_dot_segment, stripped};
use super::{grpc, hedged_call, http_call};
use crate::config::UpstreamUrl;
use crate::edge::ServedRequest;
use crate::stats::Refusal;
use crate::trace::CallSpan;

/// The time after which a caller may come back that found all places taken.
const FULL: Span = Span::from_secs(1);

/// Proxies of this kind that a request may come through: services behind services, and no circle.
const MAX_LOOPS: usize = 8;

/// The client of a request: where it is, and where it came in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    /// Its address.
    pub(crate) from: SocketAddr,
    /// The configured address of the listener.
    pub(crate) listen: SocketAddr,
}

/// Answers a request. A refusal that no route made is given to `unrouted`.
pub(crate) async fn forward(
    table: &RouteTable,
    caller: Caller,
    (request, exchange): (Request<Incoming>, ServedRequest),
    unrouted: impl FnOnce(Refusal),
) -> Result<Response<ReplyBody>, Infallible> {
    let (version, grpc) = (request.version(), is_grpc(request.method(), request.headers()));
    let connects = request.method() == Method::CONNECT && version < Version::HTTP_2;
    let mut reply = match route_of(table, caller, &request) {
        Err(refusal) => {
            unrouted(noted(&refusal));
            refusal.into_response(grpc)
        }
        Ok((route, authority)) => {
            let span = CallSpan::start(&route.settings.name, &request);
            let answer = answer(route, caller, (request, authority), exchange);
            match span.follow(pin!(answer)).await {
                Ok(mut reply) => {
                    span.answered(reply.status());
                    // Only the proxy's own replies have it.
                    reply.headers_mut().remove(STAGGER_STOP);
                    reply
                }
                Err(refusal) => {
                    route.state.refusals.add(noted(&refusal));
                    span.refused(refusal.status, refusal.stop, refusal.attempts);
                    tracing::debug!(
                        route = route.settings.name,
                        stop = refusal.stop,
                        attempts = refusal.attempts,
                        "call refused"
                    );
                    refusal.into_response(grpc)
                }
            }
        }
    };
    if reply.status() != StatusCode::SWITCHING_PROTOCOLS {
        add_via(reply.headers_mut(), version);
    }
    // What a client sends behind a refused CONNECT was meant for another server.
    if connects && !reply.status().is_success() {
        reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    *reply.version_mut() = version;
    Ok(reply)
}

fn noted(refusal: &OwnReply) -> Refusal {
    Refusal {
        at: None,
        route: None,
        destination: refusal.destination.clone(),
        stop: refusal.stop,
        status: refusal.status.as_u16(),
        attempts: refusal.attempts,
        detail: refusal.detail.clone(),
    }
}

/// The route of a request, and the server that the client means.
fn route_of<'t>(
    table: &'t RouteTable,
    caller: Caller,
    request: &Request<Incoming>,
) -> Result<(&'t Route, Authority), OwnReply> {
    let malformed = |why: &str| OwnReply::final_(StatusCode::BAD_REQUEST, "malformed", why);
    let authority = authority_of(request).map_err(malformed)?;
    if request.method() == Method::CONNECT {
        let port = authority.port_u16().ok_or_else(|| malformed("CONNECT needs a port"))?;
        let route = table.tunnel(caller.listen, authority.host(), port);
        let route = route.ok_or_else(|| {
            let why = format!("no route has a tunnel to {authority}");
            OwnReply::final_(StatusCode::FORBIDDEN, "no_route", why)
        })?;
        return Ok((route, authority));
    }
    let path = request.uri().path();
    if has_dot_segment(path) {
        return Err(malformed("the path must not have segments . or .."));
    }
    let absolute = request.version() < Version::HTTP_2 && request.uri().authority().is_some();
    let query = RouteQuery { listen: caller.listen, host: authority.host(), path, absolute };
    let route = table.find(query).ok_or_else(|| {
        let (status, what) = if absolute {
            (StatusCode::MISDIRECTED_REQUEST, "no route names the server of this absolute URI")
        } else {
            (StatusCode::NOT_FOUND, "no route takes this host and path")
        };
        OwnReply::final_(status, "no_route", format!("{what}: {}{path}", authority.host()))
    })?;
    Ok((route, authority))
}

/// The server that a request names (RFC 9112 section 3.2), and that it is named once.
fn authority_of(request: &Request<Incoming>) -> Result<Authority, &'static str> {
    let headers = request.headers();
    // hyper refuses most of what is ambiguous; what it resolves by itself is not passed on by anybody's luck.
    if headers.contains_key(TRANSFER_ENCODING) && headers.contains_key(CONTENT_LENGTH) {
        return Err("Transfer-Encoding and Content-Length exclude each other");
    }
    if passed_through(headers) > MAX_LOOPS {
        return Err("the request goes round in a circle of proxies");
    }
    if headers.get_all(HOST).iter().count() > 1 {
        return Err("there must be one Host");
    }
    let by_host = headers.get(HOST).map(|host| host.to_str().ok()?.parse::<Authority>().ok());
    let authority = match (request.uri().authority().cloned(), by_host) {
        (_, Some(None)) => return Err("the Host is none"),
        (Some(authority), _) | (None, Some(Some(authority))) => authority,
        (None, None) => return Err("the Host is missing"),
    };
    if authority.as_str().contains('@') { Err("the Host has a user") } else { Ok(authority) }
}

/// The number of proxies of this kind that a request has come through.
fn passed_through(headers: &http::HeaderMap) -> usize {
    let lines = headers.get_all(VIA).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|value| value.split(',')).filter(|hop| hop.ends_with(" stagger")).count()
}

/// The answer of a route. Tunnels, upgrades and hedged calls are boxed: few requests are one, and the future of each has
/// room for all that it may await.
async fn answer(
    route: &Route,
    caller: Caller,
    (request, authority): (Request<Incoming>, Authority),
    exchange: ServedRequest,
) -> Result<Response<ReplyBody>, OwnReply> {
    let Some(place) = route.enter() else {
        let most = route.settings.max_in_flight;
        let why = format!("the route has its {most} calls in flight");
        return Err(OwnReply::for_now("in_flight_limit", why, FULL));
    };
    let watch = exchange.watch();
    let held = Held::new(Some(place), Some(exchange));
    if let Some(tunnels) = &route.tunnels {
        return Box::pin(tunnels.open(request, (&authority, held))).await;
    }
    let Some(services) = route.choose() else {
        return Err(OwnReply::for_now("no_route", "the route has no upstream", FULL));
    };
    let inbound = InboundAttempt::read(request.headers());
    let grpc = is_grpc(request.method(), request.headers());
    let protocol = asked_upgrade(request.headers(), request.version());
    let (head, body) = request.into_parts();
    let body = CountedBody::new(body, route.state.bodies.clone());
    let mut request = Request::from_parts(head, ());
    let client = protocol.is_some().then(|| hyper::upgrade::on(&mut request));
    let mut request = outgoing(route, caller, (request, authority), &services.upstream.url)?;
    let parts = (route, services);
    if let (Some(client), Some(protocol)) = (client, protocol) {
        super::fields::set_upgrade(request.headers_mut(), protocol);
        let call = http_call::upgrade(parts, (request.map(|()| body), client), held);
        return scoped(inbound, Box::pin(call).as_mut()).await;
    }
    let mut request = request.map(|()| body);
    if grpc {
        return scoped(inbound, pin!(grpc::call(parts, request, held))).await;
    }
    // Not of gRPC, whose streams may be silent for as long as their calls last.
    request.extensions_mut().insert(watch.clone());
    let answered = if route.settings.policy.hedge().is_some() {
        scoped(inbound, Box::pin(hedged_call::call(parts, request, held)).as_mut()).await
    } else {
        scoped(inbound, pin!(http_call::call(parts, request, held))).await
    };
    answered.map_err(|refusal| if watch.is_broken() { broken_body(&refusal) } else { refusal })
}

/// The refusal in place of that of an upstream which did not get a whole request.
fn broken_body(refusal: &OwnReply) -> OwnReply {
    let why = "the body of the request is malformed, or ended before its end";
    let malformed = OwnReply::final_(StatusCode::BAD_REQUEST, "malformed", why);
    OwnReply { attempts: refusal.attempts, ..malformed }
}

/// A caller that retries by itself gets one attempt for each of its own.
async fn scoped<F: Future>(inbound: Option<InboundAttempt>, call: Pin<&mut F>) -> F::Output {
    match inbound {
        Some(attempt) => attempt.scope(call).await,
        None => call.await,
    }
}

/// The request as the upstream gets it.
fn outgoing(
    route: &Route,
    caller: Caller,
    (request, authority): (Request<()>, Authority),
    upstream: &UpstreamUrl,
) -> Result<Request<()>, OwnReply> {
    let settings = &route.settings;
    let (mut head, ()) = request.into_parts();
    let whole = PathAndQuery::from_static("/");
    let path = head.uri.path_and_query().unwrap_or(&whole);
    let uri = if settings.strip_path {
        stripped(path.as_str(), &settings.path).parse().ok().and_then(|path| upstream.uri(&path))
    } else {
        upstream.uri(path)
    };
    let uri = uri.ok_or_else(|| {
        OwnReply::final_(StatusCode::URI_TOO_LONG, "malformed", "the path is too long")
    })?;
    let version = head.version;
    head.uri = uri;
    // The client speaks the version that the connection has.
    head.version = Version::HTTP_11;
    if settings.caller_deadline
        && let Some(deadline) = CallerDeadline::read(&head.headers)
    {
        head.extensions.insert(deadline);
    }
    strip_hop_by_hop(&mut head.headers);
    head.headers.remove(EXPECT);
    if settings.keep_host || settings.forwarded {
        let host = HeaderValue::try_from(authority.as_str());
        // OK because an authority is visible ASCII.
        host.into_iter().for_each(|host| _ = head.headers.insert(HOST, host));
    }
    if settings.forwarded {
        set_forwarded(&mut head.headers, caller.from);
    }
    if !settings.keep_host {
        head.headers.insert(HOST, upstream.host().clone());
    }
    add_via(&mut head.headers, version);
    Ok(Request::from_parts(head, ()))
}
