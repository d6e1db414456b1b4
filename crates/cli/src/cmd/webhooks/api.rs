//! The dispatcher's API: requests as calls under a policy, and refusals in words.

use std::env;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use reqwest::{Method, StatusCode, Url};
use serde_json::Value;
use stagger::Policy;
use stagger::reqwest::{Client, client_builder};

use super::super::http::tls;
use crate::command_error::CommandError;
use crate::flags::ApiFlags;
use crate::streams;

const DEFAULT_URL: &str = "http://127.0.0.1:8080";
/// The file in which `stagger serve` keeps the admin key.
const DEFAULT_KEY_FILE: &str = "stagger-data/admin.key";
/// The time for one attempt.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A dispatcher, and the key to it.
#[derive(Debug)]
pub(super) struct Api {
    client: Client,
    base: Url,
    key: String,
    /// The place that the key is from, for refusals.
    key_source: String,
    app: Option<String>,
}

/// Why a command has not done what it was asked for.
#[derive(Debug)]
pub(super) enum Failure {
    /// Wrong input, or a refusal: the same again is refused again.
    Refused(String),
    /// No answer, or one that says to come back later.
    Unavailable(String),
}

impl Failure {
    /// Writes it to standard error; returns the exit code.
    pub(super) fn tell(&self) -> ExitCode {
        match self {
            Self::Refused(_) => streams::refuse(self),
            Self::Unavailable(_) => {
                streams::note(&format!("error: {self}"));
                ExitCode::FAILURE
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Refused(why) | Self::Unavailable(why)) = self;
        f.write_str(why)
    }
}

/// The refusal of a value that was given.
pub(super) fn wrong(flag: &str, value: &str, bound: &str) -> Failure {
    Failure::Refused(format!("{flag} = {value}: must be {bound}"))
}

impl Api {
    /// The dispatcher of the flags and of the environment.
    ///
    /// # Errors
    /// An address that is no URL; no key; certificates that cannot be read.
    pub(super) fn new(flags: &ApiFlags) -> Result<Self, Failure> {
        let url = setting(flags.url.as_ref(), "STAGGER_URL");
        let url = url.unwrap_or_else(|| DEFAULT_URL.to_owned());
        let base = Url::parse(&url).map_err(|error| {
            wrong("--url", &url, &format!("an http or https address ({error})"))
        })?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(wrong("--url", &url, "an http or https address"));
        }
        let (key, key_source) = key(flags.key_file.as_deref())?;
        let told = |error: CommandError| Failure::Refused(error.into_message());
        let client = client_builder()
            .timeout(TIMEOUT)
            .tls_backend_preconfigured(tls(None, false).map_err(told)?)
            .build()
            .map_err(|error| Failure::Refused(format!("no client: {error}")))?;
        let client = Client::new(client, Policy::interactive());
        let app = setting(flags.app.as_ref(), "STAGGER_APP");
        Ok(Self { client, base, key, key_source, app })
    }

