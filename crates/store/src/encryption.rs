//! Encryption of secrets at rest: the keys, and secret texts that are bound to their place in the store.
//!
//! AES-256-GCM of `ring`, which TLS uses already. Each text has a random nonce of 96 bits: a key may encrypt some
//! billion texts (NIST SP 800-38D section 8.3), far more than endpoints are changed. The place of a text, which is its
//! application, its endpoint and its field, is authenticated with it: moved to another row it cannot be decrypted.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::encoding::Unreadable;
use super::rng;
use crate::Error;

/// Bytes of a key.
const KEY: usize = 32;
/// Most keys: one for each rotation of many years.
const MOST_KEYS: usize = 64;
/// The word that stands for writing without encryption.
const PLAIN: &str = "plain";
/// Separates the id of a key from keys of other uses.
const ID_DOMAIN: &[u8] = b"stagger store key 1\0";

/// The keys with which secrets are encrypted in a store: the first one writes, all of them read. Without a key,
/// secrets are written as they are.
///
/// ```
/// use stagger_store::EncryptionKeys;
/// let keys = EncryptionKeys::parse(
///     "# 2027\nAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n# 2026\nHx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA=\n",
/// )?;
/// assert_eq!(keys.ids().count(), 2);
/// assert!(!format!("{keys:?}").contains("AAEC"));
/// # Ok::<(), stagger_store::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct EncryptionKeys {
    keys: Arc<[EncryptionKey]>,
    /// Whether secrets are written as they are, although there are keys.
    is_plain: bool,
}

struct EncryptionKey {
    id: String,
    key: LessSafeKey,
}

impl EncryptionKeys {
    /// The keys of a text, a line each: the base64 or the hexadecimal digits of 32 bytes. Empty lines, and those
    /// that begin with `#`, are passed over. The word `plain` in the first line writes without encryption, and the keys
    /// below it only read.
    ///
    /// # Errors
    /// `encryption_key`: a line is no key, a key stands twice, or there is none. Keys are not shown.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
        let mut lines =
            lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).peekable();
        let is_plain = lines.next_if(|(_, line)| *line == PLAIN).is_some();
        let mut keys: Vec<EncryptionKey> = Vec::new();
        for (at, line) in lines {
            let refuse =
                |bound: &str| Error::invalid("encryption_key", format!("line {at}"), bound);
            let bytes = decode(line)
                .ok_or_else(|| refuse("the base64 or the hexadecimal digits of 32 random bytes"))?;
            let key = EncryptionKey::new(&bytes)?;
            if keys.iter().any(|known| known.id == key.id) {
                return Err(refuse("a key that does not stand above"));
            }
            keys.push(key);
        }
        if (keys.is_empty() && !is_plain) || keys.len() > MOST_KEYS {
            return Err(Error::invalid("encryption_key", keys.len(), "1 to 64 keys, a line each"));
        }
        Ok(Self { keys: keys.into(), is_plain })
    }

    /// The ids of all keys, that of the writing one first. An id follows from its key, and does not give it away.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|key| key.id.as_str())
    }

    fn writer(&self) -> Option<&EncryptionKey> {
        self.keys.first().filter(|_| !self.is_plain)
    }

    /// Encrypts a text, if there is a key that writes.
    pub(super) fn seal(
        &self,
        text: &str,
        place: &SecretPlace<'_>,
    ) -> Result<SecretField, Unreadable> {
        let Some(key) = self.writer() else { return Ok(SecretField::Plain(text.to_owned())) };
        let mut nonce = [0; NONCE_LEN];
        rng::fill(&mut nonce).map_err(Unreadable::new)?;
        let mut bytes = text.as_bytes().to_vec();
        key.key
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(place.bytes()),
                &mut bytes,
            )
            .map_err(|_| Unreadable::new("a secret is too long to encrypt"))?;
        let whole = [&nonce[..], &bytes].concat();
        Ok(SecretField::Sealed { sealed: format!("{}.{}", key.id, URL_SAFE_NO_PAD.encode(whole)) })
    }

    /// Decrypts a text, if it is encrypted.
    pub(super) fn open(
        &self,
        field: SecretField,
        place: &SecretPlace<'_>,
    ) -> Result<String, Unreadable> {
        let sealed = match field {
            SecretField::Plain(text) => return Ok(text),
            SecretField::Sealed { sealed } => sealed,
        };
        let broken = || Unreadable::new(format!("the encrypted {place} was damaged or moved"));
        let (id, text) = sealed.split_once('.').ok_or_else(broken)?;
        let known = self.keys.iter().find(|key| key.id == id);
        let known = known.ok_or_else(|| Unreadable::new(self.missing(id)))?;
        let mut bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| broken())?;
        let (nonce, cipher) = bytes.split_at_mut_checked(NONCE_LEN).ok_or_else(broken)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| broken())?;
        let plain = known.key.open_in_place(nonce, Aad::from(place.bytes()), cipher);
        let plain = plain.map_err(|_| broken())?;
        String::from_utf8(plain.to_vec()).map_err(|_| broken())
    }

    /// Whether a text is encrypted as it would be written now.
    pub(super) fn is_current(&self, field: &SecretField) -> bool {
        match (field, self.writer()) {
            (SecretField::Plain(_), writer) => writer.is_none(),
            (SecretField::Sealed { sealed }, writer) => {
                writer.is_some_and(|key| sealed.split_once('.').is_some_and(|(id, _)| id == key.id))
            }
        }
    }

    /// The error for a key that is not there.
    fn missing(&self, id: &str) -> String {
        let ids: Vec<_> = self.ids().collect();
        let known = if ids.is_empty() { "none".to_owned() } else { ids.join(", ") };
        format!(
            "a secret is encrypted with the key {id}, and the configured keys are: {known}. Add that key to those of \
             encryption_key_file, encryption_key_command or STAGGER_ENCRYPTION_KEY"
        )
    }
}

