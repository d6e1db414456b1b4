//! The body of a reply on its way to its place, over as many replies as it takes.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use reqwest::header::{
    ACCEPT_RANGES, CONTENT_RANGE, ETAG, HeaderMap, HeaderValue, IF_RANGE, RANGE,
};
use reqwest::{Response, StatusCode};

use super::decoder::ContentDecoder;
use super::policy::{HttpFailure, deepest};
use crate::streams;

/// A body on its way to its place, and how much of it is there.
#[derive(Debug)]
pub(super) struct Download {
    place: Option<PathBuf>,
    rules: DownloadRules,
    /// The decoder of the body under way.
    decoder: ContentDecoder,
    /// None until the first reply.
    writer: Option<ReplyWriter>,
    received: u64,
    /// The strong entity tag by which the rest is of the same body (RFC 9110 section 13.1.5).
    validator: Option<HeaderValue>,
}

/// The rules of the flags for a body.
#[derive(Clone, Debug, Default)]
pub(super) struct DownloadRules {
    /// Whether status and headers come before the body.
    pub(super) include: bool,
    /// Whether a compressed reply was asked for.
    pub(super) compressed: bool,
    /// The bytes of the file that are kept, after which the body goes on.
    pub(super) kept: u64,
    /// The part of the body that was asked for.
    pub(super) range: Option<HeaderValue>,
}

impl Download {
    pub(super) const fn new(place: Option<PathBuf>, rules: DownloadRules) -> Self {
        let (decoder, received) = (ContentDecoder::Identity, rules.kept);
        Self { place, rules, decoder, writer: None, received, validator: None }
    }

    /// The bytes of the body that are there.
    pub(super) const fn received(&self) -> u64 {
        self.received
    }

    /// Whether a body that broke off can be had again: what went to standard output or to a device
    /// cannot be taken back.
    pub(super) const fn is_repeatable(&self) -> bool {
        matches!(self.writer, Some(ReplyWriter::Partial(_)))
    }

    /// Asks for the rest only, where the server has shown that it can send it, or the flags say so.
    pub(super) fn resume(&self, headers: &mut HeaderMap) {
        headers.remove(RANGE);
        headers.remove(IF_RANGE);
        let rest = HeaderValue::try_from(format!("bytes={}-", self.received)).ok();
        let rest = rest.filter(|_| self.received > 0);
        match (&self.validator, &self.rules.range) {
            (None, Some(range)) => _ = headers.insert(RANGE, range.clone()),
            (Some(validator), _) => {
                if let Some(rest) = rest {
                    headers.insert(RANGE, rest);
                    headers.insert(IF_RANGE, validator.clone());
                }
            }
            (None, None) => {
                if let Some(rest) = rest.filter(|_| self.rules.kept > 0) {
                    headers.insert(RANGE, rest);
                }
            }
        }
    }

    /// Whether the reply says that nothing is left after what is kept (RFC 9110 section 15.5.17).
    pub(super) fn is_complete(&self, reply: &Response) -> bool {
        let length = || {
            let range = reply.headers().get(CONTENT_RANGE)?.to_str().ok()?;
            range.strip_prefix("bytes */")?.parse::<u64>().ok()
        };
        reply.status() == StatusCode::RANGE_NOT_SATISFIABLE
            && self.rules.kept > 0
            && length() == Some(self.received)
    }

    /// Takes the body of a reply, to its end.
    ///
    /// # Errors
    /// A body that breaks off or takes too long, and a place that cannot be written.
    pub(super) async fn take(&mut self, mut reply: Response) -> Result<(), HttpFailure> {
        let mut writer = self.open(&reply)?;
        let taken = self.pieces(&mut writer, &mut reply).await;
        if taken.is_err() {
            self.writer = Some(writer);
            return taken;
        }
        writer.close().map_err(|error| self.unwritten(&error))
    }

