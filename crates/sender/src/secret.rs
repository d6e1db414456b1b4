//! Signing secrets in the notation of Standard Webhooks 1.0.0, and the randomness that they are made of.
#![expect(clippy::disallowed_methods, reason = "keys must come from the operating system itself")]

use std::ops::RangeInclusive;

use base64::Engine;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ed25519_dalek::{SECRET_KEY_LENGTH, SigningKey};
use stagger::ConfigError;
use stagger_scheduler::model::{Secret, SecretKind};

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

/// Reads a secret: `whsec_` (HMAC-SHA256) or `whsk_` (ed25519), and base64. The text of an ed25519 key is
/// its seed of 32 bytes, or seed and public key, 64 bytes, as some libraries write it.
///
/// ```
/// use stagger_sender::parse_secret;
/// let secret = parse_secret("whsec_AQIDBAUGBwgJEBESExQVFg==")?;
/// assert_eq!(secret, parse_secret("whsec_AQIDBAUGBwgJEBESExQVFg")?);
/// assert!(parse_secret("whsec_!!!!").is_err());
/// # Ok::<(), stagger::ConfigError>(())
/// ```
///
/// # Errors
/// `endpoint.secret` with the bound it breaks; the text itself is not repeated.
pub fn parse_secret(text: &str) -> Result<Secret, ConfigError> {
    let read = |kind, base64: &str| Some((kind, BASE64.decode(base64).ok()?));
    let decoded = match (text.strip_prefix(SYMMETRIC), text.strip_prefix(ASYMMETRIC)) {
        _ if text.len() > MAX_TEXT => None,
        (Some(base64), _) => read(SecretKind::Symmetric, base64),
        (_, Some(base64)) => read(SecretKind::Asymmetric, base64),
        (None, None) => None,
    };
    decoded
        .and_then(|(kind, bytes)| of_bytes(kind, bytes))
        .ok_or_else(|| ConfigError::new("endpoint.secret", "(not shown)", BOUND))
}

/// Makes a new secret from the randomness of the operating system.
///
/// # Errors
/// The operating system has no randomness, so that no key can be trusted.
pub fn generate_secret(kind: SecretKind) -> Result<Secret, getrandom::Error> {
    let key = os_bytes::<NEW_BYTES>()?.to_vec();
    Ok(Secret { kind, key, until: None })
}

/// The text of a secret: prefix and padded base64.
#[must_use]
pub fn secret_text(secret: &Secret) -> String {
    let prefix = match secret.kind {
        SecretKind::Symmetric => SYMMETRIC,
        SecretKind::Asymmetric => ASYMMETRIC,
    };
    format!("{prefix}{}", BASE64.encode(&secret.key))
}

/// The public key with which a receiver verifies an ed25519 signature, `whpk_` and base64; `None` for
/// HMAC-SHA256, which is verified with the secret itself.
#[must_use]
pub fn public_key_text(secret: &Secret) -> Option<String> {
    let public = signing_key(secret)?.verifying_key();
    Some(format!("{PUBLIC}{}", BASE64.encode(public.as_bytes())))
}

/// The key of an ed25519 secret.
pub(crate) fn signing_key(secret: &Secret) -> Option<SigningKey> {
    let seed: [u8; SECRET_KEY_LENGTH] = secret.key.as_slice().try_into().ok()?;
    (secret.kind == SecretKind::Asymmetric).then(|| SigningKey::from_bytes(&seed))
}

fn of_bytes(kind: SecretKind, mut key: Vec<u8>) -> Option<Secret> {
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
    Some(Secret { kind, key, until: None })
}

const BOUND: &str =
    "whsec_ and the base64 of 16 to 64 bytes, or whsk_ and that of an ed25519 seed of 32 bytes";

/// Bytes for a key, straight from the operating system: the generator that spreads delays is fast and
/// can be guessed.
///
/// # Errors
/// The operating system has none.
pub fn os_bytes<const N: usize>() -> Result<[u8; N], getrandom::Error> {
    let mut bytes = [0; N];
    os_fill(&mut bytes)?;
    Ok(bytes)
}

/// Fills `bytes` from the operating system: one call for all of them.
///
/// # Errors
/// The operating system has none.
pub fn os_fill(bytes: &mut [u8]) -> Result<(), getrandom::Error> {
    getrandom::fill(bytes)
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
            let error = parse_secret(&text).expect_err(&text);
            assert!(!error.to_string().contains("AQID"));
        }
    }

    #[test]
    fn padding_makes_no_other_key() {
        for length in SYMMETRIC_BYTES {
            let key: Vec<u8> = (0..=u8::MAX).take(length).collect();
            let text = format!("{SYMMETRIC}{}", BASE64.encode(&key));
            let secret = parse_secret(&text).expect("it is padded");
            let bare = parse_secret(text.trim_end_matches('=')).expect("it is not");
            assert_eq!((&secret, &secret.key), (&bare, &key));
            assert_eq!(secret_text(&secret), text);
        }
    }

    #[test]
    fn a_new_secret_reads_back_and_differs_from_the_next() {
        for kind in [SecretKind::Symmetric, SecretKind::Asymmetric] {
            let secret = generate_secret(kind).expect("the system has randomness");
            assert_eq!(parse_secret(&secret_text(&secret)), Ok(secret.clone()));
            assert_ne!(generate_secret(kind), Ok(secret));
        }
    }

    /// RFC 8032 section 7.1, test 1.
    #[test]
    fn a_pair_of_seed_and_public_key_is_the_seed() {
        let seed = "nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=";
        let public = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
        let secret = parse_secret(&format!("whsk_{seed}")).expect("a seed");
        assert_eq!(public_key_text(&secret), Some(format!("whpk_{public}")));
        let decode = |text| BASE64.decode(text).expect("a constant");
        let pair = BASE64.encode([decode(seed), decode(public)].concat());
        assert_eq!(parse_secret(&format!("whsk_{pair}")), Ok(secret));
    }

    #[test]
    fn two_draws_of_random_bytes_were_the_same() {
        let draw = || os_bytes::<32>().expect("the system has randomness");
        assert_ne!(draw(), draw());
    }
}
