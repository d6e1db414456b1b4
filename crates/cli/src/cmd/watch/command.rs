//! The command: a source, a watch over it, and its reports.

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use stagger::{Clock, StdTime};
use stagger_core::{Instant, Span};
use stagger_replay::ReadError;
use stagger_watch::{WatchEvent, WatchSettings};
use tokio::io::AsyncReadExt as _;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{MissedTickBehavior, interval};

use super::counters::CounterPage;
use super::figures::WatchFigures;
use super::followed_file::{FollowedFile, ReadState, StartAt};
use super::line_buffer::{LineBuffer, LogPiece};
use super::log_watch::LogWatch;
use super::metrics::MetricsPage;
use super::reporter::WatchReporter;
use crate::command_error::CommandError;
use crate::flags::WatchFlags;
use crate::streams;

/// The code when a storm was seen: lint's findings have 1, and refusals 2.
const STORM: u8 = 3;
/// The code of a process that SIGINT ended, as shells have it.
const INTERRUPTED: u8 = 130;
/// The time between two looks at a file at whose end a watch is.
const LOOK: Duration = Duration::from_millis(200);
/// Bytes of standard input that are read at once.
const CHUNK: usize = 64 * 1024;

/// Watches the source, and returns the exit code.
///
/// # Errors
/// A flag that is wrong, or a source that cannot be opened.
pub(crate) fn watch(flags: &WatchFlags) -> Result<ExitCode, CommandError> {
    let settings = settings(flags)?;
    let source = WatchSource::open(flags, settings)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CommandError::Log(format!("no threads: {error}")))?;
    let ended = runtime.block_on(WatchRun::new(flags).run(source));
    // A read of standard input that waits must not delay the end.
    runtime.shutdown_background();
    ended
}

fn settings(flags: &WatchFlags) -> Result<WatchSettings, CommandError> {
    let settings = WatchSettings::default()
        .with_window(flags.window)
        .and_then(|settings| settings.with_attempts_a_call(flags.attempts_a_call))
        .and_then(|settings| settings.with_least_retries(flags.least_retries));
    settings.map_err(|error| {
        CommandError::of_setting(&error, |field| {
            if ["window", "attempts-a-call", "least-retries"].contains(&field) {
                format!("--{field}")
            } else {
                field.to_owned()
            }
        })
    })
}

/// The source of a watch.
enum WatchSource {
    File(Box<(FollowedFile, LogWatch)>),
    Stdin(Box<LogWatch>),
    Page(Box<CounterPage>, Duration),
}

impl WatchSource {
    fn open(flags: &WatchFlags, settings: WatchSettings) -> Result<Self, CommandError> {
        if flags.source.contains("://") {
            let (least, most) = (Span::from_millis(100), Span::from_secs(60));
            if !(least..=most).contains(&flags.scrape_every) {
                let (flag, bound) = ("--scrape-every", "from 100ms to 60s");
                return Err(CommandError::invalid(flag, &flags.scrape_every.to_string(), bound));
            }
            let page = CounterPage::new(flags, settings)?;
            return Ok(Self::Page(Box::new(page), flags.scrape_every.to_duration()));
        }
        let mut log = LogWatch::new(settings, flags.log_format, flags.log_map.clone());
        if flags.source == "-" {
            return Ok(Self::Stdin(Box::new(log)));
        }
        let shown = |why: &dyn std::fmt::Display| {
            CommandError::Log(format!("cannot read {}: {why}", flags.source))
        };
        let start = if flags.once || flags.from_start { StartAt::Start } else { StartAt::End };
        let file = FollowedFile::open(Path::new(&flags.source), start).map_err(|e| shown(&e))?;
        if start == StartAt::End {
            log.told_by(&file.head().map_err(|error| shown(&error))?).map_err(|e| shown(&e))?;
        }
        Ok(Self::File(Box::new((file, log))))
    }
}

/// The reason why a watch ends.
enum WatchEnd {
    /// The log is over.
    Over,
    /// A storm is on, and the watch was to end with it.
    Storm,
    /// A signal, or a reader that has gone away.
    Told,
}

