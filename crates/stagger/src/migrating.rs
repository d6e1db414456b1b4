#![doc = include_str!("../../../docs/guides/migrating.md")]
