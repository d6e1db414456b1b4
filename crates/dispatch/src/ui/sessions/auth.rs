//! Authentication: checks keys, and remembers sessions.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::HeaderMap;
use http::header::{COOKIE, HeaderValue};
use stagger::{Clock, Instant, Span, StdTime};
use stagger_scheduler::model::KeyHash;

use crate::Error;
use crate::access::{Operator, OperatorFile, SeenOperator, Staff};
use crate::config::PortalSettings;
use crate::random::os_bytes;

/// Access to the operator's page.
///
/// ```
/// use stagger_scheduler::model::KeyHash;
/// use stagger_dispatch::ui::UiOptions;
/// let options = UiOptions { admin_key: Some(KeyHash::of("a long secret")), ..UiOptions::default() };
/// assert!(!options.secure);
/// ```
#[derive(Clone, Debug, Default)]
pub struct UiOptions {
    /// The hash of the key to sign in with. With none the page is open, but only under names of this
    /// machine (`localhost`, `127.0.0.1`, `[::1]`), so that no foreign page can reach it through a
    /// browser on the same machine.
    pub admin_key: Option<KeyHash>,
    /// The operators with keys and roles of their own: default none.
    pub operators: OperatorFile,
    /// Whether browsers come over TLS, as behind a proxy that ends it: the cookie then never travels
    /// without.
    pub secure: bool,
    /// The identity provider at which operators can sign in: default none.
    #[cfg(feature = "oidc")]
    pub oidc: Option<crate::oidc::Oidc>,
    /// The address under which clients reach the dispatcher, for the examples on the pages: default
    /// `http://127.0.0.1:8080`.
    pub base: Option<String>,
    /// The look of the portal, and the pages that may show it in a frame.
    pub portal: PortalSettings,
}

/// Admits the admin and operators with their keys, or everyone if no admin key is configured.
#[derive(Debug)]
pub(in crate::ui) struct Auth {
    staff: Staff,
    secure: bool,
    sessions: Mutex<SessionStore>,
}

/// The reason for which signing in failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::ui) enum SignInError {
    /// The key is unknown.
    Wrong,
    /// No session token could be made.
    NoToken(Error),
}

impl Auth {
    pub(in crate::ui) fn new(options: UiOptions) -> Self {
        let UiOptions { admin_key, operators, secure, .. } = options;
        Self { staff: Staff::new(admin_key, operators), secure, sessions: Mutex::default() }
    }

    /// Whether signing in is not needed.
    pub(in crate::ui) const fn is_open(&self) -> bool {
        !self.staff.has_admin()
    }

    /// The operators of the file.
    pub(in crate::ui) fn operators(&self) -> Vec<SeenOperator> {
        self.staff.operators()
    }

    /// The operator of the session that a request with these headers has: as it is now, so that a removed
    /// operator has none.
    pub(in crate::ui) fn operator(&self, headers: &HeaderMap) -> Option<Operator> {
        if self.is_open() {
            return Some(Operator::admin());
        }
        let token = cookie(headers, self.cookie_name())?;
        let then = self.lock().operator(StdTime.now(), token)?;
        let now = self.staff.current(&then);
        if now.is_none() {
            self.lock().close(token);
        }
        now
    }

    /// Signs in: the cookie to set.
    pub(in crate::ui) fn sign_in(&self, key: &str) -> Result<HeaderValue, SignInError> {
        // An open page has no keys, so that none is right.
        let operator = if self.is_open() { None } else { self.staff.find(KeyHash::of(key)) };
        let operator = operator.ok_or(SignInError::Wrong)?;
        self.begin(operator, LASTS).map_err(SignInError::NoToken)
    }

    /// Begins a session: the cookie to set.
    pub(in crate::ui) fn begin(
        &self,
        operator: Operator,
        lasts: Span,
    ) -> Result<HeaderValue, Error> {
        let token = self.lock().open(StdTime.now(), operator, lasts)?;
        Ok(self.cookie(&token, lasts))
    }

    /// Signs out: the cookie to set.
    pub(in crate::ui) fn sign_out(&self, headers: &HeaderMap) -> HeaderValue {
        if let Some(token) = cookie(headers, self.cookie_name()) {
            self.lock().close(token);
        }
        self.cookie("", Span::ZERO)
    }

    /// The prefix makes browsers refuse it from other hosts and without TLS (RFC 6265bis section
    /// 4.1.3.2).
    const fn cookie_name(&self) -> &'static str {
        if self.secure { "__Host-stagger" } else { "stagger" }
    }

    fn cookie(&self, token: &str, lasts: Span) -> HeaderValue {
        let (name, age) = (self.cookie_name(), lasts.as_secs_ceil());
        let secure = if self.secure { "; Secure" } else { "" };
        let text =
            format!("{name}={token}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}");
        HeaderValue::try_from(text).expect("names, digits and hexadecimal digits are visible")
    }

    /// The cookie with the state of a sign-in at a provider. It has to come along when the provider sends the browser
    /// back, which `Strict` forbids.
    #[cfg(feature = "oidc")]
    pub(in crate::ui) fn state_cookie(&self, state: &str, lasts: Span) -> HeaderValue {
        let (name, age) = (self.state_name(), lasts.as_secs_ceil());
        let secure = if self.secure { "; Secure" } else { "" };
        let text = format!("{name}={state}; Path=/; Max-Age={age}; HttpOnly; SameSite=Lax{secure}");
        HeaderValue::try_from(text).expect("names, digits and base64 letters are visible")
    }

    /// The state that the browser was given.
    #[cfg(feature = "oidc")]
    pub(in crate::ui) fn kept_state<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        cookie(headers, self.state_name())
    }

    #[cfg(feature = "oidc")]
    const fn state_name(&self) -> &'static str {
        if self.secure { "__Host-stagger-oidc" } else { "stagger-oidc" }
    }

    fn lock(&self) -> MutexGuard<'_, SessionStore> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The value of a cookie (RFC 6265 section 5.4).
