//! The process group of one attempt, and the orphans of its processes.

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process_group, waitid,
};
use stagger::{Sleep, TokioTime};
use stagger_core::Span;
use tokio::process::Child;

use crate::signals::is_pending;

/// The first wait between two looks at a group, and the longest.
const FIRST_LOOK: Span = Span::from_millis(1);
const LAST_LOOK: Span = Span::from_millis(50);
/// The time for a killed group to be gone. The kernel needs far less, unless a process of it hangs in a
/// device or belongs to another user; then there is no bound.
const LAST_WAIT: Span = Span::from_secs(2);

/// A group that was made for one attempt, named by its first process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessGroup(Pid);

impl ProcessGroup {
    /// The group that `child` is at the head of.
    pub(crate) fn of(child: &Child) -> Option<Self> {
        child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)).map(Self)
    }

    pub(crate) const fn leader(self) -> Pid {
        self.0
    }

    /// Sends a signal to all of it; a group that is gone needs none.
    pub(crate) fn send(self, signal: Signal) -> Result<(), Errno> {
        match kill_process_group(self.0, signal) {
            Err(Errno::SRCH) | Ok(()) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Lets it go on. `SIGCONT` discards stop signals that wait (POSIX.1, signal concepts), such as the one of a Ctrl-Z that
    /// was pressed while the group was stopped, so that one is sent again.
    pub(crate) fn go_on(self) {
        let is_typed = is_pending(self.0, Signal::TSTP);
        let _ = self.send(Signal::CONT);
        if is_typed {
            let _ = self.send(Signal::TSTP);
        }
    }

    /// The signal that stopped its first process, if one did.
    pub(crate) fn stopped_by(self) -> Option<i32> {
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
        waitid(WaitId::Pid(self.0), options).ok()?.and_then(|status| status.stopping_signal())
    }

    /// Whether no process of it is left. Only after its first process was waited for.
    pub(crate) fn is_gone(self) -> bool {
        // Orphans count as members of the group until they are waited for.
        reap_all();
        test_kill_process_group(self.0) == Err(Errno::SRCH)
    }

    /// Returns when no process of it is left. Only after its first process was waited for.
    pub(crate) async fn gone(self) {
        let mut look = FIRST_LOOK;
        while !self.is_gone() {
            TokioTime.sleep(look).await;
            look = look.saturating_mul(2).min(LAST_LOOK);
        }
    }

    /// Ends it: TERM, `grace`, KILL. `gone` is ready when no process is left; what could not be sent is
    /// told to `refused`.
    pub(crate) async fn end(
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

/// Makes this process the parent of orphaned descendants (a child subreaper), as process 1 of a
/// container is anyway. A group of which orphans are left is then seen to be gone also where no other
/// process waits for them. Orphans outside of the group are not ended: a program that calls `setsid`
/// asks for a process that outlives the command.
pub(crate) fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    {
        // Without it, groups are gone a little later.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }
}

/// Waits for every child that has ended; without that it keeps its place in the process table. Only
/// while there is no command whose exit status is still to be read.
pub(crate) fn reap_all() {
    while let Ok(Some(_)) = waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {}
}

/// Waits for every orphan that has ended. The exit status of `command` is its attempt's and stays to be
/// read; when the command has ended, the orphans behind it wait until that was done.
pub(crate) fn reap_except(command: Pid) {
    while let Some(orphan) = first_ended().filter(|ended| *ended != command) {
        if waitid(WaitId::Pid(orphan), WaitIdOptions::EXITED | WaitIdOptions::NOHANG).is_err() {
            return;
        }
    }
}

/// The first child that has ended, whose status stays to be read.
#[cfg(target_os = "linux")]
fn first_ended() -> Option<Pid> {
    use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
    let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    // An unnamed signal is an error of this crate's: that orphan is left to `reap_all`.
    let ended = waitid(Id::All, look).ok();
    ended.as_ref().and_then(WaitStatus::pid).and_then(|pid| Pid::from_raw(pid.as_raw()))
}

/// Elsewhere orphans go to process 1 of the system.
#[cfg(not(target_os = "linux"))]
fn first_ended() -> Option<Pid> {
    None
}
