//! Reports of a call on standard error and in a log, without the credentials in headers and URLs: what is shown ends up
//! in tickets and build logs.

use std::borrow::Cow;
use std::fs::File;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Request, Response};
use serde::Serialize;
use stagger::reqwest::SendError;
use stagger::{AttemptEnd, CallReport};
use stagger_core::{Policy, Span};

use super::event::{AttemptEvent, BodyEvent, EndEvent};
use super::policy::{AttemptsMade, HttpFailure};
use crate::command_error::CommandError;
use crate::flags::{HttpFlags, HttpFormat};
use crate::streams;

/// Tells attempts and their end.
#[derive(Debug)]
pub(super) struct HttpReporter {
    policy: Policy,
    format: HttpFormat,
    quiet: bool,
    verbose: bool,
    log: Option<Mutex<File>>,
    /// The attempts and time before the call under way.
    made: Mutex<AttemptsMade>,
    /// The end of the last call.
    report: Mutex<CallReport>,
}

impl HttpReporter {
    /// As the flags want it.
    ///
    /// # Errors
    /// A log that cannot be opened.
    pub(super) fn of(flags: &HttpFlags, policy: Policy) -> Result<Self, CommandError> {
        let open = |path| {
            let file = File::options().append(true).create(true).open(path);
            file.map(Mutex::new).map_err(|error| {
                let path = flags.log.clone().unwrap_or_default();
                CommandError::File(format!("error: {}: {error}", path.display()))
            })
        };
        let log = flags.log.as_ref().map(open).transpose()?;
        let HttpFlags { format, verbose, .. } = *flags;
        let quiet = flags.quiet || flags.silent;
        let (made, report) = (Mutex::default(), Mutex::default());
        Ok(Self { policy, format, quiet, verbose, log, made, report })
    }

    /// An attempt is about to be made.
    pub(super) fn begin(&self, request: &Request) {
        if self.verbose {
            let url = without_userinfo(request.url().as_str());
            streams::note(&format!("> {} {url}", request.method()));
            show('>', request.headers());
        }
    }

    /// An attempt has settled.
    pub(super) fn attempt(&self, ended: &AttemptEnd<'_, Response, SendError>) {
        if let (true, Some(Ok(reply))) = (self.verbose, ended.result) {
            streams::note(&format!("< {:?} {}", reply.version(), reply.status()));
            show('<', reply.headers());
        }
        let made = *self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let attempt = AttemptEvent::of(ended, &self.policy, made);
        self.tell(&attempt, &attempt.line(self.policy.limits().max_attempts()));
    }

    /// A body broke off after this many bytes; `wait` is the delay before it is asked for again.
    pub(super) fn broken(&self, made: AttemptsMade, why: &str, received: u64, wait: Option<Span>) {
        let broken = BodyEvent::of(made, why, received, wait);
        self.tell(&broken, &broken.line());
    }

    /// Further attempts come after these.
    pub(super) fn go_on(&self, made: AttemptsMade) {
        *self.made.lock().unwrap_or_else(PoisonError::into_inner) = made;
    }

    /// Keeps how a call ended, for the end of all.
    pub(super) fn keep(&self, report: CallReport) {
        *self.report.lock().unwrap_or_else(PoisonError::into_inner) = report;
    }

    /// All has ended, the body included. One clean attempt is its own end.
    pub(super) fn end(&self, made: AttemptsMade, failure: Option<&HttpFailure>) {
        let report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        let end = EndEvent::of(&report, made, failure);
        self.tell(&end, end.line());
    }

    fn tell(&self, event: &impl Serialize, line: &str) {
        let json = || serde_json::to_string(event).expect("numbers and words have a form in JSON");
        if let Some(log) = &self.log {
            let line = json() + "\n";
            // What becomes of the request is worth more than a line about it.
            let _ = log.lock().map(|mut log| log.write_all(line.as_bytes()));
        }
        match self.format {
            _ if self.quiet => {}
            HttpFormat::Text => streams::note(line),
            HttpFormat::Json => streams::note(&json()),
        }
    }
}

fn show(mark: char, headers: &HeaderMap) {
    for (name, value) in headers {
        streams::note(&format!("{mark} {name}: {}", shown(name, value)));
    }
}

/// Parts of the names of headers that carry credentials, as in X-Api-Key and PRIVATE-TOKEN.
const SECRETS: [&str; 7] = ["key", "token", "secret", "password", "auth", "cookie", "signature"];
/// Names that contain such a part and carry no credential: keys of calls, challenges, and limits
/// that count tokens.
const HARMLESS: [&str; 4] =
    ["idempotency-key", "www-authenticate", "proxy-authenticate", "ratelimit"];
/// Stands in place of what is hidden.
const HIDDEN: &str = "(hidden)";

/// The value of a header as it may be shown.
pub(super) fn shown<'a>(name: &HeaderName, value: &'a HeaderValue) -> Cow<'a, str> {
    if value.is_sensitive() || is_secret(name.as_str()) {
        return HIDDEN.into();
    }
    match String::from_utf8_lossy(value.as_bytes()) {
        Cow::Borrowed(text) => without_userinfo(text),
        Cow::Owned(text) => without_userinfo(&text).into_owned().into(),
    }
}

/// The text with name and password of the first URL in it hidden.
pub(super) fn without_userinfo(text: &str) -> Cow<'_, str> {
    let hidden = || {
        let start = text.find("://")? + "://".len();
        let (before, rest) = text.split_at(start);
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let host = rest[..end].rfind('@')?;
        Some(format!("{before}{HIDDEN}{}", &rest[host..]))
    };
    hidden().map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Whether a header of this name, in lower case, carries a credential.
fn is_secret(name: &str) -> bool {
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    has(&SECRETS) && !has(&HARMLESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_and_keys_of_calls_were_hidden_as_credentials() {
        for name in ["x-ratelimit-remaining-tokens", "idempotency-key", "etag", "accept"] {
            assert!(!is_secret(name), "{name}");
        }
        for name in ["x-amz-security-token", "x-goog-api-key", "set-cookie", "x-hub-signature"] {
            assert!(is_secret(name), "{name}");
        }
    }

    #[test]
    fn a_password_in_a_url_was_shown() {
        for (url, shown) in [
            ("http://bob:p@ss@host/a@b", "http://(hidden)@host/a@b"),
            ("https://host/a@b", "https://host/a@b"),
            ("https://bob@host", "https://(hidden)@host"),
            ("no URL", "no URL"),
        ] {
            assert_eq!(without_userinfo(url), shown);
        }
    }
}
