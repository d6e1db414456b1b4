//! Verifies received requests with HTTP Message Signatures (RFC 9421).

use std::fmt;

use http::HeaderMap;
use stagger::hint::structured::{BareItem, Dictionary, InnerList, Member};
use stagger::{ConfigError, Instant, Span};
use url::Url;

use crate::content_digest;
use crate::message_signature::written;
use crate::signature_base::{SignedRequest, combined, names};
use crate::verifier::VerifierKey;

/// The components that a signature must cover: with fewer, a part of the message could be exchanged.
pub(crate) const REQUIRED: [&str; 5] =
    ["@method", "@target-uri", "content-digest", "content-type", "webhook-id"];
/// Signatures of one request that are looked at: more than any rotation has.
const MAX_SIGNATURES: usize = 16;
/// Most components of a signature: each is copied into the signed text.
const MAX_COMPONENTS: usize = 64;
/// Longest value of each of the two headers, in bytes: that of 16 signatures over 64 short names.
const MAX_HEADER: usize = 16 << 10;

/// Accepts requests that were signed with one of its keys over all that makes a webhook.
///
/// ```
/// use stagger::{Instant, Span};
/// use stagger_sender::{
///     MessageVerifier, ReceivedRequest, SignedRequest, Signer, TOLERANCE, content_digest, parse_secret,
/// };
/// let secret = "whsec_AQIDBAUGBwgJEBESExQVFg==";
/// let (url, body) = ("https://example.com/hook".parse()?, b"{}");
/// let mut headers = http::HeaderMap::new();
/// headers.insert("content-type", "application/json".parse()?);
/// headers.insert("content-digest", content_digest(body).parse()?);
/// headers.insert("webhook-id", "msg_1".parse()?);
/// let request = SignedRequest { method: "POST", target_uri: &url, headers: &headers };
/// let covered = ["@method", "@target-uri", "content-digest", "content-type", "webhook-id"];
/// let signer = Signer::new(&[parse_secret(secret)?])?;
/// let signed = signer.sign_request(&request, &covered, 1_700_000_000).expect("a key");
/// headers.insert("signature-input", signed.input.parse()?);
/// headers.insert("signature", signed.signature.parse()?);
///
/// let verifier = MessageVerifier::parse([secret])?;
/// let received = ReceivedRequest { method: "POST", target_uri: &url, headers: &headers, body };
/// let now = Instant::ORIGIN + Span::from_secs(1_700_000_003);
/// assert_eq!(verifier.verify(&received, now, TOLERANCE), Ok(()));
/// let other = ReceivedRequest { body: b"[]", ..received };
/// assert!(verifier.verify(&other, now, TOLERANCE).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MessageVerifier {
    keys: Vec<VerifierKey>,
    required: Vec<String>,
}

/// A received request, as its sender sees it.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedRequest<'r> {
    /// The method.
    pub method: &'r str,
    /// The URL that the endpoint has at the sender, with the path and query of this request. Behind a proxy it is not
    /// the one that the receiver's own server sees.
    pub target_uri: &'r Url,
    /// All headers.
    pub headers: &'r HeaderMap,
    /// The body, before it is parsed.
    pub body: &'r [u8],
}

/// Why a request is not accepted. Of several signatures, the one that came furthest gives the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MessageRejection {
    /// There is no `Signature-Input` with a `Signature` of the same label, or one cannot be read.
    Unsigned,
    /// The signature does not cover all that it must, or covers what the request does not have.
    Components,
    /// The signature does not tell when it was made.
    Timestamp,
    /// It was signed too long ago, or has expired: it may be a replay by an attacker.
    Stale,
    /// It was signed in the future: the clocks differ.
    Early,
    /// The signature fits no key.
    Signature,
    /// The signature fits, but the body is not the one whose digest was signed.
    Digest,
}

impl MessageVerifier {
    /// A verifier with the keys of these texts: `whsec_` or `whpk_`, or `whsk_` where the private key is at hand. A
    /// signature must cover method, URL, digest and type of the body, and id of the message.
    ///
    /// # Errors
    /// `secret`, if a text is no key.
    pub fn parse<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Self, ConfigError> {
        let keys: Result<_, _> = texts.into_iter().map(VerifierKey::parse).collect();
        Ok(Self { keys: keys?, required: REQUIRED.map(str::to_owned).to_vec() })
    }

