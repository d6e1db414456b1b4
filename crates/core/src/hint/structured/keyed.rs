//! An ordered map with few keys: parameters and dictionaries.

use alloc::string::String;
use alloc::vec::Vec;

/// Values by key, in the order of writing; a key that comes again replaces the value in its place.
///
/// ```
/// use stagger_core::hint::structured::{BareItem, Parameters};
/// let mut parameters = Parameters::default();
/// parameters.insert("q", BareItem::Integer(1));
/// parameters.insert("q", BareItem::Integer(2));
/// assert_eq!(parameters.get("q"), Some(&BareItem::Integer(2)));
/// assert_eq!(parameters.len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyed<V>(Vec<(String, V)>);

impl<V> Keyed<V> {
    /// Sets the value of `key`; whether the key can be written is found out when it is.
    pub fn insert(&mut self, key: impl Into<String>, value: V) {
        let key = key.into();
        match self.0.iter_mut().find(|(known, _)| *known == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key, value)),
        }
    }

    /// The value of `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&V> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    /// All keys with their values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &V)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<V> Default for Keyed<V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}
