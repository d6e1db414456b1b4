//! A whole request from its flags, the options of its call, and the client: TLS by rustls with ring and Mozilla's roots.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    TRANSFER_ENCODING,
};
use reqwest::{Body, Client, Method, Request, RequestBuilder, Url, redirect};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use stagger::http::IdempotencyKey;
use stagger::reqwest::{CallOptions, client_builder};

use super::reporter::without_userinfo;
use crate::command_error::CommandError;
use crate::flags::HttpFlags;

/// The longest body that is sent: it is held in memory, because every attempt sends it again.
const MAX_BODY: u64 = 1 << 30;

/// The request. What the flags name is read, once.
///
/// # Errors
/// A flag that is no HTTP, or a file that cannot be read.
pub(super) fn request(flags: &HttpFlags, client: &Client) -> Result<Request, CommandError> {
    // The builder turns name and password of the URL into a header, which all later headers replace.
    let url = url(&flags.url)?;
    let shown = without_userinfo(&flags.url);
    let mut request = client.request(method(flags)?, url).build().map_err(|_| {
        CommandError::invalid("<URL>", &shown, "a URL whose name and password fit into a header")
    })?;
    let headers = headers(flags)?;
    let user = user(flags)?.filter(|_| !headers.contains_key(AUTHORIZATION));
    set(request.headers_mut(), &headers);
    if let Some(bytes) = body(flags)? {
        *request.body_mut() = Some(Body::from(bytes));
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
        None if flags.json.is_some() || !flags.data.is_empty() => "POST",
        None => "GET",
    };
    Method::from_bytes(asked.as_bytes())
        .map_err(|_| CommandError::invalid("--request", asked, "the name of a method, such as PUT"))
}

fn url(asked: &str) -> Result<Url, CommandError> {
    let shown = without_userinfo(asked);
    let refused = |bound: &str| Err(CommandError::invalid("<URL>", &shown, bound));
    if !asked.contains("://") {
        return refused(&format!("a URL with its scheme; did you mean https://{asked}?"));
    }
    match Url::parse(asked) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(url),
        Ok(_) => refused("a URL of http or https"),
        Err(error) => refused(&format!("a URL: {error}")),
    }
}

fn headers(flags: &HttpFlags) -> Result<HeaderMap, CommandError> {
    let mut headers = HeaderMap::new();
    for asked in &flags.header {
        let (name, value) = header(asked)?;
        headers.append(name, value);
    }
    let mut default = |name, value| _ = headers.entry(name).or_insert(value);
    if flags.json.is_some() {
        default(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        default(ACCEPT, HeaderValue::from_static("application/json"));
    } else if !flags.data.is_empty() {
        default(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
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
    if let Some(json) = &flags.json {
        return bytes("--json", json).map(Some);
    }
    let parts: Result<Vec<_>, _> = flags.data.iter().map(|data| bytes("--data", data)).collect();
    let parts = parts?;
    Ok(if parts.is_empty() { None } else { Some(parts.join(&b'&')) })
}

/// The bytes that a flag gives: its own, or those of the file behind an @.
fn bytes(flag: &str, data: &OsStr) -> Result<Vec<u8>, CommandError> {
    let Some(file) = data.as_bytes().strip_prefix(b"@").map(OsStr::from_bytes) else {
        return Ok(data.as_bytes().to_vec());
    };
    let stdin = file == "-";
    let name = if stdin { "standard input".to_owned() } else { file.display().to_string() };
    let refused = |error| CommandError::File(format!("error: {name}: {error}"));
    let from: Box<dyn Read> = match stdin {
        true => Box::new(io::stdin().lock()),
        false => Box::new(File::open(file).map_err(refused)?),
    };
    let mut bytes = Vec::new();
    from.take(MAX_BODY + 1).read_to_end(&mut bytes).map_err(refused)?;
    // OK because no target has pointers of more than 64 bits.
    if bytes.len() as u64 > MAX_BODY {
        return Err(CommandError::invalid(flag, &data.display().to_string(), "at most 1 GiB"));
    }
    Ok(bytes)
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
    client_builder()
        .user_agent(concat!("stagger/", env!("CARGO_PKG_VERSION")))
        .redirect(redirects)
        // A URL may hold a token, which a redirect would hand to another server.
        .referer(false)
        .tls_backend_preconfigured(tls(flags.cacert.as_deref())?)
        .build()
        .map_err(|error| CommandError::File(format!("error: no client: {error}")))
}

pub(crate) fn tls(trusted: Option<&Path>) -> Result<ClientConfig, CommandError> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(file) = trusted {
        trust(&mut roots, file)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| CommandError::File(format!("error: no TLS: {error}")))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn trust(roots: &mut RootCertStore, file: &Path) -> Result<(), CommandError> {
    let name = file.display().to_string();
    let bytes =
        fs::read(file).map_err(|error| CommandError::File(format!("error: {name}: {error}")))?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let bound = "a file of certificates in PEM";
    let certificates = certificates.map_err(|_| CommandError::invalid("--cacert", &name, bound))?;
    if certificates.is_empty() {
        return Err(CommandError::invalid("--cacert", &name, bound));
    }
    for certificate in certificates {
        roots.add(certificate).map_err(|_| CommandError::invalid("--cacert", &name, bound))?;
    }
    Ok(())
}
