//! The figures of the edge, described to the recorder, and there from the start: an alert on a series that is not there
//! never fires.

use metrics::{counter, describe_counter};

use super::server::REFUSED;
use super::wrong_keys::WRONG;

/// The label with the place at which a key was shown.
pub(crate) const PLACE: &str = "stagger.place";
/// The places at which keys are shown.
const PLACES: [&str; 2] = ["api", "page"];

/// Describes the figures, and begins them at zero.
pub(crate) fn describe() {
    describe_counter!(REFUSED, "Connections closed because all that are allowed were open");
    describe_counter!(WRONG, "Unknown keys shown, by where");
    counter!(REFUSED).increment(0);
    PLACES.into_iter().for_each(|place| counter!(WRONG, PLACE => place).increment(0));
}