    /// Requires that signatures cover these components instead. Without `content-digest` the body is not verified.
    #[must_use]
    pub fn requiring<'n>(self, names: impl IntoIterator<Item = &'n str>) -> Self {
        Self { required: names.into_iter().map(str::to_owned).collect(), ..self }
    }

    /// Verifies that one of the signatures was made with one of the keys, within `tolerance` of `now`, which counts
    /// from the Unix epoch, and that the body has the digest that was signed.
    ///
    /// Signatures and digests are compared in constant time. Those of other algorithms are ignored.
    ///
    /// # Errors
    /// Why it is not accepted.
    pub fn verify(
        &self,
        received: &ReceivedRequest<'_>,
        now: Instant,
        tolerance: Span,
    ) -> Result<(), MessageRejection> {
        let (inputs, signatures) = both(received.headers).ok_or(MessageRejection::Unsigned)?;
        let mut reason = MessageRejection::Unsigned;
        for (label, input) in inputs.iter().take(MAX_SIGNATURES) {
            let (Member::InnerList(input), Some(signature)) = (input, signatures.get(label)) else {
                continue;
            };
            let Some(BareItem::Bytes(signature)) = signature.as_item().map(|item| &item.value)
            else {
                continue;
            };
            match self.verify_one(received, (input, signature), (now, tolerance)) {
                Ok(()) => return Ok(()),
                Err(rejection) => reason = reason.max(rejection),
            }
        }
        Err(reason)
    }

    fn verify_one(
        &self,
        received: &ReceivedRequest<'_>,
        (input, signature): (&InnerList, &[u8]),
        (now, tolerance): (Instant, Span),
    ) -> Result<(), MessageRejection> {
        let covered = (input.items.len() <= MAX_COMPONENTS).then(|| names(input)).flatten();
        let covered = covered.ok_or(MessageRejection::Components)?;
        if !self.required.iter().all(|name| covered.contains(&name.as_str())) {
            return Err(MessageRejection::Components);
        }
        check_times(input, now, tolerance)?;
        let ReceivedRequest { method, target_uri, headers, body } = *received;
        let request = SignedRequest { method, target_uri, headers };
        let base = written(input).and_then(|parameters| request.base(&covered, &parameters));
        let base = base.ok_or(MessageRejection::Components)?;
        let algorithm = match input.parameters.get("alg") {
            Some(BareItem::String(name)) => Some(name.as_str()),
            Some(_) => return Err(MessageRejection::Signature),
            None => None,
        };
        let mut keys = self.keys.iter();
        if !keys.any(|key| key.fits_text(algorithm, base.as_bytes(), signature)) {
            return Err(MessageRejection::Signature);
        }
        let wants_body = self.required.iter().any(|name| name == "content-digest");
        if wants_body && !content_digest::fits(headers, body) {
            return Err(MessageRejection::Digest);
        }
        Ok(())
    }
}

/// Checks `created`, which must be there, and `expires`.
fn check_times(input: &InnerList, now: Instant, tolerance: Span) -> Result<(), MessageRejection> {
    let time = |name| match input.parameters.get(name) {
        None => Ok(None),
        Some(BareItem::Integer(secs)) => {
            let secs = u64::try_from(*secs).map_err(|_| MessageRejection::Timestamp)?;
            Ok(Some(Instant::ORIGIN + Span::from_secs(secs)))
        }
        Some(_) => Err(MessageRejection::Timestamp),
    };
    let created = time("created")?.ok_or(MessageRejection::Timestamp)?;
    if now.since(created) > tolerance || time("expires")?.is_some_and(|end| end <= now) {
        return Err(MessageRejection::Stale);
    }
    match created.since(now) > tolerance {
        true => Err(MessageRejection::Early),
        false => Ok(()),
    }
}

fn both(headers: &HeaderMap) -> Option<(Dictionary, Dictionary)> {
    let read = |name| {
        let text = combined(headers, name).filter(|text| text.len() <= MAX_HEADER)?;
        Dictionary::parse(text.as_bytes()).ok()
    };
    Some((read("signature-input")?, read("signature")?))
}

impl fmt::Debug for MessageVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageVerifier")
            .field("keys", &self.keys.len())
            .field("required", &self.required)
            .finish()
    }
}

impl fmt::Display for MessageRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unsigned => "there is no signature that can be read",
            Self::Components => "the signature does not cover what it must",
            Self::Timestamp => "the signature has no time of creation",
            Self::Stale => "the signature is too old",
            Self::Early => "the signature is from the future",
            Self::Signature => "no signature fits",
            Self::Digest => "the body has another digest",
        })
    }
}

impl std::error::Error for MessageRejection {}
