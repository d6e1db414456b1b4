//! Deliveries: listing, showing, cancelling, retrying and replaying them.

use axum::extract::State;
use http::StatusCode;
use stagger_scheduler::model::ApplicationId;
use stagger_store::{DeliveryFilter, ReplayRequest};

use super::auth::{OwnDelivery, OwnEndpoint, OwnMessage, Tenant};
use super::body::Json;
use super::openapi;
use super::problem::Problem;
use super::query::{DeliveryQuery, ValidQuery};
use super::state::Api;
use super::wire::{
    AttemptView, Attempts, Deliveries, DeliveryView, MissingFilter, PageOf, ReplayFilter, Replayed,
    RetryFilter, RetryReply,
};

/// The deliveries of an application, newest messages first.
#[utoipa::path(
    get, path = "/v1/applications/{app}/deliveries", tag = "deliveries",
    params(openapi::ApplicationPath, DeliveryQuery),
    responses((status = 200, description = "A page of them.", body = PageOf<DeliveryView>)),
)]
pub(super) async fn list_deliveries(
    State(api): State<Api>,
    tenant: Tenant,
    ValidQuery(query): ValidQuery<DeliveryQuery>,
) -> Result<axum::Json<PageOf<DeliveryView>>, Problem> {
    let (filter, page) = query.check()?;
    Ok(axum::Json(api.node().deliveries(Some(tenant.id()), filter, page).await?.into()))
}

/// The deliveries of a message, one for each endpoint that wants its type.
#[utoipa::path(
    get, path = "/v1/applications/{app}/messages/{msg}/deliveries", tag = "deliveries",
    params(openapi::ApplicationPath, openapi::MessagePath),
    responses((status = 200, description = "All of them.", body = Deliveries)),
)]
pub(super) async fn list_deliveries_of_message(
    State(api): State<Api>,
    OwnMessage(message): OwnMessage,
) -> Result<axum::Json<Deliveries>, Problem> {
    let deliveries = api.node().store().deliveries_of(message.id).await?;
    Ok(axum::Json(Deliveries { items: deliveries.iter().map(DeliveryView::from).collect() }))
}

/// The delivery of a message to an endpoint.
#[utoipa::path(
    get, path = "/v1/applications/{app}/messages/{msg}/deliveries/{ep}", tag = "deliveries",
    params(openapi::ApplicationPath, openapi::MessagePath, openapi::EndpointPath),
    responses((status = 200, description = "The delivery.", body = DeliveryView)),
)]
pub(super) async fn get_delivery(OwnDelivery(delivery): OwnDelivery) -> axum::Json<DeliveryView> {
    axum::Json(DeliveryView::from(&delivery))
}

/// All attempts of a delivery, with their results.
#[utoipa::path(
    get, path = "/v1/applications/{app}/messages/{msg}/deliveries/{ep}/attempts", tag = "deliveries",
    params(openapi::ApplicationPath, openapi::MessagePath, openapi::EndpointPath),
    responses((status = 200, description = "In order.", body = Attempts)),
)]
pub(super) async fn list_attempts(
    State(api): State<Api>,
    OwnDelivery(delivery): OwnDelivery,
) -> Result<axum::Json<Attempts>, Problem> {
    let attempts = api.node().store().attempts(delivery.message, delivery.endpoint).await?;
    Ok(axum::Json(Attempts { items: attempts.iter().map(AttemptView::from).collect() }))
}

/// Cancels an open delivery: no further attempt is made. An attempt in flight may still arrive.
#[utoipa::path(
    post, path = "/v1/applications/{app}/messages/{msg}/deliveries/{ep}/cancel", tag = "deliveries",
    params(openapi::ApplicationPath, openapi::MessagePath, openapi::EndpointPath),
    responses(
        (status = 200, description = "It is cancelled.", body = DeliveryView),
        (status = 409, description = "It is not open.", body = openapi::Problem,
            content_type = "application/problem+json"),
    ),
)]
pub(super) async fn cancel_delivery(
    State(api): State<Api>,
    OwnDelivery(delivery): OwnDelivery,
) -> Result<axum::Json<DeliveryView>, Problem> {
    let cancelled = api.node().cancel(delivery.message, delivery.endpoint).await?;
    Ok(axum::Json(DeliveryView::from(&cancelled)))
}

/// Replays the dead deliveries of an application, to all endpoints.
#[utoipa::path(
    post, path = "/v1/applications/{app}/replay", tag = "replay",
    params(openapi::ApplicationPath),
    request_body = Option<ReplayFilter>,
    responses((status = 202, description = "They are pending again.", body = Replayed)),
)]
pub(super) async fn replay_all(
    State(api): State<Api>,
    tenant: Tenant,
    Json(filter): Json<ReplayFilter>,
) -> Result<(StatusCode, axum::Json<Replayed>), Problem> {
    replay(&api, ReplayRequest::Many(tenant.id(), filter.check(None)?)).await
}

