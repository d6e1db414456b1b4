//! The process group of one attempt.

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process_group, waitid,
};
use stagger::{Sleep, TokioTime};
use stagger_core::Span;
use tokio::process::Child;

use super::orphans;

/// The first wait between two looks at a group, and the longest.
const FIRST_LOOK: Span = Span::from_millis(1);
const LAST_LOOK: Span = Span::from_millis(50);
/// The time for a killed group to be gone. The kernel needs far less, unless a process of it hangs in a
/// device or belongs to another user; then there is no bound.
const LAST_WAIT: Span = Span::from_secs(2);

/// A group that was made for one attempt, named by its first process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessGroup(Pid);

impl ProcessGroup {
    /// The group that `child` is at the head of.
    pub(super) fn of(child: &Child) -> Option<Self> {
        child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)).map(Self)
    }

    pub(super) const fn leader(self) -> Pid {
        self.0
    }

    /// Sends a signal to all of it; a group that is gone needs none.
    pub(super) fn send(self, signal: Signal) -> Result<(), Errno> {
        match kill_process_group(self.0, signal) {
            Err(Errno::SRCH) | Ok(()) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The signal that stopped its first process, if one did.
    pub(super) fn stopped_by(self) -> Option<i32> {
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
        waitid(WaitId::Pid(self.0), options).ok()?.and_then(|status| status.stopping_signal())
    }

    /// Whether no process of it is left. Only after its first process was waited for.
    pub(super) fn is_gone(self) -> bool {
        // Orphans count as members of the group until they are waited for.
        orphans::reap_all();
        test_kill_process_group(self.0) == Err(Errno::SRCH)
    }

    /// Returns when no process of it is left. Only after its first process was waited for.
    pub(super) async fn gone(self) {
        let mut look = FIRST_LOOK;
        while !self.is_gone() {
            TokioTime.sleep(look).await;
            look = look.saturating_mul(2).min(LAST_LOOK);
        }
    }

    /// Ends it: TERM, `grace`, KILL. `gone` is ready when no process is left; what could not be sent is
    /// told to `refused`.
    pub(super) async fn end(
        self,
        grace: Span,
        gone: impl Future<Output = ()>,
        refused: impl Fn(Signal, Errno),
    ) {
        let mut gone = std::pin::pin!(gone);
        let send = |signal| self.send(signal).unwrap_or_else(|error| refused(signal, error));
        send(Signal::TERM);
        // A stopped process hears nothing until it goes on.
        let _ = self.send(Signal::CONT);
        for (limit, last) in [(grace, false), (LAST_WAIT, true)] {
            tokio::select! {
                biased;
                () = &mut gone => return,
                () = TokioTime.sleep(limit) => {}
            }
            if !last {
                send(Signal::KILL);
            }
        }
    }
}
