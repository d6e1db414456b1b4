//! Whether a stream is shown in colours.

use std::env;
use std::io::IsTerminal;

/// Colours are for terminals, unless `NO_COLOR` is set (<https://no-color.org>) or the terminal has
/// none.
pub(crate) fn wanted(stream: &impl IsTerminal) -> bool {
    let refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = env::var_os("TERM").is_some_and(|name| name == "dumb");
    stream.is_terminal() && !refused && !dumb
}
