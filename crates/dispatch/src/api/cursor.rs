//! The position of the next page, as an opaque text.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use uuid::Uuid;

use crate::Error;
use crate::store::Cursor;

/// Bytes of one id.
const ID: usize = 16;

/// The cursor as base64url: the two ids in a row.
pub(super) fn to_text(cursor: Cursor) -> String {
    let mut bytes = [0; 2 * ID];
    bytes[..ID].copy_from_slice(cursor.message.as_bytes());
    bytes[ID..].copy_from_slice(cursor.endpoint.as_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The cursor of a text that an earlier page gave.
///
/// # Errors
/// `cursor`: it is none of ours.
pub(super) fn parse(text: &str) -> Result<Cursor, Error> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok();
    let ids = bytes.as_ref().and_then(|bytes| bytes.split_at_checked(ID));
    ids.and_then(|(message, endpoint)| {
        Some(Cursor {
            message: Uuid::from_slice(message).ok()?,
            endpoint: Uuid::from_slice(endpoint).ok()?,
        })
    })
    .ok_or_else(|| Error::invalid("cursor", text, "the `next` of an earlier page, unchanged"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_cursor_comes_back_as_it_went(message: u128, endpoint: u128) {
            let (message, endpoint) = (Uuid::from_u128(message), Uuid::from_u128(endpoint));
            let cursor = Cursor { message, endpoint };
            prop_assert_eq!(parse(&to_text(cursor)), Ok(cursor));
        }

        #[test]
        fn any_text_is_read_or_refused(text: String) {
            let _ = parse(&text);
        }
    }

    #[test]
    fn a_cursor_that_was_cut_or_padded_began_somewhere_else() {
        let whole = to_text(Cursor { message: Uuid::nil(), endpoint: Uuid::max() });
        for text in ["", &whole[1..], &format!("{whole}="), &format!("{whole}AAAA")] {
            let error = parse(text).expect_err("no cursor");
            assert_eq!(error.as_invalid().map(|invalid| invalid.field()), Some("cursor"));
        }
    }
}
