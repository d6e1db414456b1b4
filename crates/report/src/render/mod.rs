//! From shapes to SVG, to PNG and to characters.

mod braille;
mod dashes;
mod escape;
mod raster;
mod svg;
mod terminal;
mod theme;

pub(crate) use escape::Html;
pub(crate) use raster::png;
pub(crate) use svg::{inline, standalone};
pub(crate) use terminal::terminal;
pub(crate) use theme::{class_of, css};
