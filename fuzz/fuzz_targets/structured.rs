//! Any bytes as a structured field: no panic, and what is parsed is written and parsed the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stagger_core::hint::structured::{Dictionary, Item, List};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(item) = Item::parse(bytes) {
        let again = item.serialize().map(|text| Item::parse(text.as_bytes()));
        assert_eq!(again, Ok(Ok(item)));
    }
    if let Ok(list) = List::parse(bytes) {
        let again = list.serialize().map(|text| List::parse(text.as_bytes()));
        assert_eq!(again, Ok(Ok(list)));
    }
    if let Ok(dictionary) = Dictionary::parse(bytes) {
        let again = dictionary.serialize().map(|text| Dictionary::parse(text.as_bytes()));
        assert_eq!(again, Ok(Ok(dictionary)));
    }
});
