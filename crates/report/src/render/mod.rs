//! From shapes to SVG, to PNG and to characters.

#[cfg(feature = "png")]
mod png;
mod svg;
mod terminal;
mod theme;

#[cfg(feature = "png")]
pub(crate) use png::png;
pub(crate) use svg::{Html, inline, standalone};
pub(crate) use terminal::terminal;
pub(crate) use theme::{class_of, css};
