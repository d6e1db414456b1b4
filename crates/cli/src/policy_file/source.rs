//! Sources of policies: a file, the files of a folder, standard input, or the presets.

use std::path::Path;

use clap::Args;
use stagger_core::Policy;
use stagger_core::budget::BudgetPlan;
use stagger_explain::RouteFacts;
use stagger_import::{ImportSource, ImportedPolicy};
use stagger_text::nearest;

use super::argument::PolicyArgument;
use super::calls::CallFacts;
use super::foreign::{ForeignFiles, is_foreign};
use super::reading::read;
use super::routes::is_route;
use super::survey::{Surveyed, survey};
use crate::command_error::CommandError;
use crate::flags::preset;
use crate::streams;

/// Policies that the command line names, for commands whose arguments are nothing else.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PolicySource {
    /// A file of policies or of another product's settings, one of them by its name, or `-` for
    /// standard input
    #[arg(value_name = "FILE[#NAME]", required_unless_present = "preset")]
    files: Vec<PolicyArgument>,

    /// A ready policy: aws-standard, aws-standard-2-0, aws-standard-2-1, aws-dynamodb, grpc,
    /// google-cloud, webhook, interactive, batch
    #[arg(long, value_name = "NAME", value_parser = preset(), hide_possible_values = true)]
    preset: Vec<String>,
}

impl PolicySource {
    /// The policies of all files and presets, in the order of the command line.
    ///
    /// # Errors
    /// The first that cannot be read or is wrong.
    pub(crate) fn load(&self) -> Result<Vec<Loaded>, CommandError> {
        let files = self.files.iter().map(Loaded::open);
        files.chain(self.preset.iter().map(|name| Loaded::preset(name))).collect()
    }
}

/// The policies of one text.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    /// The file as messages name it.
    pub(crate) file: String,
    /// The policies that were asked for, at least one.
    pub(crate) policies: Vec<NamedPolicy>,
}

/// One policy of a text.
#[derive(Clone, Debug)]
pub(crate) struct NamedPolicy {
    /// Its name; of a file that is one policy, the file's.
    pub(crate) name: String,
    /// The dotted key of its table, such as `policy.checkout`; empty when the whole text is it.
    pub(crate) path: String,
    /// The policy.
    pub(crate) policy: Policy,
    /// Whether its source names a budget; else the policy has the default one.
    pub(crate) names_budget: bool,
    /// The facts about its calls in the file.
    pub(crate) calls: CallFacts,
    /// The product whose settings it was read from, if it is not ours.
    pub(crate) product: Option<ImportSource>,
    /// The facts of the proxy's route whose policy it is.
    pub(crate) route: Option<RouteFacts>,
}

impl NamedPolicy {
    /// The policy for a single call. A budget guards a destination against many calls; the default
    /// one would end a call of fifty attempts at the tenth.
    fn without_implied_budget(&self) -> Policy {
        if self.names_budget {
            return self.policy;
        }
        let unlimited = self.policy.to_builder().budget(BudgetPlan::Unlimited);
        unlimited.build().unwrap_or(self.policy)
    }
}

impl Loaded {
    /// The policies of `FILE`, the one of `FILE#NAME`, or those of standard input for `-`.
    ///
    /// # Errors
    /// A file that cannot be read or is wrong, or a name that is not in it.
    pub(crate) fn open(asked: &PolicyArgument) -> Result<Self, CommandError> {
        let (file, text) = read(&asked.file)?;
        let loaded = if is_foreign(&asked.file, &text) {
            Self::foreign(file, text)?
        } else {
            Self::parse(&asked.file, &file, &text)?
        };
        match &asked.name {
            Some(name) => loaded.only(name),
            None => Ok(loaded),
        }
    }

    /// A ready policy, with underscores or hyphens in its name.
    ///
    /// # Errors
    /// A name that there is not.
    pub(crate) fn preset(name: &str) -> Result<Self, CommandError> {
        let policy = Policy::preset(name).map_err(|error| {
            let plain = name.replace('-', "_");
            let bound = match nearest(&plain, Policy::PRESETS.into_iter()) {
                Some(near) => format!("{}; did you mean {near}?", error.bound()),
                None => error.bound().to_owned(),
            };
            // The command line has hyphens in names.
            let bound = bound.replace('_', "-");
            CommandError::invalid("--preset", name, &bound)
        })?;
        let name = name.replace('-', "_");
        let file = format!("preset {name}");
        Ok(Self {
            file,
            policies: vec![NamedPolicy {
                name,
                path: String::new(),
                policy,
                names_budget: true,
                calls: CallFacts::default(),
                product: None,
                route: None,
            }],
        })
    }

