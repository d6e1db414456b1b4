//! The access of an application's people to its portal: the key that signs links, and the links that no longer open it.

use std::fmt;

use stagger_core::Instant;

use super::PortalLinkId;

/// Most links of an application that are kept because they were opened or deleted, and have not expired.
const MAX_CLOSED: usize = 1_000;

/// The state of an application's portal.
///
/// ```
/// use stagger_core::{Instant, Span};
/// use stagger_scheduler::model::{LinkEnd, PortalAccess};
/// let id = "link_0190163d8694739b84f6b0d3ccc3a5a1".parse()?;
/// let (now, mut portal) = (Instant::ORIGIN, PortalAccess::default());
/// assert!(portal.close(id, LinkEnd::Opened, now + Span::from_secs(60), now));
/// assert_eq!(portal.end_of(id), Some(LinkEnd::Opened));
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct PortalAccess {
    /// Signs links and sessions; none before the first link. Another key ends all of them.
    pub key: Option<[u8; 32]>,
    /// The links that were opened or deleted, the oldest first, until they expire.
    pub closed: Vec<ClosedLink>,
}

/// A link that opens the portal no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClosedLink {
    /// Its name.
    pub id: PortalLinkId,
    /// The time at which the link and its session expire.
    pub until: Instant,
    /// The reason.
    pub end: LinkEnd,
}

/// The reason for which a link opens the portal no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkEnd {
    /// A browser has opened it. Its session goes on.
    Opened,
    /// It was deleted, and its session with it.
    Deleted,
}

impl PortalAccess {
    /// The reason for which a link opens the portal no more; none if it still does.
    #[must_use]
    pub fn end_of(&self, id: PortalLinkId) -> Option<LinkEnd> {
        self.closed.iter().find(|link| link.id == id).map(|link| link.end)
    }

    /// Closes a link that expires at `until`, or earlier if it was closed before, and forgets those that have
    /// expired. False if a thousand links are closed that have not expired.
    pub fn close(&mut self, id: PortalLinkId, end: LinkEnd, until: Instant, now: Instant) -> bool {
        let known = self.closed.iter().find(|link| link.id == id);
        let until = known.map_or(until, |known| known.until.min(until));
        self.closed.retain(|link| link.until > now && link.id != id);
        if self.closed.len() >= MAX_CLOSED {
            return false;
        }
        self.closed.push(ClosedLink { id, until, end });
        true
    }
}

impl fmt::Debug for PortalAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, closed } = self;
        let key = key.map_or("none", |_| "(not shown)");
        f.debug_struct("PortalAccess").field("key", &key).field("closed", closed).finish()
    }
}

#[cfg(test)]
mod tests {
    use stagger_core::Span;
    use uuid::Uuid;

    use super::*;

    fn id(n: u128) -> PortalLinkId {
        PortalLinkId::from_uuid(Uuid::from_u128(n))
    }

    #[test]
    fn closed_links_grew_without_bound() {
        let (mut portal, now) = (PortalAccess::default(), Instant::ORIGIN);
        let until = now + Span::from_secs(60);
        for n in 0..1_000 {
            assert!(portal.close(id(n), LinkEnd::Opened, until, now));
        }
        assert!(!portal.close(id(1_000), LinkEnd::Opened, until, now));
        assert!(portal.close(id(1_000), LinkEnd::Opened, until + Span::from_secs(1), until));
        assert_eq!((portal.closed.len(), portal.end_of(id(0))), (1, None));
    }

    #[test]
    fn an_opened_link_that_is_deleted_stays_deleted_once() {
        let (mut portal, now) = (PortalAccess::default(), Instant::ORIGIN);
        let until = now + Span::from_secs(60);
        assert!(portal.close(id(1), LinkEnd::Opened, until, now));
        assert!(portal.close(id(1), LinkEnd::Deleted, until + Span::from_secs(60), now));
        assert_eq!(portal.closed[0].until, until, "it was remembered for longer than it lasts");
        assert_eq!((portal.closed.len(), portal.end_of(id(1))), (1, Some(LinkEnd::Deleted)));
    }

    #[test]
    fn the_key_was_in_a_log_line() {
        let portal = PortalAccess { key: Some([77; 32]), closed: Vec::new() };
        assert!(!format!("{portal:?}").contains("77"));
    }
}
