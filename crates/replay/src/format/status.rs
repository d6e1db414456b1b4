//! Status codes as logs write them.

use crate::decimal;

/// Up to three digits; 0 is what Envoy writes when there was none.
pub(super) fn status(text: &[u8]) -> Option<u16> {
    if text.len() > 3 {
        return None;
    }
    decimal::digits(text).and_then(|code| u16::try_from(code).ok())
}
