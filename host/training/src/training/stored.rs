//! Steps from stored answers (`rollout.tables`): what other runs drew, in the place of answers of
//! one's own. One round of learning from a fixed table (MALT, arXiv 2412.01928), or a critic from
//! trajectories that are there already (SWEET-RL, arXiv 2503.15478).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::rollout::Rollout;
use crate::team::Team;
use troupe_core::archive::list_tables;
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
/// other tokens.
pub(super) fn stored(runs: &[PathBuf], step: usize, team: &Team) -> Result<Rollout, StorageError> {
    let tables = tables_of(runs)?;
    let path = &tables[(step - 1) % tables.len()];
    let rows = read_table(path)?;
    check(path, &rows, team)?;
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
