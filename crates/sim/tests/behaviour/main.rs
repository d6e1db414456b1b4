//! Runs against outcomes computed by hand, by naive models or by theory.

mod arrivals;
mod budgets;
mod caches;
mod callers;
mod claims;
mod features;
mod fixture;
mod formulas;
mod limits;
mod overload;
mod recovery;
mod tier;
mod troubles;
mod users;
mod workers;
