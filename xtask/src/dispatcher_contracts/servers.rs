//! The servers that tests need, for those whose variables name none.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::{env, fs};

use xtask_workbench::{ScriptServer, Workspace, note};

/// The script of each server, by the variable that names one to the tests.
const SERVERS: [(&str, &str); 2] =
    [("STAGGER_TEST_POSTGRES", "scripts/postgres"), ("STAGGER_TEST_REDIS", "scripts/redis")];

/// The variable that has the tests use a browser, and names the folder of its pictures.
const BROWSER: &str = "STAGGER_TEST_CHROMIUM";

/// The variable that names the folder of clients in other languages, and of the emulator of SQS.
const CLIENTS: &str = "STAGGER_TEST_CLIENTS";

/// Servers of one run's own; ended when dropped.
#[derive(Debug)]
pub(super) struct TestServers {
    folder: PathBuf,
    running: Vec<ScriptServer>,
    environment: Vec<(String, String)>,
}

impl TestServers {
    /// Starts those that are installed and that no variable names.
    ///
    /// # Errors
    ///
    /// The scratch folder cannot be made, or a server that is installed does not start.
    pub(super) fn start() -> Result<Self, Box<dyn Error>> {
        let root = Workspace::load()?.workspace_root;
        let folder = env::temp_dir().join(format!("stagger-contracts-{}", process::id()));
        fs::create_dir(&folder)?;
        let mut servers = Self { folder, running: Vec::new(), environment: Vec::new() };
        for (variable, script) in SERVERS {
            if env::var_os(variable).is_none() {
                servers.start_one(variable, &root.join(script))?;
            }
        }
        if env::var_os(BROWSER).is_none()
            && ScriptServer::is_installed(&root.join("scripts/chromium"))
        {
            let pictures = servers.folder_for(BROWSER)?;
            servers.environment.push((BROWSER.into(), pictures.display().to_string()));
        }
        if env::var_os(CLIENTS).is_none() {
            servers.fetch_clients(&root.join("scripts/clients"))?;
        }
        Ok(servers)
    }

    fn fetch_clients(&mut self, script: &Path) -> Result<(), Box<dyn Error>> {
        let folder = self.folder_for(CLIENTS)?;
        let output = Command::new(script).arg("fetch").arg(&folder).output()?;
        if output.status.success() {
            self.environment.push((CLIENTS.into(), folder.display().to_string()));
        } else {
            note(
                "the libraries of clients cannot be fetched: the tests that need them show nothing",
            );
        }
        Ok(())
    }

    /// The variables that name them.
    pub(super) fn environment(&self) -> &[(String, String)] {
        &self.environment
    }

    fn start_one(&mut self, variable: &str, script: &Path) -> Result<(), Box<dyn Error>> {
        if !ScriptServer::is_installed(script) {
            note(&format!(
                "{} finds no server: the tests that need it show nothing",
                script.display()
            ));
            return Ok(());
        }
        let folder = self.folder_for(variable)?;
        let server = ScriptServer::start(script.to_owned(), folder, &[])?;
        self.environment.push((variable.to_owned(), server.url().to_owned()));
        self.running.push(server);
        Ok(())
    }

    fn folder_for(&self, variable: &str) -> Result<PathBuf, Box<dyn Error>> {
        let folder = self.folder.join(variable);
        fs::create_dir(&folder)?;
        Ok(folder)
    }
}

impl Drop for TestServers {
    fn drop(&mut self) {
        // They end before their folders go.
        self.running.clear();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
