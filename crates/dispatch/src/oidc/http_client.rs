//! The HTTP client for a provider: bounded in time and size, and without redirects.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use openidconnect::{HttpRequest, HttpResponse};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::Error;

/// The longest time of one request: a person waits for it.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Largest reply: discovery documents and key sets have some kilobytes.
const MAX_REPLY: usize = 1 << 20;

/// The reason for which a request had no usable reply.
#[derive(Debug)]
pub(super) struct RequestError(String);

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RequestError {}

/// A client that trusts the usual certificates and `roots` (PEM).
///
/// # Errors
/// The roots are no certificates.
pub(super) fn client(roots: &[u8]) -> Result<reqwest::Client, Error> {
    let wrong = |why: String| Error::invalid("roots", "(a file)", format!("PEM: {why}"));
    let mut trusted = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for certificate in CertificateDer::pem_slice_iter(roots) {
        let certificate = certificate.map_err(|error| wrong(format!("{error:?}")))?;
        trusted.add(certificate).map_err(|error| wrong(error.to_string()))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has the default versions")
        .with_root_certificates(trusted)
        .with_no_client_auth();
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        // A provider that redirects could make this node call any address.
        .redirect(reqwest::redirect::Policy::none())
        .timeout(TIMEOUT)
        .build()
        .map_err(|error| {
            Error::store(format!("no client for the OpenID Connect provider: {error}"))
        })
}

/// Sends a request of the protocol.
///
/// # Errors
/// No reply within 10 s, or one of more than 1 MiB.
pub(super) async fn send(
    client: reqwest::Client,
    request: HttpRequest,
) -> Result<HttpResponse, RequestError> {
    let failed = |error: reqwest::Error| RequestError(chain(&error));
    let request = reqwest::Request::try_from(request).map_err(failed)?;
    let mut reply = client.execute(request).await.map_err(failed)?;
    let mut response = http::Response::new(Vec::new());
    *response.status_mut() = reply.status();
    *response.headers_mut() = reply.headers().clone();
    while let Some(chunk) = reply.chunk().await.map_err(failed)? {
        if response.body().len() + chunk.len() > MAX_REPLY {
            return Err(RequestError(format!("the reply is larger than {MAX_REPLY} bytes")));
        }
        response.body_mut().extend_from_slice(&chunk);
    }
    Ok(response)
}

/// An error with its causes: the first alone says only that something failed.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
