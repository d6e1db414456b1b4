//! Runs against outcomes computed by hand, by naive models or by theory.

mod arrivals;
mod budgets;
mod bystanders;
mod callers;
mod claims;
mod fixture;
mod formulas;
mod lessons;
mod limits;
mod recovery;
mod troubles;
mod workers;
