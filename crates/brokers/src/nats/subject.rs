//! Subjects of NATS: the names that messages are published to.

/// Longest subject, in bytes: the server's limit of a line leaves room for it.
const MAX_SUBJECT: usize = 255;

/// Whether a message can be published to this subject: words with full stops between them, no wildcard, and none of the
/// server's own (`$JS`, `$SYS`, `_INBOX`), which would command it.
pub(super) fn is_subject(text: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty()
            && !matches!(word, "*" | ">")
            && word.bytes().all(|byte| byte.is_ascii_graphic())
    };
    let is_own = text.starts_with('$') || text.starts_with("_INBOX");
    text.len() <= MAX_SUBJECT && !is_own && text.split('.').all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_that_commands_the_server_is_none() {
        for text in ["a", "events.invoice.paid", "a-b_c.D"] {
            assert!(is_subject(text), "{text}");
        }
        let long = "a".repeat(256);
        for text in [
            "",
            ".a",
            "a.",
            "a..b",
            "a.*",
            ">",
            "a b",
            "a\r\nPUB b",
            "$JS.API.STREAM.DELETE.a",
            "_INBOX.x",
            &long,
        ] {
            assert!(!is_subject(text), "{text:?}");
        }
    }
}
