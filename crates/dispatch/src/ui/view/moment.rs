//! Times as people read them: how far away, with the exact time at hand.

use std::fmt;

use askama::filters::HtmlSafe;
use stagger::{Instant, Span};
use stagger_text::{Timestamp, coarse};

const MILLI: u64 = 1_000_000;

/// A point in time, seen from another one. Writes itself as a `time` element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ui) struct Moment {
    at: Instant,
    now: Instant,
}

impl Moment {
    pub(in crate::ui) const fn new(at: Instant, now: Instant) -> Self {
        Self { at, now }
    }

    /// Milliseconds since the epoch, which is how scripts count.
    pub(in crate::ui) const fn millis(self) -> u64 {
        self.at.as_nanos() / MILLI
    }

    /// RFC 3339, UTC, to the millisecond.
    pub(in crate::ui) fn exact(self) -> String {
        Timestamp(self.at).to_string()
    }

    /// `in 5 min`, `3 h ago`; the script of the page says it in the same words.
    pub(in crate::ui) fn relative(self) -> String {
        let (ahead, behind) = (self.at.since(self.now), self.now.since(self.at));
        match (whole_secs(ahead), whole_secs(behind)) {
            (0, 0) => "now".into(),
            (0, _) => format!("{} ago", coarse(behind)),
            _ => format!("in {}", coarse(ahead)),
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (exact, relative) = (self.exact(), self.relative());
        write!(f, "<time datetime=\"{exact}\" title=\"{exact}\">{relative}</time>")
    }
}

/// Digits and letters of our own making only.
impl HtmlSafe for Moment {}

const fn whole_secs(span: Span) -> u64 {
    span.as_nanos() / 1_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Instant {
        Instant::ORIGIN + Span::from_secs(secs)
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        let exact = |secs| Moment::new(at(secs), at(0)).exact();
        assert_eq!(exact(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(exact(951_782_400), "2000-02-29T00:00:00.000Z");
        assert_eq!(exact(1_709_251_199), "2024-02-29T23:59:59.000Z");
        assert_eq!(exact(1_795_846_657), "2026-11-28T06:17:37.000Z");
        assert_eq!(exact(4_107_542_400), "2100-03-01T00:00:00.000Z");
    }

    #[test]
    fn distances_are_said_in_one_unit() {
        let relative = |to: u64| Moment::new(at(to), at(100_000)).relative();
        assert_eq!(relative(100_000), "now");
        assert_eq!(relative(100_059), "in 59 s");
        assert_eq!(relative(100_060), "in 1 min");
        assert_eq!(relative(99_999), "1 s ago");
        assert_eq!(relative(92_800), "2 h ago");
        assert_eq!(relative(100_000 + 3 * 86_400), "in 3 d");
    }
}
