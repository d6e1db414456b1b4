//! Runs against outcomes computed by hand, by naive models or by theory.

mod arrivals;
mod budgets;
mod callers;
mod claims;
mod features;
mod fixture;
mod formulas;
mod limits;
mod recovery;
mod troubles;
mod workers;
