//! Calls of the client for reqwest.

use std::error::Error;
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use reqwest::{Method, Request, Url};
use stagger::reqwest::{Client, client_builder};
use tokio::net::UnixListener;

use super::caller::{LayoutCaller, caller, policy};
use super::upstream::Upstream;
use crate::rig::ScratchFolder;

const URL: &str = "http://upstream.test/";

/// The client over a Unix socket to an HTTP server. It draws its delays from the system's chance, so its figures
/// vary a little.
pub(super) fn reqwest(upstream: Upstream) -> Result<LayoutCaller, Box<dyn Error>> {
    // OK because an error says that a provider is there already.
    _ = rustls::crypto::ring::default_provider().install_default();
    let folder = Arc::new(ScratchFolder::new("bench-budget-reqwest")?);
    let socket = folder.path().join("http.sock");
    let router =
        Router::new().route("/", get(async move || upstream.answer().await.is_ok().to_string()));
    let listener = UnixListener::bind(&socket)?;
    tokio::spawn(async { axum::serve(listener, router).await });
    let inner = client_builder().no_proxy().unix_socket(socket).build()?;
    let client = Client::new(inner, policy().build()?);
    let url = URL.parse::<Url>()?;
    Ok(caller(move || {
        let (client, folder) = (client.clone(), Arc::clone(&folder));
        let request = Request::new(Method::GET, url.clone());
        async move {
            let _failed = client.execute(request).await;
            drop(folder);
        }
    }))
}
