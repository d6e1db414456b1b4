//! A named key of the API: its scopes, and the application that it is limited to.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use stagger::Instant;
use stagger_scheduler::model::{ApiKeyId, ApplicationId, KeyHash};
use subtle::ConstantTimeEq;

use super::Scope;
use crate::Error;
use crate::random::os_bytes;

/// The beginning of every key, by which scanners for secrets find one: `stgr_` and 43 letters, digits, `-` or `_`.
const PREFIX: &str = "stgr_";
/// Random bytes of a key: as many as its hash has.
const BYTES: usize = 32;
/// Longest name, in characters.
const MAX_NAME: usize = 100;

/// A key of the API. The key itself is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApiKey {
    pub(crate) id: ApiKeyId,
    /// A name for people: 1 to 100 characters.
    pub(crate) name: String,
    pub(crate) hash: KeyHash,
    /// In the order of their names, each once.
    pub(crate) scopes: Vec<Scope>,
    /// The only application whose data it gives access to; none if it does to those of all.
    pub(crate) application: Option<ApplicationId>,
    pub(crate) created_at: Instant,
    /// The time from which it is refused.
    pub(crate) expires_at: Option<Instant>,
}

/// The secret of a new key: shown once, and kept as its hash only.
pub(crate) struct ApiKeySecret(String);

impl ApiKey {
    /// Whether a text has the form of a key of this kind. It may never have been made.
    pub(crate) fn is_form_of(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    /// Checks name, scopes and expiry of a new key, and sorts its scopes.
    ///
    /// # Errors
    /// A value is out of its bounds: the error names it.
    pub(crate) fn check(mut self) -> Result<Self, Error> {
        let plain = !self.name.chars().any(char::is_control) && !self.name.trim().is_empty();
        if !plain || self.name.chars().count() > MAX_NAME {
            return Err(Error::invalid("name", self.name, "1 to 100 characters on one line"));
        }
        self.scopes.sort_unstable();
        self.scopes.dedup();
        if self.scopes.is_empty() {
            return Err(Error::invalid("scopes", "[]", "one or more scopes"));
        }
        let about_all = self.scopes.iter().find(|scope| !scope.is_of_one_application());
        if let Some(scope) = about_all.filter(|_| self.application.is_some()) {
            let bound = "left out for a key that is limited to one application";
            return Err(Error::invalid("scopes", scope, bound));
        }
        if let Some(expires_at) = self.expires_at.filter(|at| *at <= self.created_at) {
            let given = stagger_text::Timestamp(expires_at);
            return Err(Error::invalid("expires_at", given, "in the future"));
        }
        Ok(self)
    }

    /// Whether it has a scope.
    pub(crate) fn has(&self, scope: Scope) -> bool {
        self.scopes.contains(&Scope::Admin) || self.scopes.contains(&scope)
    }

    /// Whether it has ended by `now`.
    pub(crate) fn has_expired(&self, now: Instant) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// Whether its hash is this one, in a time that does not depend on the bytes.
    pub(crate) fn is(&self, hash: KeyHash) -> bool {
        self.hash.as_bytes().ct_eq(hash.as_bytes()).into()
    }

    /// Whether it gives access to the data of an application.
    pub(crate) fn reaches(&self, application: ApplicationId) -> bool {
        self.application.is_none_or(|only| only == application)
    }
}

impl ApiKeySecret {
    /// A new random secret.
    ///
    /// # Errors
    /// The operating system has no random bytes to give.
    pub(crate) fn make() -> Result<Self, Error> {
        Ok(Self(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(os_bytes::<BYTES>()?))))
    }

    pub(crate) fn hash(&self) -> KeyHash {
        KeyHash::of(&self.0)
    }

    pub(crate) fn reveal(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use stagger::Span;
    use uuid::Uuid;

    use super::*;

    fn key(scopes: &[Scope]) -> ApiKey {
        ApiKey {
            id: ApiKeyId::from_uuid(Uuid::from_u128(1)),
            name: "billing".into(),
            hash: KeyHash::of("stgr_1"),
            scopes: scopes.to_vec(),
            application: None,
            created_at: Instant::ORIGIN + Span::from_secs(10),
            expires_at: None,
        }
    }

    fn refused(key: ApiKey) -> String {
        key.check().expect_err("it is out of its bounds").to_string()
    }

    #[test]
    fn a_key_out_of_its_bounds_is_refused_with_the_field() {
        let good = key(&[Scope::MessagesWrite, Scope::MessagesRead, Scope::MessagesWrite]);
        let checked = good.clone().check().expect("good");
        assert_eq!(checked.scopes, [Scope::MessagesRead, Scope::MessagesWrite]);
        for name in [String::new(), " ".into(), "a\nb".into(), "a".repeat(101)] {
            assert!(refused(ApiKey { name, ..good.clone() }).starts_with("name = "));
        }
        assert_eq!(refused(key(&[])), "scopes = []: must be one or more scopes");
        let only = Some(ApplicationId::from_uuid(Uuid::nil()));
        let limited = ApiKey { application: only, ..key(&[Scope::Admin]) };
        assert!(refused(limited).contains("limited to one application"));
        let ended = refused(ApiKey { expires_at: Some(good.created_at), ..good });
        assert!(ended.contains("expires_at = 1970-01-01T00:00:10"), "{ended}");
    }

    #[test]
    fn the_admin_scope_has_all_others_and_no_other_has_one_more() {
        for scope in Scope::ALL {
            assert!(key(&[Scope::Admin]).has(scope));
            let has: Vec<_> =
                Scope::ALL.into_iter().filter(|other| key(&[scope]).has(*other)).collect();
            assert!(scope == Scope::Admin || has == [scope], "{scope}");
            assert_eq!(scope.name().parse(), Ok(scope));
        }
        assert!(Scope::ALL.is_sorted_by_key(|scope| scope.name()));
    }

    #[test]
    fn a_key_can_be_found_by_its_form() {
        let secret = ApiKeySecret::make().expect("random bytes");
        let (hash, text) = (secret.hash(), secret.reveal());
        assert!(ApiKey::is_form_of(&text) && text.len() == PREFIX.len() + 43, "{text}");
        let made = ApiKey { hash, ..key(&[Scope::Admin]) };
        assert!(made.is(KeyHash::of(&text)) && !made.is(KeyHash::of("stgr_1")));
        assert!(!format!("{made:?}").contains(&text));
    }
}
