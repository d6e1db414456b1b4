#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod chart;
mod draw;
mod figures;
mod grid;
mod numbers;
mod page;
mod pictures;
mod render;
mod style;

pub use chart::{
    Along, Axis, Band, Chart, ChartKind, HeatCell, LegendKey, Panel, Reference, Series, Shape,
    Swatch,
};
#[cfg(feature = "png")]
#[cfg_attr(docsrs, doc(cfg(feature = "png")))]
pub use figures::NoPng;
pub use figures::{Picture, pictures, shown_of};
pub use grid::{GridPanel, Healed, HeatGrid};
pub use page::{PageOptions, TunePageOptions, page, tune_page};
pub use pictures::{arrivals, failures, heat, phases, recovery, strips};
pub use style::{Dash, Dot, Ink, Style, Styles, Weight};
