//! Files of policies: which there are, and where each setting stands.

mod absent;
mod argument;
mod bounds;
mod calls;
mod files;
mod overrides;
mod policies;
mod source;
mod survey;
mod text;
mod written;

pub(crate) use absent::absent;
pub(crate) use argument::PolicyArgument;
pub(crate) use bounds::{CAPACITY, FLEET, LAYERS, RPS};
pub(crate) use calls::Calls;
pub(crate) use files::files;
pub(crate) use overrides::Overrides;
pub(crate) use policies::named;
pub(crate) use source::{Entry, Loaded, PolicySource};
pub(crate) use survey::{Surveyed, survey};
pub(crate) use text::read;
