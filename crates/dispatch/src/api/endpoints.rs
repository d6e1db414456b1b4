//! Endpoints: making, listing, changing, switching and deleting them, and replacing their secrets.

use std::num::NonZeroU32;

use axum::extract::State;
use axum::response::IntoResponse;
use http::StatusCode;
use http::header::CACHE_CONTROL;
use stagger::breaker::BreakerPlan;
use stagger::{Instant, Span};
use stagger_scheduler::model::{ApplicationId, Endpoint, EndpointDestination, EndpointId, Pace};
use stagger_sender::{public_key_text, secret_text};
use stagger_store::Cursor;
use uuid::Uuid;

use super::auth::{OwnEndpoint, Tenant};
use super::body::{Json, JsonBytes};
use super::problem::Problem;
use super::query::{PageQuery, ValidQuery, paged};
use super::state::Api;
use super::wire::{
    EndpointContext, EndpointCreated, EndpointSettings, EndpointView, NewSecret, PageOf,
    SecretView, Secrets, TestSent, header_patch,
};
use super::{body, openapi};
use crate::Error;
use crate::node::Node;

/// Most endpoints of an application: each message is written once for each of them.
pub(super) const MAX_ENDPOINTS: usize = 1_000;

/// Most attempts in flight that a key of the application may allow for an endpoint.
const OWN_CONCURRENCY: u32 = 128;

/// Most failures that a breaker may take to open, if a key of the application sets it.
const OWN_BREAKER_CALLS: u32 = 100;

/// Shortest pause of an open breaker that a key of the application may set.
const OWN_OPEN_TIME: Span = Span::from_secs(1);

/// Makes an endpoint.
#[utoipa::path(
    post, path = "/v1/applications/{app}/endpoints", tag = "endpoints",
    params(openapi::ApplicationPath),
    request_body = EndpointSettings,
    responses(
        (status = 201, description = "It was made.", body = EndpointCreated),
        (status = 409, description = "There are a thousand already.", body = openapi::Problem,
            content_type = "application/problem+json"),
    ),
)]
pub(super) async fn create_endpoint(
    State(api): State<Api>,
    tenant: Tenant,
    Json(settings): Json<EndpointSettings>,
) -> Result<(StatusCode, axum::Json<EndpointCreated>), Problem> {
    let endpoint =
        settings.create(place(&api, EndpointId::from_uuid(api.new_id()?), tenant.id()))?;
    if !tenant.by_operator {
        check_own(api.node(), &endpoint, None)?;
    }
    let _changing = api.changing().await;
    if api.node().endpoints(tenant.id()).len() >= MAX_ENDPOINTS {
        return Err(Error::conflict("the application already has 1000 endpoints").into());
    }
    api.node().put_endpoint(endpoint.clone()).await?;
    let secret = endpoint.secrets.first().map(secret_text).unwrap_or_default();
    let public_key = endpoint.secrets.first().and_then(public_key_text);
    let created = EndpointCreated { endpoint: view(&api, &endpoint).await, secret, public_key };
    Ok((StatusCode::CREATED, axum::Json(created)))
}

/// The endpoints of an application, the oldest first.
#[utoipa::path(
    get, path = "/v1/applications/{app}/endpoints", tag = "endpoints",
    params(openapi::ApplicationPath, PageQuery),
    responses((status = 200, description = "A page of them.", body = PageOf<EndpointView>)),
)]
pub(super) async fn list_endpoints(
    State(api): State<Api>,
    tenant: Tenant,
    ValidQuery(query): ValidQuery<PageQuery>,
) -> Result<axum::Json<PageOf<EndpointView>>, Problem> {
    let place = |id: EndpointId| Cursor { message: *id.as_uuid(), endpoint: Uuid::nil() };
    let all = api.node().endpoints(tenant.id());
    let (page, next) = paged(all, query.check()?, |endpoint| place(endpoint.id));
    let mut views = Vec::with_capacity(page.len());
    for endpoint in &page {
        views.push(view(&api, endpoint).await);
    }
    Ok(axum::Json(PageOf::new(views, next)))
}

/// One endpoint, with how it stands.
#[utoipa::path(
    get, path = "/v1/applications/{app}/endpoints/{ep}", tag = "endpoints",
    params(openapi::ApplicationPath, openapi::EndpointPath),
    responses((status = 200, description = "The endpoint.", body = EndpointView)),
)]
pub(super) async fn get_endpoint(
    State(api): State<Api>,
    own: OwnEndpoint,
) -> axum::Json<EndpointView> {
    axum::Json(view(&api, &own.endpoint).await)
}

