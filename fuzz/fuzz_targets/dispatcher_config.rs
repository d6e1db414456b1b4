//! A dispatcher's settings file: read whole or refused with its place, and never half applied.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stagger_dispatch::config::Config;

fuzz_target!(|text: &str| {
    let mut config = Config::default();
    let before = format!("{config:?}");
    if let Err(fault) = config.apply_text("settings.toml", text) {
        assert!(fault.to_string().starts_with("settings.toml:"), "{fault}");
        assert_eq!(format!("{config:?}"), before);
    }
});
