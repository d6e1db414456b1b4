//! Files of policies: the policies in them, and the place of each setting.

mod argument;
mod calls;
mod files;
mod overrides;
mod source;
mod survey;
mod text;

pub(crate) use argument::PolicyArgument;
pub(crate) use calls::{CAPACITY, FLEET, LAYERS, RPS};
pub(crate) use files::files;
pub(crate) use overrides::Overrides;
pub(crate) use source::{Loaded, NamedPolicy, PolicySource, absent};
pub(crate) use survey::{Surveyed, survey};
pub(crate) use text::read;
