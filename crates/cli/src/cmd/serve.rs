//! `stagger serve`: settings to a dispatcher, until a signal.

use std::process::ExitCode;

use stagger_dispatch::config::{Config, ConfigFault};
use stagger_dispatch::server::NodeServer;
use stagger_dispatch::{Error, observe};
use tokio::signal::unix::{SignalKind, signal};

use crate::flags::ServeFlags;
use crate::stderr;

/// Serves until Ctrl-C or SIGTERM.
pub(crate) fn serve(flags: &ServeFlags) -> ExitCode {
    let config = match config(flags) {
        Ok(config) => config,
        Err(fault) => return stderr::refuse(&fault),
    };
    if flags.check {
        stderr::note("the settings are good");
        return ExitCode::SUCCESS;
    }
    match run(config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => stderr::refuse(&error),
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
        match &config.otlp {
            Some(url) => observe::init_logs_and_traces(config.log, url)?,
            None => observe::init_logs(config.log)?,
        }
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
    stderr::note(&format!("listening on http://{}", server.address()));
    let key = server.admin_key();
    match (key.file(), key.made_for_this_run()) {
        (Some(file), _) => stderr::note(&format!("the admin key is in {}", file.display())),
        (None, Some(made)) => {
            stderr::note(&format!("the admin key of this run, shown only here: {made}"));
        }
        (None, None) => stderr::note("the admin key is the one that was given"),
    }
}
