//! The command: a file in, a policy file out, and what was left out said twice.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use super::page;
use crate::flags::{ImportFlags, ImportFormat};
use crate::{stderr, stdout};

/// The most that is read: settings are written by people, and the largest Envoy bootstraps are a few
/// megabytes.
const MOST_BYTES: u64 = 64 << 20;

/// Runs the command.
pub(crate) fn import(flags: &ImportFlags) -> ExitCode {
    let stdin = flags.file.as_os_str() == "-";
    let name = if stdin { "standard input".to_owned() } else { flags.file.display().to_string() };
    let text = match read((!stdin).then_some(&flags.file)) {
        Ok(text) => text,
        Err(why) => return stderr::refuse(&format!("cannot read {name}: {why}")),
    };
    let imported = match stagger_import::import(&text, flags.from) {
        Ok(imported) => imported,
        Err(error) => return stderr::refuse(&format!("{name}: {error}")),
    };
    let shown = match flags.format {
        ImportFormat::Toml => page::toml(&imported),
        ImportFormat::Json => page::json(&imported),
    };
    let code = stdout::write(&shown);
    for line in page::remarks(&imported) {
        stderr::note(&line);
    }
    code
}

/// The text of a file, or of standard input.
fn read(file: Option<&PathBuf>) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = match file {
        None => io::stdin().lock().take(MOST_BYTES + 1).read_to_end(&mut bytes),
        Some(file) => {
            File::open(file).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes))
        }
    };
    read.map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err("larger than 64 MiB".to_owned());
    }
    String::from_utf8(bytes).map_err(|error| format!("not UTF-8: {error}"))
}
