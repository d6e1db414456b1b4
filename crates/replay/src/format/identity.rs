//! The columns of a text format that tell one caller from another.

use std::borrow::Cow;

use super::map::{LogMap, Meaning};
use super::scan::position;
use crate::logged_attempt::{CallerIdentity, LoggedAttempt, LoggedNames, hashed, host};
use crate::stamp::text;

/// The evidence for retries that a reader of text formats may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IdentityColumns {
    client: bool,
    id: bool,
}

impl IdentityColumns {
    /// Everything that a format has.
    pub(super) const ALL: Self = Self { client: true, id: true };

    /// The columns that this map leaves: text formats have no columns to rename, so it can only switch them off,
    /// as `client=none` does. `None` if it asks for more.
    pub(super) fn of(map: &LogMap) -> Option<Self> {
        let mut left = Self::ALL;
        for column in map.columns() {
            match (column.meaning, column.name.as_str()) {
                (Meaning::Client, "none") => left.client = false,
                (Meaning::Id, "none") => left.id = false,
                _ => return None,
            }
        }
        Some(left)
    }

    /// The caller by an id, or else by its address and its request; empty texts and `-` say nothing.
    pub(super) fn caller(self, id: &[u8], client: &[u8], request: &[u8]) -> CallerIdentity {
        let is_known = |text: &[u8]| !matches!(text, b"" | b"-");
        if self.id && is_known(id) {
            return CallerIdentity::Id(hashed(&[id, request]));
        }
        if !self.client || !is_known(client) {
            return CallerIdentity::Unknown;
        }
        let client = text(client).map_or(client, |client| host(client).as_bytes());
        CallerIdentity::Request(hashed(&[client, request]))
    }
}

/// An attempt of a text format, with the texts that name its caller.
#[derive(Debug)]
pub(super) struct TextLine<'l> {
    pub(super) attempt: LoggedAttempt,
    client: &'l [u8],
    /// `GET /a?b=1 HTTP/1.1`.
    request: Cow<'l, [u8]>,
}

impl<'l> TextLine<'l> {
    pub(super) fn new(
        attempt: LoggedAttempt,
        client: &'l [u8],
        request: impl Into<Cow<'l, [u8]>>,
    ) -> Self {
        Self { attempt, client, request: request.into() }
    }

    /// The client, and the method with the route: `GET /a` of `GET /a?b=1 HTTP/1.1`.
    pub(super) fn names(&self) -> LoggedNames<'_> {
        let client = match String::from_utf8_lossy(self.client) {
            Cow::Borrowed(client) => Cow::Borrowed(host(client)),
            owned => owned,
        };
        let is_known = !matches!(&*client, "" | "-");
        LoggedNames { client: is_known.then_some(client), route: self.route() }
    }

    fn route(&self) -> Option<Cow<'_, str>> {
        let (method, rest) = self.request.split_at(position(&self.request, b" ")?);
        let target = rest.trim_ascii_start();
        let target = &target[..position(target, b" ").unwrap_or(target.len())];
        let target = &target[..position(target, b"?").unwrap_or(target.len())];
        Some(String::from_utf8_lossy(&self.request[..method.len() + 1 + target.len()]))
    }
}
