//! The operator's page over a real dispatcher: what it answers, and how a browser takes it.

mod browser;
mod devtools;
mod pages;
mod stage;
mod wire;
