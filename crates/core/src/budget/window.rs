//! The windowed ratio: first attempts and time earn retries, which are kept for a window.

use super::{Level, Paid};
use crate::{ConfigError, Entropy, Instant, Rate, Ratio, Span};

/// Slots of a window: old counts leave in steps of a tenth, and the state stays at two cache lines.
const SLOTS: usize = 10;
/// Shortest and longest window, Finagle's bounds: below a second one pause of the process empties
/// it, above a minute it answers for an outage that is long over.
const MIN_WINDOW: Span = Span::from_secs(1);
const MAX_WINDOW: Span = Span::from_secs(60);
/// Ten retries a call for ever: more is no budget. Keeps the sums below within 64 bits.
const MAX_RATIO: Ratio = Ratio::from_ppm(10 * Ratio::SCALE);
/// The largest burst: more than one destination gets from one process at once.
const MAX_BURST: u32 = 1_000_000;
/// The retries in hand at rest: those of one call of the default policy, so that a lone failing call
/// never meets an empty budget.
const BURST: u32 = 2;
/// A policy of more attempts has as many in hand as one call makes, up to here: the waits before
/// later retries are long enough for the floor to earn them.
const MOST_BURST: u32 = 10;
/// One retry in twenty seconds. The floors of all processes that call one destination add up: those
/// of a thousand are 50 retries a second.
const FLOOR: Floor = Floor::Add(Rate::once_every(Span::from_secs(20)));
/// A retry, in the parts per million in which allowances are compared.
const RETRY: u64 = Ratio::SCALE as u64;

/// The retries that time earns, for destinations with little traffic.
///
/// Without a floor, a destination with two calls a minute would never see a retry
/// (envoyproxy/envoy pull request 9069).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Floor {
    /// Earned on top of the share (Finagle).
    Add(Rate),
    /// Earned where it is more than the share (Envoy).
    AtLeast(Rate),
}

impl Floor {
    /// The retries a second.
    #[must_use]
    pub const fn rate(self) -> Rate {
        match self {
            Self::Add(rate) | Self::AtLeast(rate) => rate,
        }
    }
}

/// Each first attempt earns `ratio` of a retry, and each second `floor` retries.
///
/// A retry spends the oldest earnings. Earnings that are not spent within the window expire, so
/// that a budget never holds more than the last window earned, or `burst` where that is more. A
/// grant needs one whole retry in hand.
///
/// - Over any time, grants are at most `ratio * first attempts + floor * time` of that time, plus
///   what was in hand when it began.
/// - Spent earnings do not come back. In a steady outage, grants are as even as the first attempts:
///   processes that notice an outage together do not retry in step for its whole length.
///
/// The base is *first* attempts in a time window, not calls in flight: with those, every settled
/// call would shrink the base that its own retry is measured by. The share is exact in parts per
/// million. Earnings expire, and the floor is earned, in steps of a tenth of the window.
///
/// ```
/// use stagger_core::budget::{Floor, WindowPlan};
/// use stagger_core::{Rate, Ratio, Span};
/// let plan = WindowPlan::new(Ratio::from_percent(20))?
///     .with_window(Span::from_secs(30))?
///     .with_floor(Floor::Add(Rate::ZERO));
/// assert_eq!(plan.window(), Span::from_secs(30));
/// assert_eq!(plan.burst(), 0, "nothing but the share");
/// assert!(plan.with_window(Span::from_secs(61)).is_err());
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowPlan {
    ratio: Ratio,
    window: Span,
    floor: Floor,
    /// `None` for the default of the floor.
    burst: Option<u32>,
    /// `None` where each budget may have its own.
    phase: Option<Ratio>,
    /// The length of a slot in nanoseconds, from `window`.
    slot: u64,
    /// The retries in hand without first attempts, in millionths: `burst` or `floor * window`.
    reserve: u64,
    /// What the floor earns in a slot, in millionths.
    slot_floor: u64,
}

impl WindowPlan {
    /// The slots of a window.
    pub const SLOTS: usize = SLOTS;

    const DEFAULT: Self = Self {
        ratio: Ratio::from_percent(10),
        window: Span::from_secs(10),
        floor: FLOOR,
        burst: None,
        phase: None,
        slot: 0,
        reserve: 0,
        slot_floor: 0,
    }
    .derive();

