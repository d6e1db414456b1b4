//! Behaviour that all commands have in common: help, completions, manual pages, and how they behave on a
//! terminal, in a pipeline and when nobody listens.

mod columns;
mod completions;
mod help;
mod manual;
mod nobody;
mod paths;
mod terminal;
mod tool;
mod width;
