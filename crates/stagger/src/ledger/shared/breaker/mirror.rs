//! What a process knows of its fleet's breaker, and what it has to tell: plain state, told the time.

use stagger_core::breaker::{BreakerPlan, Report, StateKind, Ticket};
use stagger_core::{Entropy, Instant, Ratio, Span};

use super::follow;
use super::hand::{Hand, Lease};
use super::script::{Answer, Finding, Opening, Place, Request, Standing, Token};
use crate::ledger::breaker::LocalBreaker;
use crate::ledger::shared::{Away, SharedOptions};

/// When a call that was refused for want of a lease may look again: by then the store has answered.
const LOOK: Span = Span::from_millis(10);
/// For how many times the [patience](SharedOptions::again) a lease is kept that no call uses: then
/// it is another process's turn.
const TURNS: u64 = 4;
/// What was heard longer ago is worth nothing: as long as a registry remembers an idle breaker. So a
/// process that calls less than once in this time probes by itself, and is not refused for ever.
const WORTH: Span = Span::from_secs(600);
/// The longest stretch of an open time, as the engine has it.
const SPREAD: Ratio = Ratio::from_percent(50);

/// The fleet's breaker as the store told it last.
#[derive(Debug)]
pub(super) struct Mirror {
    plan: BreakerPlan,
    again: Span,
    /// Whether the process probes by itself while the store is away.
    alone: bool,
    place: Place,
    seen: Seen,
    open_time: Span,
    heard_at: Option<Instant>,
    /// Since the store is away: from when on the process may decide alone.
    away: Option<Instant>,
    /// Whether its own breaker decides instead of a fleet's that is open.
    handed_over: bool,
    /// Whether the store does not know that the breaker is open.
    forgotten: bool,
    hand: Hand,
    results: Vec<(Token, Finding)>,
    /// Whether a call was refused since the breaker is open.
    wanted: bool,
    wish: Option<Token>,
    wish_from: Instant,
    /// How often the process's own breaker had opened when the store knew of it.
    told_opened: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Closed,
    Open(Instant),
    HalfOpen,
}

/// Who answers a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Door {
    /// The process's own breaker.
    Own,
    /// A probe that the store has granted.
    Admitted(Ticket),
    Refused(Instant),
}

/// What calls may do without asking the mirror.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Own,
    RefusedUntil(Instant),
    Ask,
}

/// A move of the fleet's breaker that this process has not caused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Opened,
    Closed,
}

impl Mirror {
    pub(super) fn new(plan: BreakerPlan, options: &SharedOptions, is_up: bool) -> Self {
        Self {
            plan,
            again: options.again(),
            alone: matches!(options.away(), Away::Local { .. }),
            place: Place::default(),
            seen: Seen::Closed,
            open_time: plan.open_time(),
            heard_at: None,
            away: if is_up { None } else { Some(Instant::ORIGIN) },
            handed_over: false,
            forgotten: false,
            hand: Hand::new(),
            results: Vec::new(),
            wanted: false,
            wish: None,
            wish_from: Instant::ORIGIN,
            told_opened: 0,
        }
    }

    /// Who answers a call at `now`.
    pub(super) fn admit(&mut self, now: Instant) -> Door {
        match self.seen {
            Seen::Closed => return Door::Own,
            _ if self.handed_over => return Door::Own,
            Seen::Open(until) if now < until => return Door::Refused(until),
            _ => {}
        }
        if let Some(ticket) = self.hand.admit(now) {
            self.wanted = false;
            return Door::Admitted(ticket);
        }
        self.wanted = true;
        match self.away {
            Some(_) if !self.alone => Door::Refused(now + self.again),
            Some(own) if now < own => Door::Refused(own),
            None if self.is_worth(now) => Door::Refused(now.max(self.wish_from) + LOOK),
            _ => {
                self.handed_over = true;
                Door::Own
            }
        }
    }

    pub(super) const fn way(&self) -> Way {
        match self.seen {
            Seen::Closed => Way::Own,
            _ if self.handed_over => Way::Own,
            Seen::Open(until) => Way::RefusedUntil(until),
            Seen::HalfOpen => Way::Ask,
        }
    }

    /// Takes the result of a probe that the store has granted.
    pub(super) fn report(&mut self, now: Instant, ticket: Ticket, report: Report) {
        let Some(token) = self.hand.end(now, ticket) else { return };
        let finding = match self.plan.judge(report, now - ticket.admitted_at()) {
            None => Finding::Nothing,
            Some(call) if call.failed || call.slow => Finding::Bad,
            Some(_) => Finding::Good,
        };
        self.results.push((token, finding));
    }

