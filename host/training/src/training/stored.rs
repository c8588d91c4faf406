//! Steps from stored answers (`rollout.tables`): what other runs drew, in the place of answers of
//! one's own. One round of learning from a fixed table (MALT, arXiv 2412.01928), or a critic from
//! trajectories that are there already (SWEET-RL, arXiv 2503.15478).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::rollout::Rollout;
use crate::team::Team;
use troupe_core::archive::list_tables;
use troupe_core::config::{Config, RolloutConfig};
use troupe_core::storage::{StorageError, digest_file};
use troupe_core::table::{Row, read_table};
use troupe_core::trajectory::{Ending, Episode, Sample};

/// The tables of some runs, run by run, in the order of their steps.
///
/// # Errors
/// If a run has none.
pub fn tables_of(runs: &[PathBuf]) -> Result<Vec<PathBuf>, StorageError> {
    let mut all = Vec::new();
    for run in runs {
        let tables = list_tables(run)?;
        if tables.is_empty() {
            let reason = "it has no tables of answers; a run keeps them unless rollout.store says \
                          otherwise";
            return Err(StorageError::Unfit { path: run.clone(), reason: reason.to_owned() });
        }
        all.extend(tables.into_iter().map(|(_, path)| path));
    }
    Ok(all)
}

/// SHA-256 of the tables, by the number of their run, from 0, and their name.
///
/// # Errors
/// If a run has none, or one cannot be read.
pub fn digests_of_tables(runs: &[PathBuf]) -> Result<BTreeMap<String, String>, StorageError> {
    let mut digests = BTreeMap::new();
    for (number, run) in runs.iter().enumerate() {
        for path in tables_of(std::slice::from_ref(run))? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            digests.insert(format!("{number}/{name}"), digest_file(&path)?);
        }
    }
    Ok(digests)
}

/// The answers of a step, counted from 1: those of one table after the other, and after the last
/// those of the first again.
///
/// # Errors
/// If the table cannot be read, or its answers are not by policies and roles of the team, or of
/// other tokens, or were drawn in another way.
pub(super) fn stored(config: &Config, step: usize, team: &Team) -> Result<Rollout, StorageError> {
    let tables = tables_of(&config.rollout.tables)?;
    let path = &tables[(step - 1) % tables.len()];
    let rows = read_table(path)?;
    check(path, &rows, team)?;
    check_sampling(path, rows.iter().map(|row| row.sample.role.as_str()).collect(), config)?;
    let mut endings: BTreeMap<(usize, usize), Episode> = BTreeMap::new();
    for row in &rows {
        let (task, episode) = (row.sample.task, row.sample.episode);
        endings.entry((task, episode)).or_insert_with(|| Episode {
            task,
            family: row.sample.family.clone(),
            split: row.split.clone(),
            seed: row.seed,
            episode,
            events: Vec::new(),
            ending: ending_of(&row.ending),
        });
    }
    Ok(Rollout {
        samples: rows.into_iter().map(|row| row.sample).collect(),
        episodes: endings.into_values().collect(),
        ..Rollout::default()
    })
}

fn ending_of(word: &str) -> Ending {
    let known = [Ending::Solved, Ending::Failed, Ending::Finished];
    known.into_iter().find(|ending| ending.word() == word).unwrap_or(Ending::Truncated)
}

