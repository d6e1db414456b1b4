//! Users behind the outermost calls: they give a call up when their patience ends, and click again.

use stagger_core::{Entropy, Instant, Span};

use super::callers::Callers;
use super::slab::{CallIdentity, NOWHERE, Ticket};
use super::traffic::Traffic;
use crate::dist::{exponential, lognormal};
use crate::plan::Abandonment;
use crate::queue::{CallerEvent, Class, Queue};

/// The second word of a timeout that ends a user's patience with the whole call.
pub(super) const PATIENCE: u64 = 1;

impl<Q: Queue> Callers<'_, Q> {
    /// Whether users do anything with this call.
    #[inline]
    pub(super) fn has_user(&self, who: &CallIdentity) -> bool {
        let users = &self.plan.users;
        let acts = users.patience.is_some() || users.clicks.is_some();
        acts && who.parent.is_none() && !self.is_bystander(who.layer)
    }

    /// The user of this call, which is kept, will wait for so long.
    pub(super) fn expect_patience(&mut self, now: Instant, who: &CallIdentity) {
        let Some(rule) = self.plan.users.patience else { return };
        let at = now + patience(rule, &mut self.patience.at(who.id, 0));
        let ticket = Ticket { id: who.id, slot: who.slot, number: 0 };
        let [place, _] = Traffic::timeout(at, ticket).words();
        self.queue.push(CallerEvent::new(at, Class::Timeout, who.id).with(0, [place, PATIENCE]));
    }

    /// The patience of a user ends, if the call is not over yet. The server does not hear of it.
    pub(super) fn lose_patience(&mut self, now: Instant, ticket: Ticket) {
        let Some((who, mut session)) = self.kept(ticket) else { return };
        let waits_to_retry = self.slab.is_idle(ticket) && !session.limit_permit().is_queued();
        self.score.track.retrying -= u64::from(waits_to_retry);
        let act = session.cancel(self.ledgers.of(who.ledger), now);
        self.follow(now, who, session, act);
    }

    /// The user of a call that failed may make another one: whether that is so.
    pub(super) fn click_again(&mut self, now: Instant, who: &CallIdentity) -> bool {
        let Some(rule) = self.plan.users.clicks else { return false };
        if !self.has_user(who) || who.clicks >= rule.most {
            return false;
        }
        let mut draw = self.clicks.at(who.id, 0);
        if !draw.happens(rule.share) {
            return false;
        }
        let at = now + exponential(rule.after, &mut draw);
        let next = self.arrival(at, who.source, Some(who.client));
        let [client, _] = next.words();
        self.calls += 1;
        self.queue.push(next.with(0, [client, u64::from(who.clicks) + 1]));
        true
    }

    /// Keeps a call whose user may give it up, before its first attempt.
    pub(super) fn needs_keeping(&self, who: &CallIdentity) -> bool {
        self.plan.users.patience.is_some() && who.slot == NOWHERE && self.has_user(who)
    }
}

fn patience(rule: Abandonment, draw: &mut impl Entropy) -> Span {
    match rule {
        Abandonment::Fixed(time) => time,
        Abandonment::Exponential(mean) => exponential(mean, draw),
        Abandonment::Lognormal { mean, sigma } => lognormal(mean, sigma, draw),
    }
}
