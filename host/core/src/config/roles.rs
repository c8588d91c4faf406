//! `roles`: which role is played by which policy, and how it is asked.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::table::{Kind, Setting, above, table};
use super::{Allowed, ConfigError};

/// Name of the policy that plays all roles.
const SHARED: &str = "shared";
/// The word for a policy of its own for every role.
const PER_ROLE: &str = "per-role";

table! {
    /// `[roles.<role>]`: who plays a role, and what is otherwise there than `[rollout]` says.
    pub struct RoleConfig {
        /// The policy that plays it; `shared` if none is named.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub policy: Option<String> = None;
        /// Completions per state.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub branches: Option<usize> = None, 1..=1024;
        /// Softmax temperature of sampling.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub temperature: Option<f64> = None, above(0.0, 100.0);
        /// Nucleus.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub top_p: Option<f64> = None, above(0.0, 1.0);
        /// Tokens per completion, the end-of-text token included.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub max_completion_tokens: Option<usize> = None, 1..=1_048_576;
        /// Whether it thinks before it answers, in the place of its policy's `chat.enable_thinking`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub enable_thinking: Option<bool> = None;
        /// Tokens of thinking in a completion, after which the thought is ended.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub thinking_budget: Option<usize> = None, 1..=1_048_576;
        /// The rule that its answers are drawn under.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub allowed: Option<Allowed> = None;
        /// Turns after which an episode is truncated. Its workflow is told one number for all roles,
        /// the least.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub max_turns: Option<usize> = None, 1..=10_000;
    }
}

/// Which role is played by which policy: `"shared"`, `"per-role"`, or a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Roles {
    /// One policy, called `shared`, plays all roles.
    #[default]
    Shared,
    /// Every role has its own policy, named after the role.
    PerRole,
    /// The table says it, role by role.
    Table(BTreeMap<String, RoleConfig>),
}

impl Roles {
    /// Roles that each have a policy of this name.
    pub fn named<const N: usize>(policies: [(&str, &str); N]) -> Self {
        let entry = |(role, policy): (&str, &str)| {
            let policy = Some(policy.to_owned());
            (role.to_owned(), RoleConfig { policy, ..RoleConfig::default() })
        };
        Roles::Table(policies.into_iter().map(entry).collect())
    }

    /// The policy that plays `role`, if one does. In a table that names no policy,
    /// everybody is played by `shared`.
    pub fn policy_of<'a>(&'a self, role: &'a str) -> Option<&'a str> {
        match self {
            Roles::Shared => Some(SHARED),
            Roles::PerRole => Some(role),
            Roles::Table(table) => match table.get(role) {
                Some(entry) => Some(entry.policy.as_deref().unwrap_or(SHARED)),
                None => table.values().all(|entry| entry.policy.is_none()).then_some(SHARED),
            },
        }
    }

    /// Whether a policy may be there without a table of its own.
    pub fn may_imply(&self, policy: &str) -> bool {
        match self {
            Roles::Shared => policy == SHARED,
            // Only the workflow knows what its roles are called.
            Roles::PerRole => true,
            Roles::Table(table) => {
                policy == SHARED && table.values().any(|entry| entry.policy.is_none())
            }
        }
    }

    /// What is set for single roles.
    pub fn entries(&self) -> impl Iterator<Item = (&String, &RoleConfig)> {
        let table = if let Roles::Table(table) = self { Some(table) } else { None };
        table.into_iter().flatten()
    }
}

impl Kind for Roles {
    fn accepts() -> String {
        format!("\"{SHARED}\", \"{PER_ROLE}\" or a table of role = \"policy\"")
    }

    fn settings() -> Vec<Setting> {
        BTreeMap::<String, RoleConfig>::settings()
    }

    fn is_also_a_value() -> bool {
        true
    }

    fn check_ranges(&self, key: &str) -> Result<(), ConfigError> {
        match self {
            Roles::Shared | Roles::PerRole => Ok(()),
            Roles::Table(table) => table.check_ranges(key),
        }
    }
}

impl Serialize for Roles {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Roles::Shared => to.serialize_str(SHARED),
            Roles::PerRole => to.serialize_str(PER_ROLE),
            Roles::Table(table) => {
                let entries = table.iter().map(|(role, entry)| (role, Entry(entry.clone())));
                to.collect_map(entries)
            }
        }
    }
}

/// What stands behind a role: the name of a policy alone, or a table.
struct Entry(RoleConfig);

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Entry(entry) = self;
        let alone = RoleConfig { policy: entry.policy.clone(), ..RoleConfig::default() };
        match &entry.policy {
            Some(policy) if *entry == alone => to.serialize_str(policy),
            _ => entry.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(EntryVisitor)
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = Entry;

    fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
        write!(to, "the name of a policy or a table")
    }

    fn visit_str<E: Error>(self, policy: &str) -> Result<Entry, E> {
        let policy = Some(policy.to_owned());
        Ok(Entry(RoleConfig { policy, ..RoleConfig::default() }))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Entry, A::Error> {
        RoleConfig::deserialize(MapAccessDeserializer::new(map)).map(Entry)
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
        while let Some((role, Entry(entry))) = map.next_entry()? {
            table.insert(role, entry);
        }
        Ok(Roles::Table(table))
    }
}