/// The reports of one watch.
struct WatchRun {
    reporter: WatchReporter,
    metrics: MetricsPage,
    flags: WatchOptions,
    storms: u64,
    /// Whether it was said that nothing tells retries from calls.
    warned: bool,
}

struct WatchOptions {
    once: bool,
    exit_on_storm: bool,
    metrics: Option<std::net::SocketAddr>,
}

impl WatchRun {
    fn new(flags: &WatchFlags) -> Self {
        let WatchFlags { once, exit_on_storm, metrics, .. } = *flags;
        Self {
            reporter: WatchReporter::new(flags.format),
            metrics: MetricsPage::default(),
            flags: WatchOptions { once, exit_on_storm, metrics },
            storms: 0,
            warned: false,
        }
    }

    async fn run(mut self, source: WatchSource) -> Result<ExitCode, CommandError> {
        self.metrics.serve(self.flags.metrics).await?;
        let handlers = signal(SignalKind::interrupt())
            .and_then(|interrupt| Ok((interrupt, signal(SignalKind::terminate())?)));
        let mut handlers =
            handlers.map_err(|error| CommandError::Log(format!("no signal handler: {error}")))?;
        let (ended, figures) = match source {
            WatchSource::File(source) => {
                let (file, mut log) = *source;
                (self.follow(file, &mut log, &mut handlers).await?, log.figures())
            }
            WatchSource::Stdin(mut log) => {
                (self.stdin(&mut log, &mut handlers).await?, log.figures())
            }
            WatchSource::Page(mut page, every) => {
                (self.scrape(&mut page, every, &mut handlers).await?, page.figures())
            }
        };
        self.report_end(&figures);
        Ok(match (self.storms, ended) {
            (1.., _) | (_, WatchEnd::Storm) => ExitCode::from(STORM),
            (0, WatchEnd::Told) => ExitCode::from(INTERRUPTED),
            (0, WatchEnd::Over) => ExitCode::SUCCESS,
        })
    }

    /// Follows a file until it is over, a storm is on or a signal comes.
    async fn follow(
        &mut self,
        mut file: FollowedFile,
        log: &mut LogWatch,
        handlers: &mut (Signal, Signal),
    ) -> Result<WatchEnd, CommandError> {
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut last = StdTime.now();
        loop {
            let mut taken = Ok(Vec::new());
            let read = file.read(&mut |piece| take(log, &piece, &mut taken));
            let state =
                read.map_err(|error| CommandError::Log(format!("cannot read on: {error}")))?;
            if self.report(taken?)? {
                return Ok(WatchEnd::Storm);
            }
            if state == ReadState::More {
                last = StdTime.now();
                tokio::task::yield_now().await;
                continue;
            }
            if self.flags.once {
                let mut rest = Ok(Vec::new());
                file.finish(&mut |piece| take(log, &piece, &mut rest));
                return self.over(log, rest?);
            }
            let now: Instant = StdTime.now();
            if self.report(log.pass(now - last))? {
                return Ok(WatchEnd::Storm);
            }
            last = now;
            self.look_up(log);
            tokio::select! {
                _ = looks.tick() => {}
                () = signalled(handlers) => return Ok(WatchEnd::Told),
            }
        }
    }

    async fn stdin(
        &mut self,
        log: &mut LogWatch,
        handlers: &mut (Signal, Signal),
    ) -> Result<WatchEnd, CommandError> {
        if io::stdin().is_terminal() {
            streams::note("reading the log from the terminal; Ctrl-D ends it");
        }
        let (mut stdin, mut lines) = (tokio::io::stdin(), LineBuffer::default());
        let mut chunk = vec![0; CHUNK];
        loop {
            let count = tokio::select! {
                read = stdin.read(&mut chunk) => read
                    .map_err(|error| CommandError::Log(format!("standard input: {error}")))?,
                () = signalled(handlers) => return Ok(WatchEnd::Told),
            };
            let mut taken = Ok(Vec::new());
            lines.feed(&chunk[..count], &mut |piece| take(log, &piece, &mut taken));
            if count == 0 {
                lines.finish(&mut |piece| take(log, &piece, &mut taken));
                return self.over(log, taken?);
            }
            if self.report(taken?)? {
                return Ok(WatchEnd::Storm);
            }
            self.look_up(log);
        }
    }

