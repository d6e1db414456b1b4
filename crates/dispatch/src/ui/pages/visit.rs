//! The request for a page: its query, its times, its place in a list, and its errors as pages.

use std::str::FromStr;

use askama::Template;
use axum::response::{Html, IntoResponse, Response};
use http::header::{CACHE_CONTROL, HeaderValue, RETRY_AFTER};
use http::{StatusCode, Uri};
use serde::Deserialize;
use stagger::{Instant, Span};
use stagger_scheduler::model::DeliveryState;
use stagger_store::{Cursor, DeliveryFilter};
use url::form_urlencoded;
use uuid::Uuid;

use crate::Error;
use crate::access::Role;
use crate::ui::page_state::present;
use crate::ui::view::{ErrorPage, Frame, Note, Section};

/// Pages show the current state, and leave nothing in a cache after signing out.
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// The queries of all pages.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::ui) struct Query {
    pub(in crate::ui) said: String,
    pub(in crate::ui) state: String,
    pub(in crate::ui) endpoint: String,
    pub(in crate::ui) event_type: String,
    pub(in crate::ui) status: String,
    pub(in crate::ui) since: String,
    pub(in crate::ui) until: String,
    pub(in crate::ui) cursor: String,
    pub(in crate::ui) q: String,
}

impl Query {
    /// The filter that was typed, in `state`.
    ///
    /// # Errors
    /// The first value that is wrong, in words.
    pub(in crate::ui) fn filter(
        &self,
        state: Option<DeliveryState>,
    ) -> Result<DeliveryFilter, String> {
        let endpoint = typed(&self.endpoint, |text| {
            text.parse().map_err(|_| "An endpoint's id is ep_ and 32 hexadecimal digits.".into())
        })?;
        let event_type = typed(&self.event_type, |text| {
            let bound = "An event type is words joined by full stops, such as invoice.paid.";
            text.parse().map_err(|_| bound.into())
        })?;
        let status = typed(&self.status, |text| {
            let status = text.parse().ok().filter(|status| (100..=999).contains(status));
            status.ok_or_else(|| "A status is a number from 100 to 999.".into())
        })?;
        let time = |text: &str| {
            let wrong = || format!("{text} is no time like 2026-11-28T06:17, in UTC.");
            parse_time(text).ok_or_else(wrong)
        };
        let (since, until) = (typed(&self.since, time)?, typed(&self.until, time)?);
        Ok(DeliveryFilter { endpoint, state, event_type, status, since, until })
    }
}

/// The value of a field, unless it was left empty.
fn typed<T>(text: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>, String> {
    let text = text.trim();
    if text.is_empty() { Ok(None) } else { read(text).map(Some) }
}

impl Query {
    pub(in crate::ui) fn note(&self) -> Option<Note> {
        Note::parse(&self.said)
    }
}

/// The path and query of a page, without the note.
pub(in crate::ui) fn here(uri: &Uri) -> String {
    let pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    with_query(uri.path(), pairs.filter(|(name, value)| name != "said" && !value.is_empty()))
}

/// `path` with these pairs as its query.
pub(in crate::ui) fn with_query<K, V>(path: &str, pairs: impl IntoIterator<Item = (K, V)>) -> String
where
    K: AsRef<str>,
    V: AsRef<str>,
{
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    if query.is_empty() { path.into() } else { format!("{path}?{query}") }
}

/// The id in a path. One that cannot be an id is not there.
pub(in crate::ui) fn id<T: FromStr>(text: &str, what: &'static str) -> Result<T, PageError> {
    text.parse().map_err(|_| PageError::missing(what))
}

/// Answers with a page.
pub(in crate::ui) fn show(page: &impl Template) -> Result<Response, PageError> {
    let html = page.render().map_err(|error| PageError::broken(&error))?;
    Ok(([(CACHE_CONTROL, NO_STORE)], Html(html)).into_response())
}

const DAYS_BEFORE: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

/// The time as the browser's picker writes it (`2026-11-28T06:17`, read as UTC), from 1970 on.
pub(in crate::ui) fn parse_time(text: &str) -> Option<Instant> {
    let (date, time) = text.split_once(['T', ' '])?;
    let mut date = date.splitn(3, '-').map(number);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let mut time = time.trim_end_matches('Z').splitn(3, ':').map(number);
    let (hour, minute, second) = (time.next()??, time.next()??, time.next().unwrap_or(Some(0))?);
    let possible = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    let days = possible.then(|| days(year, month, day))?;
    let secs = ((days * 24 + hour) * 60 + minute) * 60 + second;
    Some(Instant::ORIGIN + Span::from_secs(secs))
}

fn number(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|b| b.is_ascii_digit()) && text.len() <= 4;
    digits.then(|| text.parse().ok()).flatten()
}

/// Days from 1970-01-01; the 31st of a shorter month is the first of the next.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let leap_days = |year: u64| year / 4 - year / 100 + year / 400;
    let is_leap = leap_days(year) > leap_days(year - 1);
    let before =
        DAYS_BEFORE.iter().zip(1..).find(|(_, n)| *n == month).map_or(0, |(days, _)| *days);
    let leap = leap_days(year - 1) - leap_days(1969) + u64::from(is_leap && month > 2);
    (year - 1970) * 365 + leap + before + day - 1
}

