//! Why there is no reply, in a word and in a sentence.

use std::error::Error as StdError;

use crate::model::AttemptFailure;

/// Longest detail that is kept, in characters: a sentence, and no store fills with them.
const MAX_DETAIL: usize = 200;

/// A failure to send.
#[derive(Clone, Debug)]
pub(super) struct SendFailure {
    pub(super) failure: AttemptFailure,
    pub(super) detail: String,
}

impl SendFailure {
    pub(super) fn new(failure: AttemptFailure, detail: impl AsRef<str>) -> Self {
        Self { failure, detail: bounded(detail.as_ref()) }
    }

    /// With the words of an error and of all that caused it.
    pub(super) fn by(failure: AttemptFailure, error: &(dyn StdError + 'static)) -> Self {
        let mut detail = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let words = error.to_string();
            if !detail.ends_with(&words) {
                detail = format!("{detail}: {words}");
            }
            cause = error.source();
        }
        Self::new(failure, detail)
    }
}

/// The text without control characters, which a receiver may have written, and not too long.
pub(super) fn bounded(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().take(MAX_DETAIL).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detail_is_cut_between_characters_and_has_no_line_breaks() {
        let text = bounded(&format!("a\r\n\u{1b}[2J{}", "é".repeat(MAX_DETAIL)));
        assert!(text.starts_with("a   [2Jé") && text.chars().count() == MAX_DETAIL);
        assert_eq!(bounded("b"), "b");
    }

    #[test]
    fn a_cause_that_was_told_already_is_not_told_again() {
        let io = std::io::Error::other(std::io::Error::other("no route"));
        assert_eq!(SendFailure::by(AttemptFailure::Connect, &io).detail, "no route");
    }
}
