//! The parts of a request that every page reads, and the response of every page.

use std::str::FromStr;

use askama::Template;
use axum::response::{Html, IntoResponse, Response};
use http::Uri;
use http::header::{CACHE_CONTROL, HeaderValue};
use serde::Deserialize;
use url::form_urlencoded;

use super::error::PageError;
use crate::ui::view::Note;

/// Pages show the current state, and leave nothing in a cache after signing out.
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// The queries of all pages.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::ui) struct Query {
    pub(super) said: String,
    pub(super) state: String,
    pub(super) endpoint: String,
    pub(super) cursor: String,
}

impl Query {
    pub(super) fn note(&self) -> Option<Note> {
        Note::parse(&self.said)
    }
}

/// The path and query of a page, without the note.
pub(super) fn here(uri: &Uri) -> String {
    let pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    with_query(uri.path(), pairs.filter(|(name, value)| name != "said" && !value.is_empty()))
}

/// `path` with these pairs as its query.
pub(super) fn with_query<K, V>(path: &str, pairs: impl IntoIterator<Item = (K, V)>) -> String
where
    K: AsRef<str>,
    V: AsRef<str>,
{
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    if query.is_empty() { path.into() } else { format!("{path}?{query}") }
}

/// The id in a path. One that cannot be an id is not there.
pub(super) fn id<T: FromStr>(text: &str, what: &'static str) -> Result<T, PageError> {
    text.parse().map_err(|_| PageError::missing(what))
}

/// Answers with a page.
pub(super) fn show(page: &impl Template) -> Result<Response, PageError> {
    let html = page.render().map_err(|error| PageError::broken(&error))?;
    Ok(([(CACHE_CONTROL, NO_STORE)], Html(html)).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_shown_only_once() {
        let here = |uri: &str| here(&uri.parse().unwrap());
        assert_eq!(here("/ui/dead?said=replayed-3"), "/ui/dead");
        assert_eq!(here("/ui/deliveries?state=dead&said=x&endpoint="), "/ui/deliveries?state=dead");
        assert_eq!(here("/ui/a?cursor=%22%3E%3Cb%3E"), "/ui/a?cursor=%22%3E%3Cb%3E");
    }
}
