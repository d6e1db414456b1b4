//! The access token of one endpoint: fetched by one attempt at a time, and kept until shortly before it expires.

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};

use http::HeaderValue;
use stagger::{Clock, Instant, Span, TokioTime};
use tokio::sync::Mutex;

use crate::send_failure::SendFailure;

/// The longest time before its end at which a token is no longer used; of a short-lived one a tenth of its time.
const MARGIN: Span = Span::from_secs(60);
/// The time for which a token is kept whose server does not say for how long it is valid.
const DEFAULT_AGE: Span = Span::from_secs(300);
/// The longest time for which a token is kept, whatever its server says.
const MAX_AGE: Span = Span::from_secs(24 * 60 * 60);

/// A token as its server gave it.
pub(crate) struct IssuedToken {
    /// The value of `Authorization`.
    pub(crate) authorization: HeaderValue,
    pub(crate) expires_in: Option<Span>,
}

/// The cached token, and the turn to fetch one.
#[derive(Default)]
pub(crate) struct TokenCache {
    cached: Mutex<CachedToken>,
    /// Fetches that have ended.
    ended: AtomicU64,
}

#[derive(Default)]
struct CachedToken {
    token: Option<(AccessToken, Instant)>,
    failure: Option<SendFailure>,
}

/// A token to send with an attempt.
#[derive(Clone)]
pub(crate) struct AccessToken {
    pub(crate) authorization: HeaderValue,
    /// Whether this attempt has fetched it.
    pub(crate) is_fresh: bool,
    serial: u64,
}

impl TokenCache {
    /// The cached token, or the one that `fetch` gets. An attempt that waits for the fetch of another one has its result, also
    /// its failure: a hundred attempts do not ask a server that is down one after the other.
    ///
    /// If the future that fetches is dropped, the next one fetches.
    ///
    /// # Errors
    /// The failure of the fetch.
    pub(crate) async fn get<F>(&self, fetch: impl FnOnce() -> F) -> Result<AccessToken, SendFailure>
    where
        F: Future<Output = Result<IssuedToken, SendFailure>>,
    {
        let seen = self.ended.load(Ordering::Acquire);
        let mut cached = self.cached.lock().await;
        if let Some((token, until)) = &cached.token
            && TokioTime.now() < *until
        {
            return Ok(token.clone());
        }
        let ended = self.ended.load(Ordering::Acquire);
        if let Some(failure) = cached.failure.as_ref().filter(|_| ended != seen) {
            return Err(failure.clone());
        }
        let asked_at = TokioTime.now();
        let issued = fetch().await;
        self.ended.store(ended.wrapping_add(1), Ordering::Release);
        match issued {
            Ok(IssuedToken { authorization, expires_in }) => {
                let until = asked_at + usable(expires_in);
                let token = AccessToken { authorization, is_fresh: false, serial: ended };
                *cached = CachedToken { token: Some((token.clone(), until)), failure: None };
                Ok(AccessToken { is_fresh: true, ..token })
            }
            Err(failure) => {
                *cached = CachedToken { token: None, failure: Some(failure.clone()) };
                Err(failure)
            }
        }
    }

    /// Drops a token that the receiver has refused, unless it was replaced meanwhile.
    pub(crate) async fn reject(&self, refused: &AccessToken) {
        let mut cached = self.cached.lock().await;
        if cached.token.as_ref().is_some_and(|(token, _)| token.serial == refused.serial) {
            cached.token = None;
        }
    }
}

impl fmt::Debug for TokenCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenCache").field("ended", &self.ended).finish_non_exhaustive()
    }
}

