//! `stagger watch`: retry storms in a log that is followed, or in counters that are scraped.

mod command;
mod counters;
mod figures;
mod followed_file;
mod json;
mod line_buffer;
mod log_watch;
mod metrics;
mod reporter;
mod text;

pub(crate) use command::watch;
