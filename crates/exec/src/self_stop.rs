//! The stop of this process by itself, unless it was told to go on meanwhile.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nix::sys::signal::{SigSet, SigmaskHow, Signal as MaskSignal};
use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};
use signal_hook::flag;

/// The values of [`SelfStop::latest`]: the signal that came last.
const STOP: usize = 1;
const GO_ON: usize = 2;

/// The stop that follows a `SIGTSTP`, which may be handled long after it came: a `SIGCONT` that came in between has nothing
/// to wake yet, and no other one would follow.
#[derive(Debug)]
pub(crate) struct SelfStop {
    latest: Arc<AtomicUsize>,
}

impl SelfStop {
    /// Notes from now on which of the two signals came last, as far as they are heard.
    ///
    /// # Errors
    /// When the system gives no handler.
    pub(crate) fn listen(is_heard: impl Fn(Signal) -> bool) -> io::Result<Self> {
        let latest = Arc::new(AtomicUsize::new(STOP));
        for (signal, value) in [(Signal::TSTP, STOP), (Signal::CONT, GO_ON)] {
            if is_heard(signal) {
                flag::register_usize(signal.as_raw(), Arc::clone(&latest), value)?;
            }
        }
        Ok(Self { latest })
    }

    /// Stops this process as a read from a terminal in the background does: without effect where no shell could let it go
    /// on. Returns when it goes on.
    ///
    /// The stop waits behind a mask until it is certain that no `SIGCONT` came before it. From then on a `SIGCONT` discards
    /// it (POSIX.1, signal concepts), whether the mask is still there or not.
    ///
    /// # Errors
    /// When the system refuses it.
    pub(crate) fn stop(&self) -> Result<(), Errno> {
        if self.goes_on() {
            return Ok(());
        }
        let mut masked = SigSet::empty();
        masked.add(MaskSignal::SIGTTIN);
        let before = masked.thread_swap_mask(SigmaskHow::SIG_BLOCK).map_err(errno)?;
        let stopped = kill_process(getpid(), Signal::TTIN);
        let discarded = if self.goes_on() { kill_process(getpid(), Signal::CONT) } else { Ok(()) };
        before.thread_set_mask().map_err(errno)?;
        stopped.and(discarded)
    }

    fn goes_on(&self) -> bool {
        self.latest.load(Ordering::SeqCst) == GO_ON
    }
}

fn errno(error: nix::errno::Errno) -> Errno {
    Errno::from_raw_os_error(error as i32)
}
