//! Shard leadership among nodes that share a store: the pure decision. From the time and the state
//! of all members it computes the actions of this node; the store holds the result.
//!
//! Only the leader of a shard makes attempts to its endpoints, so that a rate, a breaker, a pause or an order
//! needs one memory and no agreement. Two things must hold: never do two nodes believe that they lead one
//! shard, and a leader that died is replaced soon.
//!
//! # Why counters, and nobody's time of day
//!
//! A member counts its beats in the store. Whether it lives is judged by each other member alone: it does not
//! if its counter has stood still for [`failure_timeout`](Membership::patience), by the monotonic clock of whoever
//! looks. No instant is ever written down for somebody else to read, neither a node's nor the database's, so
//! that a clock that is set, jumps, or differs from others by hours changes nothing. What must hold is that
//! all clocks run about equally fast: within a tenth of each other.
//!
//! # Why a node holds for less long than others wait
//!
//! | the holder, by its clock | the others, by theirs |
//! | --- | --- |
//! | sends beat n | |
//! | beat n is counted | |
//! | | one of them sees n for the first time: its watch starts |
//! | [`lease_validity`](Membership::hold) after sending, it acts no more unless beat n + 1 was answered | |
//! | | `failure_timeout` after that first sight, it evicts whoever still stands at n |
//!
//! The holder counts from before the beat, the others from after it, and the holder's span is a tenth the
//! shorter: so it has stopped before anybody can follow, however long messages take. A node that was stopped
//! itself looks at its clock before it acts, and finds that its time is over. To evict is to say "if it still
//! stands at n", which the store checks in the same transaction: one that has come back meanwhile stays.
//!
//! # Why fences
//!
//! What a node was writing when it was stopped may reach the store long after. Each membership has a number
//! of its own, the fence; every write of a leader carries it, and the store refuses those of memberships that
//! have ended. A node that was evicted joins again under a new number and begins with nothing. So the clocks
//! keep attempts apart, and the fences keep the books right even if a clock should fail: one that stands
//! still while its whole machine does, as in a virtual machine that is paused, tells nobody that the time is
//! over. Such a node may make attempts beside its follower until its next call is answered.
//!
//! # How soon
//!
//! A leader that died is seen for the first time within a beat, outlasts the patience of half a lease, is
//! evicted at the next beat, and what it led is taken at once: within seven tenths of a lease, and a few
//! calls of the store. If those whose share it is do not take it, because they die too, anybody takes it a
//! beat or two later: so as long as one node is well, that is within the lease whatever befalls the others,
//! if a call takes less than a fiftieth of it. Time in which the store answered nobody does not count,
//! because those who are well could not beat either.
//!
//! # Whose share
//!
//! Shares differ by one shard at most and add up to all, so that everybody knows its own and nothing moves
//! once all have theirs. A member counts from its first beat on, until it is leaving or is to be evicted.
//! Nothing is given up that no other lacks, nor for one that has missed a few beats.
//!
//! # What is asked of whoever acts on it
//!
//! 1. The time of [`on_cluster_view`](Membership::heard) is read after the answer came; `lease_validity` counts from before the
//!    beat was sent.
//! 2. One call after the other: beat, then evict, give up, take, as the moves say.
//! 3. Before shards are given up, or the node leaves, nothing of them is under way any more; and one that is
//!    leaving takes nothing, whatever it was told before. If the answer to giving up is not known, the node
//!    ends this membership and joins anew: a call that is late would otherwise take away what the node may
//!    lead again by then.
//! 4. A node whose last call was not answered asks the store something that says nothing of the node, until
//!    that is answered, before it joins or beats again. Beats that arrive without answers coming back would
//!    keep everybody from following it.

mod failure_detector;
mod membership;
mod share;
#[cfg(test)]
mod simulation;
mod unassigned;

pub use membership::{Actions, Membership};
