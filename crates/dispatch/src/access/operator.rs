//! An operator who was recognised, and the keys by which operators are.

use stagger_scheduler::model::KeyHash;
use subtle::ConstantTimeEq;

use super::{OperatorFile, Role, SeenOperator};

/// A caller that is no application: the admin, or an operator with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Operator {
    pub(crate) name: String,
    pub(crate) role: Role,
    source: Source,
}

/// The authority that vouches for an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    /// The admin key, or a page that is open.
    Admin,
    /// The file of operators has the hash of this key.
    File(KeyHash),
    /// An identity provider, as of signing in.
    #[cfg(feature = "oidc")]
    Provider,
}

impl Operator {
    /// The holder of the admin key.
    pub(crate) fn admin() -> Self {
        Self { name: Role::Admin.name().to_owned(), role: Role::Admin, source: Source::Admin }
    }

    /// A person whom an identity provider knows by this name.
    #[cfg(feature = "oidc")]
    pub(crate) const fn of_provider(name: String, role: Role) -> Self {
        Self { name, role, source: Source::Provider }
    }
}

/// All who are no applications, by their keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct Staff {
    admin: Option<KeyHash>,
    operators: OperatorFile,
}

impl Staff {
    pub(crate) const fn new(admin: Option<KeyHash>, operators: OperatorFile) -> Self {
        Self { admin, operators }
    }

    /// Whether there is an admin key.
    pub(crate) const fn has_admin(&self) -> bool {
        self.admin.is_some()
    }

    /// The operators of the file, in its order.
    pub(crate) fn operators(&self) -> Vec<SeenOperator> {
        self.operators.seen()
    }

    /// The operator with this key.
    pub(crate) fn find(&self, key: KeyHash) -> Option<Operator> {
        let same = |admin: KeyHash| bool::from(admin.as_bytes().ct_eq(key.as_bytes()));
        if self.admin.is_some_and(same) {
            return Some(Operator::admin());
        }
        let (name, role) = self.operators.find(key)?;
        Some(Operator { name, role, source: Source::File(key) })
    }

    /// The operator as it is now: with its current role, or no more.
    pub(crate) fn current(&self, operator: &Operator) -> Option<Operator> {
        match operator.source {
            Source::Admin => Some(operator.clone()),
            // Its session is short.
            #[cfg(feature = "oidc")]
            Source::Provider => Some(operator.clone()),
            Source::File(key) => self.find(key).filter(|now| now.name == operator.name),
        }
    }
}
