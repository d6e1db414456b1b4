//! The command's standard input. Stagger itself reads it only to give each attempt all of it.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::process::Stdio;

use super::spool;
use crate::flags::StdinMode;

/// The standard input of every attempt.
#[derive(Debug)]
pub(super) enum Input {
    Inherit,
    Null,
    /// All that was read, in a file without a name that can only be read.
    Kept(File),
}

impl Input {
    /// Opens it; buffering reads standard input to its end.
    ///
    /// # Errors
    /// More bytes than asked for, or what the system has against it, in words.
    pub(super) fn of(mode: StdinMode) -> Result<Self, String> {
        match mode {
            StdinMode::Inherit => Ok(Self::Inherit),
            StdinMode::Null => Ok(Self::Null),
            StdinMode::Buffer(limit) => buffer(limit).map(Self::Kept),
        }
    }

    /// The same bytes again, from the first one on.
    pub(super) fn stdio(&self) -> io::Result<Stdio> {
        match self {
            Self::Inherit => Ok(Stdio::inherit()),
            Self::Null => Ok(Stdio::null()),
            Self::Kept(file) => {
                // One offset for all copies: attempts follow each other, and never overlap.
                let mut copy = file.try_clone()?;
                copy.rewind()?;
                Ok(copy.into())
            }
        }
    }
}

fn buffer(limit: u64) -> Result<File, String> {
    let failed = |error: io::Error| error.to_string();
    let (mut writes, reads) = spool::unnamed().map_err(failed)?;
    let mut input = io::stdin().lock().take(limit.saturating_add(1));
    let read = io::copy(&mut input, &mut writes).map_err(failed)?;
    if read > limit {
        return Err(format!(
            "standard input has more than {limit} bytes; allow it with buffer:SIZE"
        ));
    }
    Ok(reads)
}
