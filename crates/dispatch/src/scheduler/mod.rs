//! The pure middle: which attempt is made next, and what an answer means. Told the time and chance, it
//! answers with data.
//!
//! A [`Scheduler`] holds one lane for each endpoint. A lane holds its endpoint's open deliveries, ready or
//! waiting, and everything that may hold them back: slots, rate, pause, breaker, budget, recovery,
//! order.
//!
//! | what holds a lane back | until |
//! | --- | --- |
//! | it is disabled: by hand, by a 410, by failing for too long | it is enabled |
//! | a hint of its endpoint, on any failed attempt | the hint's end, as far as the policy obeys it |
//! | its breaker is open, or all probes are under way | the open time ends, or a probe comes back |
//! | its cap on the rate | the next attempt fits under it |
//! | its recovery, after an open breaker or for a replay | the next attempt fits under the growing rate |
//! | its budget refuses a retry | there is room, or a second has passed; first attempts go on |
//! | its slots, those of its application, those of all | an attempt comes back |
//!
//! None of this spends an attempt or ends a delivery: only an outcome does. What a policy's limits say
//! is therefore asked when an attempt has failed, and a delivery that was held back past its deadline,
//! or whose endpoint has a stricter policy by now, still gets the attempt that it was promised.

mod classify;
mod endpoint_queue;
mod fair_queue;
mod health;
mod launch;
mod pacer;
mod pending_index;
mod queue_view;
mod queued_delivery;
mod queues;
mod rate_limiter;
mod recovery;
mod rules;
mod timers;
mod transition;

pub use launch::{Launch, Next, OperationalEvent, Settled};
pub use queue_view::QueueView;
pub use queues::Scheduler;
