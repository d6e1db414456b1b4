//! Header text to [`Hint`](crate::Hint): what the server said about coming back.
