//! The roles of operators, each with everything that the one before may do.

use std::fmt;
use std::str::FromStr;

/// The permissions of an operator. A later role may do everything that an earlier one may.
///
/// ```
/// use stagger_dispatch::access::Role;
/// assert!(Role::Viewer < Role::Operator && Role::Operator < Role::Admin);
/// assert_eq!("operator".parse(), Ok(Role::Operator));
/// assert!("root".parse::<Role>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Sees everything but secrets, and changes nothing.
    Viewer,
    /// Steers deliveries: retries, replays, cancels, enables and disables endpoints, sends test events.
    Operator,
    /// Makes, changes and deletes applications, endpoints and keys, and sees secrets.
    Admin,
}

/// A text that names no role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRole;

impl Role {
    /// All of them, the one with the fewest permissions first.
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Operator, Self::Admin];

    /// Its name in settings and on pages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }
}

impl FromStr for Role {
    type Err = NoRole;

    fn from_str(text: &str) -> Result<Self, NoRole> {
        Self::ALL.into_iter().find(|role| role.name() == text).ok_or(NoRole)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for NoRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be admin, operator or viewer")
    }
}

impl std::error::Error for NoRole {}
