//! A whole request from its flags, the options of its call, and the client.

use bytes::Bytes;
use clap::error::ErrorKind;
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName,
    HeaderValue, RANGE, TRANSFER_ENCODING,
};
use reqwest::{Body, Client, ClientBuilder, Method, Proxy, Request, RequestBuilder, Url, redirect};
use stagger::OsEntropy;
use stagger::http::IdempotencyKey;
use stagger::reqwest::{CallOptions, client_builder};
use stagger_core::Span;

use super::data::bytes;
use super::multipart::Multipart;
use super::reporter::without_userinfo;
use super::target::HttpTarget;
use super::tls::tls;
use crate::command_error::CommandError;
use crate::flags::HttpFlags;

/// The content of all requests of a command line, which is read once.
#[derive(Debug)]
pub(super) struct Content {
    method: Method,
    headers: HeaderMap,
    body: Option<Bytes>,
}

impl Content {
    /// Reads what the flags name.
    ///
    /// # Errors
    /// A flag that is no HTTP, or a file that cannot be read.
    pub(super) fn of(flags: &HttpFlags) -> Result<Self, CommandError> {
        if flags.head && !flags.data.is_empty() && !flags.get {
            let why = "the argument '--head' cannot be used with '--data <DATA>'";
            return Err(CommandError::flag(ErrorKind::ArgumentConflict, why));
        }
        let (form, method) = (form(flags)?, method(flags)?);
        let mut headers = headers(flags, form.as_ref())?;
        if let Some(range) = &flags.range {
            headers.insert(RANGE, range_header(range)?);
        }
        let body = match form {
            Some(form) => Some(form.body),
            None => body(flags)?,
        };
        Ok(Self { method, headers, body: body.map(Bytes::from) })
    }
}

/// The request for a target.
///
/// # Errors
/// Credentials that do not fit into a header.
pub(super) fn request(
    flags: &HttpFlags,
    client: &Client,
    content: &Content,
    target: &HttpTarget,
) -> Result<Request, CommandError> {
    // The builder turns name and password of the URL into a header, which all later headers replace.
    let built = client.request(content.method.clone(), target.url.clone()).build();
    let mut request = built.map_err(|_| {
        let bound = "a URL whose name and password fit into a header";
        CommandError::invalid("<URL>", &target.shown, bound)
    })?;
    let user = user(flags)?.filter(|_| !content.headers.contains_key(AUTHORIZATION));
    set(request.headers_mut(), &content.headers);
    if let Some(bytes) = &content.body {
        *request.body_mut() = Some(Body::from(bytes.clone()));
    }
    let Some((name, password)) = user else { return Ok(request) };
    request.headers_mut().remove(AUTHORIZATION);
    RequestBuilder::from_parts(client.clone(), request)
        .basic_auth(name, Some(password))
        .build()
        .map_err(|_| CommandError::invalid("--user", name, "a name that fits into a header"))
}

/// Puts headers into others in place of those of the same names; several of one name all stay.
fn set(into: &mut HeaderMap, headers: &HeaderMap) {
    for name in headers.keys() {
        into.remove(name);
    }
    for (name, value) in headers {
        into.append(name, value.clone());
    }
}

/// The options of the call.
pub(super) fn call(flags: &HttpFlags) -> CallOptions {
    let call = CallOptions::new();
    let call = if flags.idempotent { call.idempotent() } else { call };
    match flags.idempotency_key.as_deref() {
        Some("") => call.idempotency_key(IdempotencyKey::random()),
        _ => call,
    }
}

fn method(flags: &HttpFlags) -> Result<Method, CommandError> {
    let asked = match &flags.request {
        Some(method) => method.as_str(),
        None if flags.head => "HEAD",
        None if flags.get => "GET",
        None if flags.json.is_some() || !flags.data.is_empty() || !flags.form.is_empty() => "POST",
        None => "GET",
    };
    Method::from_bytes(asked.as_bytes())
        .map_err(|_| CommandError::invalid("--request", asked, "the name of a method, such as PUT"))
}

fn form(flags: &HttpFlags) -> Result<Option<Multipart>, CommandError> {
    match flags.form.as_slice() {
        [] => Ok(None),
        fields => Multipart::of(fields, &mut OsEntropy).map(Some),
    }
}

/// The header for a part of the body: one or more ranges of bytes.
fn range_header(asked: &str) -> Result<HeaderValue, CommandError> {
    let refused = || CommandError::invalid("--range", asked, "bytes such as 0-499, 500- or -500");
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_range = |range: &str| {
        range.trim().split_once('-').is_some_and(|(first, last)| {
            is_number(first) && is_number(last) && !(first.is_empty() && last.is_empty())
        })
    };
    let valid = asked.split(',').all(is_range);
    let header = HeaderValue::try_from(format!("bytes={asked}")).ok();
    header.filter(|_| valid).ok_or_else(refused)
}

