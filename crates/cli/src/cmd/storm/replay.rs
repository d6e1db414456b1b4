//! `stagger storm --from-log`: the files of a log to its report, to a sweep, and to a scenario file.

use std::fs::File;
use std::io;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::Path;

use stagger_replay::{AccessLog, LogInput, Reading, Replay, ReplayOptions};

use super::export;
use super::files::{Files, heat_map};
use super::grid::SweepGrid;
use super::pages::{report_page, sweep_page};
use super::playback::Playback;
use super::scenario_source::ScenarioSource;
use super::target::options;
use crate::command_error::{CommandError, check, put};
use crate::flags::StormFlags;
use crate::render::{LogFindings, Storm};
use crate::streams;

/// Bytes that are read from a file at once.
const AT_ONCE: usize = 1 << 20;
/// Bytes of standard input that are kept, because a log may have to be read twice.
const MOST_INPUT: u64 = 1 << 30;

/// Reads the log, plays it, and gives the page.
///
/// # Errors
/// A file that cannot be read or is no log, or options that do not go with it.
pub(super) fn replay(flags: &StormFlags) -> Result<String, CommandError> {
    let files = Files::of(flags)?;
    let export = flags.replay.export.as_deref();
    export.map_or(Ok(()), |path| check("--export", path))?;
    let playback = Playback::begin(flags, "--from-log");
    let log = read(flags)?;
    tell(&log);
    let known = ReplayOptions { capacity: flags.capacity, outages: flags.replay.outage.clone() };
    if !flags.sweep.is_empty() {
        return sweep(flags, &files, playback, (log, known));
    }
    let options = options(flags)?;
    let replay = Replay::with(&log, &options, &known);
    let replay = replay.map_err(|error| CommandError::of_option(&error))?;
    if let Some(path) = export {
        put(path, export::scenario_file(&replay, &options)?.as_bytes())?;
    }
    let report = playback.replay(&replay);
    playback.finish();
    let reason = replay.verdict.none_because.as_deref();
    files.write(&report, None, reason)?;
    let findings = LogFindings::of(&log, &replay, &known);
    Ok(report_page(flags.format, &Storm::new(&replay.scenario, &report).of_log(&findings)))
}

/// Plays a grid of settings over the log.
fn sweep(
    flags: &StormFlags,
    files: &Files<'_>,
    playback: Playback,
    (log, known): (AccessLog, ReplayOptions),
) -> Result<String, CommandError> {
    let source = ScenarioSource::of_log(log, options(flags)?, known);
    let grid = SweepGrid::of(&source, &flags.sweep)?;
    let report = playback.play(&grid.scenario)?;
    playback.finish();
    files.write(&report, Some(heat_map(&grid.swept, &report)), None)?;
    Ok(sweep_page(flags.format, &grid.swept, &report))
}

fn read(flags: &StormFlags) -> Result<AccessLog, CommandError> {
    let own = &flags.replay;
    let reading = Reading {
        format: flags.log_format,
        map: flags.log_map.clone(),
        retries: own.retries.unwrap_or_default(),
        from: own.from,
        until: own.until,
        thresholds: own.thresholds(),
    };
    let inputs = flags.from_log.iter().map(|path| input(path));
    let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
    reading.read_files(&inputs).map_err(|error| match &inputs[..] {
        [only] => CommandError::Log(format!("{}: {error}", only.name)),
        _ => CommandError::Log(error.to_string()),
    })
}

/// A file, or standard input, which is kept in memory.
fn input(path: &Path) -> Result<LogInput<'_>, CommandError> {
    if path.as_os_str() != "-" {
        let open = move || -> io::Result<Box<dyn BufRead>> {
            Ok(Box::new(BufReader::with_capacity(AT_ONCE, File::open(path)?)))
        };
        return Ok(LogInput { name: path.display().to_string(), open: Box::new(open) });
    }
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(MOST_INPUT + 1).read_to_end(&mut bytes);
    read.map_err(|error| CommandError::Log(format!("standard input: {error}")))?;
    if bytes.len() as u64 > MOST_INPUT {
        let text = "standard input: longer than 1 GiB, which is kept in memory: name a file";
        return Err(CommandError::Log(text.to_owned()));
    }
    let bytes: std::rc::Rc<[u8]> = bytes.into();
    let open = move || -> io::Result<Box<dyn BufRead>> {
        Ok(Box::new(Cursor::new(std::rc::Rc::clone(&bytes))))
    };
    Ok(LogInput { name: "standard input".to_owned(), open: Box::new(open) })
}

/// Reports the lines that were read, those that were left out, and those that were out of order.
fn tell(log: &AccessLog) {
    let (lines, malformed) = (log.lines, log.malformed);
    streams::note(&format!("{lines} lines of the format {}, {malformed} malformed", log.format));
    log.bad_lines.iter().for_each(|bad| streams::note(&format!("  {bad}")));
    if let Some(why) = &log.broken {
        streams::note(&format!(
            "warning: the file breaks off, and only what was read is shown: {why}"
        ));
    }
    if log.late > 0 {
        streams::note(&format!(
            "warning: {} lines came more than 5 s after a later one; all attempts were sorted by time",
            log.late
        ));
    }
    if log.outside > 0 {
        let outside = log.outside;
        streams::note(&format!(
            "{outside} attempts lie too far from the first line and were left out"
        ));
    }
    if log.left_out > 0 {
        streams::note(&format!("{} attempts lie outside of --from and --until", log.left_out));
    }
}
