//! The storm lab of stagger: the production engine against modelled outages, in virtual time.
//!
//! A [`Plan`] says when callers arrive, what the server does and which policy each caller has; a
//! [`World`] plays it from the first attempt to the last under one seed. The scenarios do that for
//! several laws and many seeds, and give back a [`Report`] of plain figures.
//!
//! ```
//! use stagger_sim::{Crew, Law, Lockstep};
//! let storm = Lockstep { runs: 20, laws: vec![Law::NoRetry, Law::Full], ..Lockstep::default() };
//! let report = storm.run(&Crew::single())?;
//! let [no_retry, full] = &report.rows[..] else { panic!("one row a law") };
//! // Nobody who fails at once and stays away is served; six attempts with full jitter serve all.
//! assert_eq!(no_retry.success, 0.0);
//! assert!(full.success > 0.99);
//! assert!((full.amplification - 3.91).abs() < 0.1);
//! # Ok::<(), stagger_core::ConfigError>(())
//! ```
//!
//! Callers drive the machine of `stagger-core` itself: no delay is computed here a second time.
//!
//! # The same bytes everywhere
//! Time is whole nanoseconds. Events happen in the order (time, class, client), see [`Event`].
//! Every draw is a hash of the seed, the purpose, the client and the attempt, see [`Stream`], so
//! nothing depends on who draws first. Figures are sums of whole numbers, so runs may be played by
//! any number of threads, see [`Crew`]. What is not uniform goes through `libm`, not the platform.
//!
//! # What it does not do yet
//! Servers have no queue and no capacity; callers have no budget and no breaker.
#![forbid(unsafe_code)]

mod arrivals;
mod client;
mod crew;
mod dist;
mod law;
mod meter;
mod queue;
mod report;
mod scenario;
mod server;
mod stat;
mod streams;
mod tally;
mod world;

pub use arrivals::{Arrivals, Times};
pub use crew::Crew;
pub use dist::{exponential, gaussian};
pub use law::{Law, Schedule};
pub use meter::{BUCKET, Counts, Meter, Stretch};
pub use queue::{Class, Event, Heap, Queue, Wheel};
pub use report::{Report, Row};
pub use scenario::{Growth, Lockstep, Mean, Poisson, Shape, Shapes, ShapesReport, Tutorial, Wave};
pub use server::{Reply, Server};
pub use stat::{Stat, Sum};
pub use streams::{Draw, Purpose, Stream};
pub use tally::Tally;
pub use world::{Plan, Played, World};
