//! Signs requests.

use std::fmt;
use std::io::Write as _;

use base64::Engine;
use ed25519_dalek::{Signer as _, SigningKey};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use stagger::{ConfigError, Instant, Span};
use stagger_scheduler::model::{Secret, SecretKind};

use crate::key_id::{ED25519, HMAC, public_id, symmetric_id};
use crate::secret::{BASE64, signing_key};

pub(crate) type HmacSha256 = Hmac<Sha256>;

/// Signs with all of an endpoint's secrets. The keys are prepared once.
///
/// ```
/// use stagger_sender::{Signer, parse_secret};
/// let secret = parse_secret("whsec_AQIDBAUGBwgJCgsMDQ4PEBESExQVFg==")?;
/// let signer = Signer::new(&[secret])?;
/// let body = r#"{"amount": 10.0,"id":"évt_1"}"#;
/// let signature = signer.sign("msg_1", 1_700_000_000, body.as_bytes());
/// assert_eq!(signature, "v1,t9Nw+/2wtAqoUa33dxzXiGVU+PArIYCwJ0Lj9Dc/BPU=");
/// # Ok::<(), stagger::ConfigError>(())
/// ```
pub struct Signer {
    keys: Vec<(SignerKey, Option<Instant>)>,
}

/// A key with its name in HTTP Message Signatures.
pub(crate) struct SignerKey {
    id: String,
    kind: KeyKind,
}

enum KeyKind {
    /// With the key's own blocks hashed already.
    Symmetric(Box<HmacSha256>),
    Asymmetric(Box<SigningKey>),
}

impl Signer {
    /// A signer with these secrets.
    ///
    /// # Errors
    /// `endpoint.secrets`, if there is none, or a key has not the length of its kind.
    pub fn new(secrets: &[Secret]) -> Result<Self, ConfigError> {
        let keys: Option<Vec<_>> =
            secrets.iter().map(|secret| Some((SignerKey::of(secret)?, secret.until))).collect();
        match keys {
            Some(keys) if !keys.is_empty() => Ok(Self { keys }),
            _ => Err(ConfigError::new("endpoint.secrets", "(not shown)", "at least one whole key")),
        }
    }

    /// The value of `webhook-signature`: one signature of each secret that still signs at `timestamp`
    /// (seconds since the Unix epoch), separated by spaces. Empty if none does.
    #[must_use]
    pub fn sign(&self, id: &str, timestamp: u64, body: &[u8]) -> String {
        let now = Instant::ORIGIN + Span::from_secs(timestamp);
        let head = head(id, timestamp);
        let mut value = String::new();
        for key in self.keys_at(now) {
            if !value.is_empty() {
                value.push(' ');
            }
            key.append(&head, body, &mut value);
        }
        value
    }

    /// The keys that sign at `now`, the newest first.
    pub(crate) fn keys_at(&self, now: Instant) -> impl Iterator<Item = &SignerKey> {
        let signs = move |until: &Option<Instant>| until.is_none_or(|until| now < until);
        self.keys.iter().filter(move |(_, until)| signs(until)).map(|(key, _)| key)
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("keys", &self.keys.len()).finish()
    }
}

impl SignerKey {
    fn of(secret: &Secret) -> Option<Self> {
        Some(match secret.kind {
            SecretKind::Symmetric if secret.key.is_empty() => return None,
            SecretKind::Symmetric => {
                let mac = HmacSha256::new_from_slice(&secret.key).ok()?;
                Self { id: symmetric_id(&mac), kind: KeyKind::Symmetric(Box::new(mac)) }
            }
            SecretKind::Asymmetric => {
                let key = signing_key(secret)?;
                Self {
                    id: public_id(&key.verifying_key()),
                    kind: KeyKind::Asymmetric(Box::new(key)),
                }
            }
        })
    }

    fn append(&self, head: &[u8], body: &[u8], value: &mut String) {
        match &self.kind {
            KeyKind::Symmetric(mac) => {
                value.push_str("v1,");
                let mac = mac.as_ref().clone().chain_update(head).chain_update(body).finalize();
                BASE64.encode_string(mac.into_bytes(), value);
            }
            KeyKind::Asymmetric(key) => {
                value.push_str("v1a,");
                // Both of its passes want the text in one piece (RFC 8032 section 5.1.6).
                let signature = key.sign(&[head, body].concat());
                BASE64.encode_string(signature.to_bytes(), value);
            }
        }
    }

