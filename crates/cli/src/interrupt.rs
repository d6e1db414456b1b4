//! Ctrl-C: the first one asks for an end with what there is, the second one ends at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{process, thread};

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::streams;

/// The exit code of a process that SIGINT ended, as shells have it: 128 and the signal's number.
const INTERRUPTED: i32 = 130;

/// Whether Ctrl-C was pressed.
#[derive(Debug)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from now on. Where the system gives no handler, Ctrl-C ends the process as ever.
    pub(crate) fn watch() -> Self {
        let flag = Arc::new(AtomicBool::new(false));
        if let Some((runtime, interrupts)) = handler() {
            let flag = Arc::clone(&flag);
            thread::spawn(move || runtime.block_on(heed(interrupts, &flag)));
        }
        Self(flag)
    }

    /// The flag that the first Ctrl-C sets.
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.0
    }

    /// Whether there was one.
    pub(crate) fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The handler stands when this returns.
fn handler() -> Option<(Runtime, Signal)> {
    let runtime = Builder::new_current_thread().enable_io().build().ok()?;
    let entered = runtime.enter();
    let interrupts = signal(SignalKind::interrupt()).ok()?;
    drop(entered);
    Some((runtime, interrupts))
}

async fn heed(mut interrupts: Signal, flag: &AtomicBool) {
    interrupts.recv().await;
    flag.store(true, Ordering::Relaxed);
    streams::note("finishing the runs under way; Ctrl-C again ends at once");
    interrupts.recv().await;
    process::exit(INTERRUPTED);
}
