//! Tokens of a NATS operator, its accounts and their users, signed as the server checks them.
//!
//! <https://docs.nats.io/running-a-nats-service/configuration/securing_nats/auth_intro/jwt>

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Value, json};

/// The first letters of seeds and public keys, as the first five bits of their byte.
const SEED: u8 = 18 << 3;
const OPERATOR: u8 = 14 << 3;
const ACCOUNT: u8 = 0;
const USER: u8 = 20 << 3;

/// A key of an operator, an account or a user.
pub(crate) struct Identity {
    key: SigningKey,
    prefix: u8,
}

impl Identity {
    /// The key whose seed has this byte at every place.
    fn new(prefix: u8, byte: u8) -> Self {
        Self { key: SigningKey::from_bytes(&[byte; 32]), prefix }
    }

    pub(crate) fn operator(byte: u8) -> Self {
        Self::new(OPERATOR, byte)
    }

    pub(crate) fn account(byte: u8) -> Self {
        Self::new(ACCOUNT, byte)
    }

    pub(crate) fn user(byte: u8) -> Self {
        Self::new(USER, byte)
    }

    pub(crate) fn public(&self) -> String {
        text(&[self.prefix], self.key.verifying_key().as_bytes())
    }

    pub(crate) fn seed(&self) -> String {
        text(&[SEED | self.prefix >> 5, (self.prefix & 31) << 3], self.key.as_bytes())
    }

    /// A token of this issuer about another key. `more` are further members of the claims.
    pub(crate) fn token(&self, of: &Self, nats: &Value, more: &Value) -> String {
        let mut claims = json!({
            "jti": "TEST", "iat": 0, "iss": self.public(), "sub": of.public(), "name": "test", "nats": nats,
        });
        let members = more.as_object().expect("an object").clone();
        claims.as_object_mut().expect("an object").extend(members);
        let header = json!({ "typ": "JWT", "alg": "ed25519-nkey" });
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&header), part(&claims));
        let signature = self.key.sign(signed.as_bytes()).to_bytes();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// The configuration of a server that trusts this operator, with the account and one for the system.
pub(crate) fn trusting(operator: &Identity, account: &Identity) -> String {
    let system = Identity::account(250);
    let limits = json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1, "leaf": -1,
    });
    let of_account = json!({ "type": "account", "version": 2, "limits": limits });
    let own = json!({ "type": "operator", "version": 2, "system_account": system.public() });
    let token = |of: &Identity| operator.token(of, &of_account, &json!({}));
    format!(
        "operator: {}\nsystem_account: {}\nresolver: MEMORY\nresolver_preload: {{ {}: {}, {}: {} }}",
        operator.token(operator, &own, &json!({})),
        system.public(),
        system.public(),
        token(&system),
        account.public(),
        token(account),
    )
}

/// The claims of a user that may publish to these subjects, and hear replies.
pub(crate) fn publisher(subjects: &[&str]) -> Value {
    json!({
        "type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1,
        "pub": { "allow": subjects }, "sub": { "allow": ["_INBOX.>"] },
    })
}

/// A key as text: base32 of prefix, key and checksum.
fn text(prefix: &[u8], key: &[u8]) -> String {
    let mut bytes = [prefix, key].concat();
    bytes.extend_from_slice(&checksum(&bytes).to_le_bytes());
    let bits: Vec<bool> =
        bytes.iter().flat_map(|byte| (0..8).rev().map(move |at| byte >> at & 1 == 1)).collect();
    let letter = |bits: &[bool]| {
        let value =
            (0..5).fold(0, |value, at| value << 1 | usize::from(bits.get(at) == Some(&true)));
        char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[value])
    };
    bits.chunks(5).map(letter).collect()
}

/// CRC-16/XMODEM.
fn checksum(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum, byte| {
        (0..8).fold(sum ^ u16::from(*byte) << 8, |sum, _| {
            if sum & 0x8000 == 0 { sum << 1 } else { sum << 1 ^ 0x1021 }
        })
    })
}

#[test]
fn a_seed_is_written_as_the_documentation_writes_it() {
    let key = SigningKey::from_bytes(&[7; 32]);
    let user = Identity { key, prefix: USER };
    assert!(user.seed().starts_with("SU") && user.seed().len() == 58, "{}", user.seed());
    assert!(user.public().starts_with('U') && user.public().len() == 56, "{}", user.public());
}
