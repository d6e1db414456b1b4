//! Signed tokens of the portal: links that open it once, and the sessions behind them.
//!
//! A token is `pl_` (link) or `ps_` (session) and the base64 (URL alphabet, no padding) of 73 bytes: the application, the
//! link, the second since the Unix epoch at which both end, the capability, and the HMAC-SHA-256 of the kind and of all
//! that with the application's own key. The kind is signed, so that a link is no session. A token names nothing that its
//! holder may not know, and nothing in it can be changed.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use stagger::{Instant, Span};
use stagger_scheduler::model::{ApplicationId, LinkEnd, PortalAccess, PortalLinkId};
use utoipa::ToSchema;
use uuid::Uuid;

/// The bytes of what is signed, and of the signature.
const SIGNED: usize = 16 + 16 + 8 + 1;
const SIGNATURE: usize = 32;

/// The permissions of a person in the portal. A later one includes the earlier ones.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
#[schema(as = PortalCapability)]
pub(crate) enum Capability {
    /// Sees endpoints, deliveries, payloads and replies, but no secrets.
    #[default]
    Read,
    /// Makes, changes and deletes endpoints, sees and replaces secrets, retries and replays.
    Manage,
}

/// The kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// Opens the portal once.
    Link,
    /// A browser that has opened it.
    Session,
}

impl TokenKind {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Link => "pl_",
            Self::Session => "ps_",
        }
    }
}

/// The access that a token gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PortalGrant {
    pub(crate) application: ApplicationId,
    pub(crate) link: PortalLinkId,
    /// The time at which it ends, in whole seconds since the Unix epoch.
    pub(crate) until: Instant,
    pub(crate) capability: Capability,
}

/// The reason for which a token gives no access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It was not signed with the application's key: forged, cut, or of a key before the current one.
    Unknown,
    /// Its time is over.
    Expired,
    /// The link was opened before.
    Opened,
    /// The link was deleted.
    Deleted,
}

impl PortalGrant {
    /// The token of this grant.
    pub(crate) fn sign(&self, kind: TokenKind, key: &[u8; 32]) -> String {
        let signed = self.bytes();
        let signature: [u8; SIGNATURE] = mac(kind, key, &signed).finalize().into_bytes().into();
        let whole = [&signed[..], &signature[..]].concat();
        format!("{}{}", kind.prefix(), URL_SAFE_NO_PAD.encode(whole))
    }

    /// The application that a token claims to be of. Nothing is checked.
    pub(crate) fn claimed_application(kind: TokenKind, token: &str) -> Option<ApplicationId> {
        parse(kind, token).map(|(grant, ..)| grant.application)
    }

    /// The grant of a token at `now`, if it was signed with the application's key and still gives access.
    ///
    /// # Errors
    /// The reason for which it gives none.
    pub(crate) fn verify(
        kind: TokenKind,
        token: &str,
        portal: &PortalAccess,
        now: Instant,
    ) -> Result<Self, Refusal> {
        let (grant, signed, signature) = parse(kind, token).ok_or(Refusal::Unknown)?;
        let key = portal.key.ok_or(Refusal::Unknown)?;
        // In constant time.
        mac(kind, &key, &signed).verify_slice(&signature).map_err(|_| Refusal::Unknown)?;
        if grant.until <= now {
            return Err(Refusal::Expired);
        }
        match (portal.end_of(grant.link), kind) {
            (Some(LinkEnd::Deleted), _) => Err(Refusal::Deleted),
            (Some(LinkEnd::Opened), TokenKind::Link) => Err(Refusal::Opened),
            (None | Some(LinkEnd::Opened), _) => Ok(grant),
        }
    }

    fn bytes(&self) -> [u8; SIGNED] {
        let mut bytes = [0; SIGNED];
        bytes[..16].copy_from_slice(self.application.as_bytes());
        bytes[16..32].copy_from_slice(self.link.as_bytes());
        bytes[32..40].copy_from_slice(&(self.until.as_nanos() / SECOND).to_be_bytes());
        bytes[40] = u8::from(self.capability == Capability::Manage);
        bytes
    }
}

const SECOND: u64 = 1_000_000_000;

fn mac(kind: TokenKind, key: &[u8; 32], signed: &[u8; SIGNED]) -> Hmac<Sha256> {
    let mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    mac.chain_update(kind.prefix()).chain_update(signed)
}

type Parsed = (PortalGrant, [u8; SIGNED], [u8; SIGNATURE]);

