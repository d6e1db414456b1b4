//! A header that an endpoint wants on every attempt.

/// A name, and a value in which `{message.id}`, `{event.type}` and `{attempt.number}` are filled in.
///
/// Checked when saved and again when filled in: a name is a token (RFC 9110 section 5.6.2), a value has
/// no control characters, and neither can be one of the headers that belong to the dispatcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderTemplate {
    /// The name, in lower case.
    pub name: String,
    /// The value before filling in.
    pub value: String,
    /// Whether the value must not be shown: `authorization` and what its owner marks.
    pub sensitive: bool,
}
