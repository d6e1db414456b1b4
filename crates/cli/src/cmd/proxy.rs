//! `stagger proxy`: a file of routes to a proxy, until a signal ends it; SIGHUP has the file read again.

use std::process::ExitCode;

use stagger_dispatch::observe::{self, LogFormat};
use stagger_proxy::config::{ProxySettings, SettingsFault};
use stagger_proxy::{Proxy, ProxyHandle};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::flags::ProxyFlags;
use crate::streams;

/// Serves until Ctrl-C or SIGTERM, and then ends with its calls.
pub(crate) fn proxy(flags: &ProxyFlags) -> ExitCode {
    let settings = match settings(flags) {
        Ok(settings) => settings,
        Err(fault) => return streams::refuse(&fault),
    };
    if flags.check {
        return match Proxy::check(&settings) {
            Ok(()) => {
                let routes = settings.routes.len();
                let plural = if routes == 1 { "" } else { "s" };
                streams::note(&format!("the settings are good: {routes} route{plural}"));
                ExitCode::SUCCESS
            }
            Err(fault) => streams::refuse(&fault),
        };
    }
    match run(flags, settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => streams::refuse(&error),
    }
}

fn settings(flags: &ProxyFlags) -> Result<ProxySettings, SettingsFault> {
    let mut settings = ProxySettings::read(&flags.config)?;
    settings.apply_env()?;
    settings.apply_pairs("--", flags.given())?;
    Ok(settings)
}

fn run(flags: &ProxyFlags, settings: ProxySettings) -> Result<(), String> {
    // It accepts connections, and threads of the proxy's own serve them.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("no threads to run on: {error}"))?;
    runtime.block_on(async {
        let handler = |kind| signal(kind).map_err(|error| format!("no signal handler: {error}"));
        // The handlers stand before anything is accepted.
        let (mut interrupt, mut terminate) =
            (handler(SignalKind::interrupt())?, handler(SignalKind::terminate())?);
        let hangup = handler(SignalKind::hangup())?;
        let format = if flags.log_json { LogFormat::Json } else { LogFormat::Text };
        #[cfg(feature = "otel")]
        let started = match &settings.otlp {
            Some(url) => observe::init_logs_and_traces(format, url),
            None => observe::init_logs(format),
        };
        #[cfg(not(feature = "otel"))]
        let started = observe::init_logs(format);
        started.map_err(|error| error.to_string())?;
        #[cfg(feature = "otel")]
        let otlp = settings.otlp.clone();
        let proxy = Proxy::bind_on_threads(settings).await.map_err(|error| error.to_string())?;
        let handle = proxy.handle();
        #[cfg(feature = "otel")]
        let _export = export(&handle, otlp.as_deref())?;
        greet(&handle);
        let reloading = tokio::spawn(reload(handle, hangup, flags.config.clone()));
        proxy
            .run(async {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
            })
            .await;
        reloading.abort();
        Ok(())
    })
}

/// Sends the metrics to the collector, if there is one, until the result is dropped.
#[cfg(feature = "otel")]
fn export(
    handle: &ProxyHandle,
    collector: Option<&str>,
) -> Result<Option<observe::MetricsExport>, String> {
    let Some(url) = collector else { return Ok(None) };
    // Spans have the attribute `stagger.route` too.
    let names = observe::MetricNames {
        instrument: |shown| shown.replacen("stagger_proxy_", "stagger.proxy.", 1),
        attribute: |shown| format!("stagger.{shown}"),
    };
    let handle = handle.clone();
    let text = move || std::future::ready(handle.metrics());
    observe::export_metrics(text, names, url).map(Some).map_err(|error| error.to_string())
}

fn greet(handle: &ProxyHandle) {
    for address in handle.addresses() {
        streams::note(&format!("listening on http://{address}"));
    }
    if let Some(admin) = handle.admin() {
        streams::note(&format!("operators on http://{admin}"));
    }
}

/// Reads the file again at each SIGHUP. The log has what came of it.
async fn reload(handle: ProxyHandle, mut hangup: Signal, file: std::path::PathBuf) {
    while hangup.recv().await.is_some() {
        // A refusal is logged, and the old settings stay.
        _ = handle.reload_file(&file).await;
    }
}