/// The time for which a token is used: shorter than it is valid, because an attempt and the way take time.
fn usable(expires_in: Option<Span>) -> Span {
    let valid = expires_in.unwrap_or(DEFAULT_AGE).min(MAX_AGE);
    let margin = Span::from_nanos(valid.as_nanos() / 10).min(MARGIN);
    valid - margin
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use stagger::Sleep;
    use stagger_scheduler::model::AttemptFailure;

    use super::*;

    /// A server of tokens: each takes a second and is valid for 100 s.
    #[derive(Default)]
    struct Issuer {
        fetches: AtomicUsize,
        is_down: std::sync::atomic::AtomicBool,
    }

    impl Issuer {
        async fn fetch(&self) -> Result<IssuedToken, SendFailure> {
            let n = self.fetches.fetch_add(1, Ordering::Relaxed);
            TokioTime.sleep(Span::from_secs(1)).await;
            if self.is_down.load(Ordering::Relaxed) {
                return Err(SendFailure::new(AttemptFailure::Token, "down"));
            }
            let authorization = HeaderValue::from_str(&format!("Bearer {n}")).unwrap();
            Ok(IssuedToken { authorization, expires_in: Some(Span::from_secs(100)) })
        }

        fn fetches(&self) -> usize {
            self.fetches.load(Ordering::Relaxed)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_at_once_fetch_one_token_and_share_it_until_it_expires() {
        let (cache, issuer) = (Arc::new(TokenCache::default()), Arc::new(Issuer::default()));
        let attempts = (0..8).map(|_| {
            let (cache, issuer) = (Arc::clone(&cache), Arc::clone(&issuer));
            tokio::spawn(
                async move { cache.get(|| issuer.fetch()).await.map(|it| it.authorization) },
            )
        });
        for attempt in attempts.collect::<Vec<_>>() {
            assert_eq!(attempt.await.unwrap().unwrap(), "Bearer 0");
        }
        assert_eq!(issuer.fetches(), 1);
        // From the question on it is used for 90 of its 100 s.
        TokioTime.sleep(Span::from_millis(88_900)).await;
        assert!(!cache.get(|| issuer.fetch()).await.unwrap().is_fresh);
        TokioTime.sleep(Span::from_millis(200)).await;
        let next = cache.get(|| issuer.fetch()).await.unwrap();
        assert_eq!((next.authorization.to_str().unwrap(), next.is_fresh), ("Bearer 1", true));
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_is_down_is_asked_once_by_all_that_wait_and_again_by_the_next() {
        let (cache, issuer) = (Arc::new(TokenCache::default()), Arc::new(Issuer::default()));
        issuer.is_down.store(true, Ordering::Relaxed);
        let began = TokioTime.now();
        let attempts = (0..8).map(|_| {
            let (cache, issuer) = (Arc::clone(&cache), Arc::clone(&issuer));
            tokio::spawn(async move { cache.get(|| issuer.fetch()).await.is_err() })
        });
        for attempt in attempts.collect::<Vec<_>>() {
            assert!(attempt.await.unwrap());
        }
        assert_eq!((issuer.fetches(), TokioTime.now().since(began)), (1, Span::from_secs(1)));
        issuer.is_down.store(false, Ordering::Relaxed);
        assert!(cache.get(|| issuer.fetch()).await.is_ok());
        assert_eq!(issuer.fetches(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_fetch_that_was_dropped_leaves_its_turn_to_the_next() {
        let (cache, issuer) = (TokenCache::default(), Issuer::default());
        let half = Span::from_millis(500);
        assert!(
            crate::connection::within(half, pin!(cache.get(|| issuer.fetch()))).await.is_none()
        );
        assert!(cache.get(|| issuer.fetch()).await.is_ok());
        assert_eq!(issuer.fetches(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_token_is_dropped_once() {
        let (cache, issuer) = (TokenCache::default(), Issuer::default());
        let first = cache.get(|| issuer.fetch()).await.unwrap();
        cache.reject(&first).await;
        let second = cache.get(|| issuer.fetch()).await.unwrap();
        // Another attempt that had the first one is late, and must not drop the second.
        cache.reject(&first).await;
        let third = cache.get(|| issuer.fetch()).await.unwrap();
        assert_eq!((second.authorization == third.authorization, issuer.fetches()), (true, 2));
    }

    #[test]
    fn a_token_is_used_for_less_than_it_is_valid() {
        let secs = |n| usable(Some(Span::from_secs(n)));
        assert_eq!(secs(10), Span::from_secs(9));
        assert_eq!(secs(3600), Span::from_secs(3540));
        assert_eq!(secs(0), Span::ZERO);
        assert_eq!(secs(u64::MAX / 1_000_000_000), MAX_AGE - MARGIN);
        assert_eq!(usable(None), Span::from_secs(270));
    }
}
