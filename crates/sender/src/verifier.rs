//! Verifies received requests.

use std::fmt;

use base64::Engine;
use ed25519_dalek::{PUBLIC_KEY_LENGTH, Signature, VerifyingKey};
use hmac::{KeyInit, Mac};
use stagger::{ConfigError, Instant, Span};
use stagger_scheduler::model::{Secret, SecretKind};
use subtle::ConstantTimeEq;

use crate::key_id::{ED25519, HMAC};
use crate::secret::{BASE64, PUBLIC, parse_secret, signing_key};
use crate::signer::{HmacSha256, head};

/// The largest difference between a timestamp and the receiver's clock: the usual 5 minutes.
pub const TOLERANCE: Span = Span::from_secs(5 * 60);

/// Signatures of one message that are looked at; more than any rotation has, and a long header costs
/// a receiver no more than this.
const MAX_SIGNATURES: usize = 16;

/// Digits of a timestamp that are read: those of the greatest `u64`.
const MAX_DIGITS: usize = 20;

/// Accepts messages that were signed with one of its keys.
///
/// ```
/// use stagger::{Instant, Span};
/// use stagger_sender::{Received, TOLERANCE, Verifier};
/// let verifier = Verifier::parse(["whsec_AQIDBAUGBwgJCgsMDQ4PEBESExQVFg=="])?;
/// let received = Received {
///     id: "msg_1",
///     timestamp: "1700000000",
///     signature: "v1,t9Nw+/2wtAqoUa33dxzXiGVU+PArIYCwJ0Lj9Dc/BPU=",
///     body: r#"{"amount": 10.0,"id":"évt_1"}"#.as_bytes(),
/// };
/// let now = Instant::ORIGIN + Span::from_secs(1_700_000_003);
/// assert_eq!(verifier.verify(&received, now, TOLERANCE), Ok(()));
/// assert!(verifier.verify(&Received { id: "msg_2", ..received }, now, TOLERANCE).is_err());
/// # Ok::<(), stagger::ConfigError>(())
/// ```
pub struct Verifier {
    keys: Vec<VerifierKey>,
}

/// A key with which signatures are verified.
pub(crate) enum VerifierKey {
    Symmetric(Box<HmacSha256>),
    Asymmetric(Box<VerifyingKey>),
}

/// A received webhook: three headers and the bytes of the body, as received.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// `webhook-id`.
    pub id: &'a str,
    /// `webhook-timestamp`.
    pub timestamp: &'a str,
    /// `webhook-signature`.
    pub signature: &'a str,
    /// The body, before it is parsed.
    pub body: &'a [u8],
}

/// Why a message is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The timestamp is not a number of seconds since the Unix epoch.
    Timestamp,
    /// It was signed too long ago: it may be a replay by an attacker.
    Stale,
    /// It was signed in the future: the clocks differ.
    Early,
    /// No signature fits any key.
    Signature,
}

impl Verifier {
    /// A verifier with the keys of these texts: `whsec_` or `whpk_`, or `whsk_` where the private key
    /// is at hand.
    ///
    /// # Errors
    /// `secret`, if a text is no key.
    pub fn parse<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Self, ConfigError> {
        let keys: Result<_, _> = texts.into_iter().map(VerifierKey::parse).collect();
        Ok(Self { keys: keys? })
    }

    /// Verifies that the message was signed with one of the keys, within `tolerance` of `now`,
    /// which counts from the Unix epoch.
    ///
    /// Signatures are compared in constant time; those of unknown versions are ignored.
    ///
    /// # Errors
    /// Why it is not accepted.
    pub fn verify(
        &self,
        received: &Received<'_>,
        now: Instant,
        tolerance: Span,
    ) -> Result<(), Rejection> {
        let timestamp = seconds(received.timestamp).ok_or(Rejection::Timestamp)?;
        let signed_at = Instant::ORIGIN + Span::from_secs(timestamp);
        if now.since(signed_at) > tolerance {
            return Err(Rejection::Stale);
        }
        if signed_at.since(now) > tolerance {
            return Err(Rejection::Early);
        }
        let head = head(received.id, timestamp);
        match self.keys.iter().any(|key| key.fits(received, &head)) {
            true => Ok(()),
            false => Err(Rejection::Signature),
        }
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").field("keys", &self.keys.len()).finish()
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timestamp => "the timestamp is not a number of seconds",
            Self::Stale => "the timestamp is too old",
            Self::Early => "the timestamp is in the future",
            Self::Signature => "no signature fits",
        })
    }
}

