//! The name of a server, made on the stack, by which its ledger is found.

use std::io::{Cursor, Write};

/// The longest name that is looked up so; longer ones take the way of new servers.
const ROOM: usize = 128;

/// The text of a [`Destination`](stagger_core::breaker::Destination): scheme, host and port in small
/// letters. Differs from it where the host ends with a dot.
pub(crate) struct ServerName {
    bytes: [u8; ROOM],
    len: usize,
}

impl ServerName {
    /// `None` where the name is too long.
    pub(crate) fn new(scheme: &str, host: &str, port: u16) -> Option<Self> {
        let mut bytes = [0; ROOM];
        let mut room = Cursor::new(&mut bytes[..]);
        write!(room, "{scheme}://{host}:{port}").ok()?;
        let len = usize::try_from(room.position()).ok()?;
        bytes.make_ascii_lowercase();
        Some(Self { bytes, len })
    }

    /// The text.
    pub(crate) fn as_str(&self) -> &str {
        // OK because only whole strings were written.
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use stagger_core::breaker::Destination;

    use super::*;

    #[test]
    fn a_name_is_that_of_the_destination() {
        for port in [0, 7, 80, 443, 8_080, 65_535] {
            for (scheme, host) in [("http", "a.example"), ("HTTPS", "A.Example"), ("http", "[::1]")]
            {
                let name = ServerName::new(scheme, host, port).expect("it is short");
                let destination = Destination::new(scheme, host, Some(port)).expect("a server");
                assert_eq!(name.as_str(), destination.as_str());
            }
        }
    }

    #[test]
    fn a_long_name_has_no_room() {
        let name = |length| ServerName::new("http", &"a".repeat(length), 80);
        assert!(name(118).is_some() && name(119).is_none());
    }
}
