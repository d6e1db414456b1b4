//! The settings of a dispatcher: a TOML file, below the environment, below the command line.
//!
//! Every setting is one line of a table, `settings`, with its bound: so a file, a variable and a flag are
//! read by the same code and refused in the same words.

mod admin_key;
mod apply;
mod file;
mod redis_url;
mod settings;
mod values;

pub use admin_key::AdminKey;
pub use file::ConfigFault;
pub use redis_url::{NoRedisUrl, RedisUrl};
pub use values::{Config, StoreKind};
