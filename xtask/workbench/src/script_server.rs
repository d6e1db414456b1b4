//! Servers that a script of this repository starts and ends: a PostgreSQL, a Redis or a Valkey.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A running server of one run's own; ended when dropped.
#[derive(Debug)]
pub struct ScriptServer {
    script: PathBuf,
    folder: PathBuf,
    options: &'static [&'static str],
    url: String,
}

impl ScriptServer {
    /// Whether the script finds the program of its server.
    #[must_use]
    pub fn is_installed(script: &Path) -> bool {
        Command::new(script).arg("find").output().is_ok_and(|output| output.status.success())
    }

    /// Starts one in a folder; it answers when this is done.
    ///
    /// # Errors
    /// The script cannot be run or the server does not start: the error is what the script says.
    pub fn start(
        script: PathBuf,
        folder: PathBuf,
        options: &'static [&'static str],
    ) -> Result<Self, Box<dyn Error>> {
        let mut server = Self { script, folder, options, url: String::new() };
        server.url = output_of(&mut server.start_command())?.trim().to_owned();
        Ok(server)
    }

    /// Its URL, as the script prints it.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The command that starts it, also once it has ended.
    #[must_use]
    pub fn start_command(&self) -> Command {
        let mut command = Command::new(&self.script);
        command.arg("start").arg(&self.folder).args(self.options);
        command
    }

    /// Starts it again once it has ended; it answers when this is done.
    ///
    /// # Errors
    /// It does not start.
    pub fn start_again(&self) -> Result<(), Box<dyn Error>> {
        output_of(&mut self.start_command()).map(drop)
    }

    /// Ends it.
    ///
    /// # Errors
    /// It does not end.
    pub fn stop(&self) -> Result<(), Box<dyn Error>> {
        output_of(Command::new(&self.script).arg("stop").arg(&self.folder)).map(drop)
    }
}

impl Drop for ScriptServer {
    fn drop(&mut self) {
        // A server that cannot be stopped here is left to the person who finds it.
        let _ = self.stop();
    }
}

fn output_of(command: &mut Command) -> Result<String, Box<dyn Error>> {
    let output = command.output()?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}", command.get_program().display(), why.trim()).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A script that notes its arguments in its folder, and fails where the folder has a file `broken`.
    const SCRIPT: &str = "#!/bin/sh\ntest \"$1\" = find && exit 0\ntest -e \"$2/broken\" && { echo no disk >&2; exit 1; }\n\
                          echo \"$@\" >> \"$2/orders\"\necho \"url of $2\"\n";

    #[test]
    fn a_server_that_was_started_was_not_ended_with_its_run() {
        let folder = std::env::temp_dir().join(format!("stagger-script-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let script = folder.join("script");
        fs::write(&script, SCRIPT).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(ScriptServer::is_installed(&script));
        assert!(!ScriptServer::is_installed(&folder.join("none")));
        let start = || ScriptServer::start(script.clone(), folder.clone(), &["durable"]);
        let server = start().unwrap();
        let place = folder.display().to_string();
        assert_eq!((server.url(), server.folder()), (&*format!("url of {place}"), &*folder));
        server.start_again().unwrap();
        drop(server);
        let orders = fs::read_to_string(folder.join("orders")).unwrap();
        let started = format!("start {place} durable\n");
        assert_eq!(orders, format!("{started}{started}stop {place}\n"));
        fs::write(folder.join("broken"), "").unwrap();
        let refused = start().unwrap_err().to_string();
        assert_eq!(refused, format!("{}: no disk", script.display()));
        fs::remove_dir_all(&folder).unwrap();
    }
}
