//! The concurrency limit of a destination (a bulkhead): a bound on attempts in flight, and a bounded queue.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::num::NonZeroU64;
use core::task::Waker;

use crate::error::ConfigError;
use crate::time::Span;

/// The most places, and the most attempts that may queue: more than one process can have under way.
const MAX_PLACES: u32 = 1_000_000;

/// The rule of a concurrency limit.
///
/// A place is held for one attempt on the wire. A call that waits for its next attempt holds none, so
/// calls that back off do not keep others out.
///
/// ```
/// use stagger_core::{Policy, Span, concurrency::ConcurrencyPlan};
/// let plan = ConcurrencyPlan::new(20)?.with_queue(100, Span::from_millis(500))?;
/// let policy = Policy::builder().concurrency_limit(plan).build()?;
/// assert_eq!(policy.concurrency_limit().map(ConcurrencyPlan::max_concurrent), Some(20));
/// assert!(ConcurrencyPlan::new(0).is_err());
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConcurrencyPlan {
    max_concurrent: u32,
    max_queued: u32,
    max_wait: Span,
}

impl ConcurrencyPlan {
    /// The longest wait for a place that holds when a queue is asked for without one: about as long as
    /// a caller who waits for an answer still has use for it.
    pub const DEFAULT_WAIT: Span = Span::from_secs(1);

    /// At most `max_concurrent` attempts in flight; those beyond are refused.
    ///
    /// # Errors
    /// `concurrency_limit.max_concurrent` outside 1..=1000000.
    pub fn new(max_concurrent: u32) -> Result<Self, ConfigError> {
        if !(1..=MAX_PLACES).contains(&max_concurrent) {
            let field = "concurrency_limit.max_concurrent";
            return Err(ConfigError::new(field, max_concurrent, "from 1 to 1000000"));
        }
        Ok(Self { max_concurrent, max_queued: 0, max_wait: Span::ZERO })
    }

    /// The same limit, for which at most `max_queued` attempts wait, each for at most `max_wait`; first
    /// come, first served. Zero attempts are no queue, and then the wait is not looked at.
    ///
    /// # Errors
    /// `concurrency_limit.max_queued` above 1000000; `concurrency_limit.max_wait` of zero with a queue.
    pub fn with_queue(
        mut self,
        max_queued: u32,
        max_wait: impl Into<Span>,
    ) -> Result<Self, ConfigError> {
        let max_wait = max_wait.into();
        if max_queued > MAX_PLACES {
            let field = "concurrency_limit.max_queued";
            return Err(ConfigError::new(field, max_queued, "at most 1000000"));
        }
        if max_queued > 0 && max_wait.is_zero() {
            let bound = "above zero, or left out with max_queued for no queue";
            return Err(ConfigError::new("concurrency_limit.max_wait", max_wait, bound));
        }
        self.max_queued = max_queued;
        self.max_wait = if max_queued == 0 { Span::ZERO } else { max_wait };
        Ok(self)
    }

    /// The most attempts in flight.
    #[must_use]
    pub const fn max_concurrent(&self) -> u32 {
        self.max_concurrent
    }

    /// The most attempts that wait for a place.
    #[must_use]
    pub const fn max_queued(&self) -> u32 {
        self.max_queued
    }

    /// The longest wait for a place; zero without a queue.
    #[must_use]
    pub const fn max_wait(&self) -> Span {
        self.max_wait
    }
}

/// The number of an attempt in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn(NonZeroU64);

/// The answer to an attempt that asks for a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a place that was entered must be left"]
pub enum Entry {
    /// It has a place.
    Entered,
    /// It waits in the queue, until it has its turn or leaves the queue.
    Queued(Turn),
    /// Places and queue are taken.
    Full,
}

