//! Authentication: checks keys, and remembers sessions.

use std::sync::{Mutex, MutexGuard, PoisonError};

use http::HeaderMap;
use http::header::{COOKIE, HeaderValue};
use stagger::{Clock, Span, StdTime};
use subtle::ConstantTimeEq;

use super::bucket::WrongKeyBucket;
use super::session_store::{LASTS, SessionStore};
use crate::Error;
use crate::model::KeyHash;

/// Access to the operator's page.
///
/// ```
/// use stagger_dispatch::model::KeyHash;
/// use stagger_dispatch::ui::UiOptions;
/// let options = UiOptions { admin_key: Some(KeyHash::of("a long secret")), ..UiOptions::default() };
/// assert!(!options.secure);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct UiOptions {
    /// The hash of the key to sign in with. With none the page is open, but only under names of this
    /// machine (`localhost`, `127.0.0.1`, `[::1]`), so that no foreign page can reach it through a
    /// browser on the same machine.
    pub admin_key: Option<KeyHash>,
    /// Whether browsers come over TLS, as behind a proxy that ends it: the cookie then never travels
    /// without.
    pub secure: bool,
}

/// Admits operators with the admin key, or everyone if no key is configured.
#[derive(Debug)]
pub(in crate::ui) struct Auth {
    options: UiOptions,
    state: Mutex<AuthState>,
}

#[derive(Debug, Default)]
struct AuthState {
    sessions: SessionStore,
    failures: WrongKeyBucket,
}

/// The reason for which signing in failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::ui) enum SignInError {
    /// The key is not the admin key.
    Wrong,
    /// Too many keys were wrong; the next is looked at after this long.
    TooMany(Span),
    /// No session token could be made.
    NoToken(Error),
}

impl Auth {
    pub(in crate::ui) fn new(options: UiOptions) -> Self {
        Self { options, state: Mutex::default() }
    }

    /// Whether signing in is not needed.
    pub(in crate::ui) const fn is_open(&self) -> bool {
        self.options.admin_key.is_none()
    }

    /// Whether a request with these headers has a valid session.
    pub(in crate::ui) fn admits(&self, headers: &HeaderMap) -> bool {
        let token = |name| cookie(headers, name);
        let now = StdTime.now();
        self.is_open()
            || token(self.cookie_name()).is_some_and(|t| self.lock().sessions.holds(now, t))
    }

    /// Signs in: the cookie to set.
    pub(in crate::ui) fn sign_in(&self, key: &str) -> Result<HeaderValue, SignInError> {
        let now = StdTime.now();
        let mut state = self.lock();
        state.failures.take(now).map_err(SignInError::TooMany)?;
        if !self.is_admin_key(key) {
            return Err(SignInError::Wrong);
        }
        state.failures.give_back();
        let token = state.sessions.open(now).map_err(SignInError::NoToken)?;
        Ok(self.cookie(&token, LASTS))
    }

    /// Signs out: the cookie to set.
    pub(in crate::ui) fn sign_out(&self, headers: &HeaderMap) -> HeaderValue {
        if let Some(token) = cookie(headers, self.cookie_name()) {
            self.lock().sessions.close(token);
        }
        self.cookie("", Span::ZERO)
    }

    fn is_admin_key(&self, key: &str) -> bool {
        let given = KeyHash::of(key);
        let right = |admin: KeyHash| admin.as_bytes().ct_eq(given.as_bytes()).into();
        self.options.admin_key.is_some_and(right)
    }

    /// The prefix makes browsers refuse it from other hosts and without TLS (RFC 6265bis section
    /// 4.1.3.2).
    const fn cookie_name(&self) -> &'static str {
        if self.options.secure { "__Host-stagger" } else { "stagger" }
    }

    fn cookie(&self, token: &str, lasts: Span) -> HeaderValue {
        let (name, age) = (self.cookie_name(), lasts.as_secs_ceil());
        let secure = if self.options.secure { "; Secure" } else { "" };
        let text =
            format!("{name}={token}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}");
        HeaderValue::try_from(text).expect("names, digits and hexadecimal digits are visible")
    }

    fn lock(&self) -> MutexGuard<'_, AuthState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The value of a cookie (RFC 6265 section 5.4).
fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let pairs = headers.get_all(COOKIE).iter().filter_map(|field| field.to_str().ok());
    pairs.flat_map(|field| field.split(';')).find_map(|pair| {
        let (key, value) = pair.trim().split_once('=')?;
        (key == name).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auth(secure: bool) -> Auth {
        Auth::new(UiOptions { admin_key: Some(KeyHash::of("right")), secure })
    }

    fn with_cookie(set: &HeaderValue) -> HeaderMap {
        let pair = set.to_str().unwrap().split(';').next().unwrap().to_owned();
        HeaderMap::from_iter([(COOKIE, format!("theme=a; {pair}").parse().unwrap())])
    }

    #[test]
    fn the_cookie_of_a_right_key_is_admitted_until_signing_out() {
        for secure in [false, true] {
            let auth = auth(secure);
            assert!(!auth.admits(&HeaderMap::new()));
            let set = auth.sign_in("right").unwrap();
            let text = set.to_str().unwrap();
            assert!(text.contains("; HttpOnly; SameSite=Strict"), "{text}");
            assert_eq!(text.starts_with("__Host-") && text.ends_with("; Secure"), secure);
            let headers = with_cookie(&set);
            assert!(auth.admits(&headers));
            auth.sign_out(&headers);
            assert!(!auth.admits(&headers));
        }
    }

    #[test]
    fn a_wrong_key_is_refused_and_guessing_is_slowed() {
        let auth = auth(false);
        for _ in 0..10 {
            assert_eq!(auth.sign_in("wrong"), Err(SignInError::Wrong));
        }
        assert!(matches!(auth.sign_in("right"), Err(SignInError::TooMany(_))));
    }

    #[test]
    fn without_a_key_signing_in_is_neither_possible_nor_needed() {
        let auth = Auth::new(UiOptions::default());
        assert!(auth.admits(&HeaderMap::new()));
        assert_eq!(auth.sign_in(""), Err(SignInError::Wrong));
    }
}
