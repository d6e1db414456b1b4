//! Any text as a header of an endpoint: no panic, and no line ends inside what is accepted.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stagger_scheduler::model::HeaderTemplate;
use stagger_sender::check_header;

fuzz_target!(|input: (&str, &str)| {
    let (name, value) = (input.0.to_owned(), input.1.to_owned());
    let header = HeaderTemplate { name, value, sensitive: false };
    if check_header(&header).is_ok() {
        assert!(header.name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':'));
        assert!(header.value.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
    }
});
