//! `roles`: which role is played by which policy.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Name of the policy that plays all roles.
const SHARED: &str = "shared";
/// The word for a policy of its own for every role.
const PER_ROLE: &str = "per-role";

/// Which role is played by which policy: `"shared"`, `"per-role"`, or a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Roles {
    /// One policy, called `shared`, plays all roles.
    #[default]
    Shared,
    /// Every role has a policy of its own, called like the role.
    PerRole,
    /// The table says it, role by role.
    Table(BTreeMap<String, String>),
}

impl Roles {
    /// The policy that plays `role`, if one does.
    pub fn policy_of<'a>(&'a self, role: &'a str) -> Option<&'a str> {
        match self {
            Roles::Shared => Some(SHARED),
            Roles::PerRole => Some(role),
            Roles::Table(table) => table.get(role).map(String::as_str),
        }
    }
}

impl Serialize for Roles {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Roles::Shared => to.serialize_str(SHARED),
            Roles::PerRole => to.serialize_str(PER_ROLE),
            Roles::Table(table) => table.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Roles {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(RolesVisitor)
    }
}

struct RolesVisitor;

impl<'de> Visitor<'de> for RolesVisitor {
    type Value = Roles;

    fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
        write!(to, "\"{SHARED}\", \"{PER_ROLE}\" or a table of role = \"policy\"")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Roles, E> {
        match word {
            SHARED => Ok(Roles::Shared),
            PER_ROLE => Ok(Roles::PerRole),
            other => Err(E::invalid_value(serde::de::Unexpected::Str(other), &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Roles, A::Error> {
        let mut table = BTreeMap::new();
        while let Some((role, policy)) = map.next_entry()? {
            table.insert(role, policy);
        }
        Ok(Roles::Table(table))
    }
}
