//! The names of keys and of their algorithms in HTTP Message Signatures (RFC 9421).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::VerifyingKey;
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};

/// The algorithms by their registered names (section 6.2.2).
pub(crate) const HMAC: &str = "hmac-sha256";
pub(crate) const ED25519: &str = "ed25519";

/// The name of a symmetric key: a part of the MAC of a fixed text, which tells nothing about the key. Bytes of a hash
/// of the key itself would let a short one be guessed.
pub(crate) fn symmetric_id(mac: &Hmac<Sha256>) -> String {
    let mac = mac.clone().chain_update(b"stagger keyid").finalize().into_bytes();
    URL_SAFE_NO_PAD.encode(&mac[..16])
}

/// The name of a public key: its JWK thumbprint (RFC 7638, RFC 8037 section 2).
pub(crate) fn public_id(key: &VerifyingKey) -> String {
    let x = URL_SAFE_NO_PAD.encode(key.as_bytes());
    let jwk = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#);
    URL_SAFE_NO_PAD.encode(Sha256::digest(jwk))
}
