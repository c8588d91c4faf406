//! Instances that are used again: only where a plugin says that it keeps
//! nothing between episodes, and only while they are sound.

use std::fs;
use std::path::PathBuf;

use troupe_core::config::Limits;
use troupe_guests::plugin::{EnvironmentPlugin, Grants, LiveEpisode, Move, PluginLibrary, Seat};

use crate::support::fixture;
use crate::support::scenarios::task;

fn environment(file: PathBuf) -> EnvironmentPlugin {
    let library = PluginLibrary::load(&[file], &[], &Limits::default(), Grants::default()).unwrap();
    library.environment(None).unwrap().clone()
}

/// How many episodes the instance had with this one.
fn ordinal(episode: &mut LiveEpisode) -> String {
    episode.observe(&Seat::new("player")).unwrap()[0].text().to_owned()
}

/// The ordinal of another episode after one in which this was done.
fn after(environment: &EnvironmentPlugin, deed: &str) -> String {
    let mut episode = environment.start(&task(environment, "", 0)).unwrap();
    let done = episode.act(vec![Move::new("player", "do", deed)]);
    assert_eq!(done.is_err(), ["fail", "refuse"].contains(&deed));
    drop(episode);
    ordinal(&mut environment.start(&task(environment, "", 1)).unwrap())
}

#[test]
fn an_instance_of_a_plugin_that_says_it_is_reusable_serves_episode_after_episode() {
    let environment = environment(fixture("counting-environment"));
    let state = environment.start(&task(&environment, "", 0)).unwrap().save().unwrap();
    assert_eq!(ordinal(&mut environment.resume(&state).unwrap()), "2");
    assert_eq!(ordinal(&mut environment.start(&task(&environment, "", 1)).unwrap()), "3");
    // Two at a time are in two instances.
    let mut first = environment.start(&task(&environment, "", 2)).unwrap();
    let mut second = environment.start(&task(&environment, "", 3)).unwrap();
    assert_eq!((ordinal(&mut first), ordinal(&mut second)), ("4".to_owned(), "1".to_owned()));
}

#[test]
fn an_instance_that_failed_or_reported_a_problem_or_leaks_is_not_used_again() {
    assert_eq!(after(&environment(fixture("counting-environment")), "end"), "2");
    assert_eq!(after(&environment(fixture("counting-environment")), "fail"), "1");
    assert_eq!(after(&environment(fixture("counting-environment")), "refuse"), "1");
    assert_eq!(after(&environment(fixture("counting-environment")), "leak"), "1");
}

#[test]
fn without_its_word_every_episode_has_a_fresh_instance() {
    let mut bytes = fs::read(fixture("counting-environment")).unwrap();
    let key = b"reusable";
    let places: Vec<usize> =
        (0..bytes.len() - key.len()).filter(|&at| bytes[at..].starts_with(key)).collect();
    assert!(!places.is_empty());
    places.iter().for_each(|&at| bytes[at..at + key.len()].copy_from_slice(b"whatever"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("counting.wasm");
    fs::write(&file, bytes).unwrap();
    assert_eq!(after(&environment(file), "end"), "1");
}
