//! The deployment kit in `deploy/`: units, manifests of Kubernetes and monitoring fit the program and each other.

mod dispatcher;
mod manifests;
mod monitoring;
mod processes;
mod sidecar;
mod units;