impl std::error::Error for Rejection {}

impl VerifierKey {
    pub(crate) fn parse(text: &str) -> Result<Self, ConfigError> {
        let wrong = || ConfigError::new("secret", "(not shown)", "a whsec_, whsk_ or whpk_ key");
        if let Some(base64) = text.strip_prefix(PUBLIC) {
            let bytes = BASE64.decode(base64).map_err(|_| wrong())?;
            let bytes: [u8; PUBLIC_KEY_LENGTH] = bytes.try_into().map_err(|_| wrong())?;
            let key = VerifyingKey::from_bytes(&bytes).map_err(|_| wrong())?;
            return Ok(Self::Asymmetric(Box::new(key)));
        }
        Self::of(&parse_secret(text).map_err(|_| wrong())?).ok_or_else(wrong)
    }

    fn of(secret: &Secret) -> Option<Self> {
        Some(match secret.kind {
            SecretKind::Symmetric => {
                Self::Symmetric(Box::new(HmacSha256::new_from_slice(&secret.key).ok()?))
            }
            SecretKind::Asymmetric => {
                Self::Asymmetric(Box::new(signing_key(secret)?.verifying_key()))
            }
        })
    }

    /// Whether this is its signature over a text, compared in constant time. `algorithm` is what the signature says of
    /// itself: none fits the key of another one.
    pub(crate) fn fits_text(&self, algorithm: Option<&str>, text: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Symmetric(mac) if algorithm.is_none_or(|name| name == HMAC) => {
                let right = mac.as_ref().clone().chain_update(text).finalize().into_bytes();
                right.as_slice().ct_eq(signature).into()
            }
            Self::Asymmetric(key) if algorithm.is_none_or(|name| name == ED25519) => {
                let signature = Signature::from_slice(signature);
                signature.is_ok_and(|signature| key.verify_strict(text, &signature).is_ok())
            }
            Self::Symmetric(_) | Self::Asymmetric(_) => false,
        }
    }

    fn fits(&self, received: &Received<'_>, head: &[u8]) -> bool {
        match self {
            Self::Symmetric(mac) => {
                let mac = mac.as_ref().clone().chain_update(head).chain_update(received.body);
                let right = mac.finalize().into_bytes();
                signatures(received, "v1").any(|bytes| bytes.ct_eq(right.as_slice()).into())
            }
            Self::Asymmetric(_) => {
                let text = [head, received.body].concat();
                signatures(received, "v1a").any(|bytes| self.fits_text(None, &text, &bytes))
            }
        }
    }
}

/// The signatures of one version, decoded.
fn signatures<'r>(received: &Received<'r>, version: &'r str) -> impl Iterator<Item = Vec<u8>> + 'r {
    let listed = received.signature.split(' ').take(MAX_SIGNATURES);
    listed
        .filter_map(|signature| signature.split_once(','))
        .filter(move |(name, _)| *name == version)
        .filter_map(|(_, base64)| BASE64.decode(base64).ok())
}

