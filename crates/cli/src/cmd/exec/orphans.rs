//! Orphans: processes whose parent has ended, and whose parent is this process now.

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// Makes this process the parent of orphaned descendants (a child subreaper), as process 1 of a
/// container is anyway. A group of which orphans are left is then seen to be gone also where no other
/// process waits for them. Orphans outside of the group are not ended: a program that calls `setsid`
/// asks for a process that outlives the command.
pub(super) fn adopt() {
    #[cfg(target_os = "linux")]
    {
        // Without it, groups are gone a little later.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }
}

/// Waits for every child that has ended; without that it keeps its place in the process table. Only
/// while there is no command whose exit status is still to be read.
pub(super) fn reap_all() {
    while let Ok(Some(_)) = waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {}
}

/// Waits for every orphan that has ended. The exit status of `command` is its attempt's and stays to be
/// read; when the command has ended, the orphans behind it wait until that was done.
pub(super) fn reap_except(command: Pid) {
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