pub(in crate::ui) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let pairs = headers.get_all(COOKIE).iter().filter_map(|field| field.to_str().ok());
    pairs.flat_map(|field| field.split(';')).find_map(|pair| {
        let (key, value) = pair.trim().split_once('=')?;
        (key == name).then_some(value)
    })
}

/// The most sessions: more browsers than operators have; the oldest one ends for a new one.
const MAX_SESSIONS: usize = 64;

/// The lifetime of a session: a working day.
pub(super) const LASTS: Span = Span::from_secs(12 * 60 * 60);

/// All sessions, by the hash of their token, so that a dump of memory holds none.
#[derive(Debug, Default)]
pub(super) struct SessionStore {
    sessions: HashMap<KeyHash, Session>,
}

#[derive(Debug)]
struct Session {
    operator: Operator,
    end: Instant,
}

impl SessionStore {
    /// A new session: its token, 256 bits of the operating system's randomness in hexadecimal digits.
    ///
    /// # Errors
    /// The operating system has no randomness.
    pub(super) fn open(
        &mut self,
        now: Instant,
        operator: Operator,
        lasts: Span,
    ) -> Result<String, Error> {
        let bytes = os_bytes::<32>()?;
        self.sessions.retain(|_, session| session.end > now);
        let oldest =
            || self.sessions.iter().min_by_key(|(_, session)| session.end).map(|(t, _)| *t);
        if self.sessions.len() >= MAX_SESSIONS
            && let Some(oldest) = oldest()
        {
            self.sessions.remove(&oldest);
        }
        let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        self.sessions.insert(KeyHash::of(&token), Session { operator, end: now + lasts });
        Ok(token)
    }

    /// The operator of the session with this token, if it has not ended.
    pub(super) fn operator(&self, now: Instant, token: &str) -> Option<Operator> {
        let session = self.sessions.get(&KeyHash::of(token))?;
        (session.end > now).then(|| session.operator.clone())
    }

    /// Ends a session.
    pub(super) fn close(&mut self, token: &str) {
        self.sessions.remove(&KeyHash::of(token));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auth(secure: bool) -> Auth {
        Auth::new(UiOptions {
            admin_key: Some(KeyHash::of("right")),
            secure,
            ..UiOptions::default()
        })
    }

    fn with_cookie(set: &HeaderValue) -> HeaderMap {
        let pair = set.to_str().unwrap().split(';').next().unwrap().to_owned();
        HeaderMap::from_iter([(COOKIE, format!("theme=a; {pair}").parse().unwrap())])
    }

    #[test]
    fn the_cookie_of_a_right_key_is_admitted_until_signing_out() {
        for secure in [false, true] {
            let auth = auth(secure);
            assert!(auth.operator(&HeaderMap::new()).is_none());
            let set = auth.sign_in("right").unwrap();
            let text = set.to_str().unwrap();
            assert!(text.contains("; HttpOnly; SameSite=Strict"), "{text}");
            assert_eq!(text.starts_with("__Host-") && text.ends_with("; Secure"), secure);
            let headers = with_cookie(&set);
            assert!(auth.operator(&headers).is_some());
            auth.sign_out(&headers);
            assert!(auth.operator(&headers).is_none());
        }
    }

    #[test]
    fn wrong_keys_of_others_locked_the_operator_out() {
        let auth = auth(false);
        for _ in 0..100 {
            assert_eq!(auth.sign_in("wrong"), Err(SignInError::Wrong));
        }
        assert!(auth.sign_in("right").is_ok());
    }

    #[test]
    fn without_a_key_signing_in_is_neither_possible_nor_needed() {
        let auth = Auth::new(UiOptions::default());
        assert!(auth.operator(&HeaderMap::new()).is_some());
        assert_eq!(auth.sign_in(""), Err(SignInError::Wrong));
    }

    fn holds(sessions: &SessionStore, now: Instant, token: &str) -> bool {
        sessions.operator(now, token).is_some()
    }

    fn open(sessions: &mut SessionStore, now: Instant) -> String {
        sessions.open(now, Operator::admin(), LASTS).expect("the system has randomness")
    }

    #[test]
    fn a_session_ends_by_itself_and_by_signing_out() {
        let (mut sessions, now) = (SessionStore::default(), Instant::ORIGIN);
        let (first, second) = (open(&mut sessions, now), open(&mut sessions, now));
        assert_ne!(first, second);
        assert_eq!(first.len(), 64);
        assert!(holds(&sessions, now, &first) && !holds(&sessions, now, "other"));
        sessions.close(&first);
        assert!(!holds(&sessions, now, &first));
        assert!(holds(&sessions, now, &second) && !holds(&sessions, now + LASTS, &second));
    }

    #[test]
    fn sessions_do_not_fill_the_memory() {
        let mut sessions = SessionStore::default();
        let at = |n| Instant::ORIGIN + Span::from_secs(n);
        let first = open(&mut sessions, at(0));
        let tokens: Vec<_> = (1..=64).map(|n| open(&mut sessions, at(n))).collect();
        assert_eq!(sessions.sessions.len(), MAX_SESSIONS);
        assert!(!holds(&sessions, at(64), &first));
        assert!(tokens.iter().all(|token| holds(&sessions, at(64), token)));
    }
}
