//! From a chart to shapes on a sheet: where everything stands, whatever then draws it.

mod axes;
mod frame;
mod layout;
mod legend;
mod marks;
mod measure;
mod scale;
mod sheet;

pub(crate) use frame::Frame;
pub(crate) use layout::sheet;
pub(crate) use scale::{Scale, ticks};
pub(crate) use sheet::{Anchor, Item, Paint, Sheet};
