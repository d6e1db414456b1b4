//! Bounds in time, as requests give them.

use stagger::Instant;

use crate::Error;
use crate::timestamp::{NotRfc3339, Timestamp};

/// The instant in `text`, if there is one.
///
/// # Errors
/// `field`: it is no time.
pub(super) fn bound(field: &'static str, text: Option<&str>) -> Result<Option<Instant>, Error> {
    let Some(text) = text else { return Ok(None) };
    let parsed = text.parse::<Timestamp>();
    parsed
        .map(|Timestamp(at)| Some(at))
        .map_err(|NotRfc3339| Error::invalid(field, text, NotRfc3339.to_string()))
}
