//! Shard leadership among nodes that share a store: the pure decision. From the time and the state
//! of all members it computes the actions of this node; the store holds the result.
//!
//! Only the leader of a shard makes attempts to its endpoints, so that a rate, a breaker, a pause or
//! an order is kept in one memory, without agreement. Two properties hold: no two nodes ever lead the
//! same shard, and a dead leader is replaced soon.
//!
//! # Why heartbeat counters, and no wall clocks
//!
//! A member counts its heartbeats in the store. Each other member judges alone whether it lives: it
//! is dead if its counter has stood still for [`failure_timeout`](Membership::failure_timeout) by
//! the observer's monotonic clock. No instant is ever written for another node to read, neither a
//! node's nor the database's. So a clock that is set, jumps, or differs from others by hours
//! changes nothing. The one assumption is that all clocks run at about the same rate: within a
//! tenth of each other.
//!
//! # Why the holder's time is shorter than the others' timeout
//!
//! | the holder, by its clock | the others, by theirs |
//! | --- | --- |
//! | sends heartbeat n | |
//! | heartbeat n is counted | |
//! | | one of them sees n for the first time: its timeout starts |
//! | [`lease_validity`](Membership::lease_validity) after sending, it stops unless n + 1 was answered | |
//! | | `failure_timeout` after it first saw n, it evicts the holder if the counter is still n |
//!
//! The holder counts from before its heartbeat and the others count from after it. The holder's
//! time is also a tenth shorter: so it has stopped before another node can take over, however long
//! messages take. A node that was paused looks at its clock before it acts, and finds that its time
//! is over. An eviction is conditional on the counter n, which the store checks in the same
//! transaction: a member that has sent another heartbeat stays.
//!
//! # Why fences
//!
//! A write of a paused node may reach the store long after. Each membership has its own number, the
//! fence. Every write of a leader carries it, and the store refuses writes of memberships that have
//! ended. An evicted node joins again under a new number and begins with nothing. So the clocks
//! keep attempts apart, and the fences keep the store right even if a clock fails. A clock fails if
//! it stands still together with its whole machine, such as a paused virtual machine. Such a node
//! may make attempts at the same time as the new leader until its next call is answered.
//!
//! # Time to takeover
//!
//! The others see the last heartbeat of a dead leader within one interval, wait for the failure
//! timeout of half a lease, and evict it at their next heartbeat. They acquire its shards
//! immediately: within seven tenths of a lease, and a few calls of the store. If the members that
//! should acquire them die too, any member acquires them one or two heartbeats later. So as long as
//! one node is healthy, every shard has a leader within the lease, if a call takes less than a
//! fiftieth of it. Time in which the store does not answer does not count, because healthy nodes
//! cannot send heartbeats either.
//!
//! # Shares
//!
//! Shares differ by one shard at most and add up to all shards, so that each member knows its own
//! share and nothing moves once all have theirs. A member counts from its first heartbeat on, until
//! it is leaving or is to be evicted. A member releases only shards that another one lacks, and
//! none for a member that has missed a few heartbeats.
//!
//! # Requirements on the caller
//!
//! 1. The time of [`on_cluster_view`](Membership::on_cluster_view) is read after the answer;
//!    `lease_validity` counts from before the heartbeat was sent.
//! 2. Calls follow one another: heartbeat, then evict, release, acquire, as the actions say.
//! 3. Before shards are released, or the node leaves, none of their attempts is in flight any more.
//!    A node that is leaving acquires nothing, whatever an earlier answer says. If the result of a
//!    release is not known, the node ends this membership and joins anew: the call may arrive late,
//!    and would take shards that the node leads again by then.
//! 4. A node whose last call was not answered makes a call that says nothing of the node, until
//!    that is answered, before it joins or sends a heartbeat again. Otherwise heartbeats that arrive
//!    without answers coming back would keep the others from replacing it.

mod membership;
mod shard;
#[cfg(test)]
mod simulation_test;

pub use membership::{Actions, ClusterMember, ClusterView, Fence, Membership, NodeIdentity};
pub use shard::{ShardId, Shards};
