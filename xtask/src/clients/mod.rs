//! `cargo xtask clients`: the generated part of the client packages, from the OpenAPI document of the dispatcher.
//!
//! `document` reads the operations and the shapes. Each language has a file of its own that writes text and nothing else, so
//! that no network and no other tool is needed. Connections, retries and signatures are written by hand beside it.

mod document;
mod generated;
mod golang;
mod java;
mod javascript;
mod python;
mod written;

pub(crate) use generated::run;