    /// The place, with what is there already of this body.
    fn open(&mut self, reply: &Response) -> Result<ReplyWriter, HttpFailure> {
        let rest = self.received > 0
            && reply.status() == StatusCode::PARTIAL_CONTENT
            && is_from(self.received, reply);
        let known = self.writer.take();
        let writer = self.place_for(known, rest).map_err(|error| self.unwritten(&error))?;
        if rest {
            return Ok(writer);
        }
        if self.rules.compressed {
            let unknown =
                |coding| format!("the reply has a coding that was not asked for: {coding}");
            self.decoder = ContentDecoder::of(reply.headers())
                .map_err(|coding| HttpFailure::Coding(unknown(coding)))?;
        }
        self.received = 0;
        self.validator = validator(reply);
        Ok(writer)
    }

    /// The place, new or known, with nothing in it or with what the rest follows.
    fn place_for(&self, known: Option<ReplyWriter>, rest: bool) -> io::Result<ReplyWriter> {
        let is_known = known.is_some();
        let mut writer = known.map_or_else(|| ReplyWriter::open(self.place.as_deref()), Ok)?;
        match (is_known, rest) {
            (true, true) | (false, false) => {}
            (true, false) => writer.restart()?,
            (false, true) => writer.keep(self.received)?,
        }
        Ok(writer)
    }

    async fn pieces(
        &mut self,
        writer: &mut ReplyWriter,
        reply: &mut Response,
    ) -> Result<(), HttpFailure> {
        let head = if self.rules.include && self.received == 0 { head(reply) } else { Vec::new() };
        let mut read_on = writer.write(&head).map_err(|error| self.unwritten(&error))?;
        while read_on {
            let Some(piece) = next(reply).await? else { break };
            // OK because no target has pointers of more than 64 bits.
            self.received = self.received.saturating_add(piece.len() as u64);
            let piece = self.decoder.decode(piece).map_err(|error| undecoded(&error))?;
            read_on = writer.write(&piece).map_err(|error| self.unwritten(&error))?;
        }
        if read_on && self.received > 0 {
            let rest = self.decoder.finish().map_err(|error| undecoded(&error))?;
            writer.write(&rest).map_err(|error| self.unwritten(&error))?;
        }
        Ok(())
    }

    fn unwritten(&self, error: &io::Error) -> HttpFailure {
        let name =
            self.place.as_deref().map_or(Cow::from("standard output"), Path::to_string_lossy);
        HttpFailure::Unwritten(format!("cannot write {name}: {error}"))
    }
}

fn undecoded(error: &io::Error) -> HttpFailure {
    HttpFailure::Coding(format!("the body cannot be decompressed: {error}"))
}

/// The strong entity tag of a whole body, from a server that sends parts.
fn validator(reply: &Response) -> Option<HeaderValue> {
    let parts = reply.headers().get(ACCEPT_RANGES).is_some_and(|ranges| ranges == "bytes");
    let tag = reply.headers().get(ETAG).filter(|tag| tag.as_bytes().starts_with(b"\""));
    tag.filter(|_| parts && reply.status() == StatusCode::OK).cloned()
}

/// Whether a part of a body begins where the bytes that are there end.
fn is_from(received: u64, reply: &Response) -> bool {
    let range = reply.headers().get(CONTENT_RANGE).and_then(|range| range.to_str().ok());
    let start = range.and_then(|range| range.strip_prefix("bytes ")?.split('-').next());
    start.and_then(|start| start.parse().ok()) == Some(received)
}

/// The next piece of the body. The deadline of the policy is the client's to keep.
async fn next(reply: &mut Response) -> Result<Option<Bytes>, HttpFailure> {
    reply.chunk().await.map_err(|error| match error.is_timeout() {
        true => HttpFailure::Time("the deadline has come before the end of the reply".to_owned()),
        false => HttpFailure::BrokenOff(format!("the reply broke off: {}", deepest(&error))),
    })
}