fn parse(kind: TokenKind, token: &str) -> Option<Parsed> {
    let text = token.strip_prefix(kind.prefix())?;
    let mut whole = [0; SIGNED + SIGNATURE];
    let length = URL_SAFE_NO_PAD.decode_slice(text, &mut whole).ok()?;
    if length != whole.len() {
        return None;
    }
    let (signed, signature) = whole.split_at(SIGNED);
    let (signed, signature): ([u8; SIGNED], [u8; SIGNATURE]) =
        (signed.try_into().ok()?, signature.try_into().ok()?);
    let uuid = |at: usize| Some(Uuid::from_bytes(signed[at..at + 16].try_into().ok()?));
    let seconds = u64::from_be_bytes(signed[32..40].try_into().ok()?);
    let capability = match signed[40] {
        0 => Capability::Read,
        1 => Capability::Manage,
        _ => return None,
    };
    let grant = PortalGrant {
        application: ApplicationId::from_uuid(uuid(0)?),
        link: PortalLinkId::from_uuid(uuid(16)?),
        until: Instant::ORIGIN + Span::from_secs(seconds),
        capability,
    };
    Some((grant, signed, signature))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KEY: [u8; 32] = [7; 32];

    fn at(seconds: u64) -> Instant {
        Instant::ORIGIN + Span::from_secs(seconds)
    }

    fn grant(capability: Capability) -> PortalGrant {
        PortalGrant {
            application: ApplicationId::from_uuid(Uuid::from_u128(1)),
            link: PortalLinkId::from_uuid(Uuid::from_u128(2)),
            until: at(100),
            capability,
        }
    }

    fn portal() -> PortalAccess {
        PortalAccess { key: Some(KEY), closed: Vec::new() }
    }

    #[test]
    fn a_token_gives_what_was_signed_until_it_ends() {
        for kind in [TokenKind::Link, TokenKind::Session] {
            for capability in [Capability::Read, Capability::Manage] {
                let token = grant(capability).sign(kind, &KEY);
                let read = |now| PortalGrant::verify(kind, &token, &portal(), at(now));
                assert_eq!(read(99), Ok(grant(capability)));
                assert_eq!(read(100), Err(Refusal::Expired));
                let named = PortalGrant::claimed_application(kind, &token);
                assert_eq!(named, Some(grant(capability).application));
            }
        }
    }

    #[test]
    fn a_link_was_taken_for_a_session() {
        let link = grant(Capability::Manage).sign(TokenKind::Link, &KEY);
        let disguised = link.replacen("pl_", "ps_", 1);
        for token in [&link, &disguised] {
            let read = PortalGrant::verify(TokenKind::Session, token, &portal(), at(1));
            assert_eq!(read, Err(Refusal::Unknown));
        }
    }

    #[test]
    fn another_key_or_a_closed_link_gave_access() {
        let link = grant(Capability::Read).sign(TokenKind::Link, &KEY);
        let session = grant(Capability::Read).sign(TokenKind::Session, &KEY);
        let read = |kind, token: &str, portal: &PortalAccess| {
            PortalGrant::verify(kind, token, portal, at(1)).map(|_| ())
        };
        for key in [None, Some([8; 32])] {
            let rotated = PortalAccess { key, ..portal() };
            assert_eq!(read(TokenKind::Link, &link, &rotated), Err(Refusal::Unknown));
            assert_eq!(read(TokenKind::Session, &session, &rotated), Err(Refusal::Unknown));
        }
        let id = grant(Capability::Read).link;
        let mut closed = portal();
        assert!(closed.close(id, LinkEnd::Opened, at(100), at(1)));
        assert_eq!(read(TokenKind::Link, &link, &closed), Err(Refusal::Opened));
        assert_eq!(read(TokenKind::Session, &session, &closed), Ok(()));
        assert!(closed.close(id, LinkEnd::Deleted, at(100), at(1)));
        assert_eq!(read(TokenKind::Link, &link, &closed), Err(Refusal::Deleted));
        assert_eq!(read(TokenKind::Session, &session, &closed), Err(Refusal::Deleted));
    }

    proptest! {
        /// Each byte is signed: one changed bit, or one letter more or less, gives nothing.
        #[test]
        fn a_changed_token_gives_nothing(byte in 0..SIGNED + SIGNATURE, bit in 0..8_u32) {
            let token = grant(Capability::Read).sign(TokenKind::Session, &KEY);
            let mut bytes = URL_SAFE_NO_PAD.decode(&token[3..]).unwrap();
            bytes[byte] ^= 1 << bit;
            let changed = format!("ps_{}", URL_SAFE_NO_PAD.encode(&bytes));
            for text in [changed, token[..token.len() - 1].to_owned(), format!("{token}A")] {
                let read = PortalGrant::verify(TokenKind::Session, &text, &portal(), at(1));
                prop_assert_eq!(read, Err(Refusal::Unknown));
            }
        }

        #[test]
        fn any_text_is_read_without_a_panic(text in "\\PC*") {
            for kind in [TokenKind::Link, TokenKind::Session] {
                let token = format!("{}{text}", kind.prefix());
                prop_assert!(PortalGrant::verify(kind, &token, &portal(), at(1)).is_err());
            }
        }
    }
}
