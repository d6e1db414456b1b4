//! Files of policies: the policies in them, and the place of each setting.

mod argument;
mod calls;
mod folder;
mod foreign;
mod reading;
mod routes;
mod source;
mod survey;

pub(crate) use argument::{Overrides, PolicyArgument};
pub(crate) use calls::{CAPACITY, FLEET, LAYERS, RPS};
pub(crate) use folder::{files, settings_files};
pub(crate) use foreign::{ForeignFile, ForeignFiles, in_own_words, is_foreign};
pub(crate) use reading::read;
pub(crate) use routes::{is_route, titled};
pub(crate) use source::{Loaded, NamedPolicy, PolicySource, absent};
pub(crate) use survey::{Surveyed, of_breaker, survey};
