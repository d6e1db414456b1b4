//! The output of one attempt, kept back until it is known whether it counts: in memory up to a bound, then in a file
//! without a name.

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::{env, process};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use stagger_core::Span;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Child;
use tokio::sync::Notify;

use crate::output_rules::{LineScanner, OutputRules};

/// Bytes that are read at once: as many as a pipe holds on Linux.
const PIECE: usize = 64 << 10;

/// The output of an attempt so far, and the reason if some of it is lost.
#[derive(Debug)]
pub(crate) struct CapturedOutput {
    stdout: RefCell<CapturedStream>,
    stderr: RefCell<CapturedStream>,
    lost: RefCell<Option<String>>,
    /// Told when some of it is lost.
    loss: Notify,
}

/// One stream: its bytes, and what its lines say.
#[derive(Debug)]
struct CapturedStream {
    spool: Spool,
    lines: LineScanner,
}

impl CapturedOutput {
    /// Nothing yet, whose lines will be looked at under `rules`.
    pub(crate) fn new(rules: &Arc<OutputRules>) -> Self {
        let stream = || {
            let lines = LineScanner::new(Arc::clone(rules));
            RefCell::new(CapturedStream { spool: Spool::default(), lines })
        };
        let (stdout, stderr) = (stream(), stream());
        Self { stdout, stderr, lost: RefCell::default(), loss: Notify::new() }
    }

    /// The lines are complete: whether one of them is worth another attempt, and the longest hint.
    pub(crate) fn finish(&self) -> (bool, Option<Span>) {
        let finish = |stream: &RefCell<CapturedStream>| {
            let lines = &mut stream.borrow_mut().lines;
            lines.finish();
            (lines.is_retried(), lines.hint())
        };
        let ((out, out_hint), (err, err_hint)) = (finish(&self.stdout), finish(&self.stderr));
        (out || err, out_hint.max(err_hint))
    }

    /// Reads both streams of `child` to their ends. May be dropped and begun again.
    pub(crate) async fn fill(&self, child: &mut Pipes) {
        tokio::join!(
            self.pump(child.stdout.as_mut(), &self.stdout),
            self.pump(child.stderr.as_mut(), &self.stderr)
        );
    }

    /// Returns when some of it is lost.
    pub(crate) async fn overflow(&self) {
        loop {
            let loss = self.loss.notified();
            if self.lost.borrow().is_some() {
                return;
            }
            loss.await;
        }
    }

    /// Why not all of it could be kept.
    pub(crate) fn lost(&self) -> Option<String> {
        self.lost.borrow().clone()
    }

    /// Writes it to the standard streams of this process; `whole` is false for a failed attempt of
    /// which standard error alone goes out, because a reader would take its output for a result.
    ///
    /// # Errors
    /// When standard output takes no more; a reader that has gone away is `BrokenPipe`.
    pub(crate) fn release(self, whole: bool) -> io::Result<()> {
        if whole {
            self.stdout.into_inner().spool.release(&mut io::stdout().lock())?;
        }
        // A failed write is ignored: standard error was closed on purpose.
        let _ = self.stderr.into_inner().spool.release(&mut io::stderr());
        Ok(())
    }