    /// The one policy of a `--policy` or of a `--preset`, if either is there, for commands that make
    /// one call: a budget that the file does not name is dropped, unless `shared` says that other
    /// processes spend from it too.
    ///
    /// # Errors
    /// As of [`open`](Self::open) and [`preset`](Self::preset), and several policies in the file.
    pub(crate) fn one(
        policy: Option<&PolicyArgument>,
        preset: Option<&str>,
        shared: bool,
    ) -> Result<Option<Policy>, CommandError> {
        let loaded = match (policy, preset) {
            (Some(asked), _) => Self::open(asked)?,
            (None, Some(name)) => Self::preset(name)?,
            (None, None) => return Ok(None),
        };
        if let [only] = loaded.policies.as_slice() {
            return Ok(Some(if shared { only.policy } else { only.without_implied_budget() }));
        }
        let names: Vec<&str> = loaded.policies.iter().map(|entry| entry.name.as_str()).collect();
        let file = loaded.file;
        Err(CommandError::bad_value(&format!(
            "invalid value '{file}' for '--policy': must name one of its policies, as in {file}#{}: \
             there are {}",
            names.first().unwrap_or(&"NAME"),
            names.join(", "),
        )))
    }

    /// The policies in the settings of another product.
    fn foreign(file: String, text: String) -> Result<Self, CommandError> {
        let refused = |error| CommandError::File(format!("error: {file}: {error}"));
        let mut files = ForeignFiles::default();
        files.add(file.clone(), text).map_err(refused)?;
        let imported = files.import(None).map_err(refused)?;
        let entry = |it: ImportedPolicy| NamedPolicy {
            path: format!("policy.{}", it.name),
            name: it.name,
            policy: it.policy,
            names_budget: true,
            calls: CallFacts::default(),
            product: Some(it.source),
            route: None,
        };
        let policies = imported.policies.into_iter().map(entry).collect();
        Ok(Self { file, policies })
    }

    fn parse(place: &Path, file: &str, text: &str) -> Result<Self, CommandError> {
        let survey = survey(place, text);
        if !survey.flaws.is_empty() {
            let shown: Vec<String> = survey
                .flaws
                .iter()
                .map(|flaw| flaw.show(file, text, streams::errors_have_colours()))
                .collect();
            return Err(CommandError::File(shown.join("\n\n")));
        }
        if survey.policies.is_empty() {
            return Err(CommandError::File(format!("error: {file}: there is no policy in it")));
        }
        let stem = Path::new(file).file_stem();
        let stem = stem.map_or_else(String::new, |stem| stem.display().to_string());
        let entry = |it: Surveyed<'_>| {
            let names_budget = it.sets("budget");
            let (path, name) = (it.path, it.name.unwrap_or_else(|| stem.clone()));
            NamedPolicy {
                name,
                path,
                policy: it.policy,
                names_budget,
                calls: it.calls,
                product: None,
                route: it.route.map(|route| route.facts),
            }
        };
        let policies = survey.policies.into_iter().map(entry).collect();
        Ok(Self { file: file.to_owned(), policies })
    }

    /// The one of this name.
    fn only(mut self, name: &str) -> Result<Self, CommandError> {
        let named = |entry: &NamedPolicy| !entry.path.is_empty() && entry.name == name;
        let routed = |entry: &NamedPolicy| entry.route.is_some() && is_route(&entry.name, name);
        let at = self.policies.iter().position(named);
        let Some(at) = at.or_else(|| self.policies.iter().position(routed)) else {
            let named = self.policies.iter().filter(|entry| !entry.path.is_empty());
            return Err(absent(&self.file, name, named.map(|entry| entry.name.as_str())));
        };
        self.policies = vec![self.policies.swap_remove(at)];
        Ok(self)
    }
}

/// The error of a file that has no policy of this name; `names` are those that it has, none for a file that is
/// one whole policy.
pub(crate) fn absent<'n>(
    file: &str,
    name: &str,
    names: impl Iterator<Item = &'n str>,
) -> CommandError {
    let names: Vec<&str> = names.collect();
    let hint = match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None if names.is_empty() => {
            format!("the file is one policy without a name; leave out #{name}")
        }
        None => format!("there are {}", names.join(", ")),
    };
    CommandError::File(format!("error: {file}: there is no [policy.{name}]: {hint}"))
}
