//! Checks for `--until`: a command, a TCP connection or an HTTP reply that decides whether an attempt succeeded.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;

use stagger::AttemptInfo;
use stagger_core::Span;
use tokio::net::TcpStream;
use tokio::process::Command;

use crate::command::mark;
use crate::context::CallContext;
use crate::ending::limit;
use crate::outcome::AttemptOutcome;
use crate::side_command::{SideLimits, on_standard_error, run_beside, shell};

/// The exit code of a probe without one of its own.
const NOT_READY: u8 = 1;
/// The exit code of `stagger http` for a reply of 400 or more.
const BAD_REPLY: u8 = 22;

/// A check that an attempt must pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// A command line for `sh`, which must exit with 0.
    Command(OsString),
    /// A TCP connection to a host and a port, which must be accepted.
    Tcp(String, u16),
    /// A GET of a URL, whose reply must be below 400 after redirects.
    Http(String),
}

impl Check {
    /// Reads `tcp://HOST:PORT`, a URL of http or https, or else a command line.
    ///
    /// # Errors
    /// An address without a port, an empty text, or a URL that is not UTF-8, in words.
    pub fn parse(text: &OsStr) -> Result<Self, String> {
        let words = text.to_str();
        if let Some(address) = words.and_then(|text| text.strip_prefix("tcp://")) {
            return tcp(address);
        }
        match words {
            Some(url) if url.starts_with("http://") || url.starts_with("https://") => {
                Ok(Self::Http(url.to_owned()))
            }
            _ if text.as_bytes().iter().all(u8::is_ascii_whitespace) => {
                Err("must be a command, tcp://HOST:PORT or a URL".to_owned())
            }
            _ => Ok(Self::Command(text.to_owned())),
        }
    }

    /// The check as people read it.
    fn name(&self) -> String {
        match self {
            Self::Command(script) => format!("`{}`", script.display()),
            Self::Tcp(host, port) if host.contains(':') => format!("tcp://[{host}]:{port}"),
            Self::Tcp(host, port) => format!("tcp://{host}:{port}"),
            Self::Http(url) => without_credentials(url),
        }
    }

    /// Makes the check. `None` when it holds; else an exit code, and the reason in words.
    async fn failure(
        &self,
        context: &CallContext,
        info: &AttemptInfo,
        time: Span,
    ) -> Option<(u8, String)> {
        let (code, why) = match self {
            Self::Tcp(host, port) => (NOT_READY, connect(context, host, *port, time).await.err()?),
            Self::Command(script) => {
                let mut command = shell(script);
                command.stdout(on_standard_error());
                let ended = run(context, command, info, time).await?;
                (ended.code(), ended.words())
            }
            Self::Http(url) => {
                let ended = run(context, http_probe(url), info, time).await?;
                (ended.code(), http_words(&ended))
            }
        };
        Some((code, format!("{}: {why}", self.name())))
    }
}

/// Runs a check's command to its end; `None` when it succeeds.
async fn run(
    context: &CallContext,
    mut command: Command,
    info: &AttemptInfo,
    time: Span,
) -> Option<AttemptOutcome> {
    mark(&mut command, info, context.command.most != Some(1));
    let ended = run_beside(context, command, SideLimits { time, deadline: true }).await;
    Some(ended).filter(|ended| !ended.is_success())
}

/// The end of an attempt under checks, which alone decide whether it succeeded. What was never begun, or lost its
/// output, is not checked.
pub(crate) async fn judge(
    context: &CallContext,
    ended: AttemptOutcome,
    info: &AttemptInfo,
    (checks, time): (&[Check], Span),
) -> AttemptOutcome {
    let exit = match ended {
        AttemptOutcome::Exited(code) => Some(code),
        AttemptOutcome::Signalled(_) | AttemptOutcome::TimedOut | AttemptOutcome::Ready(_) => None,
        other => return other,
    };
    for check in checks {
        if context.caught.get().is_some() || context.expired.get() {
            return ended;
        }
        if let Some((code, why)) = check.failure(context, info, time).await {
            return AttemptOutcome::Unready { exit, code, why };
        }
    }
    AttemptOutcome::Ready(exit)
}

