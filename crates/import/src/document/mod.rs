//! Texts to documents: one tree for each document of a text, and the place of every value.

mod blocks;
mod ini;
mod json;
mod properties;
mod read;
mod sections;
mod syntax;
mod tree;
mod yaml;

pub use tree::SettingsDocument;
pub(crate) use tree::below;
