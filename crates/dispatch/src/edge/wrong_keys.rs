//! Wrong keys: counted, logged, and answered later the more of them a source sends.
//!
//! A right key always passes, whatever others send: nobody can lock an operator or a tenant out.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::ConnectInfo;
use http::Extensions;
use metrics::counter;
use stagger::{Clock, Instant, Sleep, Span, TokioTime};

use super::table::source_of;

/// Wrong keys of a source that are answered immediately: people mistype.
const FREE: u32 = 5;
/// The delay that each further one adds, and the longest.
const STEP: Span = Span::from_millis(100);
const LONGEST: Span = Span::from_secs(2);
/// The time in which one wrong key is forgotten.
const FORGIVEN: Span = Span::from_secs(10);
/// Sources that are remembered; beyond them the oldest are forgotten.
const SOURCES: usize = 10_000;
/// Answers that are held back at one time. Each holds a connection; more are given immediately.
const HELD: usize = 256;
/// The least time between two log lines.
const LOG_INTERVAL: Span = Span::from_secs(10);

pub(crate) const WRONG: &str = "stagger.keys.wrong";

/// The wrong keys of a while, by source.
#[derive(Clone, Debug, Default)]
pub(crate) struct WrongKeys(Arc<Guesses>);

#[derive(Debug, Default)]
struct Guesses {
    by_source: Mutex<HashMap<IpAddr, SourceGuesses>>,
    logged_at: Mutex<Option<Instant>>,
    held: AtomicUsize,
}

#[derive(Clone, Copy, Debug)]
struct SourceGuesses {
    count: u32,
    at: Instant,
}

/// An answer that is held back. Dropping it, as when its client leaves, counts it out.
struct HeldAnswer<'g>(&'g AtomicUsize);

impl WrongKeys {
    /// Notes a wrong key in a request with these extensions, for `place`, and waits as long as its answer is to
    /// be held back.
    pub(crate) async fn note(&self, extensions: &Extensions, place: &'static str) {
        counter!(WRONG, "stagger.place" => place).increment(1);
        let from = extensions.get::<ConnectInfo<SocketAddr>>();
        let Some(ConnectInfo(from)) = from else { return };
        let now = TokioTime.now();
        let delay = self.delay(source_of(from.ip()), now);
        self.log(from.ip(), place, now);
        let held = &self.0.held;
        let answer = HeldAnswer(held);
        if held.fetch_add(1, Ordering::Relaxed) < HELD && !delay.is_zero() {
            TokioTime.sleep(delay).await;
        }
        drop(answer);
    }

    /// Counts one wrong key of a source, and returns how long its answer is held back.
    fn delay(&self, source: IpAddr, now: Instant) -> Span {
        let mut sources = self.0.by_source.lock().unwrap_or_else(PoisonError::into_inner);
        if sources.len() >= SOURCES && !sources.contains_key(&source) {
            let oldest = sources.iter().min_by_key(|(_, guesses)| guesses.at);
            if let Some(oldest) = oldest.map(|(source, _)| *source) {
                sources.remove(&oldest);
            }
        }
        let guesses = sources.entry(source).or_insert(SourceGuesses { count: 0, at: now });
        let forgiven = now.since(guesses.at).as_nanos() / FORGIVEN.as_nanos();
        if forgiven > 0 {
            guesses.count =
                guesses.count.saturating_sub(u32::try_from(forgiven).unwrap_or(u32::MAX));
            guesses.at = now;
        }
        guesses.count = guesses.count.saturating_add(1);
        let over = u64::from(guesses.count.saturating_sub(FREE));
        Span::from_nanos(STEP.as_nanos().saturating_mul(over)).min(LONGEST)
    }

    fn log(&self, from: IpAddr, place: &'static str, now: Instant) {
        let mut last = self.0.logged_at.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_none_or(|last| now.since(last) >= LOG_INTERVAL) {
            *last = Some(now);
            tracing::warn!(source = %from, place, "wrong key");
        }
    }
}

impl Drop for HeldAnswer<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(n: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, n])
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_could_guess_as_fast_as_it_liked() {
        let keys = WrongKeys::default();
        let now = TokioTime.now();
        let delays: Vec<_> = (0..40).map(|_| keys.delay(address(1), now)).collect();
        assert!(delays[..5].iter().all(|delay| delay.is_zero()), "people mistype");
        assert_eq!((delays[5], delays[39]), (STEP, LONGEST));
        assert_eq!(keys.delay(address(2), now), Span::ZERO, "another source is not held back");
        let later = now + Span::from_secs(600);
        assert_eq!(
            keys.delay(address(1), later),
            Span::ZERO,
            "and nothing is held against it for ever"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn sources_without_end_filled_the_memory() {
        let keys = WrongKeys::default();
        let many = u32::try_from(SOURCES).expect("it is small") + 10;
        for n in 0..many {
            let source = IpAddr::from(std::net::Ipv4Addr::from_bits(n));
            keys.delay(source, Instant::from_nanos(n.into()));
        }
        assert_eq!(keys.0.by_source.lock().expect("no panic").len(), SOURCES);
    }

    #[tokio::test(start_paused = true)]
    async fn clients_that_leave_kept_the_places_of_held_answers() {
        let keys = WrongKeys::default();
        let mut extensions = Extensions::new();
        extensions.insert(ConnectInfo(SocketAddr::from(([10, 0, 0, 1], 1))));
        for _ in 0..20 {
            tokio::select! {
                biased;
                () = keys.note(&extensions, "api") => {}
                () = std::future::ready(()) => {}
            }
        }
        assert_eq!(keys.0.held.load(Ordering::Relaxed), 0);
    }
}
