//! What a member should do next, each time it has heard how all stand.

use stagger::{Instant, Span};

use super::pulses::Pulses;
use super::share;
use super::vacancy::Vacancy;
use crate::store::{Fence, Member, Roll};

/// Beats in a lease: so many that a lost one or two do no harm.
const BEATS: u64 = 10;
/// A member's beat may stand still for half a lease. The other half is for seeing it, twice, and for
/// taking over.
const PATIENCE_SHARE: u64 = 2;
/// The holder's span is a tenth shorter than the others' patience: clocks may differ in rate by that much.
const MARGIN: u64 = 10;
/// Beats missed from which on nothing is given up for a member: it may be gone.
const DOUBTED: u64 = 3;
/// Beats in time that one look counts for at most: if more has passed, the store was away or this node was
/// stopped, and the others may be as well as before.
const MOST_A_LOOK: u64 = 2;

/// One node's view of all members, from the time of its joining.
///
/// ```
/// use stagger::{Instant, Span};
/// use stagger_dispatch::lead::{Membership, Moves};
/// use stagger_dispatch::store::{Fence, Member, Roll, Shards};
/// let mut membership = Membership::new(Span::from_secs(10));
/// let name = "a".to_owned();
/// let own = Member { fence: Fence(1), name, beat: 1, leaving: false, shards: Shards::NONE };
/// let roll = Roll { members: vec![own], free: Shards::ALL, ..Roll::default() };
/// let moves = membership.heard(Instant::ORIGIN, Fence(1), &roll);
/// assert_eq!(moves, Moves { take: 256, ..Moves::default() });
/// ```
#[derive(Debug)]
pub struct Membership {
    lease: Span,
    last: Option<Instant>,
    pulses: Pulses,
    vacancy: Vacancy,
}

/// What a member should do, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moves {
    /// Whom to evict, if it still stands at this beat.
    pub evict: Vec<(Fence, u64)>,
    /// How many of its shards to give up.
    pub give_up: usize,
    /// How many to take at most, of those that are free once the others are evicted.
    pub take: usize,
}

impl Membership {
    /// Knows of nobody yet; a dead leader is to be replaced within `lease`.
    #[must_use]
    pub const fn new(lease: Span) -> Self {
        Self { lease, last: None, pulses: Pulses::new(), vacancy: Vacancy::new() }
    }

    /// The time from beat to beat: a tenth of the lease.
    #[must_use]
    pub const fn beat_every(&self) -> Span {
        Span::from_nanos(self.lease.as_nanos() / BEATS)
    }

    /// How long after sending a beat that was answered a node may act on what it leads, by its own
    /// monotonic clock: nine twentieths of the lease.
    #[must_use]
    pub const fn hold(&self) -> Span {
        let patience = self.patience().as_nanos();
        Span::from_nanos(patience - patience.div_ceil(MARGIN))
    }

    /// How long a beat may be seen to stand still before its member is evicted: half the lease.
    #[must_use]
    pub const fn patience(&self) -> Span {
        Span::from_nanos(self.lease.as_nanos() / PATIENCE_SHARE)
    }

    /// What to do, now that a beat was answered with how all stand. `now` is read after the answer.
    ///
    /// One that is leaving gives up all and takes nothing; one that is no member does nothing.
    pub fn heard(&mut self, now: Instant, own: Fence, roll: &Roll) -> Moves {
        let step = self.look(now, roll);
        let Some(me) = roll.members.iter().find(|member| member.fence == own) else {
            return Moves::default();
        };
        let is_dead = |member: &&Member| {
            member.fence != own && self.pulses.silent(member.fence) >= self.patience()
        };
        let dead: Vec<&Member> = roll.members.iter().filter(is_dead).collect();
        let evict: Vec<_> = dead.iter().map(|member| (member.fence, member.beat)).collect();
        let free = dead.iter().fold(roll.free, |free, member| free.union(member.shards));
        let is_overdue = self.vacancy.is_overdue(step, free, self.beat_every());
        if me.leaving {
            return Moves { evict, give_up: me.shards.len(), take: 0 };
        }
        let wanted = self.wanted(own, roll, &dead).saturating_sub(free.len());
        let share = share::of(own, &living(roll, &dead));
        let (has, free) = (me.shards.len(), free.len());
        if is_overdue {
            return Moves { evict, give_up: 0, take: free };
        }
        let (give_up, take) = (has.saturating_sub(share).min(wanted), share.saturating_sub(has));
        Moves { evict, give_up, take: take.min(free) }
    }

    /// Watches everybody; answers how much time this look counts for.
    fn look(&mut self, now: Instant, roll: &Roll) -> Span {
        let most = self.beat_every().saturating_mul(MOST_A_LOOK);
        let step = self.last.map_or(Span::ZERO, |last| now - last).min(most);
        self.last = Some(now);
        self.pulses.look(step, &roll.members);
        step
    }

    /// How many shards the others lack, those left out who may be gone.
    fn wanted(&self, own: Fence, roll: &Roll, dead: &[&Member]) -> usize {
        let doubted = self.beat_every().saturating_mul(DOUBTED);
        let living = living(roll, dead);
        let others = roll.members.iter().filter(|member| {
            member.fence != own && !member.leaving && self.pulses.silent(member.fence) < doubted
        });
        let lacks =
            |member: &Member| share::of(member.fence, &living).saturating_sub(member.shards.len());
        others.map(lacks).sum()
    }
}

/// Those who get a share. One that has not beaten yet may never do: its joining was perhaps not answered.
fn living(roll: &Roll, dead: &[&Member]) -> Vec<Fence> {
    let is_dead = |member: &Member| dead.iter().any(|one| one.fence == member.fence);
    let wants = |member: &&Member| member.beat > 0 && !member.leaving && !is_dead(member);
    roll.members.iter().filter(wants).map(|member| member.fence).collect()
}
