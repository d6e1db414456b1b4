//! The storm lab's figures as pictures, and as one page that opens anywhere.
//!
//! A [`stagger_sim::StormReport`] becomes [`Chart`]s, which are plain data; a chart becomes a [`Picture`]
//! in SVG, in PNG or in characters; and [`page`] puts the answer in words, the pictures and all the
//! figures into one HTML file without a network, a script or a font of its own.
//!
//! ```
//! use stagger_core::Span;
//! use stagger_report::{PageOptions, page, pictures};
//! use stagger_sim::{ThreadPool, Named};
//! let asked = stagger_sim::StormOptions {
//!     runs: Some(5),
//!     up_at: Some(Span::from_secs(1)),
//!     ..stagger_sim::StormOptions::default()
//! };
//! let report = Named::find("lockstep").expect("it ships").scenario(&asked)?.run(&ThreadPool::single());
//! let html = page(&report, &PageOptions::default());
//! assert!(html.starts_with("<!doctype html>"));
//! assert!(html.contains("lowest peak"));
//! let strips = &pictures(&report, None)[0];
//! assert!(strips.to_svg().starts_with("<svg "));
//! # Ok::<(), stagger_core::ConfigError>(())
//! ```
//!
//! Equal reports give equal bytes.
#![forbid(unsafe_code)]

mod chart;
mod draw;
mod figures;
mod grid;
mod numbers;
mod page;
mod picture;
mod pictures;
mod render;
mod style;

pub use chart::{
    Along, Axis, Band, Chart, ChartKind, HeatCell, LegendKey, Panel, Reference, Series, Shape,
    Swatch,
};
pub use figures::{pictures, shown_of};
pub use grid::{GridPanel, Healed, HeatGrid};
pub use page::{PageOptions, page};
pub use picture::{NoPng, Picture};
pub use pictures::{arrivals, failures, heat, phases, recovery, strips};
pub use style::{Dash, Dot, Ink, Style, Styles, Weight};
