//! From a chart to shapes on a canvas: where everything stands, whatever then draws it.

mod axes;
mod canvas;
mod frame;
mod layout;
mod legend;
mod measure;
mod scale;
mod series;

pub(crate) use canvas::{Anchor, Canvas, Item, Paint};
pub(crate) use frame::Frame;
pub(crate) use layout::canvas;
pub(crate) use scale::{Scale, ticks};
