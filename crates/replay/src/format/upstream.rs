//! `$upstream_response_time` of nginx: one time for every server that was asked.
//!
//! Servers of one group are parted by commas, groups by colons; `-` stands for one that was not
//! reached (nginx's ngx_http_upstream_module).

use stagger_core::Span;

use crate::decimal;
use crate::unit::Unit;

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
            match decimal::nanos(part, Unit::Seconds) {
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
