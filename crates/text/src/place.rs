//! Places in a text: lines and columns as messages name them.

/// The line and the column of a byte, in characters, both counted from 1. A byte beyond the end is
/// the end.
///
/// ```
/// use stagger_text::position;
/// assert_eq!(position("a = 1\nb = 2", 6), (2, 1));
/// ```
#[must_use]
pub fn position(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..char_boundary(text, at)];
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (line, before[start..].chars().count() + 1)
}

/// The nearest boundary of characters that is not above `at`.
#[must_use]
pub fn char_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_not_bytes() {
        let text = "a = 'é' # ü\r\n\tb = 1\n";
        let at = text.find("b =").expect("there");
        assert_eq!(position(text, at), (2, 2));
        assert_eq!(position(text, text.find('#').expect("there")), (1, 9));
        assert_eq!(position(text, usize::MAX), (3, 1));
        assert_eq!(position("", 0), (1, 1));
    }

    #[test]
    fn a_byte_within_a_character_is_its_beginning() {
        assert_eq!(
            (char_boundary("é", 1), char_boundary("é", 2), char_boundary("é", 9)),
            (0, 2, 2)
        );
    }
}
