//! One HTML file that says the answer, shows the pictures and has all the figures.

mod answer;
mod document;
mod style;
mod swept;
mod table;
mod words;

pub use document::{PageOptions, page};
