//! The API keys: listed, and deleted.

use axum::extract::{Path, Query as UrlQuery};
use axum::response::{Redirect, Response};
use http::Uri;
use stagger_scheduler::model::ApiKeyId;

use super::visit;
use super::visit::{PageError, Query, here, show};
use crate::api::day_text;
use crate::ui::page_state::{Visitor, present};
use crate::ui::view::{KeyLine, KeysPage, Moment, Note, Section};

/// All API keys.
pub(in crate::ui) async fn keys(
    page_state: Visitor,
    uri: Uri,
    UrlQuery(query): UrlQuery<Query>,
) -> Result<Response, PageError> {
    let (keys, now) = (page_state.node.api_keys().await?, present());
    let application = |id| {
        let known = page_state.node.application(id);
        known.map_or_else(|| id.to_string(), |known| known.name.clone())
    };
    let line = |(key, used_on): (crate::access::ApiKey, Option<u32>)| KeyLine {
        id: key.id.to_string(),
        scopes: key.scopes.iter().map(|scope| scope.name()).collect(),
        application: key.application.map(application),
        has_expired: key.has_expired(now),
        expires: key.expires_at.map(|at| Moment::new(at, now)),
        last_used: used_on.map(day_text),
        name: key.name,
    };
    show(&KeysPage {
        frame: page_state.frame(Section::Keys, here(&uri), query.note()),
        keys: keys.into_iter().map(line).collect(),
    })
}

/// Deletes a key.
pub(in crate::ui) async fn delete_key(
    page_state: Visitor,
    Path(key): Path<String>,
) -> Result<Redirect, PageError> {
    let id: ApiKeyId = visit::id(&key, "API key")?;
    page_state.node.delete_api_key(id).await?;
    Ok(Redirect::to(&Note::KeyDeleted.onto("/ui/keys")))
}
