//! The admin listener: what operators and their tools ask of a proxy.

mod health;

pub(crate) use health::answer;
