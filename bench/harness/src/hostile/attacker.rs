//! The attacker's thread: its clients and receivers must not delay the clock of the victim's.

use std::io;
use std::thread;

use tokio::runtime::{Builder, EnterGuard, Handle};
use tokio::sync::oneshot;
use tokio::task::JoinError;

/// A thread with a runtime of its own. Both end when this is dropped.
#[derive(Debug)]
pub(super) struct AttackerThread {
    runtime: Handle,
    _stop: oneshot::Sender<()>,
}

impl AttackerThread {
    pub(super) fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (handle, (stop, stopped)) = (runtime.handle().clone(), oneshot::channel::<()>());
        thread::Builder::new().name("attacker".to_owned()).spawn(move || {
            // An error means that the sender was dropped, which is the end too.
            runtime.block_on(async { stopped.await.ok() });
            runtime.shutdown_background();
        })?;
        Ok(Self { runtime: handle, _stop: stop })
    }

    /// Tasks that are spawned while the guard lives run on this thread.
    pub(super) fn enter(&self) -> EnterGuard<'_> {
        self.runtime.enter()
    }

    /// Runs `work` on this thread, and waits for its result.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, JoinError> {
        self.runtime.spawn(work).await
    }
}
