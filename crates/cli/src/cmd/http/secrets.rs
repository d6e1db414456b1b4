//! Credentials in headers and URLs: what is shown ends up in tickets and build logs.

use std::borrow::Cow;

use reqwest::header::{HeaderName, HeaderValue};

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
