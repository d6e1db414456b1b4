//! The output of one attempt, kept back until it is known whether it counts.

use std::cell::RefCell;
use std::io;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Child;
use tokio::sync::Notify;

use super::spool::Spool;

/// Bytes that are read at once: as many as a pipe holds on Linux.
const PIECE: usize = 64 << 10;

/// The output of an attempt so far, and the reason if some of it is lost.
#[derive(Debug, Default)]
pub(super) struct CapturedOutput {
    stdout: RefCell<Spool>,
    stderr: RefCell<Spool>,
    lost: RefCell<Option<String>>,
    /// Told when some of it is lost.
    loss: Notify,
}

impl CapturedOutput {
    /// Reads both streams of `child` to their ends. May be dropped and begun again.
    pub(super) async fn fill(&self, child: &mut Pipes) {
        tokio::join!(
            self.pump(child.stdout.as_mut(), &self.stdout),
            self.pump(child.stderr.as_mut(), &self.stderr)
        );
    }

    /// Returns when some of it is lost.
    pub(super) async fn overflow(&self) {
        loop {
            let loss = self.loss.notified();
            if self.lost.borrow().is_some() {
                return;
            }
            loss.await;
        }
    }

    /// Why not all of it could be kept.
    pub(super) fn lost(&self) -> Option<String> {
        self.lost.borrow().clone()
    }

    /// Writes it to the standard streams of this process; `whole` is false for a failed attempt of
    /// which standard error alone goes out, because a reader would take its output for a result.
    ///
    /// # Errors
    /// When standard output takes no more; a reader that has gone away is `BrokenPipe`.
    pub(super) fn release(self, whole: bool) -> io::Result<()> {
        if whole {
            self.stdout.into_inner().release(&mut io::stdout().lock())?;
        }
        // A failed write is ignored: standard error was closed on purpose.
        let _ = self.stderr.into_inner().release(&mut io::stderr());
        Ok(())
    }

    async fn pump(&self, stream: Option<&mut (impl AsyncRead + Unpin)>, to: &RefCell<Spool>) {
        let Some(stream) = stream else { return };
        let mut piece = vec![0; PIECE];
        loop {
            match stream.read(&mut piece).await {
                Ok(0) | Err(_) => return,
                // A command must not hang on a full pipe because ours has no place for more.
                Ok(_) if self.lost.borrow().is_some() => {}
                Ok(read) => {
                    if let Err(error) = to.borrow_mut().add(&piece[..read]) {
                        *self.lost.borrow_mut() = Some(error.to_string());
                        self.loss.notify_waiters();
                    }
                }
            }
        }
    }
}

/// The reading ends of a child's output; none when it goes out as it comes.
#[derive(Debug)]
pub(super) struct Pipes {
    stdout: Option<tokio::process::ChildStdout>,
    stderr: Option<tokio::process::ChildStderr>,
}

impl Pipes {
    pub(super) fn of(child: &mut Child) -> Self {
        Self { stdout: child.stdout.take(), stderr: child.stderr.take() }
    }
}

/// Whether the reader of our standard output has gone away, so that no attempt could tell anybody.
pub(super) fn reader_is_gone() -> bool {
    let stdout = io::stdout();
    let mut asked = [PollFd::new(&stdout, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let gone = PollFlags::ERR | PollFlags::HUP;
    poll(&mut asked, Some(&now)).is_ok() && asked[0].revents().intersects(gone)
}