/// The places of one destination, and the attempts that wait for one.
///
/// A place that becomes free is handed to the attempt that waits longest, so a newcomer never overtakes.
/// It calls nobody: the waker of that attempt is returned, to be woken when no lock is held.
///
/// ```
/// use stagger_core::{Span, concurrency::{ConcurrencyLimiter, ConcurrencyPlan, Entry}};
/// let plan = ConcurrencyPlan::new(1)?.with_queue(1, Span::from_secs(1))?;
/// let mut limiter = ConcurrencyLimiter::new(plan);
/// assert_eq!(limiter.enter(true), Entry::Entered);
/// let Entry::Queued(turn) = limiter.enter(true) else { panic!("one may wait") };
/// assert_eq!(limiter.enter(true), Entry::Full);
/// assert!(!limiter.claim(turn), "the place is taken");
/// assert!(limiter.exit().is_none(), "it left no waker");
/// assert!(limiter.claim(turn), "the place was handed on");
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ConcurrencyLimiter {
    plan: ConcurrencyPlan,
    /// Places taken: by attempts in flight, and by those that were handed one and have not claimed it.
    taken: u32,
    last_turn: NonZeroU64,
    waiting: VecDeque<(Turn, Option<Waker>)>,
    handed: Vec<Turn>,
}

impl ConcurrencyLimiter {
    /// All places free.
    #[must_use]
    pub const fn new(plan: ConcurrencyPlan) -> Self {
        let last_turn = NonZeroU64::MIN;
        Self { plan, taken: 0, last_turn, waiting: VecDeque::new(), handed: Vec::new() }
    }

    /// The rule.
    #[must_use]
    pub const fn plan(&self) -> &ConcurrencyPlan {
        &self.plan
    }

    /// Places taken now.
    #[must_use]
    pub const fn taken(&self) -> u32 {
        self.taken
    }

    /// Attempts that wait now.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.waiting.len()
    }

    /// Asks for a place, and for one in the queue if the attempt may wait.
    pub fn enter(&mut self, may_wait: bool) -> Entry {
        // Nobody waits while a place is free, because a free place is handed on.
        if self.taken < self.plan.max_concurrent {
            self.taken += 1;
            return Entry::Entered;
        }
        // OK because u32 fits into usize wherever a million waiting attempts fit into memory.
        if !may_wait || self.waiting.len() >= self.plan.max_queued as usize {
            return Entry::Full;
        }
        self.last_turn = self.last_turn.saturating_add(1);
        let turn = Turn(self.last_turn);
        self.waiting.push_back((turn, None));
        Entry::Queued(turn)
    }

    /// Takes the place that was handed to `turn`; no if it still waits.
    #[must_use]
    pub fn claim(&mut self, turn: Turn) -> bool {
        let handed = self.handed.iter().position(|it| *it == turn);
        handed.is_some_and(|at| {
            self.handed.swap_remove(at);
            true
        })
    }

    /// Whether `turn` was handed a place; if not, `waker` is woken once it is.
    #[must_use]
    pub fn watch(&mut self, turn: Turn, waker: &Waker) -> bool {
        if let Some((_, kept)) = self.waiting.iter_mut().find(|(it, _)| *it == turn) {
            match kept {
                Some(kept) => kept.clone_from(waker),
                None => *kept = Some(waker.clone()),
            }
            return false;
        }
        // One that neither waits nor was handed a place has nothing to wait for.
        true
    }

    /// Leaves a place: the attempt has ended, or is not made. Returns who is to be woken.
    #[must_use = "the waker that is returned is to be woken"]
    pub fn exit(&mut self) -> Option<Waker> {
        match self.waiting.pop_front() {
            Some((turn, waker)) => {
                self.handed.push(turn);
                waker
            }
            None => {
                self.taken = self.taken.saturating_sub(1);
                None
            }
        }
    }

    /// Leaves the queue, with the place that was handed over meanwhile. Returns who is to be woken.
    #[must_use = "the waker that is returned is to be woken"]
    pub fn leave_queue(&mut self, turn: Turn) -> Option<Waker> {
        if self.claim(turn) {
            return self.exit();
        }
        self.waiting.retain(|(it, _)| *it != turn);
        None
    }
}
