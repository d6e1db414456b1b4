//! Refusals under the keys that the text has for them.

use alloc::string::{String, ToString};

use crate::error::ConfigError;

/// A plan's own name for a setting, and the key under which the text has it.
pub(super) type RenamedKey = (&'static str, &'static str);

/// The same refusal with the text's keys, in its field and where its bound speaks of a neighbour.
pub(super) fn renamed(error: &ConfigError, keys: &[RenamedKey]) -> ConfigError {
    let key = keys.iter().find(|(own, _)| *own == error.field());
    let field = key.map_or(error.field(), |(_, key)| *key);
    let bound = error.bound().split(' ').map(|word| {
        let key = keys.iter().find(|(own, _)| *own == word);
        key.map_or(word, |(_, key)| *key)
    });
    let bound = bound.fold(String::new(), |mut bound, word| {
        if !bound.is_empty() {
            bound.push(' ');
        }
        bound.push_str(word);
        bound
    });
    ConfigError::new(field, error.value().to_string(), bound)
}
