//! The operator's page over a real dispatcher: what it answers, and how a browser takes it.
#![expect(clippy::unwrap_used, reason = "what is unexpected in a test is a failure")]

mod browser;
mod fixture;
mod pages;
mod wire;
