//! How good each of several policies is in which situation: what `host eval --situations` finds
//! out, and what a policy that is all of them is chosen by.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::family::Family;
use crate::metrics::{Answers, Totals};
use crate::rollout::{Best, ChosenBy};
use troupe_guests::plugin::Settings;
use troupe_guests::scenario::Scenario;

/// What was found of several policies on some tasks, and what it was found with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SituationTable {
    /// The part of the tasks.
    pub split: String,
    /// The first so many of it, of each family.
    pub tasks: usize,
    /// How answers were drawn.
    pub answers: Answers,
    /// Episodes of each task.
    pub samples: usize,
    /// Episodes of each member from each state; none if members played whole episodes alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forks: Option<usize>,
    /// Root of what was drawn.
    pub seed: u64,
    /// SHA-256 of the members' weights.
    pub members: BTreeMap<String, String>,
    /// What was played, by family.
    pub played: BTreeMap<String, Played>,
    /// What it took.
    pub spent: Totals,
    /// What was found.
    pub cells: Vec<Cell>,
}

/// An environment and a workflow as they were set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Played {
    /// Its name and SHA-256; that of an environment on a server is not known.
    pub environment: (String, String),
    /// Its settings.
    pub environment_settings: BTreeMap<String, Value>,
    /// Its name and SHA-256.
    pub workflow: (String, String),
    /// Its settings, which say what a situation is.
    pub workflow_settings: BTreeMap<String, Value>,
}

/// One member in one situation of a role.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// The role that it played.
    pub role: String,
    /// The workflow's word; none: all that the role was asked.
    pub situation: Option<String>,
    /// The policy.
    pub member: String,
    /// Episodes in which the role met the situation.
    pub episodes: usize,
    /// Those of them that were solved.
    pub solved: usize,
    /// What the role earned from the first time on that it met the situation, on average.
    pub mean: f64,
}

/// A role and a situation, or all that it is asked.
type Occasion<'t> = (&'t str, Option<&'t str>);

impl Played {
    /// As the families are set now.
    pub fn of(families: &[Family]) -> BTreeMap<String, Self> {
        let played =
            |family: &Family| (family.scenario.family.clone(), Played::from(&*family.scenario));
        families.iter().map(played).collect()
    }

    /// The first thing that is not as it was.
    fn difference(&self, now: &Played) -> Option<String> {
        let plugin = |what: &str, then: &(String, String), now: &(String, String)| {
            (then != now).then(|| match then.0 == now.0 {
                true => format!("with another build of the {what} `{}`", then.0),
                false => format!("with the {what} `{}` instead of `{}`", then.0, now.0),
            })
        };
        plugin("environment", &self.environment, &now.environment)
            .or_else(|| plugin("workflow", &self.workflow, &now.workflow))
            .or_else(|| {
                changed("environment", &self.environment_settings, &now.environment_settings)
            })
            .or_else(|| changed("workflow", &self.workflow_settings, &now.workflow_settings))
    }
}

impl From<&Scenario> for Played {
    fn from(scenario: &Scenario) -> Self {
        let settings = |settings: &Settings| {
            let table = settings.to_table().into_iter();
            table.map(|(name, set)| (name, serde_json::to_value(set).unwrap_or_default())).collect()
        };
        let (environment, workflow) = (&scenario.environment, &scenario.workflow);
        let digest = environment.plugin().map_or("", |plugin| plugin.digest());
        Played {
            environment: (environment.name().to_owned(), digest.to_owned()),
            environment_settings: settings(&scenario.environment_settings),
            workflow: (workflow.name().to_owned(), workflow.plugin().digest().to_owned()),
            workflow_settings: settings(&scenario.workflow_settings),
        }
    }
}

fn changed(
    of: &str,
    then: &BTreeMap<String, Value>,
    now: &BTreeMap<String, Value>,
) -> Option<String> {
    let names: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
    let name = names.into_iter().find(|name| then.get(*name) != now.get(*name))?;
    let shown = |settings: &BTreeMap<String, Value>| {
        settings.get(name).map_or("not set".to_owned(), Value::to_string)
    };
    Some(format!("where {of}.{name} was {} and is {}", shown(then), shown(now)))
}

impl SituationTable {
    /// Why it says nothing of these members, by name and digest, and of what is played now;
    /// nothing if it does.
    pub fn unfit(
        &self,
        members: &BTreeMap<String, String>,
        played: &BTreeMap<String, Played>,
    ) -> Option<String> {
        let names = |members: &BTreeMap<String, String>| {
            members.keys().cloned().collect::<Vec<_>>().join(", ")
        };
        if self.members.keys().ne(members.keys()) {
            return Some(format!(
                "it was made of {}, and the members are {}",
                names(&self.members),
                names(members)
            ));
        }
        if let Some((name, _)) = members.iter().find(|(name, own)| self.members[*name] != **own) {
            return Some(format!("it was made with other weights of `{name}`"));
        }
        for (family, now) in played {
            let Some(then) = self.played.get(family) else {
                return Some(format!("`{family}` was not played for it"));
            };
            if let Some(difference) = then.difference(now) {
                return Some(format!("`{family}` was played for it {difference}"));
            }
        }
        let strange = self.cells.iter().find(|cell| {
            !self.members.contains_key(&cell.member) || !cell.mean.is_finite() || cell.episodes == 0
        });
        strange.map(|cell| format!("what it says of `{}` cannot be", cell.member))
    }

    /// Who answers which role in which situation: the member with the largest mean there, and of
    /// equals the first of `members`.
    pub fn chooser(&self, members: &[String]) -> ChosenBy {
        let mut means: BTreeMap<Occasion, Vec<(usize, f64)>> = BTreeMap::new();
        for cell in &self.cells {
            let Some(place) = members.iter().position(|name| *name == cell.member) else {
                continue;
            };
            let key = (cell.role.as_str(), cell.situation.as_deref());
            means.entry(key).or_default().push((place, cell.mean));
        }
        let mut roles: BTreeMap<String, Best> = BTreeMap::new();
        for ((role, situation), means) in means {
            let best = roles
                .entry(role.to_owned())
                .or_insert_with(|| Best { overall: 0, situations: BTreeMap::new() });
            match situation {
                None => best.overall = largest(means),
                Some(name) => drop(best.situations.insert(name.to_owned(), largest(means))),
            }
        }
        ChosenBy::Best(roles)
    }
}

/// The place with the largest mean, the first of equals.
fn largest(mut means: Vec<(usize, f64)>) -> usize {
    means.sort_by(|(place, mean), (other, of_other)| {
        of_other.total_cmp(mean).then(place.cmp(other))
    });
    means.first().map_or(0, |(place, _)| *place)
}