/// Connects, and closes the connection at once. Ends like a side command: by its limit, the deadline or a signal.
async fn connect(context: &CallContext, host: &str, port: u16, time: Span) -> Result<(), String> {
    tokio::select! {
        biased;
        connected = TcpStream::connect((host, port)) => match connected {
            Ok(_) => Ok(()),
            // Without the number that the system has for it.
            Err(error) => {
                Err(error.to_string().split(" (os error ").next().unwrap_or_default().to_owned())
            }
        },
        () = limit(Some(time)) => Err("no connection in time".to_owned()),
        () = context.expiry() => Err("the deadline came first".to_owned()),
        () = context.end_asked() => Err("a signal came first".to_owned()),
    }
}

/// The same binary as an HTTP client: one attempt under the limit of the check.
fn http_probe(url: &str) -> Command {
    let program = env::current_exe().unwrap_or_else(|_| "stagger".into());
    let mut command = Command::new(program);
    command.args(["http", "--quiet", "--fail", "--location", "--attempts", "1"]);
    command.args(["--output", "/dev/null", "--", url]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn http_words(ended: &AttemptOutcome) -> String {
    match ended {
        AttemptOutcome::Exited(2) => "no URL that can be asked".to_owned(),
        AttemptOutcome::Exited(6) => "the name of its host is not known".to_owned(),
        AttemptOutcome::Exited(BAD_REPLY) => "the reply is 400 or more".to_owned(),
        AttemptOutcome::Exited(_) => "no reply".to_owned(),
        other => other.words(),
    }
}

fn tcp(address: &str) -> Result<Check, String> {
    let refused = || "must be tcp://HOST:PORT, with a port from 1 to 65535".to_owned();
    let (host, port) = address.trim_end_matches('/').rsplit_once(':').ok_or_else(refused)?;
    let port = port.parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(refused)?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host = bare.unwrap_or(host);
    let is_name = !host.is_empty() && !host.contains(['/', '@', '[', ']']);
    let is_whole = bare.is_some() || !host.contains(':');
    if is_name && is_whole { Ok(Check::Tcp(host.to_owned(), port)) } else { Err(refused()) }
}

/// A URL without the name and password in it: messages end up in build logs.
fn without_credentials(url: &str) -> String {
    let hidden = || {
        let start = url.find("://")? + "://".len();
        let end = url[start..].find(['/', '?', '#']).map_or(url.len(), |end| start + end);
        let host = start + url[start..end].rfind('@')? + 1;
        Some(format!("{}{}", &url[..start], &url[host..]))
    };
    let url = hidden().unwrap_or_else(|| url.to_owned());
    // A query may hold a token.
    url.split(['?', '#']).next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_port_was_taken_for_a_command() {
        let parse = |text: &str| Check::parse(OsStr::new(text));
        assert_eq!(parse("tcp://db:5432"), Ok(Check::Tcp("db".to_owned(), 5432)));
        assert_eq!(parse("tcp://[::1]:80"), Ok(Check::Tcp("::1".to_owned(), 80)));
        for text in
            ["tcp://db", "tcp://db:0", "tcp://:80", "tcp://db:http", "tcp://::1:80", "", " "]
        {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(parse("test -f x"), Ok(Check::Command("test -f x".into())));
        assert_eq!(parse("https://a/"), Ok(Check::Http("https://a/".to_owned())));
    }

    #[test]
    fn a_password_or_a_token_of_a_probe_was_shown() {
        for (url, shown) in [
            ("http://bob:secret@host:8080/ready?token=x#y", "http://host:8080/ready"),
            ("https://host/a@b", "https://host/a@b"),
        ] {
            assert_eq!(Check::Http(url.to_owned()).name(), shown);
        }
        assert_eq!(Check::Tcp("::1".to_owned(), 80).name(), "tcp://[::1]:80");
    }
}
