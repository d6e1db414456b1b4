//! One HTML file that says the answer, shows the pictures and has all the figures.

mod answer;
mod document;
mod swept;
mod table;
mod tuned;

pub use document::{PageOptions, page};
pub use tuned::{TunePageOptions, tune_page};
