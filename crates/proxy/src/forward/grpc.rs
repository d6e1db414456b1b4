//! A call over gRPC: by the library's own rules of gRPC, trailers and streams included.

use http::{Request, Response};
use hyper::body::Incoming;
use stagger::tonic::CallError;
use stagger::{CallReport, Cause, Stop};
use tonic::body::Body;
use tower_service::Service;

use super::body_memory::CountedBody;
use super::fields::strip_hop_by_hop;
use super::http_call::{may_come_back, time_to_wait};
use super::in_flight::{Held, ReplyBody};
use super::refusal::OwnReply;
use super::route::{GrpcService, Route, UpstreamServices};

/// Makes the call of a request that goes to this upstream.
pub(super) async fn call(
    (route, services): (&Route, &UpstreamServices),
    request: Request<CountedBody<Incoming>>,
    held: Held,
) -> Result<Response<ReplyBody>, OwnReply> {
    let stats = &services.upstream.stats;
    stats.call();
    let request = request.map(Body::new);
    let result = match &services.grpc {
        GrpcService::ByRoute(service) => {
            service.clone().call(request).await.map(|reply| reply.map(ReplyBody::new))
        }
        GrpcService::ByServiceConfig(service) => {
            service.clone().call(request).await.map(|reply| reply.map(ReplyBody::new))
        }
    };
    match result {
        Ok(mut reply) => {
            stats.success();
            strip_hop_by_hop(reply.headers_mut());
            Ok(reply.map(|body| body.holding(held)))
        }
        Err(end) => {
            let stop = end.report().stop().map_or("not_ready", Stop::name);
            stats.stop(stop);
            ended(route, services, &end, stop)
        }
    }
}

/// The status of the server as it sent it; or the refusal of a call that the server did not answer.
fn ended(
    route: &Route,
    services: &UpstreamServices,
    end: &CallError,
    stop: &'static str,
) -> Result<Response<ReplyBody>, OwnReply> {
    if is_servers(end.report()) {
        return Ok(end.status().clone().into_http());
    }
    let after = end.report().hint().max(time_to_wait(&services.upstream));
    let after = after.unwrap_or(route.settings.policy.backoff().base());
    let status = match end.status().code() {
        tonic::Code::DeadlineExceeded => http::StatusCode::GATEWAY_TIMEOUT,
        _ => http::StatusCode::SERVICE_UNAVAILABLE,
    };
    let name = services.upstream.url.destination().as_str();
    Err(OwnReply {
        status,
        stop,
        detail: format!("no reply from {name}: {}", end.status().message()),
        retry_after: end.report().stop().is_none_or(may_come_back).then_some(after),
        attempts: end.report().attempts(),
        destination: Some(name.to_owned()),
    })
}

/// Whether the last attempt was answered, so that the status is the server's own.
fn is_servers(report: &CallReport) -> bool {
    let last = report.history().last();
    last.is_some_and(|last| !matches!(last.cause, Cause::Transport | Cause::Timeout))
}