    /// Looks at a page of counters again and again.
    async fn scrape(
        &mut self,
        page: &mut CounterPage,
        every: Duration,
        handlers: &mut (Signal, Signal),
    ) -> Result<WatchEnd, CommandError> {
        let mut looks = interval(every);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut failing, began, epoch) = (false, StdTime.now(), std::time::SystemTime::UNIX_EPOCH);
        // A clock that is set back meanwhile must not make counters fall.
        let wall = StdTime::wall().duration_since(epoch).map_or(Span::ZERO, Span::from);
        loop {
            tokio::select! {
                _ = looks.tick() => {}
                () = signalled(handlers) => {
                    // A storm that goes on ends with the watch.
                    self.report(page.finish().into_iter().collect())?;
                    return Ok(WatchEnd::Told);
                }
            }
            let looked = page.look(wall.saturating_add(StdTime.now() - began)).await;
            match looked {
                Err(why) if !page.is_found() => return Err(CommandError::Log(why)),
                Err(why) => {
                    if !failing {
                        streams::note(&format!("warning: nothing to see at the page: {why}"));
                    }
                    failing = true;
                }
                Ok(event) => {
                    failing = false;
                    if self.report(event.into_iter().collect())? {
                        return Ok(WatchEnd::Storm);
                    }
                }
            }
            self.metrics.set(page.figures());
        }
    }

    /// The log is over.
    fn over(
        &mut self,
        log: &mut LogWatch,
        mut events: Vec<WatchEvent>,
    ) -> Result<WatchEnd, CommandError> {
        self.look_up(log);
        events.extend(log.finish());
        let storm = self.report(events)?;
        if !log.has_attempts() {
            return Err(CommandError::Log("no line of the log is an attempt".to_owned()));
        }
        Ok(if storm { WatchEnd::Storm } else { WatchEnd::Over })
    }

    /// Writes events; whether the watch was to end with one of them.
    fn report(&mut self, events: Vec<WatchEvent>) -> Result<bool, CommandError> {
        let mut ends = false;
        for event in &events {
            let began = matches!(event, WatchEvent::Began(_));
            self.storms += u64::from(began);
            ends |= began && self.flags.exit_on_storm;
            let written = self.reporter.event(event);
            let is_read = written.map_err(|error| {
                CommandError::Log(format!("cannot write to standard output: {error}"))
            })?;
            if !is_read {
                return Ok(true);
            }
        }
        Ok(ends)
    }

    fn report_end(&self, figures: &WatchFigures) {
        // Whoever reads may have gone; the exit code says the rest.
        let _ = self.reporter.end(figures);
    }

    /// Sets the figures for Prometheus, and says once when a log tells nothing of retries.
    fn look_up(&mut self, log: &LogWatch) {
        if self.flags.metrics.is_some() {
            self.metrics.set(log.figures());
        }
        if !self.warned && log.is_blind() {
            self.warned = true;
            streams::note(
                "warning: the log has no number of the attempt, no id and no client, so retries \
                 cannot be told from calls",
            );
        }
    }
}

/// Takes a piece of a log; after the first refusal nothing more.
fn take(
    log: &mut LogWatch,
    piece: &LogPiece<'_>,
    taken: &mut Result<Vec<WatchEvent>, CommandError>,
) {
    let Ok(events) = taken else { return };
    match log.take(piece) {
        Ok(more) => events.extend(more),
        Err(error) => *taken = Err(refused(&error)),
    }
}

fn refused(error: &ReadError) -> CommandError {
    CommandError::Log(error.to_string())
}

async fn signalled((interrupt, terminate): &mut (Signal, Signal)) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