impl EncryptionKey {
    fn new(bytes: &[u8; KEY]) -> Result<Self, Error> {
        let key = UnboundKey::new(&AES_256_GCM, bytes);
        let key = key.map_err(|_| Error::store("a key of 32 bytes was refused"))?;
        let digest = Sha256::new().chain_update(ID_DOMAIN).chain_update(bytes).finalize();
        let id = digest[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { id, key: LessSafeKey::new(key) })
    }
}

fn decode(text: &str) -> Option<[u8; KEY]> {
    let hexadecimal = || {
        let digits = text.len() == 2 * KEY && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let byte = |at: usize| u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok();
        digits.then(|| (0..KEY).map(byte).collect::<Option<Vec<u8>>>()).flatten()
    };
    let base64 = || {
        let text = text.trim_end_matches('=');
        STANDARD_NO_PAD.decode(text).or_else(|_| URL_SAFE_NO_PAD.decode(text)).ok()
    };
    hexadecimal().or_else(base64)?.try_into().ok()
}

impl fmt::Debug for EncryptionKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<_> = self.ids().collect();
        f.debug_struct("EncryptionKeys")
            .field("ids", &ids)
            .field("is_plain", &self.is_plain)
            .finish()
    }
}

/// A secret text in a document: as it is, or encrypted.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum SecretField {
    Plain(String),
    Sealed { sealed: String },
}

/// The place of a secret text, which encryption binds it to.
#[derive(Debug)]
pub(super) struct SecretPlace<'p> {
    pub(super) application: uuid::Uuid,
    pub(super) endpoint: uuid::Uuid,
    pub(super) field: &'p str,
}

impl SecretPlace<'_> {
    /// Two ids of one length, and a field after them: no two places have the same bytes.
    fn bytes(&self) -> Vec<u8> {
        [self.application.as_bytes(), self.endpoint.as_bytes(), self.field.as_bytes()].concat()
    }
}

