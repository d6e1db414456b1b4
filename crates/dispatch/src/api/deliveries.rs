//! Deliveries and their attempts.

use axum::extract::State;

use super::auth::{OwnDelivery, OwnMessage, Tenant};
use super::openapi;
use super::problem::Problem;
use super::query::{DeliveryQuery, ValidQuery};
use super::state::Api;
use super::wire::{AttemptView, Attempts, Deliveries, DeliveryView, PageOf};

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
    Ok(axum::Json(api.node().store().deliveries(Some(tenant.id()), filter, page).await?.into()))
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
