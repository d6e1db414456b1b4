//! The formats as data: names, documentation, the layer of a system that each configures, and its own words.

use std::fmt;

/// A format whose settings are understood.
///
/// ```
/// use stagger_import::{ImportSource, RetryLayer};
/// let istio: ImportSource = "istio".parse()?;
/// assert_eq!((istio.product(), istio.layer()), ("Istio", RetryLayer::Mesh));
/// assert_eq!(istio.setting("limits.max_attempts"), Some("retries.attempts"));
/// assert_eq!(istio.setting("budget.window"), Some("trafficPolicy.retryBudget"));
/// assert_eq!(istio.setting("hedge.delay"), None, "Istio does not hedge");
/// # Ok::<(), stagger_import::ImportError>(())
/// ```
#[derive(Clone, Copy)]
pub struct ImportSource(&'static FormatInfo);

/// The constant facts of a format.
pub(crate) struct FormatInfo {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// Its name in sentences.
    pub(crate) product: &'static str,
    /// The page that documents its settings and defaults.
    pub(crate) documentation: &'static str,
    pub(crate) layer: RetryLayer,
    /// Keys of a policy, each with the setting that says it. The last part of the setting is its own key.
    pub(crate) words: &'static [(&'static str, &'static str)],
}

/// The layer of a system that makes the retries, from the caller outwards.
///
/// An attempt of one layer is a call of the next, so the attempts of all layers multiply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RetryLayer {
    /// A workflow engine or a message listener that repeats a whole step.
    Workflow,
    /// A client library in the process that calls.
    Client,
    /// A proxy beside the process that calls.
    Mesh,
    /// A proxy or a gateway before the service that is called.
    Gateway,
}

impl ImportSource {
    pub(crate) const fn new(info: &'static FormatInfo) -> Self {
        Self(info)
    }

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// The name of its product.
    #[must_use]
    pub const fn product(self) -> &'static str {
        self.0.product
    }

    /// The address of the page that documents its settings and their defaults.
    #[must_use]
    pub const fn documentation(self) -> &'static str {
        self.0.documentation
    }

    /// The layer that it configures.
    #[must_use]
    pub const fn layer(self) -> RetryLayer {
        self.0.layer
    }

    /// The setting that says a key of a policy, such as `limits.max_attempts`, or the part that the key is in.
    #[must_use]
    pub fn setting(self, key: &str) -> Option<&'static str> {
        let mut key = key;
        loop {
            if let Some((_, setting)) = self.words().iter().find(|(known, _)| *known == key) {
                return Some(setting);
            }
            key = key.rsplit_once('.')?.0;
        }
    }

    pub(crate) const fn words(self) -> &'static [(&'static str, &'static str)] {
        self.0.words
    }
}

impl PartialEq for ImportSource {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for ImportSource {}

impl fmt::Debug for ImportSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for ImportSource {
    /// The name on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
