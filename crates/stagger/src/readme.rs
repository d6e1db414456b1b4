#![doc = include_str!("../../../README.md")]
#![doc = include_str!("../../../docs/guides/integration.md")]
