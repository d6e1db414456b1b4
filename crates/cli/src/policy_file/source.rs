//! Where policies come from: a file, standard input, or the presets.

use std::io::{self, Read};
use std::path::Path;

use clap::Args;
use stagger_core::Policy;

use super::policies;
use crate::refusal::Refusal;
use crate::spelling::nearest;
use crate::toml_file::Document;

/// The longest text that is read: more policies than anyone writes, and no device without an end.
const MAX_TEXT: u64 = 16 * 1024 * 1024;

/// Policies that the command line names, for commands whose arguments are nothing else.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PolicySource {
    /// A TOML file of policies, one of them by its name, or `-` for standard input
    #[arg(value_name = "FILE[#NAME]", required_unless_present = "preset")]
    files: Vec<String>,

    /// A ready policy: aws-standard, aws-standard-2-0, aws-standard-2-1, grpc, google-cloud,
    /// webhook, interactive, batch
    #[arg(long, value_name = "NAME")]
    preset: Vec<String>,
}

impl PolicySource {
    /// The policies of all files and presets, in the order of the command line.
    ///
    /// # Errors
    /// The first that cannot be read or is wrong.
    pub(crate) fn load(&self) -> Result<Vec<Loaded>, Refusal> {
        let files = self.files.iter().map(|file| Loaded::open(file));
        files.chain(self.preset.iter().map(|name| Loaded::preset(name))).collect()
    }
}

/// The policies of one text.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    /// The file as messages name it.
    pub(crate) file: String,
    /// The policies that were asked for, at least one.
    pub(crate) policies: Vec<Entry>,
}

/// One policy of a text.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Its name; of a file that is one policy, the file's.
    pub(crate) name: String,
    /// The dotted key of its table, such as `policy.checkout`; empty when the whole text is it.
    pub(crate) path: String,
    /// The policy.
    pub(crate) policy: Policy,
}

impl Loaded {
    /// The policies of `FILE`, the one of `FILE#NAME`, or those of standard input for `-`.
    ///
    /// # Errors
    /// What cannot be read or is wrong, or a name that is not in it.
    pub(crate) fn open(asked: &str) -> Result<Self, Refusal> {
        let (file, name) = match asked.rsplit_once('#') {
            Some((file, name)) => (file, Some(name)),
            None => (asked, None),
        };
        let (file, text) = match file {
            "-" => ("standard input", read("standard input", io::stdin().lock())?),
            file => {
                let opened = std::fs::File::open(file).map_err(|error| unread(file, &error))?;
                (file, read(file, opened)?)
            }
        };
        let loaded = Self::parse(file, &text)?;
        match name {
            Some(name) => loaded.only(name),
            None => Ok(loaded),
        }
    }

    /// A ready policy, with underscores or hyphens in its name.
    ///
    /// # Errors
    /// A name that there is not.
    pub(crate) fn preset(name: &str) -> Result<Self, Refusal> {
        let policy = Policy::preset(name).map_err(|error| {
            let plain = name.replace('-', "_");
            let bound = match nearest(&plain, Policy::PRESETS.into_iter()) {
                Some(near) => format!("{}; did you mean {near}?", error.bound()),
                None => error.bound().to_owned(),
            };
            Refusal::bad_value(&format!("invalid value '{name}' for '--preset': must be {bound}"))
        })?;
        let name = name.replace('-', "_");
        let file = format!("preset {name}");
        Ok(Self { file, policies: vec![Entry { name, path: String::new(), policy }] })
    }

    fn parse(file: &str, text: &str) -> Result<Self, Refusal> {
        let read = Document::parse(text).and_then(|document| policies(&document));
        let read = read.map_err(|flaw| Refusal::File(flaw.show(file, text)))?;
        if read.is_empty() {
            return Err(Refusal::File(format!("error: {file}: there is no [policy.NAME] in it")));
        }
        let stem = Path::new(file).file_stem();
        let stem = stem.map_or_else(String::new, |stem| stem.display().to_string());
        let entry = |(name, policy): (Option<String>, Policy)| match name {
            Some(name) => Entry { path: format!("policy.{name}"), name, policy },
            None => Entry { path: String::new(), name: stem.clone(), policy },
        };
        Ok(Self { file: file.to_owned(), policies: read.into_iter().map(entry).collect() })
    }

    /// The one of this name. A file that is one policy has no name of its own, so it takes any.
    fn only(mut self, name: &str) -> Result<Self, Refusal> {
        let known = self.policies.iter().position(|it| it.path.is_empty() || it.name == name);
        let Some(at) = known else {
            let names = self.policies.iter().map(|entry| entry.name.as_str());
            let hint = match nearest(name, names.clone()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("there are {}", names.collect::<Vec<_>>().join(", ")),
            };
            let file = self.file;
            return Err(Refusal::bad_value(&format!("{file} has no [policy.{name}]: {hint}")));
        };
        let entry = self.policies.swap_remove(at);
        self.policies = vec![Entry { name: name.to_owned(), ..entry }];
        Ok(self)
    }
}

fn read(file: &str, from: impl Read) -> Result<String, Refusal> {
    let mut text = String::new();
    let read = from.take(MAX_TEXT + 1).read_to_string(&mut text);
    let read = read.map_err(|error| unread(file, &error))?;
    // OK because what is read ends a byte above 16 MiB.
    if read as u64 > MAX_TEXT {
        return Err(Refusal::File(format!("error: {file}: must be at most 16 MiB")));
    }
    Ok(text)
}

fn unread(file: &str, error: &io::Error) -> Refusal {
    Refusal::File(format!("error: {file}: {error}"))
}
