//! The promises of the dispatcher, feature by feature, and whether the tests that show it pass.

mod chore;
mod promise;
mod servers;
mod test_run;

pub(crate) use chore::run;
