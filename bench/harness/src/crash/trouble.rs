//! A trouble that a round makes for a dispatcher.

use clap::ValueEnum;
use serde::Serialize;
use stagger_core::Entropy;
use stagger_testkit::Mix;

/// One kind of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum Trouble {
    /// A node is killed (SIGKILL), and started anew.
    Kill,
    /// A node is told to end (SIGTERM), and started anew when it has.
    Drain,
    /// PostgreSQL ends in the midst of it, orderly or not, and starts again.
    Restart,
    /// Nothing gets through between a node and PostgreSQL, for longer than the lease.
    Cut,
    /// A node stands still (SIGSTOP) for longer than the lease, and goes on as if nothing had been.
    Pause,
}

impl Trouble {
    pub(super) const ALL: [Self; 5] =
        [Self::Kill, Self::Drain, Self::Restart, Self::Cut, Self::Pause];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Drain => "drain",
            Self::Restart => "restart",
            Self::Cut => "cut",
            Self::Pause => "pause",
        }
    }

    /// Whether it takes a database of its own to have it.
    pub(super) const fn is_of_the_database(self) -> bool {
        matches!(self, Self::Restart | Self::Cut)
    }
}

/// Troubles in an order drawn by chance, each of them once before any comes again.
#[derive(Debug)]
pub(super) struct Deck {
    all: Vec<Trouble>,
    left: Vec<Trouble>,
}

impl Deck {
    /// Of at least one kind.
    pub(super) const fn new(all: Vec<Trouble>) -> Self {
        Self { all, left: Vec::new() }
    }

    pub(super) fn draw(&mut self, mix: &mut Mix) -> Option<Trouble> {
        if self.left.is_empty() {
            self.left.clone_from(&self.all);
        }
        let at = below(mix, self.left.len())?;
        Some(self.left.swap_remove(at))
    }
}

/// A number below `count`; none below zero.
pub(super) fn below(mix: &mut Mix, count: usize) -> Option<usize> {
    let word = mix.next_u64().checked_rem(count as u64)?;
    usize::try_from(word).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_ten_rounds_each_trouble_comes_twice_and_the_seed_says_when() {
        let rounds = |seed| {
            let (mut deck, mut mix) = (Deck::new(Trouble::ALL.to_vec()), Mix::new(seed));
            let mut drawn = [(); 10].map(|()| deck.draw(&mut mix).expect("the deck is full"));
            let order = drawn;
            drawn.sort();
            assert!(drawn.chunks(2).all(|two| two[0] == two[1]), "{drawn:?}");
            order
        };
        assert_eq!(rounds(1), rounds(1));
        assert_ne!(rounds(1), rounds(2));
    }
}
