//! The reasons why a peer costs less on a row: what the difference buys. `cargo xtask bench peers` prints them.

/// A first try, blocking or not, of a peer that is a loop around the operation.
pub(crate) const LOOP: &str = "the peer is a loop that has no budget, no breaker and no deadline. Ours marks the \
     thread while it polls the attempt, so that a call inside it makes one attempt and layers do not multiply; it \
     keeps a place for a time limit, and asks whether the policy needs the time or a permit before the attempt. A policy \
     with neither budget nor breaker nor deadline, as here, reads no clock; no switch takes the mark away";

/// The same on the caller's thread.
pub(crate) const BLOCKING_LOOP: &str = "the compiler removes the peer's loop, which keeps nothing. Ours reads the \
     coarse clock once before the attempt, because nothing tells beforehand that a blocking attempt will take time: \
     the error then says how long the call took. It marks the thread as async calls do. No switch does without either";

/// A service of tower without a budget.
pub(crate) const OWNED_SERVICE: &str = "each call of ours holds the retrier that all calls share, one count up and \
     one down, for its budget, breaker and latencies; tower copies a policy that shares nothing here. Ours marks the \
     thread too, and its future keeps a place for a time limit. `Retrier::retry` borrows its retrier, and does without \
     the count";

/// seatbelt's service.
pub(crate) const BORROWED_SERVICE: &str = "the peer's call borrows its service, so it cannot be spawned without it; \
     ours owns what it needs, as tower asks, and holds the shared retrier by one count up and one down. The peer has \
     no budget. `Retrier::retry` borrows its retrier, and does without the count";

/// A service of tower with a budget.
pub(crate) const EXACT_CLOCK: &str = "tokio's clock is read through tokio, because a test may have paused it. A timer \
     of one's own, `|delay| tokio::time::sleep(delay)`, does without: see the row `stagger (own timer)`. The budget \
     keeps its ratio exactly, where the peer's grants 1000 retries to 1000 calls at 60 %";

/// google-cloud-gax in the group with budget and breaker.
pub(crate) const NO_BREAKER: &str = "the peer has no breaker, and its throttler no window of time: see the budget pair. A policy without a breaker does \
     without one";

/// google-cloud-gax's throttler.
pub(crate) const NO_WINDOW: &str = "the peer's throttler reads no clock, so the past never expires: after 1000 \
     successes it takes 1216 failures in a row until a tenth of the retries is refused. Ours counts first attempts \
     in a window of 10 s and reads the coarse clock for both halves. `BudgetPlan::Unlimited` does without";

/// tower-resilience's budget by additive increase.
pub(crate) const NO_TIME: &str = "the peer's budget reads no clock and has no ratio to a time: what was saved once is \
     there for ever. Ours counts first attempts in a window of 10 s and reads the coarse clock for both halves. \
     `BudgetPlan::Unlimited` does without";

/// governor's check.
pub(crate) const ONE_CHECK: &str = "the peer makes one check of a rate. It counts no first attempts, so it cannot \
     hold retries to a share of them; this row is half of what the others do. `stagger::RateLimit` is such a check";

/// A breaker that counts calls, however old they are.
pub(crate) const RING: &str = "the peer's closed breaker reads no clock and counts the last 100 calls, however old. \
     Ours counts a window of time and reads the coarse clock twice, and its error says how long the call took. Half \
     open, ours lets as many probes through as planned, where the peer lets 64 of 64 simultaneous calls through. Every \
     breaker of ours reads the coarse clock; a policy without one does not";

/// A breaker that counts failures in a row.
pub(crate) const IN_A_ROW: &str = "the peer counts failures in a row under a lock: no rate and no window, for which \
     it has another policy, slower than ours. Half open, it lets 1000 of 1000 simultaneous calls through";

/// Another way of ours.
pub(crate) const OURS: &str = "this is ours, by the other clock";
