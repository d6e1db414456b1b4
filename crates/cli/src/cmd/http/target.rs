//! The URLs of a command line, each with the place of its body.

use std::path::{Path, PathBuf};

use reqwest::Url;

use super::data::bytes;
use super::reporter::without_userinfo;
use crate::command_error::{CommandError, check};
use crate::flags::HttpFlags;

/// A URL, and the file that gets the body of its reply.
#[derive(Debug)]
pub(super) struct HttpTarget {
    pub(super) url: Url,
    /// The URL as it was written, without name and password.
    pub(super) shown: String,
    /// `None` is standard output.
    pub(super) place: Option<PathBuf>,
}

impl HttpTarget {
    /// All of them, in order.
    ///
    /// # Errors
    /// Text that is no URL, and places that cannot be written.
    pub(super) fn all(flags: &HttpFlags) -> Result<Vec<Self>, CommandError> {
        let query = query(flags)?;
        let named = flags.output.len().max(usize::from(flags.remote_name));
        if named > flags.url.len() {
            let flag = if flags.output.is_empty() { "--remote-name" } else { "--output" };
            let bound = format!("given at most once for each URL ({})", flags.url.len());
            return Err(CommandError::invalid(flag, &named.to_string(), &bound));
        }
        let mut targets = Vec::new();
        for (index, asked) in flags.url.iter().enumerate() {
            let (mut url, shown) = (url(asked)?, without_userinfo(asked).into_owned());
            let place = if index < usize::from(flags.remote_name) {
                Some(remote_name(&url, &shown)?)
            } else {
                flags.output.get(index).cloned()
            };
            if let Some(place) = &place {
                check("--output", place)?;
            }
            if let Some(query) = &query {
                let before = url.query().map(|query| format!("{query}&")).unwrap_or_default();
                url.set_query(Some(&format!("{before}{query}")));
            }
            targets.push(Self { url, shown, place });
        }
        let waits = |target: &Self| target.place.as_deref().is_none_or(|it| it == Path::new("-"));
        if flags.continue_at.is_some() && targets.iter().any(waits) {
            let bound = "used with --output or --remote-name for each URL";
            return Err(CommandError::bad_value(&format!("'--continue-at' must be {bound}")));
        }
        Ok(targets)
    }
}

/// The data that go into the query of every URL.
fn query(flags: &HttpFlags) -> Result<Option<String>, CommandError> {
    if !flags.get {
        return Ok(None);
    }
    let parts: Result<Vec<_>, _> = flags.data.iter().map(|data| bytes("--data", data)).collect();
    let query = String::from_utf8(parts?.join(&b'&'));
    let refused = |_| CommandError::bad_value("'--data' must be text in UTF-8 with '--get'");
    query.map(Some).map_err(refused)
}

/// A URL of http or https; one without a scheme is of http, as curl has it.
fn url(asked: &str) -> Result<Url, CommandError> {
    let shown = without_userinfo(asked);
    let refused = |bound: &str| Err(CommandError::invalid("<URL>", &shown, bound));
    let whole = match asked.contains("://") {
        true => asked.to_owned(),
        false => format!("http://{asked}"),
    };
    match Url::parse(&whole) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(url),
        Ok(_) => refused("a URL of http or https"),
        Err(error) => refused(&format!("a URL: {error}")),
    }
}

/// The last part of the path, as it stands in the URL.
fn remote_name(url: &Url, shown: &str) -> Result<PathBuf, CommandError> {
    let last = url.path_segments().and_then(|mut parts| parts.next_back());
    match last {
        // By itself it would be standard output.
        Some("-") => Ok(PathBuf::from("./-")),
        Some(name) if !name.is_empty() => Ok(PathBuf::from(name)),
        _ => Err(CommandError::invalid(
            "<URL>",
            shown,
            "a URL that ends with the name of a file, for --remote-name",
        )),
    }
}
