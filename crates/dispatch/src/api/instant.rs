//! Bounds in time, as requests give them.

use stagger::Instant;
use stagger_text::{NotRfc3339, Timestamp};

use crate::Error;

/// The instant in `text`, if there is one.
///
/// # Errors
/// `field`: it is no time.
pub(in crate::api) fn bound(
    field: &'static str,
    text: Option<&str>,
) -> Result<Option<Instant>, Error> {
    let Some(text) = text else { return Ok(None) };
    let parsed = text.parse::<Timestamp>();
    parsed
        .map(|Timestamp(at)| Some(at))
        .map_err(|NotRfc3339| Error::invalid(field, text, NotRfc3339.to_string()))
}
