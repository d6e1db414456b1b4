//! One attempt's request.

use std::time::UNIX_EPOCH;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use http_body_util::Full;
use stagger::StdTime;

use super::broken::Broken;
use super::target::Ready;
use crate::model::{Failure, Message};

const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
const ATTEMPT: HeaderName = HeaderName::from_static("stagger-attempt");

/// What is sent on one attempt.
#[derive(Clone, Debug)]
pub(super) struct Post<'a> {
    pub(super) message: &'a Message,
    pub(super) payload: Bytes,
    pub(super) number: u32,
}

impl Post<'_> {
    /// The request, signed now: a connection may have taken its time, and receivers refuse what was
    /// signed long ago.
    ///
    /// # Errors
    /// A value that cannot be sent.
    pub(super) fn build(&self, to: &Ready) -> Result<Request<Full<Bytes>>, Broken> {
        // Before 1970 no receiver would accept it anyway.
        let timestamp = StdTime::wall().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut request = Request::new(Full::new(self.payload.clone()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = to.address.target.clone();
        *request.headers_mut() = self.headers(to, timestamp)?;
        Ok(request)
    }

    fn headers(&self, to: &Ready, timestamp: u64) -> Result<HeaderMap, Broken> {
        let id = self.message.id.to_string();
        let signature = to.signer.sign(&id, timestamp, &self.payload);
        if signature.is_empty() {
            return Err(Broken::new(Failure::Unbuildable, "no secret signs any more"));
        }
        let mut headers = to.fixed.clone();
        for (name, template) in &to.templates {
            let value = template.fill(self.message, self.number);
            let unbuildable = |e: crate::Error| Broken::new(Failure::Unbuildable, e.to_string());
            headers.insert(name.clone(), value.map_err(unbuildable)?);
        }
        headers.insert(CONTENT_TYPE, value(self.message.content_type.clone())?);
        headers.insert(ID, value(id)?);
        headers.insert(TIMESTAMP, timestamp.into());
        headers.insert(SIGNATURE, value(signature)?);
        headers.insert(ATTEMPT, self.number.into());
        Ok(headers)
    }
}

fn value(text: String) -> Result<HeaderValue, Broken> {
    HeaderValue::from_maybe_shared(Bytes::from(text))
        .map_err(|_| Broken::new(Failure::Unbuildable, "a header value with control characters"))
}
