//! The audit log.

use axum::extract::Query as UrlQuery;
use axum::response::Response;
use http::Uri;

use super::visit::{PageError, Query, here, show};
use crate::ui::page_state::{Visitor, present};
use crate::ui::view::{AuditLine, AuditPage, Moment, Section};

/// Entries on a page.
const LIMIT: usize = 100;

/// The changes that callers have made, newest first.
pub(in crate::ui) async fn audit(
    page_state: Visitor,
    uri: Uri,
    UrlQuery(query): UrlQuery<Query>,
) -> Result<Response, PageError> {
    let wrong = |_| PageError::invalid("The cursor of this address is invalid.".into());
    let before = match query.cursor.as_str() {
        "" => None,
        text => Some(text.parse::<u64>().map_err(wrong)?),
    };
    let (entries, now) = (page_state.node.audit(before, LIMIT).await?, present());
    let last = entries.last().filter(|_| entries.len() == LIMIT);
    show(&AuditPage {
        frame: page_state.frame(Section::Audit, here(&uri), query.note()),
        older: last.map(|last| format!("/ui/audit?cursor={}", last.number)),
        is_first: before.is_none(),
        entries: entries
            .into_iter()
            .map(|entry| AuditLine {
                at: Moment::new(entry.at, now),
                actor: entry.actor,
                action: entry.action,
                detail: entry.detail,
            })
            .collect(),
    })
}
