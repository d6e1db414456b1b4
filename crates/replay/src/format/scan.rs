//! Words and quoted texts, taken off a line from its left end.

/// The first place of `part` in `text`.
pub(super) fn position(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// Takes everything up to the next space.
pub(super) fn token<'l>(rest: &mut &'l [u8]) -> &'l [u8] {
    let end = rest.iter().position(|&byte| byte == b' ').unwrap_or(rest.len());
    let (token, after) = rest.split_at(end);
    *rest = after;
    token
}

/// Takes the next word, or the next quoted text without its quotes; `None` at the end of the line.
pub(super) fn field<'l>(rest: &mut &'l [u8]) -> Option<&'l [u8]> {
    *rest = rest.trim_ascii_start();
    if let Some((text, after)) = quoted(rest) {
        *rest = after;
        return Some(text);
    }
    Some(token(rest)).filter(|token| !token.is_empty())
}

/// The text between two quotes, and the rest. nginx writes a quote within as `\x22`, Apache as `\"`.
pub(super) fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = text.strip_prefix(b"\"")?;
    let mut escaped = false;
    let end = inner.iter().position(|&byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    })?;
    Some((&inner[..end], &inner[end + 1..]))
}

/// The text from the left bracket at the start to the next right one, and the rest.
pub(super) fn bracketed(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = text.strip_prefix(b"[")?;
    let end = position(inner, b"]")?;
    Some((&inner[..end], &inner[end + 1..]))
}
