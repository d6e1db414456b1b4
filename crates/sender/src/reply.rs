//! The facts in the head of a reply besides its status.

use http::header::LOCATION;
use http::{HeaderMap, StatusCode};
use stagger::hint::HintReader;
use stagger::{Hint, StdTime};

use crate::send_failure::bounded;

/// A redirect is a failure: the guard has judged this address, and not the next.
pub(crate) fn not_followed(status: StatusCode, headers: &HeaderMap) -> Option<String> {
    let location = headers.get(LOCATION).filter(|_| status.is_redirection())?;
    let location = String::from_utf8_lossy(location.as_bytes());
    Some(bounded(&format!("a redirect is not followed: {location}")))
}

/// The hint in the headers of a failed reply. Pushback is left out: it is gRPC's.
pub(crate) fn hint(status: StatusCode, headers: &HeaderMap) -> Option<Hint> {
    if status.is_success() {
        return None;
    }
    let lines = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let lines: Vec<_> = lines.collect();
    let now = Some(StdTime::wall().into());
    HintReader::new().without_pushback().read(lines.iter().copied(), now)
}
