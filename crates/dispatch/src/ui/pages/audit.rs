//! The audit log, and the operators whom it names.

use axum::extract::Query as UrlQuery;
use axum::response::Response;
use http::Uri;

use super::visit::{PageError, Query, here, show};
use crate::ui::page_state::{Visitor, present};
use crate::ui::view::{AuditLine, AuditPage, Moment, OperatorLine, OperatorsPage, Section};

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

/// The operators of the file.
pub(in crate::ui) async fn operators(
    page_state: Visitor,
    uri: Uri,
    UrlQuery(query): UrlQuery<Query>,
) -> Result<Response, PageError> {
    let now = present();
    show(&OperatorsPage {
        frame: page_state.frame(Section::Operators, here(&uri), query.note()),
        operators: page_state
            .auth
            .operators()
            .into_iter()
            .map(|operator| OperatorLine {
                name: operator.name,
                role: operator.role,
                last_seen: operator.last_seen.map(|at| Moment::new(at, now)),
            })
            .collect(),
    })
}
