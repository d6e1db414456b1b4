//! The state that every handler needs.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;
use stagger::{Instant, Span, StdTime};

use super::UiOptions;
use super::sessions::Auth;
use super::view::{Frame, Note, Section};
use crate::access::Operator;
use crate::edge::WrongKeys;
use crate::node::Node;
use crate::random::IdGenerator;

/// The dispatcher, and the authentication of its operators.
#[derive(Debug)]
pub(super) struct PageState {
    pub(super) node: Node,
    pub(super) auth: Auth,
    pub(super) wrong_keys: WrongKeys,
    #[cfg(feature = "oidc")]
    pub(super) oidc: Option<crate::oidc::Oidc>,
    /// Whether operators can sign in at an identity provider.
    pub(super) has_provider: bool,
    /// Names new things.
    pub(super) ids: IdGenerator,
    /// The address of the dispatcher in examples of calls.
    base: String,
}

impl PageState {
    pub(super) fn new(node: Node, options: UiOptions) -> Self {
        let base = options.base.clone().unwrap_or_else(|| "http://127.0.0.1:8080".to_owned());
        let (ids, wrong_keys) = (IdGenerator::default(), WrongKeys::default());
        #[cfg(feature = "oidc")]
        let oidc = options.oidc.clone();
        #[cfg(feature = "oidc")]
        let has_provider = oidc.is_some();
        #[cfg(not(feature = "oidc"))]
        let has_provider = false;
        Self {
            node,
            auth: Auth::new(options),
            wrong_keys,
            #[cfg(feature = "oidc")]
            oidc,
            has_provider,
            ids,
            base,
        }
    }

    /// The address of the dispatcher in examples of calls.
    pub(super) fn base(&self) -> String {
        self.base.clone()
    }
}

/// A request of an operator whose role allows it: the state, and the operator.
#[derive(Debug)]
pub(super) struct Visitor {
    page_state: Arc<PageState>,
    operator: Operator,
}

impl Visitor {
    /// The frame of a page at `here`, which is its path with its query.
    pub(super) fn frame(&self, section: Section, here: String, note: Option<Note>) -> Frame {
        let frame = Frame::new(present(), section, here, note, self.operator.role);
        let name = if self.auth.is_open() { "" } else { &self.operator.name };
        Frame { base: self.base(), operator: name.to_owned(), ..frame }
    }
}

impl Deref for Visitor {
    type Target = PageState;

    fn deref(&self) -> &PageState {
        &self.page_state
    }
}

impl FromRequestParts<Arc<PageState>> for Visitor {
    type Rejection = Response;

    /// The operator is there only if the role was checked.
    async fn from_request_parts(
        parts: &mut Parts,
        page_state: &Arc<PageState>,
    ) -> Result<Self, Response> {
        let operator = parts.extensions.get::<Operator>().cloned();
        let operator = operator.ok_or_else(|| StatusCode::FORBIDDEN.into_response())?;
        Ok(Self { page_state: Arc::clone(page_state), operator })
    }
}

/// The time since the Unix epoch.
pub(super) fn present() -> Instant {
    let since = StdTime::wall().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Instant::ORIGIN + Span::from(since)
}
