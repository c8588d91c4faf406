//! Tasks that an environment builds from the records of a file.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use troupe_core::config::{Config, Roles};
use troupe_core::trajectory::Ending;
use troupe_guests::plugin::Split;
use troupe_guests::scenario::{Answer, Next};
use troupe_training::family::scenario_of;

use crate::contract::play;
use crate::script::Script;
use crate::support::{fixture, plugin};

/// A configuration of record tasks over a file with these lines.
fn over_records(folder: &Path, lines: &[String]) -> Config {
    let file = folder.join("questions.jsonl");
    fs::write(&file, lines.join("\n")).unwrap();
    let mut config = Config { roles: Roles::PerRole, ..Config::default() };
    config.plugins.files = vec![fixture("records-environment"), plugin("solo")];
    config.tasks.files = vec![file];
    config
}

fn question(number: usize) -> String {
    format!("{{\"question\": \"what is number{number}\", \"answer\": \"{number}\"}}")
}

#[test]
fn tasks_are_built_from_records_and_stay_in_their_splits() {
    let folder = tempfile::tempdir().unwrap();
    let config = over_records(folder.path(), &(0..60).map(question).collect::<Vec<_>>());
    let scenario = scenario_of(&config, None).unwrap();
    let mut seen = BTreeSet::new();
    for split in Split::ALL {
        let count = scenario.tasks(split).unwrap();
        assert!(count > 0, "{split}");
        for seed in 0..count as u32 {
            let Next::Asked(position) = scenario.begin(split, seed).unwrap().next else {
                panic!("the player is asked");
            };
            let told = position.due[0].messages.last().unwrap().text.clone();
            assert!(seen.insert(told), "a record is a task of one split, once");
            let right = scenario.demonstrate(&position, &position.due[0]).unwrap().unwrap();
            let end = scenario
                .answer(&position, &[Answer { text: &right, complete: true, forced: false }])
                .unwrap();
            assert!(matches!(end.next, Next::Ended(Ending::Solved)));
        }
    }
    assert_eq!(seen.len(), 60);
}

#[test]
fn a_record_that_is_refused_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let lines = ["{\"question\": 3}".to_owned(), question(1)];
    let mut config = over_records(folder.path(), &lines);
    (config.tasks.train, config.tasks.files) = (config.tasks.files.clone(), Vec::new());
    config.tasks.shuffle = false;
    let player = Script::new(|_| "1");
    let rollout = play(&config, &[("player", &player)]);
    let endings: Vec<&Ending> = rollout.episodes.iter().map(|episode| &episode.ending).collect();
    let Ending::Void { cause, message } = endings[0] else { panic!("{endings:?}") };
    assert_eq!(cause, "invalid_task");
    assert!(
        message.contains("(line 1 of `") && message.ends_with("questions.jsonl`)"),
        "{message}"
    );
    assert_eq!(endings[1], &Ending::Solved);
}

#[test]
fn records_that_are_missing_or_useless_are_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = over_records(folder.path(), &[question(1)]);
    let useless = config.tasks.clone();
    config.tasks = Default::default();
    let error = scenario_of(&config, None).err().unwrap().to_string();
    assert!(error.contains("`records-environment` builds its tasks from records"), "{error}");
    config.plugins.files[0] = plugin("plan-path");
    config.tasks = useless;
    let error = scenario_of(&config, None).err().unwrap().to_string();
    assert!(error.contains("`plan-path` reads no records"), "{error}");
}
