#![doc = include_str!("../README.md")]
//!
//! # What holds a delivery back
//!
//! A [`Scheduler`] holds one queue for each endpoint. A queue holds its endpoint's open deliveries,
//! ready or waiting, and everything that may hold them back: slots, rate, pause, breaker, budget,
//! recovery, order.
//!
//! | what holds a queue back | until |
//! | --- | --- |
//! | it is disabled: by hand, by a 410, by failing for too long | it is enabled |
//! | a hint of its endpoint, on any failed attempt | the hint's end, as far as the policy obeys it |
//! | its breaker is open, or all probes are in flight | the open time ends, or a probe ends |
//! | its cap on the rate | the next attempt fits under it |
//! | its recovery, after an open breaker or for a replay | the next attempt fits under the growing rate |
//! | its budget refuses a retry | there is room, or a second has passed; first attempts go on |
//! | its slots, those of its application, those of all | an attempt ends |
//!
//! Being held back never consumes an attempt and never ends a delivery: only an outcome does. The
//! limits of a policy are checked when an attempt has failed. So a delivery that was held back past
//! its deadline, or whose endpoint now has a stricter policy, still gets the attempt that it was
//! promised.
//!
//! [`leadership`] decides which node of several schedules the endpoints of which shards.
#![forbid(unsafe_code)]

pub mod alerts;
mod classify;
mod endpoint_queue;
mod fair_queue;
mod health;
mod launch;
pub mod leadership;
pub mod model;
mod pacer;
mod pending_index;
mod queues;
mod rules;
mod transition;
mod unsent_hold;

pub use launch::{Launch, NextLaunch, OperationalEvent, QueueChange, QueueView, SettledAttempt};
pub use queues::Scheduler;
