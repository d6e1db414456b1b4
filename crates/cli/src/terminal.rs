//! The terminal behind a stream: its colours and its columns.

use std::env;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;

use rustix::termios::tcgetwinsize;

/// Below this a sentence is a column of single words.
const LEAST: usize = 40;
/// Lines longer than this are hard to read.
const MOST: usize = 100;
/// The columns of pages that go elsewhere: a file, a pipe, a log. Terminals have at least as many.
pub(crate) const USUAL_WIDTH: usize = 80;

/// The columns, as far as text uses them; none for what is no terminal, or has no known width.
pub(crate) fn width(stream: &(impl AsFd + IsTerminal)) -> Option<usize> {
    let size = tcgetwinsize(stream).ok().filter(|size| size.ws_col > 0)?;
    stream.is_terminal().then(|| usize::from(size.ws_col).clamp(LEAST, MOST))
}

/// The columns of a page on standard output.
pub(crate) fn page_width() -> usize {
    width(&io::stdout()).unwrap_or(USUAL_WIDTH)
}

/// Colours are for terminals, unless `NO_COLOR` is set (<https://no-color.org>) or the terminal has
/// none.
pub(crate) fn has_colours(stream: &impl IsTerminal) -> bool {
    let refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = env::var_os("TERM").is_some_and(|name| name == "dumb");
    stream.is_terminal() && !refused && !dumb
}
