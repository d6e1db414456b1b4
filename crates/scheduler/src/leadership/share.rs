//! The share of shards of each member.

use super::cluster_view::Fence;
use super::shard::Shards;

/// The share of `member` among the living: even, and the remainder goes to the oldest, one each.
/// All shares together are all shards, so that nothing moves once each member has its own.
pub(super) fn of(member: Fence, living: &[Fence]) -> usize {
    if !living.contains(&member) {
        return 0;
    }
    let older = living.iter().filter(|other| **other < member).count();
    let (even, left_over) = (Shards::COUNT / living.len(), Shards::COUNT % living.len());
    even + usize::from(older < left_over)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_shard_is_left_over_and_shares_differ_by_one_at_most() {
        for count in 1..=300 {
            let living: Vec<Fence> = (0..count).map(|n| Fence(n * 7)).collect();
            let shares: Vec<usize> = living.iter().map(|fence| of(*fence, &living)).collect();
            assert_eq!(shares.iter().sum::<usize>(), Shards::COUNT);
            assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1);
        }
        assert_eq!(of(Fence(1), &[Fence(2)]), 0);
    }
}
