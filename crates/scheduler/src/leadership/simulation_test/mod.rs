//! Nodes and their store in virtual time: started, stopped, paused, cut off, slowed, each with a clock of
//! its own.

mod cases;
mod machine;
mod node;
mod world;
