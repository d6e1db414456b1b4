//! The reference tables, cell by cell, and what the lab says to each.
//!
//! Two measurements of one mean may differ by three standard errors of their difference,
//! `3 * sd * sqrt(1/runs here + 1/runs there)`, plus half a unit of the table's last digit, plus
//! what the table's own notes allow.

mod cell;
mod measured;

pub(crate) use cell::{Cell, Verdict, cells};
pub(crate) use measured::Lab;
