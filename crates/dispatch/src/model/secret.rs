//! A signing secret of an endpoint, as Standard Webhooks 1.0.0 writes it.

use std::fmt;
use std::ops::RangeInclusive;

use base64::Engine;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ed25519_dalek::{SECRET_KEY_LENGTH, SigningKey};
use stagger::Instant;

use crate::Error;
use crate::sign::os_bytes;

/// Base64 of RFC 4648 section 4, nothing looser; with its padding or without, as senders write both.
pub(crate) const BASE64: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Bytes of a symmetric key. Standard Webhooks asks for 24 at least; senders that move here bring
/// keys of 16, and less can be guessed.
const SYMMETRIC_BYTES: RangeInclusive<usize> = 16..=64;
/// Bytes of a new symmetric key: those of the hash (RFC 2104 section 3).
const NEW_BYTES: usize = 32;
/// Longest text of a secret, in characters: 64 bytes in base64, and a prefix.
const MAX_TEXT: usize = 100;

const SYMMETRIC: &str = "whsec_";
const ASYMMETRIC: &str = "whsk_";
/// The prefix of a public key, with which receivers verify.
pub(crate) const PUBLIC: &str = "whpk_";

/// A key to sign with. Its text begins with `whsec_` (HMAC-SHA256) or `whsk_` (ed25519).
///
/// ```
/// use stagger_dispatch::model::Secret;
/// let secret = Secret::parse("whsec_AQIDBAUGBwgJEBESExQVFg==")?;
/// assert_eq!(secret, Secret::parse("whsec_AQIDBAUGBwgJEBESExQVFg")?);
/// assert!(Secret::parse("whsec_!!!!").is_err());
/// # Ok::<(), stagger_dispatch::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// The kind of signature it makes.
    pub kind: SecretKind,
    /// The bytes of the key: 16 to 64 for HMAC-SHA256, the 32 of the seed for ed25519.
    pub key: Vec<u8>,
    /// The time at which it stops signing, if it was replaced.
    pub until: Option<Instant>,
}

/// The signature schemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SecretKind {
    /// `v1`: HMAC-SHA256.
    Symmetric,
    /// `v1a`: ed25519.
    Asymmetric,
}

impl Secret {
    /// Reads `whsec_` or `whsk_` and base64. The text of an ed25519 key is its seed of 32 bytes, or
    /// seed and public key, 64 bytes, as some libraries write it.
    ///
    /// # Errors
    /// `endpoint.secret` with the bound it breaks; the text itself is not repeated.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let read = |kind, base64: &str| Some((kind, BASE64.decode(base64).ok()?));
        let decoded = match (text.strip_prefix(SYMMETRIC), text.strip_prefix(ASYMMETRIC)) {
            _ if text.len() > MAX_TEXT => None,
            (Some(base64), _) => read(SecretKind::Symmetric, base64),
            (_, Some(base64)) => read(SecretKind::Asymmetric, base64),
            (None, None) => None,
        };
        decoded
            .and_then(|(kind, bytes)| Self::of_bytes(kind, bytes))
            .ok_or_else(|| Error::invalid("endpoint.secret", "(not shown)", BOUND))
    }

    /// A new one, from the randomness of the operating system.
    ///
    /// # Errors
    /// The operating system has no randomness, so that no key can be trusted.
    pub fn generate(kind: SecretKind) -> Result<Self, Error> {
        let key = os_bytes::<NEW_BYTES>()?.to_vec();
        Ok(Self { kind, key, until: None })
    }

    /// Its text: prefix and padded base64.
    #[must_use]
    pub fn to_text(&self) -> String {
        let prefix = match self.kind {
            SecretKind::Symmetric => SYMMETRIC,
            SecretKind::Asymmetric => ASYMMETRIC,
        };
        format!("{prefix}{}", BASE64.encode(&self.key))
    }

    /// The public key with which a receiver verifies an ed25519 signature, `whpk_` and base64;
    /// `None` for HMAC-SHA256, which is verified with the secret itself.
    #[must_use]
    pub fn public_text(&self) -> Option<String> {
        let public = self.signing_key()?.verifying_key();
        Some(format!("{PUBLIC}{}", BASE64.encode(public.as_bytes())))
    }

    /// Whether it still signs.
    #[must_use]
    pub fn signs_at(&self, now: Instant) -> bool {
        self.until.is_none_or(|until| now < until)
    }

    /// The key of an ed25519 secret.
    pub(crate) fn signing_key(&self) -> Option<SigningKey> {
        let seed: [u8; SECRET_KEY_LENGTH] = self.key.as_slice().try_into().ok()?;
        (self.kind == SecretKind::Asymmetric).then(|| SigningKey::from_bytes(&seed))
    }

    fn of_bytes(kind: SecretKind, mut key: Vec<u8>) -> Option<Self> {
        match (kind, key.len()) {
            (SecretKind::Symmetric, length) if SYMMETRIC_BYTES.contains(&length) => {}
            (SecretKind::Asymmetric, SECRET_KEY_LENGTH) => {}
            (SecretKind::Asymmetric, _) => {
                let pair: [u8; 2 * SECRET_KEY_LENGTH] = key.as_slice().try_into().ok()?;
                SigningKey::from_keypair_bytes(&pair).ok()?;
                key.truncate(SECRET_KEY_LENGTH);
            }
            (SecretKind::Symmetric, _) => return None,
        }
        Some(Self { kind, key, until: None })
    }
}

