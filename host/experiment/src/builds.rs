//! Which build of Troupe made the runs of each part of a table: runs of one part are compared, so
//! they have to be of one build and of the same plugins.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::folder::Folder;
use super::plan::Plan;
use super::schedule::State;
use troupe_core::provenance::Build;
use troupe_core::storage::{StorageError, read_json};

/// What is read of a run's `manifest.json`.
#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    builds: Vec<Build>,
    #[serde(default)]
    plugins: Vec<Plugin>,
}

#[derive(Deserialize)]
struct Plugin {
    name: String,
    digest: String,
}

/// A run, as people find it.
struct Made {
    folder: PathBuf,
    words: String,
    manifest: Manifest,
}

/// The builds that made a part's runs, by part: one, and those of cells that are kept; none for a
/// part in which nothing has been trained.
///
/// # Errors
/// If a run does not say it, several worked on one, or the runs of a part that are there are of
/// different ones.
pub(super) fn builds(
    plan: &Plan,
    states: &[State],
    folder: &Folder,
) -> Result<BTreeMap<String, Vec<Build>>, StorageError> {
    let mut runs: BTreeMap<&str, BTreeMap<usize, Made>> = BTreeMap::new();
    for row in &plan.rows {
        for place in row.cells.iter().flat_map(|cell| cell.trainings(&plan.jobs)) {
            if states[place] == State::Done {
                let part = runs.entry(&row.row.part).or_default();
                part.insert(place, made(plan, place, folder)?);
            }
        }
    }
    let of_part = |(part, runs): (&str, BTreeMap<usize, Made>)| -> Result<_, StorageError> {
        let runs: Vec<Made> = runs.into_values().collect();
        check_plugins(&runs)?;
        Ok((part.to_owned(), check_builds(&runs)?))
    };
    let found: Vec<(String, Option<Build>)> =
        runs.into_iter().map(of_part).collect::<Result<_, _>>()?;
    let mut builds: BTreeMap<String, Vec<Build>> = BTreeMap::new();
    let kept = plan.rows.iter().flat_map(|row| row.kept.iter().map(move |cell| (row, cell)));
    for (row, cell) in kept {
        builds.entry(row.row.part.clone()).or_default().extend(cell.builds.iter().cloned());
    }
    for (part, build) in found {
        builds.entry(part).or_default().extend(build);
    }
    for builds in builds.values_mut() {
        builds.sort();
        builds.dedup();
    }
    Ok(builds)
}

/// The builds that worked on a run.
pub(super) fn builds_of(run: &Path) -> Result<Vec<Build>, StorageError> {
    Ok(manifest_of(run)?.builds)
}

fn manifest_of(run: &Path) -> Result<Manifest, StorageError> {
    read_json(&run.join("manifest.json"))
}

fn made(plan: &Plan, place: usize, folder: &Folder) -> Result<Made, StorageError> {
    let job = &plan.jobs[place];
    let run = folder.run(&job.address);
    let manifest = manifest_of(&run)?;
    Ok(Made { folder: run, words: format!("{}, seed {}", job.label, job.seed), manifest })
}

fn unfit(run: &Made, reason: String) -> StorageError {
    StorageError::Unfit { path: run.folder.clone(), reason }
}

fn check_builds(runs: &[Made]) -> Result<Option<Build>, StorageError> {
    let mut first: Option<(&Made, &Build)> = None;
    for run in runs {
        let words = &run.words;
        let build = match &run.manifest.builds[..] {
            [build] if build.binary.is_some() || build.commit.is_some() => build,
            [] | [_] => {
                let reason = format!(
                    "the run ({words}) does not say which build of Troupe made it, as those of \
                     earlier builds do not; remove its folder and call again: it is made anew"
                );
                return Err(unfit(run, reason));
            }
            [one, .., other] => {
                let reason = format!(
                    "the run ({words}) was begun by {one} and continued by {other}; remove its \
                     folder and call again: it is made anew by one"
                );
                return Err(unfit(run, reason));
            }
        };
        match first {
            Some((other, known)) if known != build => {
                let reason = format!(
                    "the run ({words}) was made by {build}, and {}, beside which it would stand, \
                     by {known}; remove the folders of the runs of one of the two builds and call \
                     again with the other",
                    other.words
                );
                return Err(unfit(run, reason));
            }
            Some(_) => {}
            None => first = Some((run, build)),
        }
    }
    Ok(first.map(|(_, build)| build.clone()))
}

fn check_plugins(runs: &[Made]) -> Result<(), StorageError> {
    let mut known: BTreeMap<&str, (&Made, &str)> = BTreeMap::new();
    for run in runs {
        for plugin in &run.manifest.plugins {
            let (other, digest) = known.entry(&plugin.name).or_insert((run, &plugin.digest));
            if *digest != plugin.digest {
                let reason = format!(
                    "the run ({}) was made with another file of the plugin `{}` than {}, beside \
                     which it would stand; remove the folders of those of one of the two files \
                     and call again with the other",
                    run.words, plugin.name, other.words
                );
                return Err(unfit(run, reason));
            }
        }
    }
    Ok(())
}
