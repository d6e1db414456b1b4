//! The digest of a body in a header: `Content-Digest` (RFC 9530).

use base64::Engine;
use http::{HeaderMap, HeaderName};
use sha2::{Digest, Sha256, Sha512};
use stagger::hint::structured::{BareItem, Dictionary};
use subtle::ConstantTimeEq;

use crate::secret::BASE64;
use crate::signature_base::combined;

pub(crate) const CONTENT_DIGEST: HeaderName = HeaderName::from_static("content-digest");

/// The value of `Content-Digest` for a body: its SHA-256.
///
/// ```
/// use stagger_sender::content_digest;
/// let digest = content_digest(b"{\"hello\": \"world\"}\n");
/// assert_eq!(digest, "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:");
/// ```
#[must_use]
pub fn content_digest(body: &[u8]) -> String {
    format!("sha-256=:{}:", BASE64.encode(Sha256::digest(body)))
}

/// Whether `Content-Digest` is there with a digest that is known (`sha-256`, `sha-512`), and all known ones are those
/// of `body`.
pub(crate) fn fits(headers: &HeaderMap, body: &[u8]) -> bool {
    let text = combined(headers, CONTENT_DIGEST.as_str());
    let digests = text.and_then(|text| Dictionary::parse(text.as_bytes()).ok());
    let mut known = 0;
    for (name, digest) in digests.iter().flat_map(Dictionary::iter) {
        let right = match name {
            "sha-256" => Sha256::digest(body).to_vec(),
            "sha-512" => Sha512::digest(body).to_vec(),
            _ => continue,
        };
        let given = digest.as_item().map(|item| &item.value);
        let Some(BareItem::Bytes(given)) = given else { return false };
        if !bool::from(given.ct_eq(&right)) {
            return false;
        }
        known += 1;
    }
    known > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(digest: &str, body: &[u8]) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_DIGEST, digest.parse().expect("a value"));
        fits(&headers, body)
    }

    /// RFC 9530 appendix B.1, and RFC 9421 section 2.1 for SHA-512 without the line's end.
    #[test]
    fn the_digests_of_the_standards_fit() {
        let line = b"{\"hello\": \"world\"}\n";
        assert!(judged("sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:", line));
        let long = "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:";
        assert!(judged(long, &line[..18]));
        assert!(!judged(long, line));
    }

    #[test]
    fn a_body_without_a_known_and_right_digest_is_refused() {
        let right = content_digest(b"{}");
        assert!(judged(&right, b"{}") && !judged(&right, b"{ }"));
        assert!(judged(&format!("md5=:AAAA:, {right}"), b"{}"));
        for digest in ["", "md5=:AAAA:", "sha-256=AAAA", "sha-256=:AAAA:", "sha-256", "=:"] {
            assert!(!judged(digest, b"{}"), "{digest}");
        }
        let one_wrong = format!("{right}, sha-512=:AAAA:");
        assert!(!judged(&one_wrong, b"{}"));
        assert!(!fits(&HeaderMap::new(), b"{}"));
    }
}
