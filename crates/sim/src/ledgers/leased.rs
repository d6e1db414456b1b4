//! Permits that a process has leased from a store which the whole fleet shares.

use stagger_core::budget::{Budget, Charge, Paid, Settled};
use stagger_core::{Instant, Span};

use crate::plan::{Away, SharedBudget};

/// A process's share of the store, and what it has not told the store yet.
///
/// A retry takes a leased permit or is refused: it never waits for the store. The first call asks
/// for the first lease, and whenever half a lease is used up, another one is asked for; news of
/// first attempts and outcomes goes along with the request, and again with the next one when no
/// answer came. Then the store counts as away, until it answers. A first attempt earns once: from
/// the store, or, while that is away, from the process's own budget.
#[derive(Clone, Debug)]
pub(crate) struct Leased {
    permits: u32,
    lease: u32,
    again: Span,
    asked_at: Option<Instant>,
    refused_until: Option<Instant>,
    /// A request has had no answer in time.
    unanswered: bool,
    news: LeaseRequest,
    /// Of the request that is under way.
    sent: LeaseRequest,
    /// For when the store is away.
    own: Option<Budget>,
}

/// The news that a process sends to the store when it asks for permits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LeaseRequest {
    pub(crate) firsts: u32,
    pub(crate) first_tries: u32,
    /// Successes after a leased permit.
    pub(crate) after_retry: u32,
    pub(crate) failed: u32,
}

/// A leased permit: no budget of the engine's marks a grant for which it took nothing.
const LEASED: Paid = Paid::new(0, u32::MAX);

impl LeaseRequest {
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

    const fn and(self, other: Self) -> Self {
        Self {
            firsts: self.firsts + other.firsts,
            first_tries: self.first_tries + other.first_tries,
            after_retry: self.after_retry + other.after_retry,
            failed: self.failed + other.failed,
        }
    }
}

impl Leased {
    pub(super) fn new(rule: &SharedBudget) -> Self {
        let own = match rule.away {
            Away::Local { nodes } => Some(Budget::new(rule.budget.share_of(nodes))),
            Away::Refuse => None,
        };
        Self {
            permits: 0,
            lease: rule.lease.max(1),
            again: rule.again,
            asked_at: None,
            refused_until: None,
            unanswered: false,
            news: LeaseRequest::default(),
            sent: LeaseRequest::default(),
            own,
        }
    }

    pub(super) fn on_first(&mut self, now: Instant) {
        if !self.is_away(now) {
            self.news.firsts += 1;
        } else if let Some(own) = &mut self.own {
            own.on_first(now);
        }
    }

    pub(super) fn on_settled(&mut self, now: Instant, settled: Settled) {
        let own = match settled {
            Settled::FirstTry => {
                self.news.first_tries += 1;
                settled
            }
            Settled::AfterRetry(LEASED) => {
                self.news.after_retry += 1;
                Settled::AfterRetry(Paid::FREE)
            }
            // A permit of the process's own, of which the store knows nothing.
            Settled::AfterRetry(_) => settled,
            Settled::Failed => {
                self.news.failed += 1;
                settled
            }
        };
        if let Some(budget) = &mut self.own {
            budget.on_settled(now, own);
        }
    }

    pub(super) fn ask(&mut self, now: Instant, charge: Charge) -> Option<Paid> {
        if let Some(left) = self.permits.checked_sub(1) {
            self.permits = left;
            return Some(LEASED);
        }
        if !self.is_away(now) {
            return None;
        }
        self.own.as_mut()?.ask(now, charge)
    }

    pub(super) fn refund(&mut self, now: Instant, paid: Paid) {
        if paid == LEASED {
            self.permits += 1;
        } else if let Some(own) = &mut self.own {
            own.refund(now, paid);
        }
    }

    /// The request to send now, if one is due.
    pub(crate) fn request(&mut self, now: Instant) -> Option<LeaseRequest> {
        let enough = self.permits > self.lease / 2;
        let refused = self.refused_until.is_some_and(|until| now < until);
        if enough || refused || self.asked_at.is_some() && !self.is_late(now) {
            return None;
        }
        self.unanswered |= self.is_late(now);
        self.asked_at = Some(now);
        self.sent = self.sent.and(std::mem::take(&mut self.news));
        Some(self.sent)
    }

    /// The store granted so many of those asked for.
    pub(crate) fn granted(&mut self, now: Instant, permits: u32) {
        self.asked_at = None;
        self.unanswered = false;
        self.sent = LeaseRequest::default();
        self.permits += permits;
        self.refused_until = (permits < self.lease).then_some(now + self.again);
    }

    fn is_away(&self, now: Instant) -> bool {
        self.unanswered || self.is_late(now)
    }

