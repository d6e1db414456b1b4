//! Any text as the URL of an endpoint: no panic, and all notations of an address are judged alike.
#![no_main]

use std::net::Ipv4Addr;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use stagger_sender::{SendOptions, Sender};

static SENDER: LazyLock<Sender> =
    LazyLock::new(|| Sender::new(SendOptions::default()).expect("no certificates to read"));

fuzz_target!(|input: (&str, u32)| {
    let (text, bits) = input;
    let _any = SENDER.check_url(text);
    let passes = |host: String| SENDER.check_url(&format!("https://{host}/")).is_ok();
    let ip = Ipv4Addr::from_bits(bits);
    let plain = passes(ip.to_string());
    assert!(!plain || !(ip.is_loopback() || ip.is_private() || ip.is_link_local()));
    let mapped = ip.to_ipv6_mapped();
    for other in
        [format!("{bits}"), format!("{bits:#x}"), format!("0{bits:o}"), format!("[{mapped}]")]
    {
        assert_eq!(passes(other.clone()), plain, "{ip} as {other}");
    }
});
