//! Opening the portal with a link, and leaving it.
//!
//! The token of a link stands behind the `#` of its address, which browsers send to no server: so it is in no log and in
//! no `Referer`. The page takes it out of the address, and sends it in a form. A person without scripts copies the address into
//! that form.

use std::sync::Arc;

use axum::Form;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::header::SET_COOKIE;
use http::{Extensions, HeaderMap, Method};
use serde::Deserialize;
use stagger::Span;

use super::error::PortalError;
use super::session::{OPEN, session_cookie};
use super::state::{PortalState, PortalVisitor};
use super::view::OpenPage;
use crate::access::Refusal;
use crate::node::NotOpened;
use crate::ui::page_state::present;
use crate::ui::pages::visit::show;
use crate::ui::sessions::is_own;

/// The token of a link.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OpenForm {
    token: String,
}

/// The page that sends the link's token.
pub(super) async fn open_page(
    State(state): State<Arc<PortalState>>,
) -> Result<Response, PortalError> {
    Ok(show(&OpenPage { frame: state.frame() })?)
}

/// Exchanges a link for a session.
pub(super) async fn open(
    State(state): State<Arc<PortalState>>,
    headers: HeaderMap,
    extensions: Extensions,
    Form(form): Form<OpenForm>,
) -> Result<Response, PortalError> {
    if !is_own(&Method::POST, &headers) {
        return Err(PortalError::foreign_form());
    }
    let now = present();
    // Another node may have made the key that signed it, or closed it.
    state.node.sync_settings().await?;
    // A person without scripts gives the whole address.
    let token = form.token.trim();
    let token = token.rsplit_once('#').map_or(token, |(_, token)| token);
    let (grant, session) = match state.node.open_portal(token, now).await {
        Ok(opened) => opened,
        Err(NotOpened::Failed(error)) => return Err(error.into()),
        Err(NotOpened::Refused(refusal)) => {
            if refusal == Refusal::Unknown {
                state.wrong_keys.note(&extensions, "portal").await;
            }
            return Err(refusal.into());
        }
    };
    let id = grant.application;
    let actor = format!("portal of {id}");
    state.node.record(now, actor, format!("POST {OPEN}"), grant.link.to_string()).await;
    let lasts = grant.until - now;
    let cookie = session_cookie(state.secure, &headers, id, &session, lasts);
    Ok(([(SET_COOKIE, cookie)], Redirect::to(&format!("/portal/{id}"))).into_response())
}

/// Ends the session, everywhere.
pub(super) async fn leave(
    visitor: PortalVisitor,
    headers: HeaderMap,
) -> Result<impl IntoResponse, PortalError> {
    let id = visitor.application.id;
    visitor.node.delete_portal_link(id, visitor.link(), present()).await?;
    let cookie = session_cookie(visitor.secure, &headers, id, "", Span::ZERO);
    Ok(([(SET_COOKIE, cookie)], Redirect::to(OPEN)))
}
