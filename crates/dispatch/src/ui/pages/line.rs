//! Rows of lists, from the data of the node and the store.

use std::sync::Arc;

use stagger::Instant;

use super::error::PageError;
use crate::model::{Application, Delivery, DeliveryEnding, DeliveryState, Endpoint};
use crate::node::Node;
use crate::store::DeliveryCounts;
use crate::ui::view::{DeliveryLine, EndpointRow, Moment, Tile, figure};

/// The text shown for deleted things.
pub(super) const DELETED: &str = "(deleted)";

/// An endpoint's row; none if it was deleted meanwhile.
pub(super) async fn endpoint_row(
    node: &Node,
    application: &Application,
    endpoint: &Arc<Endpoint>,
    now: Instant,
) -> Option<EndpointRow> {
    let view = node.view(endpoint.id).await?;
    Some(EndpointRow::new(endpoint, application, &view, now))
}

/// The rows of deliveries.
pub(super) async fn delivery_lines(
    node: &Node,
    deliveries: &[Delivery],
    now: Instant,
) -> Result<Vec<DeliveryLine>, PageError> {
    let mut lines = Vec::with_capacity(deliveries.len());
    for delivery in deliveries {
        let message = node.store().message(delivery.message).await?;
        let event_type = message.map_or(DELETED.into(), |m| m.event_type.to_string());
        lines.push(delivery_line(node, delivery, event_type, now));
    }
    Ok(lines)
}

fn delivery_line(
    node: &Node,
    delivery: &Delivery,
    event_type: String,
    now: Instant,
) -> DeliveryLine {
    let url = node.endpoint(delivery.endpoint).map_or(DELETED.into(), |e| e.url.clone());
    let href = delivery_href(delivery);
    DeliveryLine {
        replay: (!delivery.state.is_open()).then(|| format!("{href}/replay")),
        href,
        message: delivery.message.to_string(),
        event_type,
        url,
        endpoint_href: format!("/ui/endpoints/{}", delivery.endpoint),
        state: delivery.state.into(),
        reason: delivery.ending.map_or("", reason),
        attempts: delivery.attempts,
        due: due(delivery, now),
        updated: Moment::new(delivery.updated_at, now),
    }
}

/// The URL of a delivery's page.
pub(super) fn delivery_href(delivery: &Delivery) -> String {
    format!("/ui/deliveries/{}/{}", delivery.message, delivery.endpoint)
}

/// The time at which the next attempt is due, if it is in the future.
pub(super) fn due(delivery: &Delivery, now: Instant) -> Option<Moment> {
    let is_ahead = delivery.state.is_open() && delivery.due > now;
    is_ahead.then(|| Moment::new(delivery.due, now))
}

/// Why a delivery ended, in words.
pub(super) const fn reason(ending: DeliveryEnding) -> &'static str {
    match ending {
        DeliveryEnding::AttemptsExhausted => "no attempts left",
        DeliveryEnding::DeadlineExceeded => "deadline passed",
        DeliveryEnding::Permanent => "permanent status",
        DeliveryEnding::HintForbids => "the server said not to come back",
        DeliveryEnding::EgressRefused => "address refused by the egress guard",
        DeliveryEnding::Unbuildable => "request could not be built",
        DeliveryEnding::EndpointDeleted => "endpoint deleted",
        DeliveryEnding::Cancelled => "cancelled by hand",
    }
}

/// The number of deliveries in each state, each with a link to their list.
pub(super) fn tiles(counts: &DeliveryCounts, endpoint: Option<&Endpoint>) -> Vec<Tile> {
    let query = endpoint.map_or(String::new(), |endpoint| format!("&endpoint={}", endpoint.id));
    let tile = |state: DeliveryState| Tile {
        name: state.name(),
        count: figure(counts.of(state)),
        href: format!("/ui/deliveries?state={}{query}", state.name()),
    };
    DeliveryState::ALL.map(tile).into()
}