    /// A budget of `ratio` of the first attempts in 10 s, plus one retry in 20 s, with 2 retries in
    /// hand at rest.
    ///
    /// # Errors
    /// `budget.ratio` above 1000 %.
    pub fn new(ratio: Ratio) -> Result<Self, ConfigError> {
        if ratio > MAX_RATIO {
            return Err(ConfigError::new("budget.ratio", ratio.as_f64(), "at most 10 (1000 %)"));
        }
        Ok(Self { ratio, ..Self::DEFAULT }.derive())
    }

    /// The same share over another window, default 10 s.
    ///
    /// # Errors
    /// `budget.window` outside 1 s..=60 s.
    pub fn with_window(self, window: Span) -> Result<Self, ConfigError> {
        if !(MIN_WINDOW..=MAX_WINDOW).contains(&window) {
            return Err(ConfigError::new("budget.window", window, "from 1s to 60s"));
        }
        Ok(Self { window, ..self }.derive())
    }

    /// The same share with another floor, default [`Floor::Add`] of one retry in 20 s.
    #[must_use]
    pub const fn with_floor(self, floor: Floor) -> Self {
        Self { floor, ..self }.derive()
    }

    /// The same share with at least so many retries in hand at rest. Default: those of one call
    /// under the policy that the plan is built into, from 2 to 10; 0 without a floor.
    ///
    /// # Errors
    /// `budget.burst` above 1000000.
    pub fn with_burst(self, burst: u32) -> Result<Self, ConfigError> {
        if burst > MAX_BURST {
            return Err(ConfigError::new("budget.burst", burst, "at most 1000000"));
        }
        Ok(Self { burst: Some(burst), ..self }.derive())
    }

    /// The same plan for budgets that hold this part of a retry, below one, besides what they earn.
    ///
    /// Processes with equal traffic earn whole retries at the same moments. Where the plan has no
    /// phase, a ledger [draws](Self::in_random_phase) one for each budget, so that a fleet's retries
    /// are spread.
    #[must_use]
    pub const fn with_phase(self, phase: Ratio) -> Self {
        let part = Ratio::from_ppm(phase.ppm() % Ratio::SCALE);
        Self { phase: Some(part), ..self }.derive()
    }

    /// The same plan with a random phase, unless it has one, or no floor: without a floor, grants
    /// never exceed the share.
    #[must_use]
    pub fn in_random_phase(self, entropy: &mut dyn Entropy) -> Self {
        if self.phase.is_some() || self.floor.rate() == Rate::ZERO {
            return self;
        }
        let part = entropy.next_u64() % u64::from(Ratio::SCALE);
        // OK because the remainder is below a million.
        #[expect(clippy::cast_possible_truncation, reason = "below a million")]
        self.with_phase(Ratio::from_ppm(part as u32))
    }

