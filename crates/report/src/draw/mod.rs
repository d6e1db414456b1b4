//! From a chart to shapes on a canvas: where everything stands, whatever then draws it.

mod axes;
mod canvas;
mod layout;
mod series;

pub(crate) use axes::{Scale, ticks};
pub(crate) use canvas::{Anchor, Canvas, Frame, Item, Paint};
pub(crate) use layout::canvas;
