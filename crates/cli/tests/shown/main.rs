//! The commands that documents and help show, played as they stand there: each does what is said of it, and
//! prints what is shown below it.

mod blocks;
mod check;
mod documents;
mod fixture;
mod help;
mod output;
mod processes;
mod requests;