    /// The plan of a policy of so many attempts: unless a burst was set, a lone call has all of its
    /// retries in hand.
    pub(crate) fn for_attempts(self, attempts: Option<u32>) -> Self {
        let retries =
            attempts.map_or(MOST_BURST, |attempts| attempts.saturating_sub(1).min(MOST_BURST));
        let more = u64::from(retries) * RETRY > self.reserve;
        let raises = more && self.burst.is_none() && self.burst() > 0;
        if raises {
            return Self { burst: Some(retries), ..self }.derive();
        }
        self
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

    /// What time earns besides the share.
    #[must_use]
    pub const fn floor(&self) -> Floor {
        self.floor
    }

    /// The least number of retries in hand at rest; the window's floor may hold more.
    #[must_use]
    pub const fn burst(&self) -> u32 {
        match self.burst {
            Some(burst) => burst,
            None if self.floor.rate().millionths() == 0 => 0,
            None => BURST,
        }
    }

    /// The burst that was set, where it was.
    #[cfg(feature = "serde")]
    pub(crate) const fn own_burst(&self) -> Option<u32> {
        self.burst
    }

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

    /// How full a window with these first attempts and millionths spent is.
    #[must_use]
    pub const fn level_of(&self, firsts: u64, spent: u64) -> Level {
        let allowance = self.allowance(firsts);
        Level::of_retries(allowance.saturating_sub(spent) / RETRY, allowance / RETRY)
    }

    /// What is still spent when a slot with `left` of the window's `firsts` leaves: its earnings leave
    /// with it, and those that were spent are the oldest.
    #[must_use]
    pub const fn spent_after(&self, spent: u64, firsts: u64, left: u64) -> u64 {
        // OK because u64 holds every u32; `From` is not const.
        let ratio = self.ratio.ppm() as u64;
        let earned = match self.floor {
            Floor::Add(_) => left * ratio + self.slot_floor,
            Floor::AtLeast(_) if firsts * ratio > self.reserve => left * ratio,
            Floor::AtLeast(_) => self.slot_floor,
        };
        spent.saturating_sub(earned)
    }

    /// What is still spent after so many further slots in which nothing happened.
    #[must_use]
    pub const fn spent_after_idle(&self, spent: u64, slots: u64) -> u64 {
        spent.saturating_sub(self.slot_floor.saturating_mul(slots))
    }

    /// The length of a slot: the window moves by this much at a time.
    #[must_use]
    pub const fn slot(&self) -> Span {
        Span::from_nanos(self.slot)
    }

    /// What the floor earns in a slot, in millionths of a retry.
    #[must_use]
    pub const fn slot_floor(&self) -> u64 {
        self.slot_floor
    }

    /// The retries in hand at rest, in millionths.
    #[must_use]
    pub const fn reserve(&self) -> u64 {
        self.reserve
    }

    /// Retries earned over `firsts` first attempts, in millionths.
    ///
    /// OK because `firsts` <= 10 * 2^32 and a ratio is at most 10^7 parts: below 2^59; the reserve
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

    /// The plan with what follows from its settings.
    const fn derive(self) -> Self {
        let earned = self.floor.rate().over(self.window);
        // OK because u64 holds every u32; `From` is not const.
        let held = self.burst() as u64 * RETRY;
        let phase = match self.phase {
            Some(phase) => phase.ppm() as u64,
            None => 0,
        };
        Self {
            slot: self.window.as_nanos().div_ceil(SLOTS as u64),
            reserve: if held > earned { held + phase } else { earned + phase },
            slot_floor: earned / SLOTS as u64,
            ..self
        }
    }
}

impl Default for WindowPlan {
    /// 10 % of the first attempts of the last 10 s, plus one retry in 20 s, with 2 retries in hand at
    /// rest.
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The first attempts of a window, by slot, and what is spent of their earnings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowState {
    slots: [u32; SLOTS],
    /// The sum of all slots.
    firsts: u64,
    /// Earnings of this window that are spent, in millionths of a retry.
    spent: u64,
    /// When the newest slot began, in nanoseconds.
    start: u64,
    /// The newest slot.
    head: usize,
    /// Counts the steps of the window, wrapping; a grant notes it, so that a refund knows its age.
    turn: u32,
}

impl WindowState {
    /// Two slots a word, the spent earnings, the start, and head and turn in one.
    pub(super) const WORDS: usize = SLOTS / 2 + 3;

    pub(super) fn to_words(self) -> [u64; Self::WORDS] {
        let [a, b, c, d, e, f, g, h, i, j] = self.slots.map(u64::from);
        let head = (self.head as u64) << 32 | u64::from(self.turn);
        let pair = |newer: u64, older: u64| newer << 32 | older;
        [pair(a, b), pair(c, d), pair(e, f), pair(g, h), pair(i, j), self.spent, self.start, head]
    }

    /// `None` for a head that is no slot, or more spent than a window can earn.
    pub(super) fn from_words(words: [u64; Self::WORDS], plan: &WindowPlan) -> Option<Self> {
        let [a, b, c, d, e, spent, start, place] = words;
        let halves = |word| [high(word), low(word)];
        let [[a, b], [c, d], [e, f], [g, h], [i, j]] = [a, b, c, d, e].map(halves);
        let slots = [a, b, c, d, e, f, g, h, i, j];
        let firsts = slots.iter().copied().map(u64::from).sum();
        let (head, turn) = (high(place) as usize, low(place));
        (head < SLOTS && spent <= plan.allowance(firsts)).then_some(Self {
            slots,
            firsts,
            spent,
            start,
            head,
            turn,
        })
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
        let seen = steps.min(SLOTS as u64);
        for _ in 0..seen {
            self.head = (self.head + 1) % SLOTS;
            self.turn = self.turn.wrapping_add(1);
            let old = u64::from(core::mem::take(&mut self.slots[self.head]));
            self.spent = plan.spent_after(self.spent, self.firsts, old);
            self.firsts -= old;
        }
        self.spent = plan.spent_after_idle(self.spent, steps - seen);
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