/// Digits only: a sign or a blank was not signed.
fn seconds(text: &str) -> Option<u64> {
    let plain = text.len() <= MAX_DIGITS && text.bytes().all(|b| b.is_ascii_digit());
    // Leading zeros would be lost in the signed text.
    let canonical = plain && (text == "0" || !text.starts_with('0'));
    if canonical { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use stagger::StdTime;
    use standardwebhooks::Webhook;

    use super::*;
    use crate::secret::{public_key_text, secret_text};
    use crate::signer::Signer;

    const NOW: u64 = 1_700_000_000;

    fn at(secs: u64) -> Instant {
        Instant::ORIGIN + Span::from_secs(secs)
    }

    fn secrets() -> [Secret; 2] {
        [SecretKind::Symmetric, SecretKind::Asymmetric].map(|kind| Secret {
            kind,
            key: vec![7; 32],
            until: None,
        })
    }

    fn judge(keys: &[&str], signature: &str, timestamp: &str) -> Result<(), Rejection> {
        let verifier = Verifier::parse(keys.iter().copied()).expect("keys");
        let received = Received { id: "msg_1", timestamp, signature, body: b"{}" };
        verifier.verify(&received, at(NOW), TOLERANCE)
    }

    #[test]
    fn one_fitting_signature_among_others_is_enough() {
        let [hmac, ed25519] = secrets();
        let signer = Signer::new(&[hmac.clone(), ed25519.clone()]).expect("keys");
        let signed = signer.sign("msg_1", NOW, b"{}");
        let many = format!("v2,AAAA v1, v1,AAAA v1a,!!!! , {signed} v1,AAAA");
        let public = public_key_text(&ed25519).expect("it has one");
        let now = NOW.to_string();
        for key in [secret_text(&hmac), secret_text(&ed25519), public] {
            assert_eq!(judge(&[&key], &many, &now), Ok(()));
            assert_eq!(judge(&[&key], &signed, &now), Ok(()));
        }
        let other = Secret { key: vec![8; 32], ..hmac.clone() };
        assert_eq!(judge(&[&secret_text(&other)], &many, &now), Err(Rejection::Signature));
        assert_eq!(judge(&[&secret_text(&other), &secret_text(&hmac)], &many, &now), Ok(()));
        assert_eq!(judge(&[], &many, &now), Err(Rejection::Signature));
    }

    #[test]
    fn a_signature_of_one_version_does_not_pass_as_the_other() {
        let [hmac, ed25519] = secrets();
        let signed =
            Signer::new(std::slice::from_ref(&hmac)).expect("a key").sign("msg_1", NOW, b"{}");
        let as_other = signed.replace("v1,", "v1a,");
        let now = NOW.to_string();
        for key in [secret_text(&hmac), secret_text(&ed25519)] {
            assert_eq!(judge(&[&key], &as_other, &now), Err(Rejection::Signature));
        }
    }

    #[test]
    fn a_part_of_a_signature_fits_nothing() {
        let [hmac, _] = secrets();
        let signed =
            Signer::new(std::slice::from_ref(&hmac)).expect("a key").sign("msg_1", NOW, b"{}");
        for end in 0..signed.len() - 1 {
            let part = &signed[..end];
            assert!(judge(&[&secret_text(&hmac)], part, &NOW.to_string()).is_err(), "{part}");
        }
    }

    #[test]
    fn a_timestamp_far_from_now_is_refused_with_every_key() {
        let [hmac, _] = secrets();
        let signer = Signer::new(std::slice::from_ref(&hmac)).expect("a key");
        let judge_at = |secs: u64| {
            let signed = signer.sign("msg_1", secs, b"{}");
            judge(&[&secret_text(&hmac)], &signed, &secs.to_string())
        };
        assert_eq!(judge_at(NOW - 300), Ok(()));
        assert_eq!(judge_at(NOW - 301), Err(Rejection::Stale));
        assert_eq!(judge_at(NOW + 300), Ok(()));
        assert_eq!(judge_at(NOW + 301), Err(Rejection::Early));
        for text in
            ["", "-1", "+1700000000", " 1700000000", "01700000000", "1e9", "9999999999999999999999"]
        {
            assert_eq!(judge(&[&secret_text(&hmac)], "v1,AAAA", text), Err(Rejection::Timestamp));
        }
    }

    #[test]
    fn a_public_key_that_is_none_is_refused() {
        for text in ["whpk_", "whpk_AAAA", "whpk_!!!!", "whsec_", ""] {
            assert!(Verifier::parse([text]).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn another_implementation_accepts_what_we_sign_and_the_other_way_round(
            key in prop::collection::vec(any::<u8>(), 16..=64),
            body in any::<String>(),
        ) {
            let secret = Secret { kind: SecretKind::Symmetric, key: key.clone(), until: None };
            let theirs = Webhook::from_bytes(key).expect("any bytes");
            let now = StdTime::wall().duration_since(std::time::UNIX_EPOCH).expect("after it");
            let signed = Signer::new(std::slice::from_ref(&secret)).expect("a key");
            let signed = signed.sign("msg_1", now.as_secs(), body.as_bytes());
            let mut headers = http::HeaderMap::new();
            headers.insert("webhook-id", "msg_1".parse().expect("a value"));
            headers.insert("webhook-timestamp", now.as_secs().into());
            headers.insert("webhook-signature", signed.parse().expect("a value"));
            prop_assert!(theirs.verify(body.as_bytes(), &headers).is_ok());

            let by_them = theirs.sign("msg_1", 1_700_000_000, body.as_bytes()).expect("it is text");
            let text = secret_text(&secret);
            let verifier = Verifier::parse([text.as_str()]).expect("a key");
            let received = Received {
                id: "msg_1", timestamp: "1700000000", signature: &by_them, body: body.as_bytes(),
            };
            prop_assert_eq!(verifier.verify(&received, at(NOW), TOLERANCE), Ok(()));
        }
    }
}
