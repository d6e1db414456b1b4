//! The pages of docs/ as a site, in the order of docs/SUMMARY.md, which mdBook reads as well.

mod book;
mod links;
mod page;
mod summary;

pub(crate) use book::{Book, run};
