//! What every store promises.
macro_rules! suite {
    ($open:expr) => {};
}
pub(crate) use suite;
