//! One node: what it believes, and what it does next.

use std::collections::VecDeque;

use stagger::{Instant, Span};

use super::table::{Table, some};
use crate::lead::Membership;
use crate::store::{Fence, Roll, Shards};

/// What a node can ask of the store.
#[derive(Clone, Copy, Debug)]
pub(super) enum Call {
    Join,
    /// Something that says nothing of the node.
    Ask,
    Beat(Fence, bool),
    Evict(Fence, u64),
    GiveUp(Fence, Shards),
    Take(Fence, usize),
    Leave(Fence),
}

/// What the store answers.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    Joined(Fence),
    Done,
    All(Roll),
    Took(Shards),
    Conflict,
}

/// Which rule a node breaks: each of them has to be found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    None,
    /// It acts for longer than the others wait.
    HoldsTooLong,
    /// Its time counts from the answer to a beat instead of from its sending.
    CountsFromTheAnswer,
    /// It goes on as this member when it does not know whether shards were given up.
    KeepsAfterLostGiveUp,
    /// It beats on and on though no answers come.
    BeatsBlindly,
}

/// What a node does next.
#[derive(Debug)]
pub(super) enum Step {
    Send(Call),
    Wait(Instant),
    Gone,
}

#[derive(Debug)]
pub(super) struct Node {
    lease: Span,
    flaw: Flaw,
    membership: Membership,
    fence: Option<Fence>,
    /// What it leads, as far as it knows, and until when it may act on that.
    led: Shards,
    pub(super) until: Instant,
    sent: Option<Instant>,
    /// Whether its last call was answered.
    answered: bool,
    pub(super) leaving: bool,
    todo: VecDeque<Call>,
}

impl Node {
    pub(super) fn new(lease: Span, flaw: Flaw) -> Self {
        Self {
            lease,
            flaw,
            membership: Membership::new(lease),
            fence: None,
            led: Shards::NONE,
            until: Instant::ORIGIN,
            sent: None,
            answered: true,
            leaving: false,
            todo: VecDeque::new(),
        }
    }

    /// What it may act on now.
    pub(super) fn acts_on(&self, now: Instant) -> Shards {
        if now < self.until { self.led } else { Shards::NONE }
    }

    pub(super) const fn led(&self) -> Shards {
        self.led
    }

    pub(super) fn next(&mut self, now: Instant) -> Step {
        if self.fence.is_none() && self.leaving {
            return Step::Gone;
        }
        if !self.answered && self.flaw != Flaw::BeatsBlindly {
            return Step::Send(Call::Ask);
        }
        let Some(fence) = self.fence else { return Step::Send(Call::Join) };
        if let Some(call) = self.todo.pop_front() {
            return Step::Send(call);
        }
        if let Some(due) = self.sent.map(|sent| sent + self.membership.beat_every())
            && now < due
        {
            return Step::Wait(due);
        }
        self.sent = Some(now);
        Step::Send(Call::Beat(fence, self.leaving))
    }

    /// What a call came to; nothing if no answer came in time.
    pub(super) fn take(&mut self, now: Instant, call: Call, answer: Option<Answer>) {
        self.answered = answer.is_some();
        match (call, answer) {
            (_, Some(Answer::Joined(fence))) => self.fence = Some(fence),
            (_, Some(Answer::All(roll))) => self.hear(now, &roll),
            (_, Some(Answer::Took(shards))) => self.led = self.led.union(shards),
            (Call::Leave(_), _) | (_, Some(Answer::Conflict)) => self.lose(),
            (Call::GiveUp(..), None) if self.flaw != Flaw::KeepsAfterLostGiveUp => self.lose(),
            _ => {}
        }
    }

    fn lose(&mut self) {
        let (leaving, answered) = (self.leaving, self.answered);
        *self = Self { leaving, answered, ..Self::new(self.lease, self.flaw) };
    }

    fn hear(&mut self, now: Instant, roll: &Roll) {
        let (Some(fence), Some(sent)) = (self.fence, self.sent) else { return };
        let hold = match self.flaw {
            Flaw::HoldsTooLong => self.membership.patience().saturating_mul(2),
            _ => self.membership.hold(),
        };
        let from = if self.flaw == Flaw::CountsFromTheAnswer { now } else { sent };
        self.until = from + hold;
        let own = roll.members.iter().find(|member| member.fence == fence);
        self.led = own.map_or(Shards::NONE, |member| member.shards);
        let moves = self.membership.heard(now, fence, roll);
        self.todo.extend(moves.evict.into_iter().map(|(dead, beat)| Call::Evict(dead, beat)));
        let given = some(self.led, moves.give_up);
        self.led = self.led.without(given);
        if !given.is_empty() {
            self.todo.push_back(Call::GiveUp(fence, given));
        }
        if moves.take > 0 && !self.leaving {
            self.todo.push_back(Call::Take(fence, moves.take));
        }
        if self.leaving && self.led.is_empty() {
            self.todo.push_back(Call::Leave(fence));
        }
    }
}

impl Call {
    /// What it does in the store.
    pub(super) fn act(self, table: &mut Table) -> Answer {
        match self {
            Self::Join => Answer::Joined(table.join()),
            Self::Beat(fence, leaving) => {
                table.beat(fence, leaving).map_or(Answer::Conflict, Answer::All)
            }
            Self::Take(fence, most) => {
                table.take(fence, most).map_or(Answer::Conflict, Answer::Took)
            }
            Self::Evict(fence, beat) => {
                _ = table.evict(fence, beat);
                Answer::Done
            }
            Self::GiveUp(fence, shards) => {
                table.give_up(fence, shards);
                Answer::Done
            }
            Self::Leave(fence) => {
                table.leave(fence);
                Answer::Done
            }
            Self::Ask => Answer::Done,
        }
    }
}
