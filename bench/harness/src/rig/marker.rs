//! A marker in the bytes of each post.

/// The number of a post, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Marker(pub(crate) usize);

/// The bytes before the digits.
const HEAD: &str = r#"{"marker":""#;
/// Digits of a marker: more posts than any run makes.
const DIGITS: usize = 9;
/// The bytes after them, before the padding.
const MIDDLE: &str = r#"","padding":""#;
const TAIL: &str = r#""}"#;

impl Marker {
    /// A JSON object of exactly `size` bytes, or the few that it takes at least, that holds it.
    pub(crate) fn payload(self, size: usize) -> String {
        let bare = HEAD.len() + DIGITS + MIDDLE.len() + TAIL.len();
        let padding = "x".repeat(size.saturating_sub(bare));
        format!("{HEAD}{:0DIGITS$}{MIDDLE}{padding}{TAIL}", self.0)
    }

    /// The marker of a payload; none of bytes that are no payload of ours.
    pub(crate) fn of(payload: &[u8]) -> Option<Self> {
        let digits = payload.strip_prefix(HEAD.as_bytes())?.get(..DIGITS)?;
        std::str::from_utf8(digits).ok()?.parse().ok().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_says_its_marker_and_has_its_size() {
        let text = Marker(4_711).payload(1024);
        assert_eq!((text.len(), Marker::of(text.as_bytes())), (1024, Some(Marker(4_711))));
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
        assert_eq!(Marker::of(br#"{"type":"stagger.test"}"#), None);
    }
}
