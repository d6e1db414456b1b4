//! The windowed ratio: a share of the first attempts of the last seconds, plus a floor.

use super::{Level, Paid};
use crate::{ConfigError, Instant, Ratio, Span};

/// Slots of a window: old counts leave in steps of a tenth, and the state stays at two cache lines.
const SLOTS: usize = 10;
/// Shortest and longest window, Finagle's bounds: below a second one pause of the process empties
/// it, above a minute it answers for an outage that is long over.
const MIN_WINDOW: Span = Span::from_secs(1);
const MAX_WINDOW: Span = Span::from_secs(60);
/// Ten retries a call for ever: more is no budget. Keeps the sums below within 64 bits.
const MAX_RATIO: Ratio = Ratio::from_ppm(10 * Ratio::SCALE);
/// The largest floor, in retries a second: more than one destination gets from one process.
const MAX_FLOOR: u32 = 1_000_000;
/// A retry, in the parts per million in which allowances are compared.
const RETRY: u64 = Ratio::SCALE as u64;

/// What little traffic gets besides its share, in retries a second.
///
/// Without a floor, a destination with two calls a minute would never see a retry
/// (envoyproxy/envoy pull request 9069).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Floor {
    /// The share plus this: `ratio * first attempts + floor * window` (Finagle).
    Add(u32),
    /// The share, or this when it is more: `max(ratio * first attempts, floor * window)` (Envoy).
    AtLeast(u32),
}

/// Retries in the window never exceed `ratio * first attempts in the window + floor * window`.
///
/// The base is *first* attempts in a time window, not calls in flight: with those, every settled
/// call would shrink the base that its own retry is measured by. The share is exact in parts per
/// million. The window moves in ten steps: what happened counts for at least nine tenths of it and
/// never longer than the whole.
///
/// ```
/// use stagger_core::budget::{Floor, WindowPlan};
/// use stagger_core::{Ratio, Span};
/// let plan = WindowPlan::new(Ratio::from_percent(20))?
///     .with_window(Span::from_secs(30))?
///     .with_floor(Floor::Add(0))?;
/// assert_eq!(plan.window(), Span::from_secs(30));
/// assert!(plan.with_window(Span::from_secs(61)).is_err());
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowPlan {
    ratio: Ratio,
    window: Span,
    floor: Floor,
    /// The length of a slot in nanoseconds, from `window`.
    slot: u64,
    /// `floor * window` in millionths of a retry.
    reserve: u64,
}

impl WindowPlan {
    /// The slots of a window.
    pub const SLOTS: usize = SLOTS;

    /// A budget of `ratio` of the first attempts in 10 s, plus one retry a second.
    ///
    /// # Errors
    /// `budget.ratio` above 1000 %.
    pub fn new(ratio: Ratio) -> Result<Self, ConfigError> {
        if ratio > MAX_RATIO {
            return Err(ConfigError::new("budget.ratio", ratio.as_f64(), "at most 10 (1000 %)"));
        }
        Ok(Self::derived(ratio, Span::from_secs(10), Floor::Add(1)))
    }

    /// The same share over another window, default 10 s.
    ///
    /// # Errors
    /// `budget.window` outside 1 s..=60 s.
    pub fn with_window(self, window: Span) -> Result<Self, ConfigError> {
        if !(MIN_WINDOW..=MAX_WINDOW).contains(&window) {
            return Err(ConfigError::new("budget.window", window, "from 1s to 60s"));
        }
        Ok(Self::derived(self.ratio, window, self.floor))
    }

    /// The same share with another floor, default [`Floor::Add`] of one retry a second.
    ///
    /// # Errors
    /// `budget.floor` above 1000000 a second.
    pub fn with_floor(self, floor: Floor) -> Result<Self, ConfigError> {
        let (Floor::Add(rate) | Floor::AtLeast(rate)) = floor;
        if rate > MAX_FLOOR {
            return Err(ConfigError::new("budget.floor", rate, "at most 1000000 a second"));
        }
        Ok(Self::derived(self.ratio, self.window, floor))
    }

    /// The share of first attempts that may be retried.
    #[must_use]
    pub const fn ratio(&self) -> Ratio {
        self.ratio
    }

    /// The length of the window.
    #[must_use]
    pub const fn window(&self) -> Span {
        self.window
    }

    /// What is granted besides the share.
    #[must_use]
    pub const fn floor(&self) -> Floor {
        self.floor
    }

    /// Counts a call's first attempt.
    #[inline]
    pub fn on_first(&self, state: &mut WindowState, now: Instant) {
        state.turn_to(self, now);
        let slot = &mut state.slots[state.head];
        // A full slot (4 * 10^9 attempts) stops counting, which only ever grants less.
        if let Some(firsts) = slot.firsts.checked_add(1) {
            slot.firsts = firsts;
            state.firsts += 1;
        }
    }

    /// Grants a retry when the window has room for one more. The grant notes its slot.
    #[inline]
    pub fn ask(&self, state: &mut WindowState, now: Instant) -> Option<Paid> {
        state.turn_to(self, now);
        if !self.has_room(state.firsts, state.retries) {
            return None;
        }
        let slot = &mut state.slots[state.head];
        slot.retries = slot.retries.checked_add(1)?;
        state.retries += 1;
        Some(Paid::new(1, state.turn))
    }

    /// Gives a grant back to the slot that it was taken from; nothing once that slot has left the
    /// window, because the grant has left with it.
    pub fn refund(&self, state: &mut WindowState, now: Instant, paid: Paid) {
        state.turn_to(self, now);
        let age = state.turn.wrapping_sub(paid.mark()) as usize;
        if paid.amount() == 0 || age >= SLOTS {
            return;
        }
        let slot = &mut state.slots[(state.head + SLOTS - age) % SLOTS];
        if let Some(retries) = slot.retries.checked_sub(1) {
            slot.retries = retries;
            state.retries -= 1;
        }
    }