/// The cursor in a query; none is the beginning.
pub(in crate::ui) fn parse_cursor(text: &str) -> Result<Option<Cursor>, PageError> {
    if text.is_empty() {
        return Ok(None);
    }
    let cursor = text.split_once('-').and_then(|(message, endpoint)| {
        let uuid = |text| Uuid::try_parse(text).ok();
        Some(Cursor { message: uuid(message)?, endpoint: uuid(endpoint)? })
    });
    cursor
        .map(Some)
        .ok_or_else(|| PageError::invalid("The cursor of this address is invalid.".into()))
}

/// The text of a cursor.
pub(in crate::ui) fn print_cursor(cursor: Cursor) -> String {
    format!("{}-{}", cursor.message.simple(), cursor.endpoint.simple())
}

/// Seconds after which to try again when the store is away or there is no room.
const TRY_AGAIN: u64 = 5;

/// Why a page cannot be shown, or something was not done.
#[derive(Debug)]
pub(in crate::ui) struct PageError {
    status: StatusCode,
    title: &'static str,
    detail: String,
}

impl PageError {
    pub(in crate::ui) fn missing(what: &str) -> Self {
        let detail = format!("There is no such {what}. It may have been deleted or pruned.");
        Self { status: StatusCode::NOT_FOUND, title: "Not here", detail }
    }

    pub(in crate::ui) fn invalid(detail: String) -> Self {
        Self { status: StatusCode::BAD_REQUEST, title: "That cannot be", detail }
    }

    /// A sign-in at a provider that failed.
    #[cfg(feature = "oidc")]
    pub(super) const fn not_signed_in(status: StatusCode, detail: String) -> Self {
        Self { status, title: "Not signed in", detail }
    }

    /// The status, the title and the detail.
    pub(in crate::ui) fn into_parts(self) -> (StatusCode, &'static str, String) {
        (self.status, self.title, self.detail)
    }

    pub(in crate::ui) fn broken(error: &impl ToString) -> Self {
        let (status, title) = (StatusCode::INTERNAL_SERVER_ERROR, "This page is broken");
        Self { status, title, detail: error.to_string() }
    }
}

impl From<Error> for PageError {
    fn from(error: Error) -> Self {
        let (status, title) = if error.is_not_found() {
            (StatusCode::NOT_FOUND, "Not here")
        } else if error.is_conflict() {
            (StatusCode::CONFLICT, "Not as things stand")
        } else if error.is_invalid() {
            (StatusCode::BAD_REQUEST, "That cannot be")
        } else {
            (StatusCode::SERVICE_UNAVAILABLE, "Not now")
        };
        Self { status, title, detail: error.to_string() }
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let Self { status, title, detail } = self;
        let frame = Frame::new(present(), Section::Outside, "/".into(), None, Role::Viewer);
        let html = ErrorPage { frame, title, detail }.render().unwrap_or_else(|_| title.into());
        let mut response = (status, [(CACHE_CONTROL, "no-store")], Html(html)).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(RETRY_AFTER, TRY_AGAIN.into());
        }
        response
    }
}

/// A page that is not there.
pub(in crate::ui) async fn missing() -> Response {
    PageError::missing("page").into_response()
}

/// A request that authentication refuses.
pub(in crate::ui) fn refused(why: &str) -> Response {
    let error =
        PageError { status: StatusCode::FORBIDDEN, title: "Refused", detail: why.to_owned() };
    error.into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::view::Moment;

    #[test]
    fn a_note_is_shown_only_once() {
        let here = |uri: &str| here(&uri.parse().unwrap());
        assert_eq!(here("/ui/dead?said=replayed-3"), "/ui/dead");
        assert_eq!(here("/ui/deliveries?state=dead&said=x&endpoint="), "/ui/deliveries?state=dead");
        assert_eq!(here("/ui/a?cursor=%22%3E%3Cb%3E"), "/ui/a?cursor=%22%3E%3Cb%3E");
    }

    #[test]
    fn a_time_is_read_as_it_was_written() {
        for secs in (0..200_000).map(|n| n * 86_399 / 7 + n) {
            let at = Instant::ORIGIN + Span::from_secs(secs);
            let text = Moment::new(at, at).exact();
            assert_eq!(parse_time(&text[..19]), Some(at), "{text}");
        }
        let noon = parse_time("2026-11-28T12:00").unwrap();
        assert_eq!(Moment::new(noon, noon).exact(), "2026-11-28T12:00:00.000Z");
    }

    #[test]
    fn a_text_that_is_no_time_is_refused() {
        for text in
            ["", "now", "2026-11-28", "2026-13-01T00:00", "1969-01-01T00:00", "2026-1-1T24:00"]
        {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }

    #[test]
    fn a_cursor_reads_back_and_rubbish_is_refused() {
        let cursor = Cursor { message: Uuid::from_u128(7), endpoint: Uuid::from_u128(u128::MAX) };
        assert_eq!(parse_cursor(&print_cursor(cursor)).unwrap(), Some(cursor));
        assert_eq!(parse_cursor("").unwrap(), None);
        assert!(parse_cursor("7").is_err() && parse_cursor("a-b").is_err());
    }
}
