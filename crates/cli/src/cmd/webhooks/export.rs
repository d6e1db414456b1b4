//! `stagger webhooks export`: the messages of an application with all that belongs to them, as lines of JSON.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde_json::Value;

use super::api::{Api, Failure, encoded, wrong};
use crate::flags::MessageExportFlags;
use crate::streams;

/// Messages of one request: at most some 20 MiB of answer, which is held in memory.
const PAGE: u32 = 50;

/// The place that the lines go to.
enum Sink {
    Output,
    File(File),
}

/// The position from which an export goes on.
enum ExportPosition {
    Begin,
    After(String),
    End,
}

/// Writes all lines. One that was interrupted goes on in the same file.
pub(super) async fn export(api: &Api, flags: &MessageExportFlags) -> Result<String, Failure> {
    let path = api.in_app("/export").await?;
    let mut query = format!("?limit={PAGE}");
    for (name, value) in [("since", &flags.since), ("until", &flags.until)] {
        if let Some(value) = value {
            query += &format!("&{name}={}", encoded(value));
        }
    }
    let (mut sink, mut position) = match &flags.output {
        None => (Sink::Output, ExportPosition::Begin),
        Some(file) => open(file)?,
    };
    loop {
        let cursor = match &position {
            ExportPosition::Begin => String::new(),
            ExportPosition::After(cursor) => format!("&cursor={}", encoded(cursor)),
            ExportPosition::End => {
                if let Some(file) = &flags.output {
                    streams::note(&format!("{} is complete", file.display()));
                }
                return Ok(String::new());
            }
        };
        let lines = api.bytes(&format!("{path}{query}{cursor}")).await?;
        let last = lines.split_inclusive(|byte| *byte == b'\n').next_back();
        position = last.and_then(position_of).ok_or_else(|| {
            Failure::Unavailable(format!("{} broke the export off; run it again", api.place()))
        })?;
        if !sink.write(&lines)? {
            return Ok(String::new());
        }
    }
}

impl Sink {
    /// Whether anybody reads on.
    fn write(&mut self, lines: &[u8]) -> Result<bool, Failure> {
        match self {
            Self::Output => streams::piece(lines).map_err(|error| unwritten(&error)),
            Self::File(file) => {
                file.write_all(lines).map_err(|error| unwritten(&error))?;
                Ok(true)
            }
        }
    }
}

/// The file, cut off after its last checkpoint, and its position.
fn open(path: &Path) -> Result<(Sink, ExportPosition), Failure> {
    let shown = path.display().to_string();
    let failed = |error: io::Error| wrong("--output", &shown, &format!("a file ({error})"));
    let mut options = OpenOptions::new();
    let mut file =
        options.read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
    let (complete, position) = last_checkpoint(&file).map_err(failed)?;
    let is_empty = file.metadata().map_err(failed)?.len() == 0;
    if complete == 0 && !is_empty && !begins_an_export(&mut file).map_err(failed)? {
        return Err(wrong("--output", &shown, "a new file, or one of an export"));
    }
    match position {
        ExportPosition::After(_) => {
            streams::note(&format!("{shown} has a part of the export, which goes on"));
        }
        ExportPosition::Begin | ExportPosition::End => {}
    }
    file.set_len(complete).map_err(failed)?;
    file.seek(SeekFrom::End(0)).map_err(failed)?;
    Ok((Sink::File(file), position))
}

/// The bytes up to the last checkpoint, and the position that it names.
fn last_checkpoint(file: &File) -> io::Result<(u64, ExportPosition)> {
    let (mut lines, mut line) = (BufReader::new(file), Vec::new());
    let (mut read, mut found) = (0, (0, ExportPosition::Begin));
    loop {
        line.clear();
        let size = lines.read_until(b'\n', &mut line)?;
        if size == 0 {
            return Ok(found);
        }
        read += size as u64;
        if let Some(position) = position_of(&line) {
            found = (read, position);
        }
    }
}

/// Whether the file begins with a line of an export, so that an interrupted first page is not taken for another file.
fn begins_an_export(file: &mut File) -> io::Result<bool> {
    file.seek(SeekFrom::Start(0))?;
    let mut begin = Vec::new();
    file.take(MESSAGE.len() as u64).read_to_end(&mut begin)?;
    Ok(MESSAGE.starts_with(&begin))
}

/// The beginning of the line of a message.
const MESSAGE: &[u8] = br#"{"type":"message""#;

/// The position that a whole line names; none if it is no checkpoint and no end.
fn position_of(line: &[u8]) -> Option<ExportPosition> {
    let line = line.strip_suffix(b"\n")?;
    // Lines of payloads are large, and need not be read.
    if line.starts_with(MESSAGE) {
        return None;
    }
    let line: Value = serde_json::from_slice(line).ok()?;
    match line["type"].as_str()? {
        "checkpoint" => Some(ExportPosition::After(line["cursor"].as_str()?.to_owned())),
        "end" => Some(ExportPosition::End),
        _ => None,
    }
}

fn unwritten(error: &io::Error) -> Failure {
    Failure::Unavailable(format!("cannot write the export: {error}"))
}
