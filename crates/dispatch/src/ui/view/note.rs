//! The result of the last action, shown once on the next page.

use std::fmt;

use super::figure;

/// The query parameter that carries it.
const SAID: &str = "said";

/// The result of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ui) enum Note {
    Enabled,
    Disabled,
    TestSent,
    Cancelled,
    Replayed(u64),
}

impl Note {
    /// The note of a query; a foreign one says nothing.
    pub(in crate::ui) fn parse(code: &str) -> Option<Self> {
        match code {
            "enabled" => Some(Self::Enabled),
            "disabled" => Some(Self::Disabled),
            "test" => Some(Self::TestSent),
            "cancelled" => Some(Self::Cancelled),
            _ => code.strip_prefix("replayed-")?.parse().ok().map(Self::Replayed),
        }
    }

    /// `path` with this note in its query.
    pub(in crate::ui) fn onto(self, path: &str) -> String {
        let joint = if path.contains('?') { '&' } else { '?' };
        format!("{path}{joint}{SAID}={self}")
    }

    /// The text of the note.
    pub(in crate::ui) fn text(self) -> String {
        match self {
            Self::Enabled => "Enabled. One probe is sent first; if it succeeds, the backlog \
                is sent slowly at first."
                .into(),
            Self::Disabled => "Disabled. Its deliveries wait until it is enabled again.".into(),
            Self::TestSent => "A test event is on its way.".into(),
            Self::Cancelled => "Cancelled. No further attempt will be made.".into(),
            Self::Replayed(0) => "There was nothing to replay.".into(),
            Self::Replayed(1) => "One delivery is pending again.".into(),
            Self::Replayed(count) => {
                format!(
                    "{} deliveries are pending again. They are sent slowly at first.",
                    figure(count)
                )
            }
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Enabled => f.write_str("enabled"),
            Self::Disabled => f.write_str("disabled"),
            Self::TestSent => f.write_str("test"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Replayed(count) => write!(f, "replayed-{count}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_survive_the_redirect() {
        for note in [Note::Enabled, Note::Disabled, Note::TestSent, Note::Replayed(12)] {
            let path = note.onto("/ui/dead");
            let code = path.strip_prefix("/ui/dead?said=").unwrap();
            assert_eq!(Note::parse(code), Some(note));
        }
        assert_eq!(Note::parse("replayed-<b>"), None);
    }
}
