//! The terminal: lent to the group of an attempt, so that it can read and hears Ctrl-C itself.

use std::cell::Cell;
use std::io::{self, IsTerminal};

use nix::sys::signal::{SigSet, Signal as NixSignal};
use rustix::process::{Pid, getpgrp};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr, tcsetpgrp};

use crate::process_group::ProcessGroup;

/// The terminal that standard input is, if it is one and ours.
#[derive(Debug)]
pub(crate) struct Terminal {
    /// The group that stagger runs in; `None` without a terminal.
    ours: Option<Pid>,
    /// Whether it is lent at once. In a pipeline another process may be reading from it, so there it
    /// is lent only when the command asks for it.
    at_once: bool,
    modes: Option<Termios>,
    lent: Cell<bool>,
    ever_lent: Cell<bool>,
}

impl Terminal {
    pub(crate) fn open() -> Self {
        let stdin = io::stdin();
        let is_ours = stdin.is_terminal() && tcgetpgrp(&stdin).is_ok();
        Self {
            ours: is_ours.then(getpgrp),
            at_once: io::stdout().is_terminal(),
            modes: if is_ours { tcgetattr(&stdin).ok() } else { None },
            lent: Cell::new(false),
            ever_lent: Cell::new(false),
        }
    }

    /// An attempt begins.
    pub(crate) fn offer(&self, group: ProcessGroup) {
        if self.at_once {
            self.lend(group);
        }
    }

    /// Puts the group into the foreground, if this process is there; answers whether the group is there now.
    pub(crate) fn lend(&self, group: ProcessGroup) -> bool {
        if self.is_here() && tcsetpgrp(io::stdin(), group.leader()).is_ok() {
            self.lent.set(true);
            self.ever_lent.set(true);
        }
        self.lent.get() && tcgetpgrp(io::stdin()) == Ok(group.leader())
    }

    /// Whether this process may read from it.
    pub(crate) fn is_here(&self) -> bool {
        self.ours.is_some_and(|ours| tcgetpgrp(io::stdin()) == Ok(ours))
    }

    /// Whether it is lent now.
    pub(crate) fn is_lent(&self) -> bool {
        self.lent.get()
    }

    /// Whether an attempt had it, and so heard Ctrl-C in place of this process.
    pub(crate) fn was_lent(&self) -> bool {
        self.ever_lent.get()
    }

    /// Takes it back.
    pub(crate) fn take_back(&self) {
        let (Some(ours), true) = (self.ours, self.lent.replace(false)) else { return };
        // A process that takes it from the background is sent SIGTTOU, which stops it.
        let mut quiet = SigSet::empty();
        quiet.add(NixSignal::SIGTTOU);
        if let Ok(before) = quiet.thread_swap_mask(nix::sys::signal::SigmaskHow::SIG_BLOCK) {
            let _ = tcsetpgrp(io::stdin(), ours);
            let _ = before.thread_set_mask();
        }
    }

    /// Undoes what a command that was cut short left behind: no echo, no line editing.
    pub(crate) fn restore_modes(&self) {
        if let (Some(modes), true) = (&self.modes, self.is_here()) {
            let _ = tcsetattr(io::stdin(), OptionalActions::Drain, modes);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.take_back();
    }
}
