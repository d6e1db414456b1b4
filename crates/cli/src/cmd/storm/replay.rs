//! `stagger storm --from-log`: the calls of a log under other policies.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use stagger_replay::{AccessLog, ReadError, Reading, Replay};

use super::files::Files;
use super::page;
use super::playback::Playback;
use super::target::options;
use crate::command_error::CommandError;
use crate::flags::StormFlags;
use crate::render::Storm;
use crate::stderr;

/// Bytes that are read from the file at once.
const AT_ONCE: usize = 1 << 20;

/// Reads the log, plays it, and gives the page.
///
/// # Errors
/// A file that cannot be read or is no log, or options that do not go with it.
pub(super) fn replay(flags: &StormFlags, file: &Path) -> Result<String, CommandError> {
    let files = Files::of(flags)?;
    let playback = Playback::begin(flags, "--from-log");
    let reading = Reading { format: flags.log_format, map: flags.log_map.clone() };
    let log = read(&reading, file);
    let log = log.map_err(|error| CommandError::Log(format!("{}: {error}", file.display())))?;
    tell(&log);
    let replay = Replay::new(&log, &options(flags)?, flags.capacity);
    let replay = replay.map_err(|error| CommandError::of_option(&error))?;
    let report = playback.replay(&replay);
    playback.finish();
    files.write(&report, None)?;
    Ok(page::report(flags.format, &Storm::new(&replay.scenario, &report)))
}

fn read(reading: &Reading, file: &Path) -> Result<AccessLog, ReadError> {
    reading.read(BufReader::with_capacity(AT_ONCE, File::open(file)?))
}

/// Reports the lines that were read and left out.
fn tell(log: &AccessLog) {
    let (lines, malformed) = (log.lines, log.malformed);
    stderr::note(&format!("{lines} lines of the format {}, {malformed} malformed", log.format));
    log.bad_lines.iter().for_each(|bad| stderr::note(&format!("  {bad}")));
    if let Some(why) = &log.broken {
        stderr::note(&format!(
            "warning: the file breaks off, and only what was read is shown: {why}"
        ));
    }
    if log.outside > 0 {
        let outside = log.outside;
        stderr::note(&format!(
            "{outside} attempts lie too far from the first line and were left out"
        ));
    }
}