/// Status and headers as HTTP/1.1 writes them, whatever was spoken.
fn head(reply: &Response) -> Vec<u8> {
    let mut head = format!("{:?} {}\r\n", reply.version(), reply.status()).into_bytes();
    for (name, value) in reply.headers() {
        head.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    head.extend(b"\r\n");
    head
}

/// The outlet of the bytes of a reply.
#[derive(Debug)]
pub(super) enum ReplyWriter {
    /// Standard output, as they come.
    Stdout,
    /// A pipe or a device: bytes go there as they come, and nothing is cut short.
    Stream(File),
    /// A new file beside the one that it becomes.
    Partial(PartialFile),
}

/// A file that is not there yet.
#[derive(Debug)]
pub(super) struct PartialFile {
    file: File,
    /// `None` once it has been put in place.
    made: Option<PathBuf>,
    place: PathBuf,
}

impl ReplyWriter {
    /// Opens the place. Nothing of it is changed yet.
    ///
    /// # Errors
    /// The system's refusal.
    pub(super) fn open(path: Option<&Path>) -> io::Result<Self> {
        let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
            return Ok(Self::Stdout);
        };
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(found) if !found.is_file() => {
                Ok(Self::Stream(OpenOptions::new().write(true).open(path)?))
            }
            // A link stays one: what it leads to is replaced.
            Ok(found) => {
                let beside = PartialFile::of(fs::canonicalize(path)?)?;
                fs::set_permissions(beside.made.as_deref().unwrap_or(path), found.permissions())?;
                Ok(Self::Partial(beside))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Self::Partial(PartialFile::of(path.to_path_buf())?))
            }
            Err(error) => Err(error),
        }
    }

    /// Puts the first bytes of the place itself first, where they go to a file beside it.
    ///
    /// # Errors
    /// The system's refusal, and a place that has become shorter.
    pub(super) fn keep(&mut self, bytes: u64) -> io::Result<()> {
        let Self::Partial(beside) = self else { return Ok(()) };
        let mut kept = File::open(&beside.place)?.take(bytes);
        match io::copy(&mut kept, &mut beside.file)? {
            copied if copied == bytes => Ok(()),
            _ => Err(io::Error::other("it has become shorter")),
        }
    }

    /// Writes a piece; returns whether the reader is still there.
    ///
    /// # Errors
    /// The system's refusal.
    pub(super) fn write(&mut self, piece: &[u8]) -> io::Result<bool> {
        match self {
            Self::Stdout => streams::piece(piece),
            Self::Stream(file) => match file.write_all(piece) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
                written => written.map(|()| true),
            },
            Self::Partial(beside) => beside.file.write_all(piece).map(|()| true),
        }
    }

    /// Deletes the bytes written so far, if they went to a partial file.
    ///
    /// # Errors
    /// The system's refusal.
    pub(super) fn restart(&mut self) -> io::Result<()> {
        let Self::Partial(beside) = self else { return Ok(()) };
        beside.file.set_len(0)?;
        beside.file.rewind()
    }

    /// All of it is written.
    ///
    /// # Errors
    /// The system's refusal.
    pub(super) fn close(self) -> io::Result<()> {
        match self {
            Self::Partial(beside) => beside.put_in_place(),
            Self::Stdout | Self::Stream(_) => Ok(()),
        }
    }
}

impl PartialFile {
    fn of(place: PathBuf) -> io::Result<Self> {
        let mut name = place.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_os_string();
        name.push(format!(".{}.part", std::process::id()));
        let made = place.with_file_name(name);
        let file = OpenOptions::new().write(true).create_new(true).open(&made)?;
        Ok(Self { file, made: Some(made), place })
    }

    fn put_in_place(mut self) -> io::Result<()> {
        let Some(made) = self.made.take() else { return Ok(()) };
        let put = fs::rename(&made, &self.place);
        if put.is_err() {
            self.made = Some(made);
        }
        put
    }
}

/// Removes a file that was not put in place.
impl Drop for PartialFile {
    fn drop(&mut self) {
        if let Some(made) = &self.made {
            let _ = fs::remove_file(made);
        }
    }
}
