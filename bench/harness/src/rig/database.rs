//! A PostgreSQL of one run's own.

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_postgres::{Client, NoTls};

use super::scratch::ScratchFolder;
use super::signal::signal;
use xtask_workbench::Workspace;

/// The longest time that the server may take to end.
const STOP_LIMIT: Duration = Duration::from_secs(60);
/// The interval between checks whether it has ended.
const LOOK: Duration = Duration::from_millis(5);
/// The longest time for the test's own clients to connect.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// The way to stop a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopMode {
    /// Transactions are rolled back, connections are told, all is written.
    Fast,
    /// As if the power had failed: it recovers when it starts again.
    Immediate,
}

/// A running server, which writes to the disk as others do; gone when dropped.
#[derive(Debug)]
pub(crate) struct Database {
    script: PathBuf,
    url: String,
    folder: ScratchFolder,
}

impl Database {
    pub(super) fn start(name: &str) -> Result<Self, Box<dyn Error>> {
        let script = Workspace::load()?.workspace_root.join("scripts/postgres");
        let folder = ScratchFolder::new(&format!("{name}-database"))?;
        let output =
            Command::new(&script).arg("start").arg(folder.path()).arg("durable").output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
        let url = String::from_utf8(output.stdout)?.trim().to_owned();
        Ok(Self { script, url, folder })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The socket that it listens on.
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join(".s.PGSQL.5432")
    }

    /// Ends it, for [`go_on`](Self::go_on).
    pub(crate) async fn stop(&self, ending: StopMode) -> Result<(), Box<dyn Error>> {
        let name = match ending {
            StopMode::Fast => "-INT",
            StopMode::Immediate => "-QUIT",
        };
        signal(self.postmaster()?, name)?;
        let until = Instant::now() + STOP_LIMIT;
        while self.pid_file().exists() {
            if Instant::now() > until {
                return Err(format!("PostgreSQL does not end within {STOP_LIMIT:?}").into());
            }
            sleep(LOOK).await;
        }
        Ok(())
    }

    /// Starts it again; it answers when this is done.
    pub(crate) async fn go_on(&self) -> Result<(), Box<dyn Error>> {
        let mut command = tokio::process::Command::new(&self.script);
        command.arg("start").arg(self.folder.path()).arg("durable").stdout(Stdio::null());
        if command.status().await?.success() {
            Ok(())
        } else {
            Err("PostgreSQL does not start again".into())
        }
    }

    /// The process that all others of the server are children of.
    pub(crate) fn postmaster(&self) -> Result<u32, Box<dyn Error>> {
        let text = fs::read_to_string(self.pid_file())?;
        Ok(text.lines().next().unwrap_or_default().parse()?)
    }

    fn pid_file(&self) -> PathBuf {
        self.folder.path().join("data/postmaster.pid")
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // If it does not end now, there is nobody left who could end it.
        let _ = Command::new(&self.script).arg("stop").arg(self.folder.path()).output();
    }
}

/// Connects to the database at `url`.
pub(crate) async fn connect(url: &str) -> Result<Client, Box<dyn Error>> {
    let mut config: tokio_postgres::Config = url.parse()?;
    config.application_name("chore").connect_timeout(CONNECT_LIMIT);
    let (client, connection) = config.connect(NoTls).await?;
    // It ends with the client, or with the server, whose next answer says so.
    tokio::spawn(async move { connection.await.ok() });
    Ok(client)
}
