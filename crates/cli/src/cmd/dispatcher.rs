//! The dispatcher: `stagger serve`, settings to a node until a signal, and `stagger store`: backup, restore, check, migrate,
//! copy.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use stagger_dispatch::config::{Config, ConfigFault};
use stagger_dispatch::model::DeliveryState;
use stagger_dispatch::server::NodeServer;
use stagger_dispatch::store::{self, Copied, DeliveryCounts, Health, StorePlace};
use stagger_dispatch::{Error, observe};
use tokio::signal::unix::{SignalKind, signal};

use crate::flags::{ServeFlags, StoreCommand, StoreFlags};
use crate::streams;

/// Serves until Ctrl-C or SIGTERM.
pub(crate) fn serve(flags: &ServeFlags) -> ExitCode {
    let config = match config(flags) {
        Ok(config) => config,
        Err(fault) => return streams::refuse(&fault),
    };
    if flags.check {
        streams::note("the settings are good");
        return ExitCode::SUCCESS;
    }
    match run(config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => streams::refuse(&error),
    }
}

fn config(flags: &ServeFlags) -> Result<Config, ConfigFault> {
    let mut config = Config::default();
    if let Some(file) = &flags.config {
        config.apply_file(file)?;
    }
    config.apply_env()?;
    config.apply_pairs("--", flags.given())?;
    Ok(config)
}

fn run(config: Config) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::store(format!("no threads to run on: {error}")))?;
    runtime.block_on(async {
        let stop = stop()?;
        #[cfg(feature = "otel")]
        match &config.otlp {
            Some(url) => observe::init_logs_and_traces(config.log, url)?,
            None => observe::init_logs(config.log)?,
        }
        #[cfg(not(feature = "otel"))]
        observe::init_logs(config.log)?;
        let server = NodeServer::start(config).await?;
        greet(&server);
        server.run(stop).await
    })
}

/// Ready at the first Ctrl-C or SIGTERM; the handlers stand before anything is accepted.
fn stop() -> Result<impl Future<Output = ()>, Error> {
    let handler = |kind| signal(kind).map_err(|e| Error::store(format!("no signal handler: {e}")));
    let (mut interrupt, mut terminate) =
        (handler(SignalKind::interrupt())?, handler(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

fn greet(server: &NodeServer) {
    streams::note(&format!("listening on http://{}", server.address()));
    let key = server.admin_key();
    match (key.file(), key.made_for_this_run()) {
        (Some(file), _) => streams::note(&format!("the admin key is in {}", file.display())),
        (None, Some(made)) => {
            streams::note(&format!("the admin key of this run, shown only here: {made}"));
        }
        (None, None) => streams::note("the admin key is the one that was given"),
    }
}

/// Does what the flags ask for.
pub(crate) fn store(flags: &StoreFlags) -> ExitCode {
    match act(flags) {
        Ok(page) => streams::write(&page),
        Err(error) => streams::refuse(&error),
    }
}

fn act(flags: &StoreFlags) -> Result<String, Error> {
    let place = match &flags.store {
        Some(url) => url.parse()?,
        None => StorePlace::Folder(flags.data.clone()),
    };
    match &flags.command {
        StoreCommand::Backup { file } => {
            let data = folder(&place)?;
            store::backup(data, file)?;
            Ok(format!("{} holds a copy of the store in {}\n", file.display(), data.display()))
        }
        StoreCommand::Restore { file } => {
            let data = folder(&place)?;
            store::restore(file, data)?;
            Ok(format!("the store in {} is what {} was\n", data.display(), file.display()))
        }
        StoreCommand::Check => Ok(page(&wait(place.check())?)),
        StoreCommand::Migrate => {
            let version = wait(place.migrate())?;
            Ok(format!("{place} has version {version}\n"))
        }
        StoreCommand::Copy { from, to } => {
            let (from, to): (StorePlace, StorePlace) = (from.parse()?, to.parse()?);
            let mut config = Config::default();
            config.apply_env().map_err(|fault| Error::conflict(fault.to_string()))?;
            let copied = wait(async {
                let keys = config.encryption.load().await?;
                store::copy_with_keys(&from, &to, &keys, tell()).await
            })?;
            Ok(format!("{to} holds all of {from}\n{}", balance(&copied)))
        }
    }
}

/// The folder of an embedded store: a database has tools of its own for copies of files.
fn folder(place: &StorePlace) -> Result<&Path, Error> {
    match place {
        StorePlace::Folder(folder) => Ok(folder),
        StorePlace::Database(_) => {
            let bound = "a folder: for a database there are pg_dump and pg_restore";
            Err(Error::invalid("store", place, bound))
        }
    }
}

fn wait<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::store(format!("no threads to run on: {error}")))?;
    runtime.block_on(work)
}

/// Says now and then how far it is.
fn tell() -> impl FnMut(u64) + Send {
    const EVERY: u64 = 10_000;
    let mut told = 0;
    move |messages| {
        if messages / EVERY > told {
            told = messages / EVERY;
            streams::note(&format!("{messages} messages"));
        }
    }
}

fn page(health: &Health) -> String {
    let mut page = format!("sound, version {}\n{} messages\n", health.version, health.messages);
    page.push_str(&deliveries(&health.deliveries));
    page
}

fn balance(copied: &Copied) -> String {
    let Copied { applications, endpoints, messages, attempts, .. } = copied;
    let mut page = format!("{applications} applications\n{endpoints} endpoints\n");
    // Writing to a string does not fail.
    let _ = write!(page, "{messages} messages\n{attempts} attempts\n");
    page.push_str(&deliveries(&copied.deliveries));
    page.push_str("sha256 ");
    for byte in copied.checksum {
        let _ = write!(page, "{byte:02x}");
    }
    page.push('\n');
    page
}

fn deliveries(counts: &DeliveryCounts) -> String {
    let line = |state: DeliveryState| format!("{} deliveries {}\n", counts.of(state), state.name());
    DeliveryState::ALL.map(line).concat()
}
