//! One HTML file that says the answer, shows the pictures and has all the figures.

mod answer;
mod figures;
mod page;
mod style;
mod table;
mod words;

pub use page::{Options, page};
