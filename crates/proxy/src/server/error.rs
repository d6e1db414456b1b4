//! Why a proxy does not start, or keeps the settings that it had.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;

use crate::config::SettingsFault;

/// A proxy that cannot start with its settings.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProxyError {
    /// The settings are refused, or a file that they name.
    Settings(SettingsFault),
    /// An address cannot be listened on.
    Listen(SocketAddr, io::Error),
    /// There are no threads to serve connections on.
    Threads(io::Error),
}

impl fmt::Display for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(fault) => fault.fmt(f),
            Self::Listen(address, error) => {
                write!(
                    f,
                    "listen = {address}: {error}; choose an address of this machine that is free"
                )
            }
            Self::Threads(error) => write!(f, "no threads to serve connections on: {error}"),
        }
    }
}

impl Error for ProxyError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Settings(_) => None,
            Self::Listen(_, error) | Self::Threads(error) => Some(error),
        }
    }
}

impl From<SettingsFault> for ProxyError {
    fn from(fault: SettingsFault) -> Self {
        Self::Settings(fault)
    }
}
