//! Calls on WebAssembly, where the standard library has neither clock nor processes: by a clock of one's own.
//!
//! In a browser the feature `wasm_js` of getrandom brings chance. This program has no imports, so that it runs
//! without JavaScript, and brings its own.

mod call;
