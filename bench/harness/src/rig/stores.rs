//! Stores of one run's own: a PostgreSQL with the leaders of its shards, a Redis or Valkey, and the folder
//! of a dispatcher.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, io};

use clap::ValueEnum;
use tokio::time::{Instant, sleep};
use tokio_postgres::{Client, NoTls, Row};
use xtask_workbench::{ScriptServer, Workspace};

use super::host::{ScratchFolder, signal};

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
    server: ScriptServer,
    // Dropped after the server that is in it.
    folder: ScratchFolder,
}

impl Database {
    pub(super) fn start(name: &str) -> Result<Self, Box<dyn Error>> {
        let script = Workspace::load()?.workspace_root.join("scripts/postgres");
        let folder = ScratchFolder::new(&format!("{name}-database"))?;
        let server = ScriptServer::start(script, folder.path().to_owned(), &["durable"])?;
        Ok(Self { server, folder })
    }

    pub(crate) fn url(&self) -> &str {
        self.server.url()
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

    /// Copies what it has stored, for [`restore`](Self::restore), while it is stopped.
    pub(crate) async fn copy(&self) -> Result<(), Box<dyn Error>> {
        let folder = self.folder.path();
        let (data, copy) = (folder.join("data"), folder.join("copy"));
        run(tokio::process::Command::new("rm").arg("-rf").arg(&copy)).await?;
        run(tokio::process::Command::new("cp").arg("-a").arg(&data).arg(&copy)).await
    }

    /// Puts the copy in the place of what it has stored since, while it is stopped.
    pub(crate) async fn restore(&self) -> Result<(), Box<dyn Error>> {
        let folder = self.folder.path();
        let (data, copy) = (folder.join("data"), folder.join("copy"));
        run(tokio::process::Command::new("rm").arg("-rf").arg(&data)).await?;
        run(tokio::process::Command::new("mv").arg(&copy).arg(&data)).await
    }

    /// Starts it again; it answers when this is done.
    pub(crate) async fn go_on(&self) -> Result<(), Box<dyn Error>> {
        let mut command = tokio::process::Command::from(self.server.start_command());
        command.stdout(Stdio::null());
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

async fn run(command: &mut tokio::process::Command) -> Result<(), Box<dyn Error>> {
    let status = command.status().await?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}").into()) }
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

/// A running server, which keeps nothing; ended when dropped.
#[derive(Debug)]
pub(crate) struct Redis {
    server: ScriptServer,
    // Dropped after the server that is in it.
    _folder: ScratchFolder,
}

impl Redis {
    /// Starts one for `purpose`, which names its folder.
    pub(crate) fn start(purpose: &str) -> Result<Self, Box<dyn Error>> {
        let script = Workspace::load()?.workspace_root.join("scripts/redis");
        let folder = ScratchFolder::new(purpose)?;
        let server = ScriptServer::start(script, folder.path().to_owned(), &[])?;
        Ok(Self { server, _folder: folder })
    }

    /// The address on which it listens: a socket in its folder.
    pub(crate) fn url(&self) -> &str {
        self.server.url()
    }

    /// Starts it again, without what it knew.
    pub(crate) fn again(&self) -> Result<(), Box<dyn Error>> {
        self.server.start_again()
    }

    pub(crate) fn stop(&self) -> Result<(), Box<dyn Error>> {
        self.server.stop()
    }

    /// It takes what is sent, and answers nothing.
    pub(crate) fn pause(&self) -> Result<(), Box<dyn Error>> {
        self.signal("-STOP")
    }

    pub(crate) fn resume(&self) -> Result<(), Box<dyn Error>> {
        self.signal("-CONT")
    }

    fn signal(&self, signal: &str) -> Result<(), Box<dyn Error>> {
        let pid = fs::read_to_string(self.server.folder().join("redis.pid"))?;
        let status = Command::new("kill").args([signal, pid.trim()]).status()?;
        if status.success() { Ok(()) } else { Err("the store is gone".into()) }
    }
}

/// Shards of the store.
pub(crate) const SHARDS: usize = 256;

/// A member's name is the address that it listens on.
const LEADERS: &str = "SELECT lease.shard, node.name \
     FROM lease LEFT JOIN node ON node.run = lease.run";

/// The leader of each shard by its name, which is the address that it listens on; `None` where nobody
/// who lives is said to lead.
pub(crate) async fn leads(
    client: &Client,
) -> Result<BTreeMap<usize, Option<String>>, Box<dyn Error>> {
    let rows = client.query(LEADERS, &[]).await?;
    let one = |row: Row| {
        let shard: i16 = row.try_get(0)?;
        Ok((usize::try_from(shard)?, row.try_get(1)?))
    };
    rows.into_iter().map(one).collect()
}

/// Whether a node of this name is a member.
pub(crate) async fn is_member(client: &Client, name: &str) -> Result<bool, Box<dyn Error>> {
    let sql = "SELECT 1 FROM node WHERE name = $1 LIMIT 1";
    let found = client.query_opt(sql, &[&name]).await?;
    Ok(found.is_some())
}

/// The stores that a dispatcher can be run on here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum StoreKind {
    /// The file in its folder.
    #[default]
    Embedded,
    /// A PostgreSQL of this run's own, which writes to the disk as others do.
    Postgres,
}

/// A folder, and a database if one is wanted; gone when it is dropped.
#[derive(Debug)]
pub(crate) struct Home {
    // The database ends before its folder goes.
    database: Option<Database>,
    folder: ScratchFolder,
}

/// The command line of one node.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// Its own folder.
    pub(crate) folder: PathBuf,
    /// The file of its log.
    pub(crate) log: PathBuf,
    /// The store as the dispatcher's flag names it.
    pub(crate) store: String,
    /// After how long a node that is silent is replaced; the default of the flag when `None`.
    pub(crate) lease: Option<Duration>,
    /// The Redis in which its budgets of retries are, if any.
    pub(crate) redis: Option<String>,
}

impl Site {
    /// Has each life of the node write a log of its own below `logs`, to be read after the run.
    pub(crate) fn name_log(&mut self, logs: Option<&Path>, life: usize) -> io::Result<()> {
        let Some(logs) = logs else { return Ok(()) };
        fs::create_dir_all(logs)?;
        self.log = logs.join(format!("{life}.log"));
        Ok(())
    }
}

impl Home {
    /// An empty one.
    pub(crate) fn new(name: &str, store: StoreKind) -> Result<Self, Box<dyn Error>> {
        let folder = ScratchFolder::new(name)?;
        let database = match store {
            StoreKind::Embedded => None,
            StoreKind::Postgres => Some(Database::start(name)?),
        };
        Ok(Self { database, folder })
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) const fn database(&self) -> Option<&Database> {
        self.database.as_ref()
    }

    /// The place of one node, with a folder of its own.
    pub(crate) fn site(&self, number: usize) -> Result<Site, Box<dyn Error>> {
        let folder = self.folder().join(format!("node-{number}"));
        fs::create_dir_all(&folder)?;
        let store = self.database.as_ref().map_or("embedded", Database::url).to_owned();
        Ok(Site { log: folder.join("serve.log"), folder, store, lease: None, redis: None })
    }
}