    /// When the store should be asked; `None` when there is nothing to ask. `asked` is when it was
    /// asked last, and `called` whether there were calls since.
    pub(super) fn due(
        &mut self,
        local: &LocalBreaker,
        asked: Instant,
        called: bool,
    ) -> Option<Instant> {
        let is_new = self.heard_at.is_none();
        if is_new || self.forgotten || !self.results.is_empty() || self.is_untold(local) {
            return Some(asked);
        }
        let news = called.then(|| asked + self.again);
        let wish = match self.seen {
            Seen::Closed => None,
            _ if self.hand.free().is_some() || !(self.wanted || called) => None,
            Seen::Open(until) => Some(until.max(self.wish_from)),
            Seen::HalfOpen => Some(self.wish_from),
        };
        let turn = self.hand.free().map(|lease| lease.since + self.again.saturating_mul(TURNS));
        [news, wish, turn].into_iter().flatten().min()
    }

    /// What the store is to be told and asked at `now`. Sent again as often as it takes: what it has
    /// heard it does not hear twice.
    pub(super) fn request(
        &mut self,
        local: &LocalBreaker,
        now: Instant,
        called: bool,
        chance: &mut impl Entropy,
    ) -> Request {
        self.wanted |= called && self.seen != Seen::Closed;
        self.hand.lapse(now);
        let turn = self.again.saturating_mul(TURNS);
        if self.hand.free().is_some_and(|lease| now >= lease.since + turn) {
            self.lay_down();
            self.wish_from = now + self.again;
        }
        Request {
            place: self.place,
            results: self.results.clone(),
            opening: self.opening(local, now),
            wish: self.is_wishing(now).then(|| *self.wish.get_or_insert_with(|| token(chance))),
            // OK because the draw is at most a million.
            spread_ppm: u32::try_from(
                chance.draw(Span::ZERO, Span::from_nanos(1_000_000)).as_nanos(),
            )
            .unwrap_or(0),
        }
    }

    /// The last request of a process that ends: what it found, and the lease that it does not need.
    pub(super) fn last_request(&mut self) -> Option<Request> {
        self.lay_down();
        let results = std::mem::take(&mut self.results);
        (!results.is_empty()).then(|| Request { place: self.place, results, ..Request::default() })
    }

    /// The store has answered `request`, which was sent at `asked`.
    pub(super) fn adopt(
        &mut self,
        local: &LocalBreaker,
        (request, asked): (&Request, Instant),
        now: Instant,
        answer: &Answer,
        entropy: &mut impl Entropy,
    ) -> Option<Heard> {
        self.results.drain(..request.results.len().min(self.results.len()));
        let knew_less = self.away.take().is_some() || self.heard_at.is_none();
        let lost = answer.place.birth != self.place.birth || answer.place.era < self.place.era;
        let caused = request.opening.is_some();
        self.heard_at = Some(now);
        match answer.standing {
            Standing::Closed | Standing::Ramp(_) => {
                // Open wins: who knows of it tells the store with the next request.
                self.forgotten = (knew_less || lost) && self.is_open_here(local, now);
                if self.forgotten { self.keep(now, answer) } else { self.close(local, now, answer) }
            }
            Standing::Open(left) => {
                self.open(local, now, (answer, caused), Seen::Open(now + left), entropy)
            }
            Standing::HalfOpen => {
                let heard = self.open(local, now, (answer, caused), Seen::HalfOpen, entropy);
                self.lease((request, asked), answer);
                heard
            }
        }
    }

    /// The store does not answer.
    pub(super) fn went_away(&mut self, now: Instant, entropy: &mut impl Entropy) {
        if self.away.is_some() {
            return;
        }
        // All processes notice it at once, and must not probe at once.
        let end = match self.seen {
            Seen::Open(until) => until.max(now),
            _ => now,
        };
        self.away = Some(end + entropy.draw(Span::ZERO, SPREAD.of_span(self.open_time)));
    }

    pub(super) const fn is_away(&self) -> bool {
        self.away.is_some()
    }

    /// Where the breaker stands that the next call is asked of.
    pub(super) fn state(&self, local: &LocalBreaker, now: Instant) -> StateKind {
        match self.seen {
            Seen::Closed => local.state(now),
            _ if self.handed_over => local.state(now),
            Seen::Open(until) if now < until => StateKind::Open,
            _ => StateKind::HalfOpen,
        }
    }

    /// How often the process's own breaker had opened when the store knew of it.
    pub(super) const fn told_opened(&self) -> u64 {
        self.told_opened
    }

