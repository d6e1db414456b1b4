//! The refusal of a policy that is not in its file.

use crate::command_error::CommandError;
use crate::spelling::nearest;

/// Says that `file` has no policy of this name; `names` are those that it has, none for a file that is
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
