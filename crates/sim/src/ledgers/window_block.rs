//! A windowed ratio whose spent retries come back with the slot they were spent in.

use stagger_core::Instant;
use stagger_core::budget::{Paid, WindowPlan};

const SLOTS: usize = WindowPlan::SLOTS;

/// The same share and floor as the engine's window, by another rule: the retries of a window never
/// exceed its earnings, and each retry counts until its slot leaves the window.
///
/// This was the engine's own rule. In an outage it spends a window's earnings at once, refuses until
/// they leave the window, and then spends them at once again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowBlock {
    plan: WindowPlan,
    /// First attempts and retries by slot, the oldest first.
    slots: [(u64, u64); SLOTS],
    /// The slots since the origin.
    turn: u64,
}

impl WindowBlock {
    pub(super) const fn new(plan: WindowPlan) -> Self {
        Self { plan, slots: [(0, 0); SLOTS], turn: 0 }
    }

    pub(super) fn on_first(&mut self, now: Instant) {
        self.newest(now).0 += 1;
    }

    pub(super) fn ask(&mut self, now: Instant) -> Option<Paid> {
        self.turn_to(now);
        let firsts = self.slots.iter().map(|slot| slot.0).sum();
        let retries: u64 = self.slots.iter().map(|slot| slot.1).sum();
        let room = self.plan.level_of(firsts, 0).capacity > retries;
        room.then(|| {
            self.newest(now).1 += 1;
            Paid::new(1, 0)
        })
    }

    /// Gives a retry back that was just granted.
    pub(super) fn refund(&mut self, now: Instant) {
        let slot = self.newest(now);
        slot.1 = slot.1.saturating_sub(1);
    }

    fn newest(&mut self, now: Instant) -> &mut (u64, u64) {
        self.turn_to(now);
        &mut self.slots[SLOTS - 1]
    }

    fn turn_to(&mut self, now: Instant) {
        let turn = now.as_nanos() / self.plan.slot().as_nanos();
        for _ in 0..(turn.saturating_sub(self.turn)).min(SLOTS as u64) {
            self.slots.rotate_left(1);
            self.slots[SLOTS - 1] = (0, 0);
        }
        self.turn = self.turn.max(turn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stagger_core::Span;

    #[test]
    fn a_window_is_spent_at_once_and_comes_back_at_once() {
        let mut block = WindowBlock::new(WindowPlan::default());
        let mut by_second = [0; 40];
        for call in 0..4_000_u64 {
            let now = Instant::ORIGIN + Span::from_millis(10 * call);
            block.on_first(now);
            if call >= 1_000 {
                by_second[(call / 100) as usize] += usize::from(block.ask(now).is_some());
            }
        }
        assert!(by_second[10] > 90 && by_second[20] > 90 && by_second[30] > 90, "{by_second:?}");
        assert!(by_second[12..20].iter().all(|&retries| retries <= 2), "{by_second:?}");
    }
}
