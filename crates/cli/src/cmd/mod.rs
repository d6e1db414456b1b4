//! One file a command: from flags to a page of text.

mod storm;

pub(crate) use storm::storm;
