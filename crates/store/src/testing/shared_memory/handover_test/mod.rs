//! Two nodes hand shards over to each other.

mod node;
mod world;
