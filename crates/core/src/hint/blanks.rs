//! Blanks around a field value: spaces and tabs only (OWS, RFC 9110 section 5.6.3).

/// The value without blanks at either end.
pub(super) fn trim(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::trim;

    #[test]
    fn only_spaces_and_tabs_are_blanks() {
        assert_eq!(trim(b" \t 5 6\t "), b"5 6");
        assert_eq!(trim(b"\n5\x0b"), b"\n5\x0b");
        assert_eq!(trim(b" \t"), b"");
    }
}