    /// The address, for people.
    pub(super) fn place(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// The path of the application, or of a part of it.
    ///
    /// # Errors
    /// There is none, or more than one and none was named.
    pub(super) async fn in_app(&self, rest: &str) -> Result<String, Failure> {
        Ok(format!("/v1/applications/{}{rest}", self.application().await?))
    }

    /// The application that was named, or the only one.
    async fn application(&self) -> Result<String, Failure> {
        if let Some(app) = &self.app {
            return Ok(app.clone());
        }
        let page = self.get("/v1/applications?limit=2").await.map_err(|failure| {
            Failure::Refused(format!(
                "no application is named: give --app ID or set STAGGER_APP ({failure})"
            ))
        })?;
        let ids: Vec<_> =
            items(&page).iter().filter_map(|item| item["id"].as_str()).map(str::to_owned).collect();
        match &ids[..] {
            [only] => Ok(only.clone()),
            [] => Err(Failure::Refused(format!(
                "{} has no application: make one by stagger webhooks create application NAME",
                self.place()
            ))),
            _ => Err(Failure::Refused(format!(
                "{} has several applications: name one by --app ID; stagger webhooks list applications shows them",
                self.place()
            ))),
        }
    }

    pub(super) async fn get(&self, path: &str) -> Result<Value, Failure> {
        self.call(Method::GET, path, None, None).await
    }

    pub(super) async fn post(&self, path: &str, body: String) -> Result<Value, Failure> {
        self.call(Method::POST, path, Some(body), None).await
    }

    pub(super) async fn put(&self, path: &str, body: String) -> Result<Value, Failure> {
        self.call(Method::PUT, path, Some(body), None).await
    }

    pub(super) async fn delete(&self, path: &str) -> Result<Value, Failure> {
        self.call(Method::DELETE, path, None, None).await
    }

    /// Posts a body under an idempotency key, so that the request may be repeated.
    pub(super) async fn post_once(
        &self,
        path: &str,
        body: String,
        key: &str,
    ) -> Result<Value, Failure> {
        self.call(Method::POST, path, Some(body), Some(key)).await
    }

    /// The bytes at a path.
    pub(super) async fn bytes(&self, path: &str) -> Result<Vec<u8>, Failure> {
        let (_, bytes) = self.send(Method::GET, path, None, None).await?;
        Ok(bytes)
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<String>,
        key: Option<&str>,
    ) -> Result<Value, Failure> {
        let (status, bytes) = self.send(method, path, body, key).await?;
        if bytes.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&bytes).map_err(|error| {
            Failure::Refused(format!(
                "{} answers {status} without JSON: {error}; is it a dispatcher?",
                self.place()
            ))
        })
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<String>,
        key: Option<&str>,
    ) -> Result<(StatusCode, Vec<u8>), Failure> {
        let mut url = self.base.clone();
        let (path, query) =
            path.split_once('?').map_or((path, None), |(path, it)| (path, Some(it)));
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        url.set_query(query);
        let mut request = self.client.request(method, url).bearer_auth(&self.key);
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body);
        }
        let reply = request.send().await.map_err(|error| self.no_answer(&error))?;
        let status = reply.status();
        let bytes = reply.bytes().await.map_err(|error| self.no_answer(&error))?.to_vec();
        if status.is_success() { Ok((status, bytes)) } else { Err(self.refusal(status, &bytes)) }
    }

    fn no_answer(&self, error: &dyn std::error::Error) -> Failure {
        let mut cause = error;
        while let Some(below) = cause.source() {
            cause = below;
        }
        Failure::Unavailable(format!(
            "no dispatcher answers at {}: {cause}; start one by stagger serve, or name another by --url",
            self.place()
        ))
    }

    fn refusal(&self, status: StatusCode, body: &[u8]) -> Failure {
        let problem: Value = serde_json::from_slice(body).unwrap_or_default();
        let detail = problem["detail"].as_str().unwrap_or("no reason is given");
        let words = match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                format!("{} refuses the key of {}: {detail}", self.place(), self.key_source)
            }
            _ => format!("{} answers {}: {detail}", self.place(), status.as_u16()),
        };
        let is_later = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
        if is_later { Failure::Unavailable(words) } else { Failure::Refused(words) }
    }
}

/// The entries of a page.
pub(super) fn items(page: &Value) -> &[Value] {
    page["items"].as_array().map_or(&[], Vec::as_slice)
}

/// A value as it stands in a path or in a query.
pub(super) fn encoded(text: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    let one = |byte: u8| {
        if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    text.bytes().map(one).collect()
}

fn setting(flag: Option<&String>, variable: &str) -> Option<String> {
    let of_environment = || env::var(variable).ok().filter(|value| !value.is_empty());
    flag.cloned().or_else(of_environment)
}

/// The key, and the place that it is from.
fn key(file: Option<&Path>) -> Result<(String, String), Failure> {
    let of_environment = || env::var("STAGGER_KEY").ok().filter(|key| !key.is_empty());
    if file.is_none()
        && let Some(key) = of_environment()
    {
        return Ok((key, "the variable STAGGER_KEY".to_owned()));
    }
    let path = file.map_or_else(|| PathBuf::from(DEFAULT_KEY_FILE), Path::to_owned);
    let shown = path.display().to_string();
    match fs::read_to_string(&path) {
        Ok(text) if !text.trim().is_empty() => Ok((text.trim().to_owned(), shown)),
        Ok(_) => Err(wrong("--key-file", &shown, "a file with a key")),
        Err(error) if file.is_some() => {
            Err(wrong("--key-file", &shown, &format!("readable: {error}")))
        }
        Err(_) => Err(Failure::Refused(format!(
            "no key: set STAGGER_KEY or give --key-file; {shown} cannot be read, in which stagger serve keeps the admin key"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_with_a_zone_is_whole_in_a_query() {
        assert_eq!(encoded("2026-11-28T06:00:00+01:00"), "2026-11-28T06%3A00%3A00%2B01%3A00");
    }
}
