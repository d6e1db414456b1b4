//! All that a release publishes, built and not published: packages, site, programs, a Debian package.

mod binaries;
mod deb;
mod dry_run;
mod kit;
mod packages;
mod step;

pub(crate) use dry_run::{ReleaseOptions, run};
