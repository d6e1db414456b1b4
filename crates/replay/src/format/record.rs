//! The texts of one line by what they mean, and the attempt that they make.
//!
//! Servers of one group are parted by commas, groups by colons; `-` stands for one that was not
//! reached (nginx's ngx_http_upstream_module).

use std::borrow::Cow;

use stagger_core::Span;

use super::map::{Column, MEANINGS, Meaning};
use crate::logged_attempt::{
    CallerIdentity, LoggedAttempt, LoggedNames, LoggedOutcome, Malformed, hashed, host, route,
};
use crate::stamp;
use crate::stamp::{Stamp, Unit};

/// Texts of one line; where several columns mean the same, that of the preferred one.
#[derive(Debug, Default)]
pub(super) struct LogRecord<'l> {
    texts: [Option<Text<'l>>; MEANINGS],
}

#[derive(Debug)]
struct Text<'l> {
    text: Cow<'l, str>,
    unit: Unit,
    /// The lower, the more it is preferred.
    rank: usize,
}

impl<'l> LogRecord<'l> {
    /// Notes the text of a column; empty ones and `-`, as logs write what is not known, say nothing.
    pub(super) fn note(&mut self, rank: usize, column: &Column, text: Cow<'l, str>) {
        let blank = matches!(text.trim(), "" | "-");
        let slot = &mut self.texts[column.meaning as usize];
        if !blank && slot.as_ref().is_none_or(|known| rank < known.rank) {
            *slot = Some(Text { text, unit: column.unit, rank });
        }
    }

    /// The attempt, if there are a time and a status.
    pub(super) fn attempt(&self) -> Result<LoggedAttempt, Malformed> {
        let (stamp, at_end) = self.stamp()?;
        let status = self.text(Meaning::Status).ok_or("no status")?;
        let status = status_of(status).ok_or("no such status")?;
        let took = self.span(Meaning::Duration)?;
        let work = self.work();
        Ok(LoggedAttempt {
            stamp,
            at_end,
            answer: LoggedOutcome::of(status, took, self.text(Meaning::Flags).unwrap_or("")),
            took,
            worked: work.worked,
            caller: self.caller(),
            number: self.number()?,
            behind: self.count(Meaning::Behind)?.unwrap_or(work.attempts).max(1),
        })
    }

    /// The client and the route, where they are written.
    pub(super) fn names(&self) -> LoggedNames<'_> {
        LoggedNames {
            client: self.text(Meaning::Client).map(|address| Cow::Borrowed(host(address))),
            route: self.text(Meaning::Path).map(|path| Cow::Borrowed(route(path))),
        }
    }

    fn stamp(&self) -> Result<(Stamp, bool), Malformed> {
        let began = self.text(Meaning::Time).map(|text| (text, false));
        let text = began.or_else(|| self.text(Meaning::End).map(|text| (text, true)));
        let (text, at_end) = text.ok_or("no time")?;
        Stamp::read(text).map(|stamp| (stamp, at_end)).ok_or("no such time")
    }

    fn caller(&self) -> CallerIdentity {
        let path = self.text(Meaning::Path).unwrap_or("").as_bytes();
        match (self.text(Meaning::Id), self.text(Meaning::Client)) {
            // One id may stand for a whole trace, with calls to several places.
            (Some(id), _) => CallerIdentity::Id(hashed(&[id.as_bytes(), path])),
            (None, Some(client)) => {
                CallerIdentity::Request(hashed(&[host(client).as_bytes(), path]))
            }
            (None, None) => CallerIdentity::Unknown,
        }
    }

    fn number(&self) -> Result<Option<u32>, Malformed> {
        let retry = self.count(Meaning::Retry)?.map(|retry| retry.saturating_add(1));
        Ok(self.count(Meaning::Attempt)?.or(retry))
    }

    fn work(&self) -> Upstream {
        match &self.texts[Meaning::Work as usize] {
            Some(work) if work.unit == Unit::Seconds => Upstream::read(work.text.as_bytes()),
            Some(work) => Upstream { worked: span(&work.text, work.unit), attempts: 1 },
            None => Upstream::default(),
        }
    }

    fn span(&self, meaning: Meaning) -> Result<Option<Span>, Malformed> {
        let Some(found) = &self.texts[meaning as usize] else { return Ok(None) };
        span(&found.text, found.unit).map(Some).ok_or("no such duration")
    }

    fn count(&self, meaning: Meaning) -> Result<Option<u32>, Malformed> {
        let Some(text) = self.text(meaning) else { return Ok(None) };
        let count = stamp::digits(text.as_bytes()).and_then(|n| u32::try_from(n).ok());
        count.map(Some).ok_or("no such number of attempts")
    }

    fn text(&self, meaning: Meaning) -> Option<&str> {
        self.texts[meaning as usize].as_ref().map(|found| found.text.trim())
    }
}

/// A bare number of this unit, or one with its own: `12ms`.
fn span(text: &str, unit: Unit) -> Option<Span> {
    let text = text.trim();
    let bare = stamp::nanos(text.as_bytes(), unit).map(|(span, _)| span);
    bare.or_else(|| text.parse().ok())
}

/// `200`, and `200 OK` of frameworks that write the reason too.
fn status_of(text: &str) -> Option<u16> {
    status(text.split(' ').next().unwrap_or(text).as_bytes())
}

/// Up to three digits; 0 is what Envoy writes when there was none.
pub(super) fn status(text: &[u8]) -> Option<u16> {
    if text.len() > 3 {
        return None;
    }
    stamp::digits(text).and_then(|code| u16::try_from(code).ok())
}

/// The attempts of a proxy at the servers behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Upstream {
    /// The duration of the last attempt.
    pub(super) worked: Option<Span>,
    /// The servers that were reached.
    pub(super) attempts: u32,
}

/// More servers than any group has: a longer list is no list of servers.
const MOST: u32 = 64;

impl Upstream {
    /// Reads a list of seconds; a word that is no number ends it.
    pub(super) fn read(text: &[u8]) -> Self {
        let mut all = Self::default();
        for part in text.split(|byte| matches!(byte, b',' | b':')) {
            let part = part.trim_ascii();
            match stamp::nanos(part, Unit::Seconds) {
                Some((span, _)) if all.attempts < MOST => {
                    all.worked = Some(span);
                    all.attempts += 1;
                }
                _ if part == b"-" => {}
                _ => break,
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_server_answered_and_the_others_were_attempts_too() {
        let read = |text: &str| {
            let all = Upstream::read(text.as_bytes());
            (all.worked.map(Span::as_nanos), all.attempts)
        };
        assert_eq!(read("0.250"), (Some(250_000_000), 1));
        assert_eq!(read("0.001, 0.002 : 0.003"), (Some(3_000_000), 3));
        assert_eq!(read("-, 0.002"), (Some(2_000_000), 1));
        assert_eq!(read("-"), (None, 0));
        assert_eq!(read("curl"), (None, 0));
    }
}
