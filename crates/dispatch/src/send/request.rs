//! One attempt's request, and whether the receiver may have seen it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use http_body_util::Full;
use stagger::StdTime;

use super::send_failure::SendFailure;
use super::target::Ready;
use crate::Error;
use crate::model::{AttemptFailure, Message};

const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
const ATTEMPT: HeaderName = HeaderName::from_static("stagger-attempt");

/// The request of an attempt without its signature, which is made when it is sent.
#[derive(Clone, Debug)]
pub(super) struct Post<'a> {
    to: &'a Ready,
    payload: Bytes,
    id: String,
    headers: HeaderMap,
}

impl<'a> Post<'a> {
    /// Fills in the headers.
    ///
    /// # Errors
    /// A value that cannot be sent.
    pub(super) fn new(
        to: &'a Ready,
        message: &Message,
        payload: Bytes,
        number: u32,
    ) -> Result<Self, SendFailure> {
        let id = message.id.to_string();
        let mut headers = to.fixed.clone();
        for (name, template) in &to.templates {
            let value = template.fill(message, number);
            let unbuildable =
                |e: Error| SendFailure::new(AttemptFailure::Unbuildable, e.to_string());
            headers.insert(name.clone(), value.map_err(unbuildable)?);
        }
        headers.insert(CONTENT_TYPE, value(message.content_type.clone())?);
        headers.insert(ID, value(id.clone())?);
        headers.insert(ATTEMPT, number.into());
        Ok(Self { to, payload, id, headers })
    }

    /// The request, signed now: making a connection may take time, and receivers refuse old
    /// signatures.
    ///
    /// # Errors
    /// No secret signs any more.
    pub(super) fn sign(&self) -> Result<Request<Full<Bytes>>, SendFailure> {
        // Before 1970 no receiver would accept it anyway.
        let timestamp = StdTime::wall().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let signature = self.to.signer.sign(&self.id, timestamp, &self.payload);
        if signature.is_empty() {
            return Err(SendFailure::new(AttemptFailure::Unbuildable, "no secret signs any more"));
        }
        let mut request = Request::new(Full::new(self.payload.clone()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.to.address.target.clone();
        *request.headers_mut() = self.headers.clone();
        request.headers_mut().insert(TIMESTAMP, timestamp.into());
        request.headers_mut().insert(SIGNATURE, value(signature)?);
        Ok(request)
    }
}

fn value(text: String) -> Result<HeaderValue, SendFailure> {
    HeaderValue::from_maybe_shared(Bytes::from(text)).map_err(|_| {
        SendFailure::new(AttemptFailure::Unbuildable, "a header value with control characters")
    })
}

/// Set before the first byte of a request is handed to its connection, and readable when the attempt was
/// dropped in the middle.
#[derive(Debug, Default)]
pub(crate) struct Written(AtomicBool);

impl Written {
    // Relaxed, because the attempt and the later reader are one task.
    pub(super) fn set(&self, yes: bool) {
        self.0.store(yes, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
