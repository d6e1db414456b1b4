//! A real PgBouncer between the store and a server: refused where it pools transactions or statements, and used where it
//! pools sessions.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::time::timeout;

use super::test_server::OwnServer;
use super::{PostgresAddress, PostgresOptions, PostgresStore};
use crate::testing::fixture::{furnish, message, msg, settled};
use crate::{Cluster, DeliveryStore, Error, Notification};

/// A running PgBouncer, ended with this.
struct PgBouncer {
    child: Child,
    address: PostgresAddress,
}

impl PgBouncer {
    /// Starts one before a server; none, with a message, where it is not installed.
    fn start(server: &OwnServer, mode: &str) -> Option<Self> {
        let folder = server.folder();
        // Free at this moment: the system gives no port out again soon.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let settings = format!(
            "[databases]\npostgres = host={} user=stagger\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = {mode}\n\
             default_pool_size = 20\n",
            folder.display()
        );
        let file = folder.join(format!("{mode}.ini"));
        fs::write(&file, settings).unwrap();
        // Debian has it where only the administrator looks.
        let paths = format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default());
        let mut command = Command::new("pgbouncer");
        command.env("PATH", paths).stdin(Stdio::null()).stdout(Stdio::null());
        if fs::metadata("/proc/self").unwrap().uid() == 0 {
            // It refuses to run as root.
            command.args(["-u", "nobody"]);
        }
        let Ok(mut child) = command.arg(&file).stderr(Stdio::piped()).spawn() else {
            eprintln!("skipped: pgbouncer is not installed");
            return None;
        };
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let is_up = lines.by_ref().map_while(Result::ok).any(|line| line.contains("process up"));
        assert!(is_up, "{:?}", child.wait());
        // A full pipe must not stop it.
        std::thread::spawn(move || lines.for_each(drop));
        let address = format!("postgres://stagger@127.0.0.1:{port}/postgres").parse().unwrap();
        Some(Self { child, address })
    }

    async fn open(&self) -> Result<PostgresStore, Error> {
        let opened = PostgresStore::open(&self.address, PostgresOptions::default());
        timeout(Duration::from_secs(60), opened).await.expect("an answer in time")
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[tokio::test]
async fn a_pgbouncer_is_refused_unless_it_pools_sessions() {
    let Some(server) = OwnServer::start("pgbouncer") else { return };
    for mode in ["transaction", "statement"] {
        let Some(pooler) = PgBouncer::start(&server, mode) else { return };
        // Its sessions are new at first, and used again later.
        for _ in 0..3 {
            let refused = pooler.open().await.expect_err(mode).to_string();
            assert!(refused.contains("pool_mode to session"), "{mode}: {refused}");
        }
    }
    let Some(pooler) = PgBouncer::start(&server, "session") else { return };
    for n in 0..2 {
        let store = pooler.open().await.unwrap();
        furnish(&store).await;
        // Each connection: that of the store, that of the membership, and that of notifications.
        let mut joined = store.join(&"ann".into()).await.unwrap();
        store.notify(Notification::Members).await;
        let told = timeout(Duration::from_secs(30), joined.notifications.recv()).await.unwrap();
        assert_eq!(told, Some(Notification::Members));
        let accepted = vec![message(n * 2 + 1, 1, &[1]), message(n * 2 + 2, 1, &[1])];
        DeliveryStore::accept(&store, accepted).await.unwrap();
        let state = stagger_scheduler::model::DeliveryState::Delivered;
        let settlements = vec![settled(n * 2 + 1, 1, 1, state, 9)];
        store.settle_as_leader(joined.fence, settlements).await.unwrap();
        assert!(store.message(msg(n * 2 + 2)).await.unwrap().is_some());
    }
}
