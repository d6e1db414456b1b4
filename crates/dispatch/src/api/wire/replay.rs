//! Replays in JSON.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::schema::TimestampText;
use crate::Error;
use crate::api::instant::bound;
use crate::model::{DeliveryState, EndpointId};
use crate::store::DeliveryFilter;

/// The deliveries to replay.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct ReplayFilter {
    /// In this state: `dead` (default) or `delivered`.
    #[schema(value_type = Option<ReplayState>)]
    state: Option<String>,
    /// Of messages accepted at or after this.
    #[schema(value_type = Option<TimestampText>)]
    since: Option<String>,
    /// Of messages accepted before this.
    #[schema(value_type = Option<TimestampText>)]
    until: Option<String>,
}

impl ReplayFilter {
    /// The same, to one endpoint or to all.
    ///
    /// # Errors
    /// A value is out of its bounds.
    pub(in super::super) fn check(
        &self,
        endpoint: Option<EndpointId>,
    ) -> Result<DeliveryFilter, Error> {
        let state = match self.state.as_deref() {
            None | Some("dead") => DeliveryState::Dead,
            Some("delivered") => DeliveryState::Delivered,
            Some(other) => return Err(Error::invalid("state", other, "dead or delivered")),
        };
        let since = bound("since", self.since.as_deref())?;
        let until = bound("until", self.until.as_deref())?;
        Ok(DeliveryFilter { endpoint, state: Some(state), since, until })
    }
}

/// States whose deliveries can be replayed.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "it stands in the document only")]
enum ReplayState {
    Dead,
    Delivered,
}

/// Deliveries are pending again, and leave slowly at first.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(in super::super) struct Replayed {
    /// The number of replayed deliveries.
    pub(in super::super) replayed: usize,
}