    /// The name of the key (`keyid`).
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The registered name of its algorithm.
    pub(crate) const fn algorithm(&self) -> &'static str {
        match self.kind {
            KeyKind::Symmetric(_) => HMAC,
            KeyKind::Asymmetric(_) => ED25519,
        }
    }

    /// The signature over a text.
    pub(crate) fn sign(&self, text: &[u8]) -> Vec<u8> {
        match &self.kind {
            KeyKind::Symmetric(mac) => {
                mac.as_ref().clone().chain_update(text).finalize().into_bytes().to_vec()
            }
            KeyKind::Asymmetric(key) => key.sign(text).to_bytes().to_vec(),
        }
    }
}

/// The name of a secret in HTTP Message Signatures (`keyid`); `None` if it cannot sign.
#[must_use]
pub fn key_id(secret: &Secret) -> Option<String> {
    SignerKey::of(secret).map(|key| key.id)
}

/// The signed bytes before the body.
pub(crate) fn head(id: &str, timestamp: u64) -> Vec<u8> {
    /// Digits of a `u64`, and two full stops.
    const REST: usize = 22;
    let mut head = Vec::with_capacity(id.len() + REST);
    head.extend_from_slice(id.as_bytes());
    write!(head, ".{timestamp}.").expect("a vector takes all that is written");
    head
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use standardwebhooks::Webhook;

    use super::*;

    const BODY: &str = r#"{"amount": 10.0,"id":"évt_1"}"#;

    fn secret() -> Secret {
        Secret { kind: SecretKind::Symmetric, key: (1..=22).collect(), until: None }
    }

    /// gabrielkoerich/orch #134, workos/workos-node #1578: parsed and written again before signing.
    #[test]
    fn the_bytes_as_they_came_are_signed() {
        let signer = Signer::new(&[secret()]).expect("a key");
        let signature = signer.sign("msg_1", 1_700_000_000, BODY.as_bytes());
        assert_eq!(signature, "v1,t9Nw+/2wtAqoUa33dxzXiGVU+PArIYCwJ0Lj9Dc/BPU=");
    }

    /// svix/svix-webhooks #93: the signature of the first attempt is stale ten hours later.
    #[test]
    fn a_later_attempt_has_a_signature_of_its_own() {
        let signer = Signer::new(&[secret()]).expect("a key");
        let signature = signer.sign("msg_1", 1_700_036_000, BODY.as_bytes());
        assert_eq!(signature, "v1,NeAfWCjSJ26NklpFQVmxaUm0qArN0kZAKFFiPQaqP1I=");
    }

    #[test]
    fn a_replaced_secret_signs_until_its_time_and_no_longer() {
        let until = Some(Instant::ORIGIN + Span::from_secs(1_700_000_001));
        let old = Secret { until, ..secret() };
        let new = Secret { key: vec![7; 32], ..secret() };
        let alone = Signer::new(std::slice::from_ref(&new)).expect("a key");
        let both = Signer::new(&[old.clone(), new]).expect("keys");
        let before = both.sign("msg_1", 1_700_000_000, BODY.as_bytes());
        assert_eq!(before.split(' ').count(), 2);
        let after = both.sign("msg_1", 1_700_000_001, BODY.as_bytes());
        assert_eq!(after, alone.sign("msg_1", 1_700_000_001, BODY.as_bytes()));
        let expired = Signer::new(&[old]).expect("a key");
        assert_eq!(expired.sign("msg_1", 1_700_000_001, b""), "");
    }

    #[test]
    fn a_key_of_no_use_is_refused() {
        let empty = Secret { key: vec![], ..secret() };
        let short = Secret { kind: SecretKind::Asymmetric, key: vec![1; 31], until: None };
        for secrets in [vec![], vec![empty], vec![secret(), short]] {
            assert!(Signer::new(&secrets).is_err());
        }
    }

    proptest! {
        #[test]
        fn another_implementation_signs_alike(
            key in prop::collection::vec(any::<u8>(), 16..=64),
            id in "[a-z_]{1,12}",
            timestamp in 0_u32..,
            body in any::<String>(),
        ) {
            let theirs = Webhook::from_bytes(key.clone()).expect("any bytes");
            let theirs = theirs.sign(&id, timestamp.into(), body.as_bytes()).expect("it is text");
            let secret = Secret { kind: SecretKind::Symmetric, key, until: None };
            let ours = Signer::new(&[secret]).expect("a key");
            prop_assert_eq!(ours.sign(&id, timestamp.into(), body.as_bytes()), theirs);
        }
    }
}