/// Changes the settings of an endpoint, as a JSON merge patch (RFC 7396): members that are not
/// named stay, `null` resets a setting to its default.
///
/// A secret header keeps its value and stays secret until it is given again or removed. When the URL
/// moves to another origin, each secret header has to be given again or removed, and so have credentials (`auth`),
/// except a client certificate.
#[utoipa::path(
    patch, path = "/v1/applications/{app}/endpoints/{ep}", tag = "endpoints",
    params(openapi::ApplicationPath, openapi::EndpointPath),
    request_body = openapi::EndpointPatch,
    responses((status = 200, description = "It was changed.", body = EndpointView)),
)]
pub(super) async fn change_endpoint(
    State(api): State<Api>,
    own: OwnEndpoint,
    JsonBytes(patch): JsonBytes,
) -> Result<axum::Json<EndpointView>, Problem> {
    let _changing = api.changing().await;
    let old = current(&api, own.endpoint.id)?;
    let patch = header_patch(&patch, &old)?;
    let settings: EndpointSettings = body::patched(&EndpointSettings::of(&old), &patch)?;
    let endpoint = settings.replace(&old, place(&api, old.id, old.application))?;
    if !own.tenant.by_operator {
        check_own(api.node(), &endpoint, Some(&old))?;
    }
    api.node().put_endpoint(endpoint.clone()).await?;
    Ok(axum::Json(view(&api, &endpoint).await))
}

/// The bounds on what an application may set for an endpoint itself, with a key or in the portal.
///
/// # Errors
/// A setting that is out of them, and not as it was in `old`.
pub(super) fn check_own(
    node: &Node,
    endpoint: &Endpoint,
    old: Option<&Endpoint>,
) -> Result<(), Error> {
    check_destination(node, endpoint, old)?;
    check_concurrency(
        endpoint,
        old.map_or(Pace::default().concurrency, |old| old.pace.concurrency),
    )?;
    check_breaker(endpoint, old.and_then(|old| old.policy.breaker()))
}

/// A broker may be one of the operator's own, so the operator decides who may publish to one: also at another address, or
/// under another name.
///
/// # Errors
/// Another broker than before, or another way to it, by an application that may not set one.
fn check_destination(
    node: &Node,
    endpoint: &Endpoint,
    old: Option<&Endpoint>,
) -> Result<(), Error> {
    let reach = |it: &Endpoint| (it.destination.clone(), it.url.clone(), it.auth.clone());
    let is_broker = |it: &Endpoint| it.destination.is_some();
    let concerned = is_broker(endpoint) || old.is_some_and(is_broker);
    if !concerned || node.allows_tenant_destinations() || old.map(reach) == Some(reach(endpoint)) {
        return Ok(());
    }
    let kind = endpoint.destination.as_ref().map_or("http", EndpointDestination::kind);
    let bound = "set by an operator: applications may not set brokers (tenant_destinations)";
    Err(Error::invalid("destination", kind, bound))
}

/// An application may not take the slots of others: above the bound the admin decides.
///
/// # Errors
/// More attempts in flight than before, and than an application's key may allow.
fn check_concurrency(endpoint: &Endpoint, before: NonZeroU32) -> Result<(), Error> {
    let wanted = endpoint.pace.concurrency;
    if wanted.get() <= OWN_CONCURRENCY || wanted <= before {
        return Ok(());
    }
    let bound =
        format!("at most {OWN_CONCURRENCY} by a key of the application; the admin may set more");
    Err(Error::invalid("concurrency", wanted, bound))
}

/// A breaker that hardly opens, or not for long, keeps attempts going to a receiver that is down: it takes slots, and
/// hammers the receiver. Beyond these bounds the admin decides.
///
/// # Errors
/// Another breaker than before, out of the bounds on an application's key.
fn check_breaker(endpoint: &Endpoint, before: Option<&BreakerPlan>) -> Result<(), Error> {
    let wanted = endpoint.policy.breaker().filter(|wanted| Some(*wanted) != before);
    let Some(wanted) = wanted else { return Ok(()) };
    let counts = [
        ("policy.breaker.consecutive", wanted.consecutive().unwrap_or_default()),
        ("policy.breaker.minimum_calls", wanted.minimum_calls()),
    ];
    let beyond = counts.into_iter().find(|(_, count)| *count > OWN_BREAKER_CALLS);
    if let Some((field, count)) = beyond {
        let bound = format!(
            "at most {OWN_BREAKER_CALLS} by a key of the application; the admin may set more"
        );
        return Err(Error::invalid(field, count, bound));
    }
    if wanted.open_time() < OWN_OPEN_TIME {
        let bound =
            format!("at least {OWN_OPEN_TIME} by a key of the application; the admin may set less");
        return Err(Error::invalid("policy.breaker.open_time", wanted.open_time(), bound));
    }
    Ok(())
}

