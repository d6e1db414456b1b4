//! The header by which an attempt tells its place in a run.

use std::fmt::Write;

use stagger_core::{Instant, Span};

/// The name of the header that carries an [`AttemptTag`].
pub const TAG_HEADER: &str = "stagger-storm";

/// The place of one attempt in a run, as the caller tells the server.
///
/// A server that does not know the header ignores it. Our own server takes its clock, its draws and the numbers of
/// calls from it, so that its run is the lab's.
///
/// ```
/// use stagger_core::{Instant, Span};
/// use stagger_load::AttemptTag;
/// let tag = AttemptTag {
///     run: 9,
///     row: "full, 2 s".to_owned(),
///     seed: 1,
///     call: 17,
///     attempt: 2,
///     at: Instant::ORIGIN + Span::from_millis(30),
///     timeout: None,
/// };
/// assert_eq!(tag.to_text(), "run=9, row=full%2C%202%20s, seed=1, call=17, attempt=2, at=30000000");
/// assert_eq!(AttemptTag::parse(&tag.to_text()), Some(tag));
/// assert_eq!(AttemptTag::parse("run=9"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptTag {
    /// The number of the run; each run has its own.
    pub run: u64,
    /// The name of the row.
    pub row: String,
    /// The seed of the run.
    pub seed: u64,
    /// The number of the call.
    pub call: u32,
    /// The number of the attempt in its call, from 1.
    pub attempt: u32,
    /// The time of the attempt, from the start of the run.
    pub at: Instant,
    /// The time that the caller waits for an answer; without limit when `None`.
    pub timeout: Option<Span>,
}

/// Bytes of a header that is read: a row's name has at most some hundred.
const LONGEST: usize = 1_024;

impl AttemptTag {
    /// The value of the header.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("run={}, row=", self.run);
        for byte in self.row.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => text.push(byte.into()),
                _ => write!(text, "%{byte:02X}").expect("writing into a string cannot fail"),
            }
        }
        let Self { seed, call, attempt, at, .. } = self;
        write!(text, ", seed={seed}, call={call}, attempt={attempt}, at={}", at.as_nanos())
            .expect("writing into a string cannot fail");
        if let Some(timeout) = self.timeout {
            write!(text, ", timeout={}", timeout.as_nanos())
                .expect("writing into a string cannot fail");
        }
        text
    }

    /// The tag in the value of a header; unknown keys are skipped, and `None` stands for anything that is not a
    /// whole tag.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let value = |key: &str| {
            let mut parts = text.split(',').map(str::trim);
            parts.find_map(|part| part.strip_prefix(key)?.strip_prefix('='))
        };
        let timeout = match value("timeout") {
            Some(timeout) => Some(Span::from_nanos(timeout.parse().ok()?)),
            None => None,
        };
        Some(Self {
            run: value("run")?.parse().ok()?,
            row: decoded(value("row")?)?,
            seed: value("seed")?.parse().ok()?,
            call: value("call")?.parse().ok()?,
            attempt: value("attempt")?.parse().ok().filter(|&attempt: &u32| attempt > 0)?,
            at: Instant::from_nanos(value("at")?.parse().ok()?),
            timeout,
        })
    }
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let (high, low) = (digit()?, digit()?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_that_is_cut_or_wrong_was_read() {
        let whole = "run=1, row=a, seed=1, call=2, attempt=1, at=5, timeout=7, later=x";
        let tag = AttemptTag::parse(whole).expect("an unknown key is skipped");
        assert_eq!((tag.call, tag.timeout), (2, Some(Span::from_nanos(7))));
        for wrong in [
            "",
            "run=1, row=a, seed=1, call=2, attempt=0, at=5",
            "run=1, row=%4, seed=1, call=2, attempt=1, at=5",
            "run=1, row=%zz, seed=1, call=2, attempt=1, at=5",
            "run=1, row=%ff, seed=1, call=2, attempt=1, at=5",
            "run=1, row=a, seed=1, call=-2, attempt=1, at=5",
            "run=1, row=a, seed=1, call=2, attempt=1, at=5, timeout=x",
        ] {
            assert_eq!(AttemptTag::parse(wrong), None, "{wrong}");
        }
        let long = format!("run=1, row={}, seed=1, call=2, attempt=1, at=5", "a".repeat(2_000));
        assert_eq!(AttemptTag::parse(&long), None);
    }
}
