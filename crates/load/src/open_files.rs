//! The open files that the system allows, of which every connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::LoadError;

/// Files of the process besides its connections: streams, timers, the binary itself.
const OTHERS: u64 = 64;

/// Raises the limit of open files as far as the system allows, and returns the connections that fit.
///
/// # Errors
/// A limit below the connections that are needed.
pub fn raise_open_files(needed: u64) -> Result<u64, LoadError> {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.unwrap_or(u64::MAX);
    if limit.current.is_some_and(|current| current < wanted) {
        // Where raising is refused, the limit stays, and is judged below.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    }
    let allowed = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let fit = allowed.saturating_sub(OTHERS);
    if fit < needed {
        return Err(LoadError::system(format!(
            "{needed} connections are needed, and the system allows {allowed} open files: raise the limit by \
             'ulimit -n', or take a smaller scenario"
        )));
    }
    Ok(fit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_connections_than_files_were_promised() {
        let fit = raise_open_files(1).expect("one connection fits everywhere");
        if let Some(more) = fit.checked_add(1).filter(|_| fit < u64::MAX - OTHERS) {
            assert!(raise_open_files(more).is_err_and(|error| error.is_system()));
        }
    }
}