/// Refuse answers that the team cannot learn from as if they were its own.
fn check(path: &Path, rows: &[Row], team: &Team) -> Result<(), StorageError> {
    let unfit = |reason: String| StorageError::Unfit { path: path.to_owned(), reason };
    let players = team.role_map.policies();
    let mut read: BTreeMap<&str, &Sample> = BTreeMap::new();
    for sample in rows.iter().map(|row| &row.sample) {
        let Some(roles) = players.get(&sample.policy) else {
            let names: Vec<&str> = players.keys().map(String::as_str).collect();
            return Err(unfit(format!(
                "the policy `{}` drew answers in it, and here play {}; give one of them that name",
                sample.policy,
                names.join(", ")
            )));
        };
        if !roles.contains(&sample.role) {
            return Err(unfit(format!(
                "it has answers of the role `{}` by the policy `{}`, which does not play it here",
                sample.role, sample.policy
            )));
        }
        read.entry(&sample.policy).or_insert(sample);
    }
    for (name, sample) in read {
        let Some(policy) = team.policies.get(name) else { continue };
        let text = policy.wording().decode_text(&sample.completion.tokens).unwrap_or_default();
        // A stop text is cut off.
        if !text.trim_end().starts_with(sample.completion.text.trim_end()) {
            return Err(unfit(format!(
                "its answers were drawn with other tokens than those of the policy `{name}`; begin \
                 with the policy that drew them, or one trained from it"
            )));
        }
    }
    Ok(())
}

/// Refuse answers of some `roles` that were drawn in another way than the run's, if their own run
/// still says in which: the log-probabilities that they have are of another distribution.
fn check_sampling(path: &Path, roles: BTreeSet<&str>, config: &Config) -> Result<(), StorageError> {
    let file = path.parent().and_then(Path::parent).map(|run| run.join("config.toml"));
    let Some(file) = file.filter(|file| file.is_file()) else { return Ok(()) };
    let unfit = |reason: String| StorageError::Unfit { path: path.to_owned(), reason };
    let then = Config::load(Some(file.as_path()), &[])
        .map_err(|error| unfit(format!("how its answers were drawn cannot be read: {error}")))?;
    for role in roles {
        for ((key, drawn), (_, here)) in ways(&then, role).into_iter().zip(ways(config, role)) {
            if drawn != here {
                return Err(unfit(format!(
                    "its answers of the role `{role}` were drawn with {key} = {drawn}, and here it \
                     is {here}, under which they have other probabilities; set rollout.{key}, or \
                     what the role has of its own, to {drawn}"
                )));
            }
        }
    }
    Ok(())
}

/// What a role's probabilities depend on beside its policy.
fn ways(config: &Config, role: &str) -> [(&'static str, f64); 5] {
    let RolloutConfig { temperature, top_p, top_k, min_p, repetition_penalty, .. } = config.rollout;
    let own = config.roles.entries().find(|(name, _)| *name == role).map(|(_, own)| own);
    [
        ("temperature", own.and_then(|own| own.temperature).unwrap_or(temperature)),
        ("top_p", own.and_then(|own| own.top_p).unwrap_or(top_p)),
        ("top_k", top_k as f64),
        ("min_p", min_p),
        ("repetition_penalty", repetition_penalty),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_were_drawn_in_another_way_are_refused_by_name() {
        let run = tempfile::tempdir().unwrap();
        let path = run.path().join("table/step-000001.parquet");
        let check = |sets: &[&str]| {
            let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
            let config = Config::load(None, &sets).unwrap();
            check_sampling(&path, BTreeSet::from(["player"]), &config).map_err(|it| it.to_string())
        };
        assert_eq!(check(&["rollout.temperature=0.9"]), Ok(()), "nothing says how they were drawn");
        let said = "[rollout]\ntemperature = 0.5\n[roles.player]\ntop_p = 0.8\n";
        std::fs::write(run.path().join("config.toml"), said).unwrap();
        let same = ["rollout.temperature=0.5", "rollout.top_p=0.8"];
        assert_eq!(check(&same), Ok(()));
        let refused = check(&["rollout.top_p=0.8"]).unwrap_err();
        assert!(refused.contains("temperature = 0.5, and here it is 1,"), "{refused}");
        let refused = check(&["rollout.temperature=0.5"]).unwrap_err();
        assert!(refused.contains("set rollout.top_p, or"), "{refused}");
        let refused = check(&[&same[..], &["rollout.repetition_penalty=1.1"]].concat());
        assert!(refused.unwrap_err().contains("set rollout.repetition_penalty"));
    }
}
