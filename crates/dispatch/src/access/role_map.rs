//! The roles of the groups of an identity provider.

use std::str::FromStr;

use super::Role;

/// Most groups with a role.
const MAX_GROUPS: usize = 100;

/// The role of each group that has one.
///
/// ```
/// use stagger_dispatch::access::{Role, RoleMap};
/// let roles: RoleMap = "on-call=operator, staff=viewer".parse().expect("two pairs");
/// assert_eq!(roles.highest(["staff", "on-call", "other"]), Some(Role::Operator));
/// assert_eq!(roles.highest(["other"]), None);
/// assert!("staff".parse::<RoleMap>().is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleMap(Vec<(String, Role)>);

/// A text that is no list of groups with roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoleMap;

impl RoleMap {
    /// The highest role that one of these groups has.
    pub fn highest<'g>(&self, groups: impl IntoIterator<Item = &'g str>) -> Option<Role> {
        let role =
            |group: &str| self.0.iter().find(|(name, _)| name == group).map(|(_, role)| *role);
        groups.into_iter().filter_map(role).max()
    }
}

impl FromStr for RoleMap {
    type Err = NoRoleMap;

    fn from_str(text: &str) -> Result<Self, NoRoleMap> {
        let pair = |word: &str| {
            let (group, role) = word.rsplit_once('=')?;
            let group = group.trim();
            (!group.is_empty()).then_some((group.to_owned(), role.trim().parse().ok()?))
        };
        let pairs: Option<Vec<_>> = text.split(',').map(pair).collect();
        pairs.filter(|pairs| pairs.len() <= MAX_GROUPS).map(Self).ok_or(NoRoleMap)
    }
}

impl std::fmt::Display for NoRoleMap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("must be groups with their roles, such as on-call=operator, staff=viewer")
    }
}

impl std::error::Error for NoRoleMap {}