impl fmt::Display for SecretPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of endpoint {}", self.field, self.endpoint.simple())
    }
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;
    use uuid::Uuid;

    use super::*;

    fn key(n: u8) -> String {
        STANDARD.encode([n; KEY])
    }

    fn keys(text: &str) -> EncryptionKeys {
        EncryptionKeys::parse(text).unwrap()
    }

    fn place(endpoint: u128, field: &str) -> SecretPlace<'_> {
        let (application, endpoint) = (Uuid::from_u128(1), Uuid::from_u128(endpoint));
        SecretPlace { application, endpoint, field }
    }

    fn sealed(field: &SecretField) -> String {
        match field {
            SecretField::Sealed { sealed } => sealed.clone(),
            SecretField::Plain(text) => panic!("{text} is not encrypted"),
        }
    }

    #[test]
    fn a_secret_in_another_place_was_decrypted() {
        let keys = keys(&key(1));
        let field = keys.seal("hunter2", &place(2, "secrets.0")).unwrap();
        let text = sealed(&field);
        assert!(!text.contains("hunter2") && !text.contains(&STANDARD_NO_PAD.encode("hunter2")));
        let open = |place: &SecretPlace<'_>, sealed: &str| {
            keys.open(SecretField::Sealed { sealed: sealed.to_owned() }, place)
        };
        assert_eq!(open(&place(2, "secrets.0"), &text).unwrap(), "hunter2");
        assert!(open(&place(3, "secrets.0"), &text).is_err());
        assert!(open(&place(2, "secrets.1"), &text).is_err());
        for at in 17..text.len() - 1 {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let damaged = String::from_utf8(bytes).unwrap();
            assert!(open(&place(2, "secrets.0"), &damaged).is_err(), "byte {at}");
        }
        for damaged in ["", ".", &text[..16], &text[..20]] {
            assert!(open(&place(2, "secrets.0"), damaged).is_err(), "{damaged}");
        }
    }

    #[test]
    fn one_text_is_never_encrypted_to_the_same_bytes() {
        let keys = keys(&key(1));
        let once = || sealed(&keys.seal("x", &place(1, "a")).unwrap());
        assert_ne!(once(), once());
    }

    #[test]
    fn a_rotated_key_still_reads_and_the_new_one_writes() {
        let (old, new) = (keys(&key(1)), keys(&format!("# new\n{}\n{}\n", key(2), key(1))));
        let field = old.seal("x", &place(1, "a")).unwrap();
        assert!(old.is_current(&field) && !new.is_current(&field));
        assert_eq!(new.open(field, &place(1, "a")).unwrap(), "x");
        let field = new.seal("x", &place(1, "a")).unwrap();
        assert!(new.is_current(&field));
        let id = new.ids().next().unwrap();
        let missing = old.open(field, &place(1, "a")).unwrap_err().to_string();
        assert!(missing.contains(id) && missing.contains(old.ids().next().unwrap()), "{missing}");
    }

    #[test]
    fn without_a_key_and_with_plain_texts_stay_as_they_are() {
        for keys in [EncryptionKeys::default(), keys(&format!("plain\n{}", key(1))), keys("plain")]
        {
            let field = keys.seal("x", &place(1, "a")).unwrap();
            assert!(keys.is_current(&field));
            assert!(matches!(field, SecretField::Plain(text) if text == "x"));
        }
        let field = keys(&key(1)).seal("x", &place(1, "a")).unwrap();
        let plain = keys(&format!("plain\n{}", key(1)));
        assert!(!plain.is_current(&field));
        assert_eq!(plain.open(field, &place(1, "a")).unwrap(), "x");
        let field = SecretField::Plain("x".into());
        assert!(!keys(&key(1)).is_current(&field));
    }

    #[test]
    fn a_line_that_is_no_key_was_accepted_or_shown() {
        let secret = "hunter2hunter2";
        for text in ["", "# only a note", secret, &"0".repeat(62), &format!("{0}\n{0}", key(1))] {
            let error = EncryptionKeys::parse(text).expect_err("no key").to_string();
            assert!(error.contains("encryption_key") && !error.contains("hunter"), "{error}");
        }
        let same = [key(7), key(7).trim_end_matches('=').to_owned(), "07".repeat(32)];
        let ids: Vec<String> =
            same.iter().map(|text| keys(text).ids().next().unwrap().to_owned()).collect();
        assert_eq!(ids[0], ids[1]);
        assert_eq!(ids[0], ids[2]);
    }
}