const BOUND: &str =
    "whsec_ and the base64 of 16 to 64 bytes, or whsk_ and that of an ed25519 seed of 32 bytes";

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret")
            .field("kind", &self.kind)
            .field("key", &"..")
            .field("until", &self.until)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// openai/openai-ruby #403, polarsource/polar #13522: lenient base64 made an empty key of these.
    #[test]
    fn a_text_without_a_key_becomes_no_key() {
        let good = "AQIDBAUGBwgJEBESExQVFg==";
        let bad = [
            "".to_owned(),
            "whsec_".to_owned(),
            "whsec_!!!!".to_owned(),
            format!("v1,whsec_{good}"),
            good.to_owned(),
            format!("whsec_{good}\n"),
            format!("whsec_ {good}"),
            format!("WHSEC_{good}"),
            format!("whsec_{}", BASE64.encode([7; 15])),
            format!("whsec_{}", BASE64.encode([7; 65])),
            // Bits that belong to no byte.
            "whsec_AQIDBAUGBwgJEBESExQVFh==".to_owned(),
            // The alphabet of URLs.
            "whsec_-_-_-_-_-_-_-_-_-_-_-_-_".to_owned(),
            format!("whsk_{}", BASE64.encode([7; 31])),
            format!("whsk_{}", BASE64.encode([7; 64])),
            format!("whpk_{}", BASE64.encode([7; 32])),
        ];
        for text in bad {
            let error = Secret::parse(&text).expect_err(&text);
            assert!(error.is_invalid() && !error.to_string().contains("AQID"));
        }
    }

    #[test]
    fn padding_makes_no_other_key() {
        for length in SYMMETRIC_BYTES {
            let key: Vec<u8> = (0..=u8::MAX).take(length).collect();
            let text = format!("{SYMMETRIC}{}", BASE64.encode(&key));
            let secret = Secret::parse(&text).expect("it is padded");
            let bare = Secret::parse(text.trim_end_matches('=')).expect("it is not");
            assert_eq!((&secret, &secret.key), (&bare, &key));
            assert_eq!(secret.to_text(), text);
        }
    }

    #[test]
    fn a_new_secret_reads_back_and_differs_from_the_next() {
        for kind in [SecretKind::Symmetric, SecretKind::Asymmetric] {
            let secret = Secret::generate(kind).expect("the system has randomness");
            assert_eq!(Secret::parse(&secret.to_text()), Ok(secret.clone()));
            assert_ne!(Secret::generate(kind), Ok(secret));
        }
    }

    /// RFC 8032 section 7.1, test 1.
    #[test]
    fn a_pair_of_seed_and_public_key_is_the_seed() {
        let seed = "nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=";
        let public = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
        let secret = Secret::parse(&format!("whsk_{seed}")).expect("a seed");
        assert_eq!(secret.public_text(), Some(format!("whpk_{public}")));
        let decode = |text| BASE64.decode(text).expect("a constant");
        let pair = BASE64.encode([decode(seed), decode(public)].concat());
        assert_eq!(Secret::parse(&format!("whsk_{pair}")), Ok(secret));
    }

    #[test]
    fn debug_shows_no_key() {
        let text = format!("{:?}", Secret::parse("whsec_AQIDBAUGBwgJEBESExQVFg==").expect("good"));
        assert!(text.contains("\"..\"") && !text.contains("AQID") && !text.contains("[1, 2"));
    }
}