/// Deletes an endpoint. Its open deliveries are cancelled.
#[utoipa::path(
    delete, path = "/v1/applications/{app}/endpoints/{ep}", tag = "endpoints",
    params(openapi::ApplicationPath, openapi::EndpointPath),
    responses((status = 204, description = "It is gone.")),
)]
pub(super) async fn delete_endpoint(
    State(api): State<Api>,
    own: OwnEndpoint,
) -> Result<StatusCode, Problem> {
    // Without the lock for changes, as an application is deleted.
    api.node().delete_endpoint(own.endpoint.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Enables an endpoint: one probe first, then its backlog leaves slowly. An endpoint that is enabled is
/// probed now, if its breaker is open.
#[utoipa::path(
    post, path = "/v1/applications/{app}/endpoints/{ep}/enable", tag = "endpoints",
    params(openapi::ApplicationPath, openapi::EndpointPath),
    responses((status = 204, description = "It is enabled.")),
)]
pub(super) async fn enable_endpoint(
    State(api): State<Api>,
    own: OwnEndpoint,
) -> Result<StatusCode, Problem> {
    api.node().enable(own.endpoint.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Disables an endpoint. Its deliveries wait.
#[utoipa::path(
    post, path = "/v1/applications/{app}/endpoints/{ep}/disable", tag = "endpoints",
    params(openapi::ApplicationPath, openapi::EndpointPath),
    responses((status = 204, description = "It is disabled.")),
)]
pub(super) async fn disable_endpoint(
    State(api): State<Api>,
    own: OwnEndpoint,
) -> Result<StatusCode, Problem> {
    api.node().disable(own.endpoint.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Sends a test event of the type `stagger.test` to one endpoint, whatever types it asked for.
#[utoipa::path(
    post, path = "/v1/applications/{app}/endpoints/{ep}/test", tag = "endpoints",
    params(openapi::ApplicationPath, openapi::EndpointPath),
    responses((status = 202, description = "It is on disk, and on its way.", body = TestSent)),
)]
pub(super) async fn test_endpoint(
    State(api): State<Api>,
    own: OwnEndpoint,
) -> Result<(StatusCode, axum::Json<TestSent>), Problem> {
    let message = api.node().send_test(own.endpoint.id).await?;
    Ok((StatusCode::ACCEPTED, axum::Json(TestSent { message })))
}

/// The current endpoint. The caller holds the lock for changes.
///
/// # Errors
/// It is gone.
pub(super) fn current(api: &Api, id: EndpointId) -> Result<Endpoint, Error> {
    let endpoint = api.node().endpoint(id);
    endpoint.map(|it| (*it).clone()).ok_or_else(|| Error::not_found("endpoint"))
}

fn place(api: &Api, id: EndpointId, application: ApplicationId) -> EndpointContext<'_> {
    EndpointContext { id, application, now: api.now(), sender: api.node().sender() }
}

async fn view(api: &Api, endpoint: &Endpoint) -> EndpointView {
    EndpointView::new(endpoint, api.node().view(endpoint.id).await, api.now())
}

/// The secrets that an endpoint's attempts are signed with, the newest first.
#[utoipa::path(
    get, path = "/v1/applications/{app}/endpoints/{ep}/secrets", tag = "endpoints",
    params(openapi::ApplicationPath, openapi::EndpointPath),
    responses((status = 200, description = "Those that sign now.", body = Secrets)),
)]
pub(super) async fn list_secrets(State(api): State<Api>, own: OwnEndpoint) -> impl IntoResponse {
    let now = api.now();
    let signing = own.endpoint.secrets.iter().filter(|secret| secret.signs_at(now));
    let secrets = signing.map(SecretView::from).collect();
    ([(CACHE_CONTROL, "no-store")], axum::Json(Secrets { secrets }))
}

/// Replaces the secret of an endpoint. The old ones sign beside it for a while, so that the receiver
/// can be changed without missing anything.
#[utoipa::path(
    post, path = "/v1/applications/{app}/endpoints/{ep}/secrets", tag = "endpoints",
    params(openapi::ApplicationPath, openapi::EndpointPath),
    request_body = Option<NewSecret>,
    responses(
        (status = 201, description = "The new secret signs from now on.", body = SecretView),
        (status = 409, description = "Ten sign already.", body = openapi::Problem,
            content_type = "application/problem+json"),
    ),
)]
pub(super) async fn replace_secret(
    State(api): State<Api>,
    own: OwnEndpoint,
    Json(new): Json<NewSecret>,
) -> Result<impl IntoResponse, Problem> {
    let _changing = api.changing().await;
    let now = api.now();
    let old = current(&api, own.endpoint.id)?;
    let endpoint = replaced(new, &old, now)?;
    let view = endpoint.secrets.first().map(SecretView::from);
    api.node().put_endpoint(endpoint).await?;
    Ok((StatusCode::CREATED, [(CACHE_CONTROL, "no-store")], axum::Json(view)))
}

/// The endpoint with a new secret, beside which the old ones sign for a while.
///
/// # Errors
/// The secret or the overlap is out of its bounds; ten secrets sign already.
pub(super) fn replaced(new: NewSecret, old: &Endpoint, now: Instant) -> Result<Endpoint, Error> {
    let secrets = new.rotate(&old.secrets, now)?;
    Ok(Endpoint { secrets, updated_at: now, ..old.clone() })
}