fn headers(flags: &HttpFlags, form: Option<&Multipart>) -> Result<HeaderMap, CommandError> {
    let mut headers = HeaderMap::new();
    for asked in &flags.header {
        let (name, value) = header(asked)?;
        headers.append(name, value);
    }
    let mut default = |name, value| _ = headers.entry(name).or_insert(value);
    if flags.json.is_some() {
        default(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        default(ACCEPT, HeaderValue::from_static("application/json"));
    } else if let Some(form) = form {
        let kind = HeaderValue::from_str(&form.content_type);
        default(CONTENT_TYPE, kind.expect("a boundary of letters and digits is visible ASCII"));
    } else if !flags.data.is_empty() && !flags.get {
        default(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    }
    if flags.compressed {
        default(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    }
    if let Some(key) = flags.idempotency_key.as_deref().filter(|key| !key.is_empty()) {
        let value = HeaderValue::from_str(key)
            .map_err(|_| CommandError::invalid("--idempotency-key", key, "visible ASCII"))?;
        headers.insert(IdempotencyKey::HEADER, value);
    }
    Ok(headers)
}

fn header(asked: &str) -> Result<(HeaderName, HeaderValue), CommandError> {
    let refused = |bound| CommandError::invalid("--header", asked, bound);
    let (name, value) = asked.split_once(':').ok_or_else(|| refused("'Name: value'"))?;
    let name = HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| refused("'Name: value', with a name of letters, digits and hyphens"))?;
    if name == CONTENT_LENGTH || name == TRANSFER_ENCODING {
        return Err(refused("another one: how long the body is, is told by the body itself"));
    }
    let value = HeaderValue::from_bytes(value.trim().as_bytes())
        .map_err(|_| refused("'Name: value', on one line"))?;
    Ok((name, value))
}

/// Name and password, if there are any that the headers do not have already.
fn user(flags: &HttpFlags) -> Result<Option<(&str, &str)>, CommandError> {
    let Some(user) = &flags.user else { return Ok(None) };
    match user.split_once(':') {
        Some(parts) => Ok(Some(parts)),
        None => Err(CommandError::invalid(
            "--user",
            user,
            "a name and a password, with a colon between them",
        )),
    }
}

fn body(flags: &HttpFlags) -> Result<Option<Vec<u8>>, CommandError> {
    if flags.get {
        return Ok(None);
    }
    if let Some(json) = &flags.json {
        return bytes("--json", json).map(Some);
    }
    let parts: Result<Vec<_>, _> = flags.data.iter().map(|data| bytes("--data", data)).collect();
    let parts = parts?;
    Ok(if parts.is_empty() { None } else { Some(parts.join(&b'&')) })
}

/// Redirects that are followed; more of them are a loop.
const MAX_REDIRECTS: usize = 10;

/// reqwest's client, which makes no retries by itself.
///
/// # Errors
/// Certificates that cannot be read.
pub(super) fn client(flags: &HttpFlags) -> Result<Client, CommandError> {
    let redirects = match flags.location {
        true => redirect::Policy::limited(MAX_REDIRECTS),
        false => redirect::Policy::none(),
    };
    let mut builder = client_builder()
        .user_agent(concat!("stagger/", env!("CARGO_PKG_VERSION")))
        .redirect(redirects)
        // A URL may hold a token, which a redirect would hand to another server.
        .referer(false)
        .tls_backend_preconfigured(tls(flags.cacert.as_deref(), flags.insecure)?);
    if let Some(agent) = &flags.user_agent {
        builder = builder.user_agent(user_agent(agent)?);
    }
    if let Some(limit) = flags.connect_timeout {
        if limit == Span::ZERO {
            return Err(CommandError::invalid("--connect-timeout", "0s", "above zero"));
        }
        builder = builder.connect_timeout(limit.to_duration());
    }
    with_proxy(builder, flags.proxy.as_deref())?
        .build()
        .map_err(|error| CommandError::File(format!("error: no client: {error}")))
}

fn user_agent(agent: &str) -> Result<HeaderValue, CommandError> {
    HeaderValue::from_str(agent)
        .map_err(|_| CommandError::invalid("--user-agent", agent, "text on one line"))
}

/// A proxy without a scheme is of http.
fn with_proxy(builder: ClientBuilder, proxy: Option<&str>) -> Result<ClientBuilder, CommandError> {
    let Some(asked) = proxy else { return Ok(builder) };
    let whole = if asked.contains("://") { asked.to_owned() } else { format!("http://{asked}") };
    let refused = || {
        let bound = "HOST:PORT, or a URL of http or https";
        CommandError::invalid("--proxy", &without_userinfo(asked), bound)
    };
    let url = Url::parse(&whole).map_err(|_| refused())?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(refused());
    }
    Proxy::all(url).map(|proxy| builder.proxy(proxy)).map_err(|_| refused())
}
