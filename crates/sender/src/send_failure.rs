//! Why there is no reply, in a word and in a sentence.

use std::error::Error as StdError;
use std::io;
use std::net::SocketAddr;

use rustix::io::Errno;
use stagger::Hint;
use stagger_scheduler::model::AttemptFailure;

/// Longest detail that is kept, in characters: a sentence, and no store fills with them.
const MAX_DETAIL: usize = 200;

/// A failure to send: the reason why there is no reply.
#[derive(Clone, Debug)]
pub struct SendFailure {
    pub(crate) failure: AttemptFailure,
    pub(crate) detail: String,
    /// The time for which a server in the way asked not to be called.
    pub(crate) hint: Option<Hint>,
}

impl SendFailure {
    /// A failure with a description, of which at most 200 characters are kept.
    #[must_use]
    pub fn new(failure: AttemptFailure, detail: impl AsRef<str>) -> Self {
        Self { failure, detail: bounded(detail.as_ref()), hint: None }
    }

    /// No connection to this address: the node's own failure if it lacks descriptors, memory or ports.
    pub(crate) fn connecting(to: SocketAddr, error: &io::Error) -> Self {
        let local = is_local(error) || is_out_of_ports(error, to);
        let failure = if local { AttemptFailure::Local } else { AttemptFailure::Connect };
        Self::new(failure, format!("{to}: {error}"))
    }

    /// The lookups of its application take all turns.
    pub(crate) fn no_turn() -> Self {
        Self::new(AttemptFailure::Local, "other names of this application keep the resolver busy")
    }

    /// The kind of failure.
    #[must_use]
    pub const fn failure(&self) -> AttemptFailure {
        self.failure
    }

    /// Its description.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// With the words of an error and of all that caused it.
    #[must_use]
    pub fn by(failure: AttemptFailure, error: &(dyn StdError + 'static)) -> Self {
        let mut detail = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let words = error.to_string();
            if !detail.ends_with(&words) {
                detail = format!("{detail}: {words}");
            }
            cause = error.source();
        }
        Self::new(failure, detail)
    }
}

/// Whether this machine lacks descriptors, buffers or memory.
pub(crate) fn is_local(error: &io::Error) -> bool {
    const LOCAL: [Errno; 4] = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    Errno::from_io_error(error).is_some_and(|errno| LOCAL.contains(&errno))
}

/// Whether this machine has no port left for another connection to this address.
///
/// With IPv6 the same error says that it has no address to send from. That does not pass, and an attempt
/// that counts as not made would be made for ever.
fn is_out_of_ports(error: &io::Error, to: SocketAddr) -> bool {
    let unavailable = error.kind() == io::ErrorKind::AddrNotAvailable;
    unavailable && to.is_ipv4() && to.port() != 0
}

/// The text without control characters, which a receiver may have written, and not too long.
pub(crate) fn bounded(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().take(MAX_DETAIL).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detail_is_cut_between_characters_and_has_no_line_breaks() {
        let text = bounded(&format!("a\r\n\u{1b}[2J{}", "é".repeat(MAX_DETAIL)));
        assert!(text.starts_with("a   [2Jé") && text.chars().count() == MAX_DETAIL);
        assert_eq!(bounded("b"), "b");
    }

    #[test]
    fn a_machine_without_descriptors_or_ports_is_not_the_receivers_failure() {
        let failure = |errno: Errno, to: &str| {
            let to = to.parse().expect("an address");
            SendFailure::connecting(to, &errno.into()).failure
        };
        for errno in [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM, Errno::ADDRNOTAVAIL]
        {
            assert_eq!(failure(errno, "192.0.2.1:443"), AttemptFailure::Local, "{errno}");
        }
        assert_eq!(failure(Errno::ADDRNOTAVAIL, "[2001:db8::1]:443"), AttemptFailure::Connect);
        for errno in [Errno::CONNREFUSED, Errno::HOSTUNREACH, Errno::NETUNREACH, Errno::TIMEDOUT] {
            assert_eq!(failure(errno, "192.0.2.1:443"), AttemptFailure::Connect, "{errno}");
        }
    }

    #[test]
    fn a_cause_that_was_told_already_is_not_told_again() {
        let io = io::Error::other(io::Error::other("no route"));
        assert_eq!(SendFailure::by(AttemptFailure::Connect, &io).detail, "no route");
    }
}
