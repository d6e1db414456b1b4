//! User keys of NATS (nkeys): an ed25519 seed in base32, with a prefix and a checksum.
//!
//! <https://docs.nats.io/running-a-nats-service/configuration/securing_nats/auth_intro/nkey_auth>

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signer, SigningKey};

/// The alphabet of base32 (RFC 4648 section 6), which nkeys use without padding.
const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
/// The prefix of a seed, and that of a user, as the first five bits of their byte.
const SEED: u8 = 18 << 3;
const USER: u8 = 20 << 3;
/// Bytes of a decoded seed: two of prefixes, the seed, and the checksum.
const DECODED: usize = 2 + 32 + 2;

/// A key that signs for a user.
pub(super) struct UserKey(SigningKey);

impl UserKey {
    /// The key of a seed (`SU...`); `None` if it is the seed of no user, or damaged.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let bytes: [u8; DECODED] = decode(text)?.try_into().ok()?;
        let (body, sum) = bytes.split_at(DECODED - 2);
        let is_user =
            (body[0] & 0xf8) == SEED && ((body[0] & 7) << 5 | (body[1] & 0xf8) >> 3) == USER;
        let seed: [u8; 32] = body[2..].try_into().ok()?;
        (is_user && checksum(body).to_le_bytes() == sum)
            .then(|| Self(SigningKey::from_bytes(&seed)))
    }

    /// The name of the user: its public key (`U...`).
    pub(super) fn public(&self) -> String {
        let mut bytes = vec![USER];
        bytes.extend_from_slice(self.0.verifying_key().as_bytes());
        bytes.extend_from_slice(&checksum(&bytes).to_le_bytes());
        encode(&bytes)
    }

    /// The signature of the server's challenge.
    pub(super) fn sign(&self, nonce: &str) -> String {
        URL_SAFE_NO_PAD.encode(self.0.sign(nonce.as_bytes()).to_bytes())
    }
}

impl std::fmt::Debug for UserKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("UserKey(..)")
    }
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let (mut bits, mut held, mut bytes) = (0_u32, 0, Vec::new());
    for letter in text.bytes() {
        let value = ALPHABET.iter().position(|known| *known == letter)?;
        bits = bits << 5 | u32::try_from(value).ok()?;
        held += 5;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from(bits >> held & 0xff).ok()?);
        }
    }
    Some(bytes)
}

fn encode(bytes: &[u8]) -> String {
    let (mut bits, mut held, mut text) = (0_u32, 0, String::new());
    let mut push = |value: u32| text.push(char::from(ALPHABET[(value & 31) as usize]));
    for byte in bytes {
        bits = (bits & 0xff) << 8 | u32::from(*byte);
        held += 8;
        while held >= 5 {
            held -= 5;
            push(bits >> held);
        }
    }
    if held > 0 {
        push(bits << (5 - held));
    }
    text
}

/// CRC-16/XMODEM.
fn checksum(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum, byte| {
        (0..8).fold(sum ^ u16::from(*byte) << 8, |sum, _| {
            if sum & 0x8000 == 0 { sum << 1 } else { sum << 1 ^ 0x1021 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pair of the documentation of NATS.
    #[test]
    fn a_seed_has_the_public_key_that_the_documentation_gives_it() {
        let seed = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";
        let user = UserKey::parse(seed).expect("it is a seed");
        assert_eq!(user.public(), "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4");
        assert!(!format!("{user:?}").contains("SUAC"));
    }

    #[test]
    fn a_damaged_seed_or_one_of_another_kind_is_none() {
        let seed = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";
        for wrong in [
            &seed[..57],
            &seed.replace("ACSS", "ACST"),
            &seed.replace("SUAC", "SAAC"),
            "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4",
            "suacssl3",
            "",
        ] {
            assert!(UserKey::parse(wrong).is_none(), "{wrong}");
        }
    }
}