/// Replays the dead deliveries to one endpoint.
#[utoipa::path(
    post, path = "/v1/applications/{app}/endpoints/{ep}/replay", tag = "replay",
    params(openapi::ApplicationPath, openapi::EndpointPath),
    request_body = Option<ReplayFilter>,
    responses((status = 202, description = "They are pending again.", body = Replayed)),
)]
pub(super) async fn replay_endpoint(
    State(api): State<Api>,
    own: OwnEndpoint,
    Json(filter): Json<ReplayFilter>,
) -> Result<(StatusCode, axum::Json<Replayed>), Problem> {
    let filter = filter.check(Some(own.endpoint.id))?;
    replay(&api, ReplayRequest::Many(own.tenant.id(), filter)).await
}

/// Replays one delivery, whatever became of it.
#[utoipa::path(
    post, path = "/v1/applications/{app}/messages/{msg}/deliveries/{ep}/replay", tag = "replay",
    params(openapi::ApplicationPath, openapi::MessagePath, openapi::EndpointPath),
    responses(
        (status = 202, description = "It is pending again.", body = Replayed),
        (status = 409, description = "It is open, or its endpoint is gone.", body = openapi::Problem,
            content_type = "application/problem+json"),
    ),
)]
pub(super) async fn replay_delivery(
    State(api): State<Api>,
    OwnDelivery(delivery): OwnDelivery,
) -> Result<(StatusCode, axum::Json<Replayed>), Problem> {
    replay(&api, ReplayRequest::One(delivery.message, delivery.endpoint)).await
}

/// Makes deliveries to an endpoint of messages that were accepted before it was made, or while it did
/// not subscribe to their types.
#[utoipa::path(
    post, path = "/v1/applications/{app}/endpoints/{ep}/replay-missing", tag = "replay",
    params(openapi::ApplicationPath, openapi::EndpointPath),
    request_body = MissingFilter,
    responses((status = 202, description = "They are pending.", body = Replayed)),
)]
pub(super) async fn replay_missing(
    State(api): State<Api>,
    own: OwnEndpoint,
    Json(filter): Json<MissingFilter>,
) -> Result<(StatusCode, axum::Json<Replayed>), Problem> {
    let replayed = api.node().replay_missing(own.endpoint.id, filter.check()?).await?;
    Ok((StatusCode::ACCEPTED, axum::Json(Replayed { replayed })))
}

/// Attempts an open delivery now, before all others to its endpoint: also while the endpoint's breaker
/// is open, as its probe, and while it has asked for a pause.
#[utoipa::path(
    post, path = "/v1/applications/{app}/messages/{msg}/deliveries/{ep}/retry", tag = "retry",
    params(openapi::ApplicationPath, openapi::MessagePath, openapi::EndpointPath),
    responses(
        (status = 202, description = "It is due now.", body = DeliveryView),
        (status = 409, description = "It is not open, or its endpoint is disabled.",
            body = openapi::Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn retry_delivery(
    State(api): State<Api>,
    OwnDelivery(delivery): OwnDelivery,
) -> Result<(StatusCode, axum::Json<DeliveryView>), Problem> {
    let retried = api.node().retry(delivery.message, delivery.endpoint).await?;
    Ok((StatusCode::ACCEPTED, axum::Json(DeliveryView::from(&retried))))
}

/// Makes the waiting deliveries to one endpoint due now. If its breaker is open, a probe goes first. They
/// leave slowly at first.
#[utoipa::path(
    post, path = "/v1/applications/{app}/endpoints/{ep}/retry", tag = "retry",
    params(openapi::ApplicationPath, openapi::EndpointPath),
    request_body = Option<RetryFilter>,
    responses((status = 202, description = "They are due now.", body = RetryReply)),
)]
pub(super) async fn retry_endpoint(
    State(api): State<Api>,
    own: OwnEndpoint,
    Json(filter): Json<RetryFilter>,
) -> Result<(StatusCode, axum::Json<RetryReply>), Problem> {
    retry(&api, own.tenant.id(), filter.check(Some(own.endpoint.id))?).await
}

/// Makes the waiting deliveries of an application due now, those of each endpoint slowly at first.
#[utoipa::path(
    post, path = "/v1/applications/{app}/retry", tag = "retry",
    params(openapi::ApplicationPath),
    request_body = Option<RetryFilter>,
    responses((status = 202, description = "They are due now.", body = RetryReply)),
)]
pub(super) async fn retry_all(
    State(api): State<Api>,
    tenant: Tenant,
    Json(filter): Json<RetryFilter>,
) -> Result<(StatusCode, axum::Json<RetryReply>), Problem> {
    retry(&api, tenant.id(), filter.check(None)?).await
}

async fn retry(
    api: &Api,
    application: ApplicationId,
    filter: DeliveryFilter,
) -> Result<(StatusCode, axum::Json<RetryReply>), Problem> {
    let retried = api.node().retry_many(application, filter).await?;
    Ok((StatusCode::ACCEPTED, axum::Json(RetryReply { retried })))
}

async fn replay(
    api: &Api,
    request: ReplayRequest,
) -> Result<(StatusCode, axum::Json<Replayed>), Problem> {
    let replayed = api.node().replay(request).await?;
    Ok((StatusCode::ACCEPTED, axum::Json(Replayed { replayed })))
}
