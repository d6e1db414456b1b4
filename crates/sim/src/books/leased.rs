//! Permits that a process has leased from a store which the whole fleet shares.

use stagger_core::budget::{Budget, Charge, Paid, Settled};
use stagger_core::{Entropy, Instant, Ratio};

use crate::plan::Shared;
use crate::streams::{Purpose, Stream};

/// A process's share of the store, and what it has not told the store yet.
///
/// A retry takes a leased permit or is refused: it never waits for the store. The first call asks
/// for the first lease, and whenever half a lease is used up, another one is asked for; news of
/// first attempts and outcomes goes along with the request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Leased {
    permits: u32,
    half: u32,
    asked_at: Option<Instant>,
    refused_until: Option<Instant>,
    news: Request,
}

/// What a process tells the store when it asks for permits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) firsts: u32,
    pub(crate) first_tries: u32,
    pub(crate) after_retry: u32,
    pub(crate) failed: u32,
}

impl Request {
    /// The request as the two words of an event.
    pub(crate) const fn to_words(self) -> [u64; 2] {
        let Self { firsts, first_tries, after_retry, failed } = self;
        [((firsts as u64) << 32) | first_tries as u64, ((after_retry as u64) << 32) | failed as u64]
    }

    /// The request of these words.
    #[expect(clippy::cast_possible_truncation, reason = "halves of words")]
    pub(crate) const fn from_words([a, b]: [u64; 2]) -> Self {
        // OK because each half was a `u32`.
        Self {
            firsts: (a >> 32) as u32,
            first_tries: a as u32,
            after_retry: (b >> 32) as u32,
            failed: b as u32,
        }
    }
}

impl Leased {
    pub(super) const fn new(rule: &Shared) -> Self {
        let news = Request { firsts: 0, first_tries: 0, after_retry: 0, failed: 0 };
        Self { permits: 0, half: rule.lease / 2, asked_at: None, refused_until: None, news }
    }

    pub(super) const fn on_first(&mut self) {
        self.news.firsts += 1;
    }

    pub(super) const fn on_settled(&mut self, settled: Settled) {
        match settled {
            Settled::FirstTry => self.news.first_tries += 1,
            Settled::AfterRetry(_) => self.news.after_retry += 1,
            Settled::Failed => self.news.failed += 1,
        }
    }

    pub(super) fn ask(&mut self) -> Option<Paid> {
        self.permits = self.permits.checked_sub(1)?;
        Some(Paid::new(1, 0))
    }

    pub(super) fn refund(&mut self, paid: Paid) {
        self.permits += paid.amount();
    }

    /// The request to send now, if one is due.
    pub(crate) fn request(&mut self, now: Instant, rule: &Shared) -> Option<Request> {
        let enough = self.permits > self.half;
        let under_way = self.asked_at.is_some_and(|asked| now < asked + rule.again);
        let refused = self.refused_until.is_some_and(|until| now < until);
        if enough || under_way || refused {
            return None;
        }
        self.asked_at = Some(now);
        Some(std::mem::take(&mut self.news))
    }

    /// The store granted so many of those asked for.
    pub(crate) fn granted(&mut self, now: Instant, permits: u32, rule: &Shared) {
        self.asked_at = None;
        self.permits += permits;
        self.refused_until = (permits < rule.lease).then_some(now + rule.again);
    }
}

/// The store: one budget of the engine's, for everybody.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    rule: Shared,
    budget: Budget,
    losses: Stream,
    requests: u32,
}

impl Store {
    pub(super) fn new(rule: Shared, seed: u64) -> Self {
        let losses = Stream::new(seed, Purpose::Store);
        Self { rule, budget: Budget::new(rule.budget), losses, requests: 0 }
    }

    pub(crate) const fn rule(&self) -> &Shared {
        &self.rule
    }

    /// The number of permits that are leased out; `None` when the request or its answer is lost.
    pub(crate) fn serve(&mut self, now: Instant, process: u32, request: Request) -> Option<u32> {
        self.requests += 1;
        let word = u128::from(self.losses.at(process, self.requests).next_u64());
        if (word * u128::from(Ratio::SCALE)) >> 64 < u128::from(self.rule.loss.ppm()) {
            return None;
        }
        for _ in 0..request.firsts {
            self.budget.on_first(now);
        }
        for _ in 0..request.first_tries {
            self.budget.on_settled(now, Settled::FirstTry);
        }
        for _ in 0..request.after_retry {
            self.budget.on_settled(now, Settled::AfterRetry(Paid::new(1, 0)));
        }
        for _ in 0..request.failed {
            self.budget.on_settled(now, Settled::Failed);
        }
        let granted = |_: &u32| self.budget.ask(now, Charge::Retry).is_some();
        u32::try_from((0..self.rule.lease).take_while(granted).count()).ok()
    }
}