    /// How many retries the window has room for, of how many.
    #[must_use]
    pub fn level(&self, state: &WindowState, now: Instant) -> Level {
        let mut state = *state;
        state.turn_to(self, now);
        self.level_of(state.firsts, state.retries)
    }

    /// The rule itself: whether a window with these counts has room for one more retry.
    #[must_use]
    #[inline]
    pub const fn has_room(&self, firsts: u64, retries: u64) -> bool {
        (retries + 1) * RETRY <= self.allowance(firsts)
    }

    /// How full a window with these counts is.
    #[must_use]
    pub const fn level_of(&self, firsts: u64, retries: u64) -> Level {
        let capacity = self.allowance(firsts) / RETRY;
        Level::of_retries(capacity.saturating_sub(retries), capacity)
    }

    /// The length of a slot: the window moves by this much at a time.
    #[must_use]
    pub const fn slot(&self) -> Span {
        Span::from_nanos(self.slot)
    }

    /// Retries allowed over `firsts` first attempts, in millionths.
    ///
    /// OK because `firsts` <= 10 * 2^32 and a ratio is at most 10^7 parts: below 2^59; the floor
    /// is at most 6 * 10^13.
    #[inline]
    const fn allowance(&self, firsts: u64) -> u64 {
        // OK because u64 holds every u32; `From` is not const.
        let share = firsts * self.ratio.ppm() as u64;
        match self.floor {
            Floor::Add(_) => share + self.reserve,
            Floor::AtLeast(_) if share > self.reserve => share,
            Floor::AtLeast(_) => self.reserve,
        }
    }

    const fn derived(ratio: Ratio, window: Span, floor: Floor) -> Self {
        let (Floor::Add(rate) | Floor::AtLeast(rate)) = floor;
        Self {
            ratio,
            window,
            floor,
            slot: window.as_nanos().div_ceil(SLOTS as u64),
            // Retries a second times nanoseconds, in millionths: the thousand is what is left.
            reserve: rate as u64 * window.as_nanos() / 1_000,
        }
    }
}

impl Default for WindowPlan {
    /// 10 % of the first attempts of the last 10 s, plus one retry a second.
    fn default() -> Self {
        Self::derived(Ratio::from_percent(10), Span::from_secs(10), Floor::Add(1))
    }
}

/// The counts of a window, by slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowState {
    slots: [Slot; SLOTS],
    /// The sums of all slots.
    firsts: u64,
    retries: u64,
    /// When the newest slot began, in nanoseconds.
    start: u64,
    /// The newest slot.
    head: usize,
    /// Counts the steps of the window, wrapping; a grant notes it to find its slot again.
    turn: u32,
}

/// One slot: eight bytes, so that it fits one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Slot {
    firsts: u32,
    retries: u32,
}

impl WindowState {
    /// A word a slot, the start, and head and turn in one.
    pub(super) const WORDS: usize = SLOTS + 2;

    pub(super) fn to_words(self) -> [u64; Self::WORDS] {
        let mut words = [0; Self::WORDS];
        for (word, slot) in words.iter_mut().zip(self.slots) {
            *word = u64::from(slot.firsts) << 32 | u64::from(slot.retries);
        }
        words[SLOTS] = self.start;
        words[SLOTS + 1] = (self.head as u64) << 32 | u64::from(self.turn);
        words
    }

    /// `None` for a head that is no slot.
    pub(super) fn from_words(words: [u64; Self::WORDS]) -> Option<Self> {
        let mut state = Self { start: words[SLOTS], ..Self::default() };
        (state.head, state.turn) = (high(words[SLOTS + 1]) as usize, low(words[SLOTS + 1]));
        for (slot, word) in state.slots.iter_mut().zip(words) {
            *slot = Slot { firsts: high(word), retries: low(word) };
            state.firsts += u64::from(slot.firsts);
            state.retries += u64::from(slot.retries);
        }
        (state.head < SLOTS).then_some(state)
    }

    /// Moves the window to `now`. Within a slot this is one subtraction and one comparison; a clock
    /// set back wraps and takes the slow way.
    #[inline]
    fn turn_to(&mut self, plan: &WindowPlan, now: Instant) {
        if now.as_nanos().wrapping_sub(self.start) >= plan.slot {
            self.advance(plan, now.as_nanos());
        }
    }

    /// However long the gap, at most one round over the slots.
    #[cold]
    fn advance(&mut self, plan: &WindowPlan, now: u64) {
        let Some(gone) = now.checked_sub(self.start) else {
            return self.step_back(plan, now);
        };
        let steps = gone / plan.slot;
        self.start += steps * plan.slot;
        for _ in 0..steps.min(SLOTS as u64) {
            self.head = (self.head + 1) % SLOTS;
            self.turn = self.turn.wrapping_add(1);
            let old = core::mem::take(&mut self.slots[self.head]);
            self.firsts -= u64::from(old.firsts);
            self.retries -= u64::from(old.retries);
        }
    }

    /// A clock set back reads as no time passed. Beyond a whole window it is no mere disorder
    /// between threads, and the window goes on from there, or it would stand still until the clock
    /// has caught up.
    fn step_back(&mut self, plan: &WindowPlan, now: u64) {
        if self.start - now > plan.window.as_nanos() {
            self.start = now;
        }
    }
}

// OK because the upper half of a word is all that is left of it.
const fn high(word: u64) -> u32 {
    (word >> 32) as u32
}

#[expect(clippy::cast_possible_truncation, reason = "only the lower half is asked for")]
const fn low(word: u64) -> u32 {
    word as u32
}
