//! Any bytes as a structured field: no panic, and what is parsed is written and parsed the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stagger_core::hint::structured::{Dictionary, Item, List};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(item) = Item::parse(bytes) {
        assert_eq!(Item::parse(item.serialize().unwrap().as_bytes()), Ok(item));
    }
    if let Ok(list) = List::parse(bytes) {
        assert_eq!(List::parse(list.serialize().unwrap().as_bytes()), Ok(list));
    }
    if let Ok(dictionary) = Dictionary::parse(bytes) {
        let text = dictionary.serialize().unwrap();
        assert_eq!(Dictionary::parse(text.as_bytes()), Ok(dictionary));
    }
});
