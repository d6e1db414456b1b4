//! The position of a page, as it is written in a URL.

use uuid::Uuid;

use super::error::PageError;
use crate::store::Cursor;

/// The cursor in a query; none is the beginning.
pub(super) fn parse(text: &str) -> Result<Option<Cursor>, PageError> {
    if text.is_empty() {
        return Ok(None);
    }
    let cursor = text.split_once('-').and_then(|(message, endpoint)| {
        let uuid = |text| Uuid::try_parse(text).ok();
        Some(Cursor { message: uuid(message)?, endpoint: uuid(endpoint)? })
    });
    cursor
        .map(Some)
        .ok_or_else(|| PageError::invalid("The cursor of this address is invalid.".into()))
}

/// The text of a cursor.
pub(super) fn print(cursor: Cursor) -> String {
    format!("{}-{}", cursor.message.simple(), cursor.endpoint.simple())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_and_rubbish_is_refused() {
        let cursor = Cursor { message: Uuid::from_u128(7), endpoint: Uuid::from_u128(u128::MAX) };
        assert_eq!(parse(&print(cursor)).unwrap(), Some(cursor));
        assert_eq!(parse("").unwrap(), None);
        assert!(parse("7").is_err() && parse("a-b").is_err());
    }
}