    fn is_late(&self, now: Instant) -> bool {
        self.asked_at.is_some_and(|asked| now >= asked + self.again)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stagger_core::Ratio;
    use stagger_core::budget::{BudgetPlan, TokenPlan};

    fn rule(away: Away) -> SharedBudget {
        SharedBudget {
            budget: TokenPlan::new(100, 1).expect("a valid bucket").into(),
            lease: 4,
            latency: Span::from_millis(1),
            loss: Ratio::ZERO,
            again: Span::from_millis(100),
            down: None,
            away,
        }
    }

    fn at(ms: u64) -> Instant {
        Instant::ORIGIN + Span::from_millis(ms)
    }

    fn asks(leased: &mut Leased, now: Instant) -> usize {
        (0..1_000).take_while(|_| leased.ask(now, Charge::Retry).is_some()).count()
    }

    #[test]
    fn another_lease_is_asked_for_when_half_is_used_and_none_while_one_is_under_way() {
        let mut leased = Leased::new(&rule(Away::Refuse));
        assert!(leased.request(at(0)).is_some());
        assert_eq!(leased.request(at(50)), None, "one is under way");
        leased.granted(at(60), 4);
        assert_eq!(leased.request(at(60)), None, "there is enough");
        assert!(leased.ask(at(60), Charge::Retry).is_some());
        assert_eq!(leased.request(at(60)), None, "three of four are more than half");
        assert!(leased.ask(at(60), Charge::Retry).is_some());
        assert!(leased.request(at(60)).is_some());
    }

    #[test]
    fn a_store_that_refused_is_not_asked_at_once() {
        let mut leased = Leased::new(&rule(Away::Refuse));
        assert!(leased.request(at(0)).is_some());
        leased.granted(at(2), 1);
        assert_eq!(leased.request(at(101)), None);
        assert!(leased.request(at(102)).is_some());
    }

    #[test]
    fn news_of_an_unanswered_request_goes_along_with_the_next() {
        let mut leased = Leased::new(&rule(Away::Refuse));
        leased.on_first(at(0));
        assert_eq!(leased.request(at(0)).map(|news| news.firsts), Some(1));
        leased.on_first(at(10));
        assert_eq!(leased.request(at(100)).map(|news| news.firsts), Some(2));
        leased.granted(at(101), 0);
        leased.on_first(at(150));
        assert_eq!(leased.request(at(201)).map(|news| news.firsts), Some(1));
    }

    #[test]
    fn a_process_without_its_store_has_its_share_and_not_the_whole() {
        let mut leased = Leased::new(&rule(Away::Local { nodes: 10 }));
        assert!(leased.request(at(0)).is_some());
        assert_eq!(asks(&mut leased, at(50)), 0, "the answer may still come");
        assert_eq!(asks(&mut leased, at(100)), 10, "a tenth of a hundred");
        assert!(leased.request(at(100)).is_some());
        assert_eq!(asks(&mut leased, at(120)), 0, "still away, and the share is used up");
        leased.granted(at(130), 4);
        assert_eq!(asks(&mut leased, at(130)), 4);
        assert_eq!(asks(&mut leased, at(1_000)), 0, "not away: nobody has asked");
    }

    #[test]
    fn a_process_that_is_told_to_refuse_does_so_without_its_store() {
        let mut leased = Leased::new(&rule(Away::Refuse));
        assert!(leased.request(at(0)).is_some());
        assert_eq!(asks(&mut leased, at(1_000)), 0);
    }

    #[test]
    fn a_refund_goes_where_the_permit_came_from() {
        let mut leased = Leased::new(&rule(Away::Local { nodes: 100 }));
        assert!(leased.request(at(0)).is_some());
        let own = leased.ask(at(100), Charge::Retry).expect("one of a hundred");
        leased.granted(at(100), 1);
        let paid = leased.ask(at(100), Charge::Retry).expect("the leased one");
        assert_eq!((paid == LEASED, own == LEASED), (true, false));
        leased.refund(at(100), own);
        assert_eq!(leased.permits, 0);
        leased.refund(at(100), paid);
        assert_eq!(leased.permits, 1);
        assert!(leased.request(at(300)).is_some());
        assert_eq!(asks(&mut leased, at(400)), 2, "the leased one and the own one again");
    }

    #[test]
    fn a_first_attempt_earns_once() {
        let plan = stagger_core::budget::WindowPlan::new(Ratio::ONE).expect("valid");
        let plan = plan.with_floor(stagger_core::budget::FloorRate::Add(stagger_core::Rate::ZERO));
        let budget = BudgetPlan::from(plan);
        let mut leased = Leased::new(&SharedBudget { budget, ..rule(Away::Local { nodes: 2 }) });
        leased.on_first(at(0));
        assert_eq!(leased.request(at(0)).map(|request| request.firsts), Some(1));
        leased.on_first(at(1));
        // No answer comes: from here on it is the own budget's.
        assert_eq!(asks(&mut leased, at(100)), 0);
        leased.on_first(at(100));
        assert_eq!(asks(&mut leased, at(100)), 1);
        assert_eq!(leased.request(at(100)).map(|request| request.firsts), Some(2));
    }

    #[test]
    fn a_request_survives_its_way_as_two_words() {
        let request = LeaseRequest { firsts: u32::MAX, first_tries: 1, after_retry: 2, failed: 3 };
        assert_eq!(LeaseRequest::from_words(request.to_words()), request);
    }
}
