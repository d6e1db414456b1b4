//! Lists in pages.

use serde::Serialize;
use utoipa::ToSchema;

use super::super::cursor;
use crate::store::{Cursor, ListPage};

/// One page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub(in super::super) struct PageOf<T> {
    items: Vec<T>,
    /// The `cursor` of the next page, if there is one.
    next: Option<String>,
}

impl<T> PageOf<T> {
    pub(in super::super) fn new(items: Vec<T>, next: Option<Cursor>) -> Self {
        Self { items, next: next.map(cursor::to_text) }
    }
}

impl<T, U: for<'i> From<&'i T>> From<ListPage<T>> for PageOf<U> {
    fn from(page: ListPage<T>) -> Self {
        Self::new(page.items.iter().map(U::from).collect(), page.next)
    }
}