    async fn pump(
        &self,
        stream: Option<&mut (impl AsyncRead + Unpin)>,
        to: &RefCell<CapturedStream>,
    ) {
        let Some(stream) = stream else { return };
        let mut piece = vec![0; PIECE];
        loop {
            match stream.read(&mut piece).await {
                Ok(0) | Err(_) => return,
                // A command must not hang on a full pipe because ours has no place for more.
                Ok(_) if self.lost.borrow().is_some() => {}
                Ok(read) => {
                    let mut to = to.borrow_mut();
                    to.lines.add(&piece[..read]);
                    if let Err(error) = to.spool.add(&piece[..read]) {
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
pub(crate) struct Pipes {
    stdout: Option<tokio::process::ChildStdout>,
    stderr: Option<tokio::process::ChildStderr>,
}

impl Pipes {
    pub(crate) fn of(child: &mut Child) -> Self {
        Self { stdout: child.stdout.take(), stderr: child.stderr.take() }
    }
}

/// Whether the reader of our standard output has gone away, so that no attempt could tell anybody.
pub(crate) fn reader_is_gone() -> bool {
    let stdout = io::stdout();
    let mut asked = [PollFd::new(&stdout, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let gone = PollFlags::ERR | PollFlags::HUP;
    poll(&mut asked, Some(&now)).is_ok() && asked[0].revents().intersects(gone)
}

/// Bytes of one stream in memory: more than most commands print, and few enough
/// for a host that runs hundreds of them.
const IN_MEMORY: usize = 1 << 20;
/// Bytes of one stream in all: more than anybody reads, and less than fills a disk. A
/// command that prints for ever must not take the host's disk with it.
const IN_ALL: u64 = 1 << 30;
/// Names that are tried for a file that exists for an instant only.
const MAX_NAMES: u32 = 100;

/// The bytes of one stream, in order.
#[derive(Debug)]
pub(crate) struct Spool {
    memory: Vec<u8>,
    file: Option<File>,
    /// The bytes that it may still take.
    room: u64,
}

impl Spool {
    /// Adds bytes at the end.
    ///
    /// # Errors
    /// When it has no more room, or the temporary file cannot be made or written.
    pub(crate) fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        let room = self.room.checked_sub(bytes.len() as u64);
        self.room = room.ok_or_else(|| io::Error::other("more than 1 GiB in one stream"))?;
        if self.file.is_none() && self.memory.len().saturating_add(bytes.len()) <= IN_MEMORY {
            self.memory.extend_from_slice(bytes);
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(unnamed()?.0),
        };
        file.write_all(bytes)
    }

    /// Writes it all out.
    ///
    /// # Errors
    /// When the file cannot be read, or `out` cannot be written.
    pub(crate) fn release(mut self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.memory)?;
        if let Some(file) = &mut self.file {
            file.rewind()?;
            let mut piece = vec![0; 64 << 10];
            loop {
                match file.read(&mut piece)? {
                    0 => break,
                    read => out.write_all(&piece[..read])?,
                }
            }
        }
        out.flush()
    }
}

impl Default for Spool {
    fn default() -> Self {
        Self { memory: Vec::new(), file: None, room: IN_ALL }
    }
}

/// A temporary file that no other process can open, to be written and read: its name is gone already. The
/// second handle can only be read.
///
/// # Errors
/// When the folder for temporary files cannot be written.
pub(crate) fn unnamed() -> io::Result<(File, File)> {
    let folder = env::temp_dir();
    for number in 0..MAX_NAMES {
        let path = folder.join(format!("stagger-exec-{}-{number}", process::id()));
        let mut options = OpenOptions::new();
        let opened = options.read(true).write(true).create_new(true).mode(0o600).open(&path);
        match opened {
            Ok(writes) => {
                let reads = File::open(&path);
                fs::remove_file(&path)?;
                return Ok((writes, reads?));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(io::Error::new(error.kind(), format!("{}: {error}", folder.display())));
            }
        }
    }
    Err(io::Error::other(format!("{}: no free name for a temporary file", folder.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_printed_for_ever_filled_the_disk() {
        let mut spool = Spool { room: 3 << 20, ..Spool::default() };
        let piece = vec![b'y'; 1 << 20];
        let taken = (0..9).take_while(|_| spool.add(&piece).is_ok()).count();
        assert_eq!(taken, 3);
        assert!(Spool::default().room <= 1 << 30);
    }

    #[test]
    fn output_beyond_the_bound_came_out_of_order() {
        let mut spool = Spool::default();
        let mut whole = Vec::new();
        for piece in 0..300_u32 {
            let bytes = vec![u8::try_from(piece % 251).unwrap(); 9_999];
            spool.add(&bytes).unwrap();
            whole.extend(bytes);
        }
        assert!(spool.file.is_some() && spool.memory.len() <= IN_MEMORY);
        let mut out = Vec::new();
        spool.release(&mut out).unwrap();
        assert!(out == whole);
    }
}
