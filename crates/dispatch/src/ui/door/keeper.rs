//! The door: checks keys, and remembers who has signed in.

use std::sync::{Mutex, MutexGuard, PoisonError};

use http::HeaderMap;
use http::header::{COOKIE, HeaderValue};
use stagger::{Clock, Span, StdTime};
use subtle::ConstantTimeEq;

use super::bucket::Bucket;
use super::session::{LASTS, Sessions};
use crate::Error;
use crate::model::KeyHash;
use crate::ui::UiOptions;

/// Lets in who has the admin key, or everybody when there is none.
#[derive(Debug)]
pub(in crate::ui) struct Door {
    options: UiOptions,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    sessions: Sessions,
    failures: Bucket,
}

/// Why somebody was not let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::ui) enum Refusal {
    /// The key is not the admin key.
    Wrong,
    /// Too many keys were wrong; the next is looked at after this long.
    TooMany(Span),
    /// No session token could be made.
    NoToken(Error),
}

impl Door {
    pub(in crate::ui) fn new(options: UiOptions) -> Self {
        Self { options, state: Mutex::default() }
    }

    /// Whether nobody has to sign in.
    pub(in crate::ui) const fn is_open(&self) -> bool {
        self.options.admin_key.is_none()
    }

    /// Whether a request with these headers comes from somebody who may see everything.
    pub(in crate::ui) fn admits(&self, headers: &HeaderMap) -> bool {
        let token = |name| cookie(headers, name);
        let now = StdTime.now();
        self.is_open()
            || token(self.cookie_name()).is_some_and(|t| self.lock().sessions.holds(now, t))
    }

    /// Signs in: the cookie to set.
    pub(in crate::ui) fn sign_in(&self, key: &str) -> Result<HeaderValue, Refusal> {
        let now = StdTime.now();
        let mut state = self.lock();
        state.failures.take(now).map_err(Refusal::TooMany)?;
        if !self.is_admin_key(key) {
            return Err(Refusal::Wrong);
        }
        state.failures.give_back();
        let token = state.sessions.open(now).map_err(Refusal::NoToken)?;
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

    fn lock(&self) -> MutexGuard<'_, State> {
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

    fn door(secure: bool) -> Door {
        Door::new(UiOptions { admin_key: Some(KeyHash::of("right")), secure })
    }

    fn with_cookie(set: &HeaderValue) -> HeaderMap {
        let pair = set.to_str().unwrap().split(';').next().unwrap().to_owned();
        HeaderMap::from_iter([(COOKIE, format!("theme=a; {pair}").parse().unwrap())])
    }

    #[test]
    fn the_cookie_of_a_right_key_is_admitted_until_signing_out() {
        for secure in [false, true] {
            let door = door(secure);
            assert!(!door.admits(&HeaderMap::new()));
            let set = door.sign_in("right").unwrap();
            let text = set.to_str().unwrap();
            assert!(text.contains("; HttpOnly; SameSite=Strict"), "{text}");
            assert_eq!(text.starts_with("__Host-") && text.ends_with("; Secure"), secure);
            let headers = with_cookie(&set);
            assert!(door.admits(&headers));
            door.sign_out(&headers);
            assert!(!door.admits(&headers));
        }
    }

    #[test]
    fn a_wrong_key_is_refused_and_guessing_is_slowed() {
        let door = door(false);
        for _ in 0..10 {
            assert_eq!(door.sign_in("wrong"), Err(Refusal::Wrong));
        }
        assert!(matches!(door.sign_in("right"), Err(Refusal::TooMany(_))));
    }

    #[test]
    fn without_a_key_nobody_can_sign_in_and_nobody_needs_to() {
        let door = Door::new(UiOptions::default());
        assert!(door.admits(&HeaderMap::new()));
        assert_eq!(door.sign_in(""), Err(Refusal::Wrong));
    }
}
