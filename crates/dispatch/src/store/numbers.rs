//! The numbers of states: never changed, because the stores of users have them.

use super::unreadable::Unreadable;
use crate::model::DeliveryState;

/// The number of a state.
pub(super) const fn state_number(state: DeliveryState) -> u8 {
    match state {
        DeliveryState::Pending => 0,
        DeliveryState::Waiting => 1,
        DeliveryState::Delivered => 2,
        DeliveryState::Dead => 3,
        DeliveryState::Cancelled => 4,
    }
}

/// The state with this number.
pub(super) fn state(number: i64) -> Result<DeliveryState, Unreadable> {
    let known =
        DeliveryState::ALL.into_iter().find(|state| i64::from(state_number(*state)) == number);
    known.ok_or_else(|| Unreadable::unknown("state", number))
}
