//! The portal's links and sessions: made, opened once, and closed. The store has the application's key and the links
//! that open it no more, so that every node of a fleet decides alike, also after a restart.

use stagger::{Instant, Span};
use stagger_scheduler::model::{Application, ApplicationId, LinkEnd, PortalAccess, PortalLinkId};

use super::Node;
use crate::Error;
use crate::access::{Capability, PortalGrant, Refusal, TokenKind};
use crate::random::os_bytes;

/// The longest lifetime of a link and of its session, for which a closed link is remembered.
pub(crate) const MAX_LIFETIME: Span = Span::from_secs(7 * 24 * 60 * 60);

/// The reason for which a link did not open the portal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotOpened {
    /// The link gives no access.
    Refused(Refusal),
    /// It may: nothing was decided.
    Failed(Error),
}

impl Node {
    /// A link to the portal of an application: its token, which is kept nowhere.
    ///
    /// # Errors
    /// There is no such application; the store did not do it, or the system has no randomness.
    pub(crate) async fn portal_link(
        &self,
        id: ApplicationId,
        link: PortalLinkId,
        capability: Capability,
        until: Instant,
    ) -> Result<(PortalGrant, String), Error> {
        let grant = PortalGrant { application: id, link, until: whole(until), capability };
        let key = match self.known(id)?.portal.key {
            Some(key) => key,
            None => self.first_portal_key(id).await?,
        };
        Ok((grant, grant.sign(TokenKind::Link, &key)))
    }

    /// Makes the key that signs the links of an application, unless there is one by now.
    async fn first_portal_key(&self, id: ApplicationId) -> Result<[u8; 32], Error> {
        let made = os_bytes::<32>()?;
        self.change_portal(id, |portal| Ok(*portal.key.get_or_insert(made))).await
    }

    /// Opens the portal with a link, at `now`: its session's token. The link opens it no more.
    ///
    /// # Errors
    /// The link gives no access; the store did not do it.
    pub(crate) async fn open_portal(
        &self,
        token: &str,
        now: Instant,
    ) -> Result<(PortalGrant, String), NotOpened> {
        let id = PortalGrant::claimed_application(TokenKind::Link, token)
            .ok_or(NotOpened::Refused(Refusal::Unknown))?;
        let opened = self.change_portal(id, |portal| {
            let Some(key) = portal.key else { return Ok(Err(Refusal::Unknown)) };
            let grant = match PortalGrant::verify(TokenKind::Link, token, portal, now) {
                Ok(grant) => grant,
                Err(refusal) => return Ok(Err(refusal)),
            };
            close(portal, &grant, LinkEnd::Opened, now)?;
            Ok(Ok((grant, grant.sign(TokenKind::Session, &key))))
        });
        match opened.await {
            Ok(Ok(opened)) => Ok(opened),
            Ok(Err(refusal)) => Err(NotOpened::Refused(refusal)),
            Err(error) if error.is_not_found() => Err(NotOpened::Refused(Refusal::Unknown)),
            Err(error) => Err(NotOpened::Failed(error)),
        }
    }

    /// The access that a session gives at `now`, as this node knows it: [`sync_settings`](Self::sync_settings) first.
    ///
    /// # Errors
    /// It gives none.
    pub(crate) fn portal_session(&self, token: &str, now: Instant) -> Result<PortalGrant, Refusal> {
        let id = PortalGrant::claimed_application(TokenKind::Session, token);
        let application = id.and_then(|id| self.application(id)).ok_or(Refusal::Unknown)?;
        PortalGrant::verify(TokenKind::Session, token, &application.portal, now)
    }

    /// Deletes a link: it opens nothing, and its session ends. The id may be one of a link that has ended.
    ///
    /// # Errors
    /// There is no such application; a thousand links are closed already; the store did not do it.
    pub(crate) async fn delete_portal_link(
        &self,
        id: ApplicationId,
        link: PortalLinkId,
        now: Instant,
    ) -> Result<(), Error> {
        let until = whole(now + MAX_LIFETIME);
        let grant = PortalGrant { application: id, link, until, capability: Capability::Read };
        self.change_portal(id, |portal| close(portal, &grant, LinkEnd::Deleted, now)).await
    }

    /// Ends all links and sessions of an application's portal, by another key.
    ///
    /// # Errors
    /// There is no such application; the store did not do it, or the system has no randomness.
    pub(crate) async fn close_portal(&self, id: ApplicationId) -> Result<(), Error> {
        let key = Some(os_bytes::<32>()?);
        self.change_portal(id, |portal| {
            *portal = PortalAccess { key, closed: Vec::new() };
            Ok(())
        })
        .await
    }

    /// Reads, changes and writes what is known of a portal, with no other change of this node in between. What has
    /// not changed is not written.
    async fn change_portal<T>(
        &self,
        id: ApplicationId,
        change: impl FnOnce(&mut PortalAccess) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let _changing = self.changing().await;
        self.sync_settings().await?;
        let known = self.known(id)?;
        let mut portal = known.portal.clone();
        let changed = change(&mut portal)?;
        if portal != known.portal {
            self.put_application(Application { portal, ..Application::clone(&known) }).await?;
        }
        Ok(changed)
    }

    fn known(&self, id: ApplicationId) -> Result<std::sync::Arc<Application>, Error> {
        self.application(id).ok_or_else(|| Error::not_found("application"))
    }
}

fn close(
    portal: &mut PortalAccess,
    grant: &PortalGrant,
    end: LinkEnd,
    now: Instant,
) -> Result<(), Error> {
    match portal.close(grant.link, end, grant.until, now) {
        true => Ok(()),
        false => Err(Error::conflict(
            "a thousand links of this application were opened or deleted and have not expired; \
             wait, or delete all links",
        )),
    }
}

/// The time in whole seconds, as tokens have it.
fn whole(at: Instant) -> Instant {
    Instant::ORIGIN + Span::from_secs(at.as_nanos() / 1_000_000_000)
}