    fn is_worth(&self, now: Instant) -> bool {
        self.heard_at.is_some_and(|heard| now - heard < WORTH)
    }

    /// Whether its own breaker has opened by itself, and the store does not know.
    fn is_untold(&self, local: &LocalBreaker) -> bool {
        self.seen == Seen::Closed && local.opened() > self.told_opened
    }

    fn opening(&mut self, local: &LocalBreaker, now: Instant) -> Option<Opening> {
        if std::mem::take(&mut self.forgotten) {
            return Some(self.remembered(local, now));
        }
        // Who has not heard the store for a while hears it first.
        if !self.is_untold(local) || self.away.is_some() || self.heard_at.is_none() {
            return None;
        }
        if is_closed(local, now) {
            // It has opened and closed again before anybody was told.
            self.told_opened = local.opened();
            return None;
        }
        Some(Opening::Trip)
    }

    fn remembered(&self, local: &LocalBreaker, now: Instant) -> Opening {
        let (until, open_time) = match self.seen {
            Seen::Open(until) if !self.handed_over => (Some(until), self.open_time),
            Seen::HalfOpen if !self.handed_over => (None, self.open_time),
            _ => local.with_machine(now, |own| (own.open_until(now), own.open_time())),
        };
        Opening::Remembered { left: until.unwrap_or(now) - now, open_time }
    }

    /// Whether the breaker is open as far as this process knows.
    fn is_open_here(&self, local: &LocalBreaker, now: Instant) -> bool {
        let follows = self.seen != Seen::Closed && !self.handed_over;
        follows || !is_closed(local, now)
    }

    /// What the store has forgotten is kept until it is told.
    fn keep(&mut self, now: Instant, answer: &Answer) -> Option<Heard> {
        self.place = answer.place;
        self.hand.clear(now);
        None
    }

    fn close(&mut self, local: &LocalBreaker, now: Instant, answer: &Answer) -> Option<Heard> {
        let was_closed = self.seen == Seen::Closed;
        if (self.place != answer.place || !was_closed) && !is_closed(local, now) {
            self.told_opened = follow::close(local, now);
        }
        self.move_to(now, answer, Seen::Closed);
        self.wanted = false;
        (!was_closed).then_some(Heard::Closed)
    }

    fn open(
        &mut self,
        local: &LocalBreaker,
        now: Instant,
        (answer, caused): (&Answer, bool),
        seen: Seen,
        entropy: &mut impl Entropy,
    ) -> Option<Heard> {
        let was_closed = self.seen == Seen::Closed;
        let moved = self.place != answer.place && !caused;
        let reopened = moved && matches!(seen, Seen::Open(_)) && !was_closed;
        self.told_opened = if is_closed(local, now) {
            follow::open(local, now, entropy)
        } else if reopened {
            follow::reopen(local, now, entropy)
        } else {
            local.opened()
        };
        self.move_to(now, answer, seen);
        // Whose own calls have failed has calls to make.
        self.wanted |= caused;
        ((was_closed || reopened) && !caused).then_some(Heard::Opened)
    }

    fn move_to(&mut self, now: Instant, answer: &Answer, seen: Seen) {
        if self.place != answer.place || self.seen != seen {
            self.hand.clear(now);
        }
        self.place = answer.place;
        self.open_time = answer.open_time;
        self.seen = seen;
        self.handed_over = false;
    }

    fn lease(&mut self, (request, asked): (&Request, Instant), answer: &Answer) {
        let Some(token) = request.wish else { return };
        self.wish = None;
        match answer.lease {
            // From when it was asked for: so it ends here before it ends there.
            Some(lease) => self.hand.hold(Lease { token, since: asked, ends: asked + lease }),
            None => self.wish_from = asked + self.again,
        }
    }

    fn is_wishing(&self, now: Instant) -> bool {
        let over = match self.seen {
            Seen::Closed => false,
            Seen::Open(until) => now >= until,
            Seen::HalfOpen => true,
        };
        over && self.wanted && self.hand.free().is_none() && now >= self.wish_from
    }

    fn lay_down(&mut self) {
        if let Some(lease) = self.hand.take_free() {
            self.results.push((lease.token, Finding::Nothing));
        }
    }
}

fn is_closed(local: &LocalBreaker, now: Instant) -> bool {
    matches!(local.state(now), StateKind::Closed | StateKind::Ramp)
}

/// One of 2^52, zero left out: the script's numbers are exact up to there.
fn token(chance: &mut impl Entropy) -> Token {
    (chance.next_u64() >> 12).max(1)
}
