//! Shards of endpoints, and the share of them that each node leads.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::model::EndpointId;

/// One of the 256 shards of endpoints: those whose ids have the same first byte in their SHA-256.
/// An endpoint stays in its shard for ever.
///
/// ```
/// use stagger_scheduler::model::EndpointId;
/// use stagger_scheduler::leadership::{ShardId, Shards};
/// let shard = ShardId::of(EndpointId::from_uuid(uuid::Uuid::nil()));
/// assert_eq!(shard, ShardId(55));
/// assert!(Shards::ALL.contains(shard));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId(pub u8);

impl ShardId {
    /// The shard of an endpoint.
    #[must_use]
    pub fn of(endpoint: EndpointId) -> Self {
        Self(Sha256::digest(endpoint.as_bytes())[0])
    }
}

/// A set of shards.
///
/// ```
/// use stagger_scheduler::leadership::{ShardId, Shards};
/// let some: Shards = [ShardId(0), ShardId(255)].into_iter().collect();
/// assert_eq!(some.len(), 2);
/// assert_eq!(some.union(Shards::ALL.without(some)), Shards::ALL);
/// assert_eq!(some.iter().collect::<Vec<_>>(), [ShardId(0), ShardId(255)]);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Shards([u64; 4]);

impl Shards {
    /// No shard.
    pub const NONE: Self = Self([0; 4]);
    /// All of them.
    pub const ALL: Self = Self([u64::MAX; 4]);
    /// The number of shards.
    pub const COUNT: usize = 256;

    /// One shard.
    #[must_use]
    pub const fn of(shard: ShardId) -> Self {
        let mut set = Self::NONE;
        set.insert(shard);
        set
    }

    /// Whether `shard` is among them.
    #[must_use]
    pub const fn contains(self, shard: ShardId) -> bool {
        self.0[shard.0 as usize / 64] & (1 << (shard.0 % 64)) != 0
    }

    /// Adds a shard.
    pub const fn insert(&mut self, shard: ShardId) {
        self.0[shard.0 as usize / 64] |= 1 << (shard.0 % 64);
    }

    /// The union of both sets.
    #[must_use]
    pub fn union(self, others: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | others.0[word]))
    }

    /// This set without `others`.
    #[must_use]
    pub fn without(self, others: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & !others.0[word]))
    }

    /// The intersection of both sets.
    #[must_use]
    pub fn common(self, others: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & others.0[word]))
    }

    /// The number of shards in the set.
    #[must_use]
    pub fn len(self) -> usize {
        // OK because four words have 256 bits.
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// All of them, in order.
    pub fn iter(self) -> impl Iterator<Item = ShardId> {
        (0..=u8::MAX).map(ShardId).filter(move |shard| self.contains(*shard))
    }
}

impl FromIterator<ShardId> for Shards {
    fn from_iter<I: IntoIterator<Item = ShardId>>(shards: I) -> Self {
        let mut set = Self::NONE;
        shards.into_iter().for_each(|shard| set.insert(shard));
        set
    }
}

impl fmt::Debug for Shards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|shard| shard.0)).finish()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn an_endpoint_stays_in_its_shard_for_ever() {
        let endpoint = |n: u128| EndpointId::from_uuid(Uuid::from_u128(n << 80 | 7 << 76 | 2));
        assert_eq!([1, 2, 3].map(|n| ShardId::of(endpoint(n)).0), [100, 147, 32]);
    }
}
