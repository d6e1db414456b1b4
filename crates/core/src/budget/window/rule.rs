//! The rule of a windowed ratio: its grants, and the expiry of what is unspent.

use super::plan::{FloorRate, RETRY, SLOTS, WindowPlan};
use super::state::WindowState;
use crate::Instant;
use crate::budget::{Level, Paid};

impl WindowPlan {
    /// Counts a call's first attempt.
    #[inline]
    pub fn on_first(&self, state: &mut WindowState, now: Instant) {
        state.turn_to(self, now);
        let slot = &mut state.slots[state.head];
        // A full slot (4 * 10^9 attempts) stops counting, which only ever grants less.
        if let Some(firsts) = slot.checked_add(1) {
            *slot = firsts;
            state.firsts += 1;
        }
    }

    /// Grants a retry when a whole one is in hand. The grant notes its turn.
    #[inline]
    pub fn ask(&self, state: &mut WindowState, now: Instant) -> Option<Paid> {
        state.turn_to(self, now);
        if !self.has_room(state.firsts, state.spent) {
            return None;
        }
        state.spent += RETRY;
        Some(Paid::new(1, state.turn))
    }

    /// Gives a grant back; nothing after a whole window, when its earnings have expired.
    pub fn refund(&self, state: &mut WindowState, now: Instant, paid: Paid) {
        state.turn_to(self, now);
        let age = state.turn.wrapping_sub(paid.mark()) as usize;
        if paid.amount() > 0 && age < SLOTS {
            state.spent = state.spent.saturating_sub(RETRY);
        }
    }

    /// The retries in hand, and how many there would be if none had been spent.
    #[must_use]
    pub fn level(&self, state: &WindowState, now: Instant) -> Level {
        let mut state = *state;
        state.turn_to(self, now);
        self.level_of(state.firsts, state.spent)
    }

    /// Whether a whole retry is in hand after so many first attempts in the window, of whose
    /// earnings so many millionths of a retry are spent.
    #[must_use]
    #[inline]
    pub const fn has_room(&self, firsts: u64, spent: u64) -> bool {
        spent + RETRY <= self.allowance(firsts)
    }

    /// Returns the level of a window with these first attempts and millionths spent.
    #[must_use]
    pub const fn level_of(&self, firsts: u64, spent: u64) -> Level {
        let allowance = self.allowance(firsts);
        Level::of_retries(allowance.saturating_sub(spent) / RETRY, allowance / RETRY)
    }

    /// Returns the spent part that remains when a slot with `left` of the window's `firsts` leaves: its earnings leave
    /// with it, and those that were spent are the oldest.
    #[must_use]
    pub const fn spent_after(&self, spent: u64, firsts: u64, left: u64) -> u64 {
        // OK because u64 holds every u32; `From` is not const.
        let ratio = self.ratio.ppm() as u64;
        let earned = match self.floor {
            FloorRate::Add(_) => left * ratio + self.slot_floor,
            FloorRate::AtLeast(_) if firsts * ratio > self.reserve => left * ratio,
            FloorRate::AtLeast(_) => self.slot_floor,
        };
        spent.saturating_sub(earned)
    }

    /// Returns the spent part that remains after so many further slots without any call.
    #[must_use]
    pub const fn spent_after_idle(&self, spent: u64, slots: u64) -> u64 {
        spent.saturating_sub(self.slot_floor.saturating_mul(slots))
    }

    /// Retries earned over `firsts` first attempts, in millionths.
    ///
    /// OK because `firsts` <= 10 * 2^32 and a ratio is at most 10^7 parts: below 2^59; the reserve
    /// is at most 6 * 10^13.
    #[inline]
    pub(super) const fn allowance(&self, firsts: u64) -> u64 {
        // OK because u64 holds every u32; `From` is not const.
        let share = firsts * self.ratio.ppm() as u64;
        match self.floor {
            FloorRate::Add(_) => share + self.reserve,
            FloorRate::AtLeast(_) if share > self.reserve => share,
            FloorRate::AtLeast(_) => self.reserve,
        }
    }
}
