//! The state that every handler needs, and the visitor with the one application that it may see.

use std::ops::Deref;
use std::str::FromStr;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::Uri;
use http::request::Parts;
use stagger_scheduler::model::{
    Application, Delivery, Endpoint, EndpointId, MessageId, PortalLinkId,
};

use super::assets::PortalAssets;
use super::error::PortalError;
use super::limits::SessionLimits;
use super::view::{PortalFrame, PortalSection};
use crate::access::{Capability, PortalGrant};
use crate::config::PortalSettings;
use crate::edge::WrongKeys;
use crate::node::Node;
use crate::random::IdGenerator;
use crate::ui::page_state::present;
use crate::ui::pages::visit;
use crate::ui::view::{Moment, Note};

/// The dispatcher, and the look of the portal.
#[derive(Debug)]
pub(super) struct PortalState {
    pub(super) node: Node,
    pub(super) settings: PortalSettings,
    /// Whether browsers come over TLS.
    pub(super) secure: bool,
    pub(super) assets: Arc<PortalAssets>,
    pub(super) wrong_keys: WrongKeys,
    pub(super) limits: SessionLimits,
    pub(super) ids: IdGenerator,
}

impl PortalState {
    pub(super) fn new(node: Node, settings: PortalSettings, secure: bool) -> Self {
        Self {
            node,
            assets: Arc::new(PortalAssets::new(&settings)),
            settings,
            secure,
            wrong_keys: WrongKeys::default(),
            limits: SessionLimits::new(),
            ids: IdGenerator::default(),
        }
    }

    /// The frame of a page outside of a session.
    pub(super) fn frame(&self) -> PortalFrame {
        let now = present();
        PortalFrame {
            now: Moment::new(now, now),
            title: self.settings.title.clone(),
            logo: self.settings.logo_url.clone(),
            base: String::new(),
            application: String::new(),
            section: PortalSection::Outside,
            here: String::new(),
            note: None,
            may_manage: false,
            until: None,
            assets: Arc::clone(&self.assets),
        }
    }
}

/// A request whose session allows it: the state, the session, and its application.
#[derive(Debug)]
pub(super) struct PortalVisitor {
    state: Arc<PortalState>,
    grant: PortalGrant,
    pub(super) application: Arc<Application>,
}

impl PortalVisitor {
    /// The link that opened the session.
    pub(super) const fn link(&self) -> PortalLinkId {
        self.grant.link
    }

    /// The path below which all pages of the session are.
    pub(super) fn base(&self) -> String {
        format!("/portal/{}", self.application.id)
    }

    /// The frame of a page at `uri`.
    pub(super) fn frame(
        &self,
        section: PortalSection,
        uri: &Uri,
        note: Option<Note>,
    ) -> PortalFrame {
        let frame = self.state.frame();
        PortalFrame {
            base: self.base(),
            application: self.application.name.clone(),
            section,
            here: visit::here(uri),
            note,
            may_manage: self.grant.capability >= Capability::Manage,
            until: Some(Moment::new(self.grant.until, present())),
            ..frame
        }
    }

    /// The endpoint of this name, if it is the application's own.
    pub(super) fn endpoint(&self, id: &str) -> Result<Arc<Endpoint>, PortalError> {
        let id: EndpointId = parsed(id, "endpoint")?;
        let endpoint = self.node.endpoint(id);
        let own = endpoint.filter(|endpoint| endpoint.application == self.application.id);
        own.ok_or_else(|| PortalError::missing("endpoint"))
    }

    /// The delivery of a message to an endpoint, if it is the application's own.
    pub(super) async fn delivery(
        &self,
        message: &str,
        endpoint: &str,
    ) -> Result<Delivery, PortalError> {
        let message: MessageId = parsed(message, "delivery")?;
        let endpoint: EndpointId = parsed(endpoint, "delivery")?;
        let delivery = self.node.store().delivery(message, endpoint).await?;
        let own = delivery.filter(|delivery| delivery.application == self.application.id);
        own.ok_or_else(|| PortalError::missing("delivery"))
    }
}

fn parsed<T: FromStr>(text: &str, what: &str) -> Result<T, PortalError> {
    text.parse().map_err(|_| PortalError::missing(what))
}

impl Deref for PortalVisitor {
    type Target = PortalState;

    fn deref(&self) -> &PortalState {
        &self.state
    }
}

impl FromRequestParts<Arc<PortalState>> for PortalVisitor {
    type Rejection = PortalError;

    /// The grant is there only if the session was checked.
    async fn from_request_parts(
        parts: &mut Parts,
        state: &Arc<PortalState>,
    ) -> Result<Self, PortalError> {
        let grant = parts.extensions.get::<PortalGrant>().copied();
        let grant = grant.ok_or_else(PortalError::no_session)?;
        let application = state.node.application(grant.application);
        let application = application.ok_or_else(PortalError::no_session)?;
        Ok(Self { state: Arc::clone(state), grant, application })
    }
}
