//! The stop of this process by itself, unless it was told to go on meanwhile.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signal::{SigSet, SigmaskHow, Signal as MaskSignal};
use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};
use signal_hook::flag;

/// The stop that follows a `SIGTSTP`. A `SIGCONT` that comes before it has nothing to wake yet, and no other one would
/// follow.
#[derive(Debug)]
pub(crate) struct SelfStop {
    /// A `SIGCONT` has come since the last look at the signals began.
    goes_on: Arc<AtomicBool>,
    /// One had come before it, since the look before that one.
    went_on: bool,
}

impl SelfStop {
    /// Listens from now on, where `SIGCONT` is heard.
    ///
    /// # Errors
    /// When the system gives no handler.
    pub(crate) fn listen(is_heard: bool) -> io::Result<Self> {
        let goes_on = Arc::new(AtomicBool::new(false));
        if is_heard {
            flag::register(Signal::CONT.as_raw(), Arc::clone(&goes_on))?;
        }
        Ok(Self { goes_on, went_on: false })
    }

    /// A look at the signals begins.
    pub(crate) fn look(&mut self) {
        self.went_on = self.goes_on.swap(false, Ordering::SeqCst);
    }

    /// Stops this process as a read from a terminal in the background does: without effect where no shell could let it go
    /// on. Returns when it goes on.
    ///
    /// It does not stop if `SIGCONT` has come since the look before the one that found the `SIGTSTP`. Nothing tells which of
    /// the two came first: the handler of the later one may run before that of the other. A stop that is missed can be
    /// asked for again, and one too many would last for ever.
    ///
    /// The stop waits behind a mask until that is known. From then on a `SIGCONT` discards it (POSIX.1, signal concepts),
    /// whether the mask is still there or not.
    ///
    /// # Errors
    /// When the system refuses it.
    pub(crate) fn stop(&self) -> Result<(), Errno> {
        if self.is_told_to_go_on() {
            return Ok(());
        }
        let mut masked = SigSet::empty();
        masked.add(MaskSignal::SIGTTIN);
        let before = masked.thread_swap_mask(SigmaskHow::SIG_BLOCK).map_err(errno)?;
        let stopped = kill_process(getpid(), Signal::TTIN);
        let discarded =
            if self.is_told_to_go_on() { kill_process(getpid(), Signal::CONT) } else { Ok(()) };
        before.thread_set_mask().map_err(errno)?;
        stopped.and(discarded)
    }

    fn is_told_to_go_on(&self) -> bool {
        self.went_on || self.goes_on.load(Ordering::SeqCst)
    }
}

fn errno(error: nix::errno::Errno) -> Errno {
    Errno::from_raw_os_error(error as i32)
}
