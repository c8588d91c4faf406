//! Several families of tasks in one run, and settings that follow success: what
//! is asked, in which proportion, with which settings, and what is said of it.
//! The families are told apart by the `level` that `ledger-environment` shows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use troupe_core::config::{Config, CurriculumConfig, MixConfig, RampConfig, Roles};
use troupe_core::seed::Seed;
use troupe_training::checkpoint::load_latest;
use troupe_training::curriculum::{Standings, advance, rungs};
use troupe_training::rollout::{Setting, collect};
use troupe_training::run::RunFolder;
use troupe_training::training::{Record, Training};

use crate::script::{Asked, Script, config, team, training_tasks};
use crate::support::{fixture, plugin, plugins, run};

fn of_level(level: i64, family: &str, weight: f64) -> MixConfig {
    let settings = [("level".to_owned(), level.into())].into_iter().collect();
    let environment = Some("ledger-environment".to_owned());
    MixConfig {
        family: Some(family.to_owned()),
        environment,
        weight,
        settings,
        ..MixConfig::default()
    }
}

fn mixed() -> Config {
    let mut config = config();
    config.mix = vec![of_level(1, "easy", 3.0), of_level(2, "hard", 1.0)];
    config.rollout.tasks_per_step = 8;
    config
}

fn begin(folder: &Path, config: &Config, first: &Arc<Script>) -> Training {
    let mut config = config.clone();
    config.run.dir = folder.to_owned();
    config.validation.tasks = 6;
    config.validation.tasks_during_training = 3;
    let team = team(&config, &[("first", first)]);
    let config = team.resolve(&config);
    let folder = RunFolder::create(&config, "run").unwrap();
    Training::begin(config, team, folder).unwrap()
}

/// How many different tasks of each split were asked about, by level.
fn asked(first: &Arc<Script>) -> BTreeMap<(u32, String), usize> {
    let mut tasks: Vec<(u32, String, u32)> = first
        .take_asked()
        .iter()
        .map(|asked| (asked.level(), asked.task().0.to_owned(), asked.task().1))
        .collect();
    tasks.sort();
    tasks.dedup();
    let mut counts = BTreeMap::new();
    tasks.into_iter().for_each(|(level, split, _)| *counts.entry((level, split)).or_default() += 1);
    counts
}

fn counts(of: &[(u32, &str, usize)]) -> BTreeMap<(u32, String), usize> {
    of.iter().map(|(level, split, count)| ((*level, (*split).to_owned()), *count)).collect()
}

/// A first seat that solves the tasks of a level and fails in all others.
fn solver(level: u32) -> Arc<Script> {
    Script::new(move |asked: &Asked| {
        let right = asked.level() == level;
        if right { "first 1 0 solved" } else { "first 0 0 failed" }
    })
}

#[test]
fn families_are_trained_on_by_weight_and_held_out_tasks_are_as_many_of_each() {
    let (folder, first) = (tempfile::tempdir().unwrap(), solver(2));
    let mut config = mixed();
    config.validation.every = 0;
    config.train.steps = 2;
    let mut training = begin(folder.path(), &config, &first);
    let held_out = [(1, "test", 6), (1, "validation", 3), (2, "test", 6), (2, "validation", 3)];
    assert_eq!(asked(&first), counts(&held_out));
    let record = training.step().unwrap();
    assert_eq!(asked(&first), counts(&[(1, "train", 6), (2, "train", 2)]));
    let families: Vec<(&str, usize, f64)> = record
        .families
        .iter()
        .map(|(name, family)| (name.as_str(), family.episodes, family.solved))
        .collect();
    assert_eq!(families, [("easy", 6, 0.0), ("hard", 2, 1.0)]);
    training.step().unwrap();
    let (summary, _) = training.finish().unwrap();
    let success = |name: &str| {
        let change = &summary.families[name];
        (change.before.success, change.before.tasks, change.after.success, change.after.tasks)
    };
    assert_eq!(success("easy"), (0.0, 6, 0.0, 6));
    assert_eq!(success("hard"), (1.0, 6, 1.0, 6));
    assert_eq!((summary.after.success, summary.after.tasks), (0.5, 12), "of all together");
}

#[test]
fn a_family_of_no_weight_is_examined_on_test_tasks_and_learned_from_never() {
    let (folder, first) = (tempfile::tempdir().unwrap(), solver(2));
    let mut config = mixed();
    config.mix[1].weight = 0.0;
    config.validation.every = 1;
    config.train.steps = 1;
    let mut training = begin(folder.path(), &config, &first);
    let before = counts(&[(1, "test", 6), (1, "validation", 3), (2, "test", 6)]);
    assert_eq!(asked(&first), before);
    let record = training.step().unwrap();
    let mut during = before;
    during.insert((1, "train".to_owned()), 8);
    assert_eq!(asked(&first), during);
    assert_eq!(record.validation.unwrap().families.len(), 1);
    let (summary, _) = training.finish().unwrap();
    assert_eq!(summary.families["hard"].after.success, 1.0);
    assert_eq!((summary.after.success, summary.after.tasks), (0.0, 6), "of what is trained on");
}

/// From level 3 to level 5.
fn climbing() -> Config {
    let mut config = config();
    let way = RampConfig { from: 3.0, to: 5.0, step: 1.0 };
    let settings = [("level".to_owned(), way)].into();
    config.curriculum = CurriculumConfig { episodes: 4, settings, ..CurriculumConfig::default() };
    config.environment = [("level".to_owned(), 9.into())].into_iter().collect();
    config.rollout.tasks_per_step = 4;
    config.train.steps = 8;
    config.validation.every = 1;
    config
}

/// The level of the training tasks, and the rung that is said of them.
fn trained(first: &Arc<Script>, record: &Record) -> (u32, usize) {
    let asked = asked(first);
    let levels: Vec<u32> =
        asked.keys().filter(|(_, split)| split == "train").map(|(level, _)| *level).collect();
    let held_out = asked.keys().filter(|(_, split)| split != "train");
    assert!(held_out.into_iter().all(|(level, _)| *level == 9), "{asked:?}");
    assert_eq!(levels.len(), 1, "{levels:?}");
    (levels[0], record.families["ledger-environment"].rung.unwrap())
}

#[test]
fn settings_follow_success_within_their_bounds_and_held_out_tasks_keep_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let first = Script::new(|asked: &Asked| {
        // The last level is too hard.
        if asked.level() == 5 { "first 0 0 failed" } else { "first 1 0 solved" }
    });
    let mut training = begin(folder.path(), &climbing(), &first);
    first.take_asked();
    let mut seen = Vec::new();
    for _ in 0..5 {
        let record = training.step().unwrap();
        seen.push(trained(&first, &record));
    }
    assert_eq!(seen, [(3, 0), (4, 1), (5, 2), (4, 1), (5, 2)]);
}

#[test]
fn a_family_climbs_by_its_own_success() {
    let (folder, first) = (
        tempfile::tempdir().unwrap(),
        Script::new(
            |asked: &Asked| {
                if asked.level() < 4 { "first 1 0 solved" } else { "first 0 0 failed" }
            },
        ),
    );
    let mut config = mixed();
    for (family, from) in config.mix.iter_mut().zip([1.0, 6.0]) {
        let way = RampConfig { from, to: from + 2.0, step: 1.0 };
        let settings = [("level".to_owned(), way)].into();
        family.curriculum = CurriculumConfig { episodes: 2, settings, ..Default::default() };
        family.weight = 1.0;
    }
    let mut training = begin(folder.path(), &config, &first);
    for rungs in [[0, 0], [1, 0], [2, 0]] {
        let families = training.step().unwrap().families;
        assert_eq!(["easy", "hard"].map(|name| families[name].rung), rungs.map(Some));
    }
}

/// A run that trains on eight records, so many a step.
fn over_eight_records(
    folder: &Path,
    player: &Arc<Script>,
    (tasks, refill): (usize, usize),
) -> Training {
    let record =
        |number| format!("{{\"question\": \"{number} plus 0 is\", \"answer\": \"{number}\"}}");
    let file = folder.join("questions.jsonl");
    std::fs::write(&file, (0..8).map(record).collect::<Vec<_>>().join("\n")).unwrap();
    let mut config = Config::default();
    config.plugins.files = vec![fixture("records-environment"), plugin("solo")];
    config.roles = Roles::PerRole;
    (config.tasks.train, config.tasks.validation) = (vec![file.clone()], vec![file.clone()]);
    config.tasks.test = vec![file];
    (config.rollout.tasks_per_step, config.rollout.refill) = (tasks, refill);
    config.validation.every = 0;
    config.run.dir = folder.to_owned();
    let team = team(&config, &[("player", player)]);
    let config = team.resolve(&config);
    let run = RunFolder::create(&config, "run").unwrap();
    Training::begin(config, team, run).unwrap()
}

/// What was asked since the last time, each question once.
fn questions(player: &Script) -> BTreeSet<String> {
    player.take_asked().into_iter().map(|asked| asked.told[1].clone()).collect()
}

#[test]
fn steps_go_on_through_the_records_where_the_one_before_stopped() {
    let (folder, player) = (tempfile::tempdir().unwrap(), Script::new(|_: &Asked| "1"));
    let mut training = over_eight_records(folder.path(), &player, (4, 0));
    let mut passes = Vec::new();
    for _ in 0..2 {
        let mut seen = BTreeSet::new();
        for _ in 0..2 {
            player.take_asked();
            training.step().unwrap();
            seen.extend(questions(&player));
        }
        assert_eq!(seen.len(), 8, "every record once before one comes twice");
        passes.push(seen);
    }
    assert_eq!(passes[0], passes[1]);
}

#[test]
fn every_record_comes_once_before_one_comes_twice_where_a_pass_ends_within_a_step() {
    let (folder, player) = (tempfile::tempdir().unwrap(), Script::new(|_: &Asked| "1"));
    let mut training = over_eight_records(folder.path(), &player, (3, 0));
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for step in 1..=24 {
        player.take_asked();
        training.step().unwrap();
        let asked = questions(&player);
        assert_eq!(asked.len(), 3, "no record twice in step {step}");
        asked.into_iter().for_each(|question| *counts.entry(question).or_default() += 1);
        let least = counts.values().min().filter(|_| counts.len() == 8).copied().unwrap_or(0);
        let most = counts.values().max().copied().unwrap();
        assert!(most - least <= 1, "step {step}: {counts:?}");
    }
}

#[test]
fn what_follows_tasks_that_taught_nothing_are_records_that_the_step_has_not_had() {
    // Answers to a question are all the same.
    let (folder, player) = (tempfile::tempdir().unwrap(), Script::new(|_: &Asked| "1"));
    let mut training = over_eight_records(folder.path(), &player, (4, 1));
    for _ in 0..3 {
        player.take_asked();
        assert_eq!(training.step().unwrap().episodes, 8);
        assert_eq!(questions(&player).len(), 8, "four, and four others");
    }
}

#[test]
fn episodes_that_were_drawn_on_the_rung_before_say_nothing_of_this_one() {
    let solver = Script::new(|_: &Asked| "first 1 0 solved");
    let config = climbing();
    let team = team(&config, &[("first", &solver)]);
    let name = team.families[0].scenario.family.clone();
    let tasks = training_tasks(&team, 4, Seed::new(5));
    let mut rollout =
        collect(&Setting::of(&team.role_map, &config), &team.policies, &tasks).unwrap();
    let mut standings = Standings::new();
    for (drawn_on, now) in [(0, 1), (0, 1), (1, 2)] {
        rollout.rungs = [(name.clone(), drawn_on)].into();
        advance(&team.families, &mut standings, &rollout);
        assert_eq!(rungs(&standings)[&name], now);
    }
}

#[test]
fn a_resumed_run_stands_where_it_stood_in_its_curriculum() {
    let (folder, first) = (tempfile::tempdir().unwrap(), solver(3));
    let mut config = climbing();
    config.curriculum.lower_at = 0.0;
    let mut training = begin(folder.path(), &config, &first);
    training.step().unwrap();
    let run = training.stop().unwrap().path().to_owned();
    let folder = RunFolder::open(&run).unwrap();
    let found = load_latest(&folder.checkpoints()).unwrap().unwrap();
    let team = team(&config, &[("first", &first)]);
    let config = Config::load(Some(&folder.config_path()), &[]).unwrap();
    let mut training = Training::resume(config, team, folder, found).unwrap();
    first.take_asked();
    let record = training.step().unwrap();
    assert_eq!(trained(&first, &record), (4, 1));
}

/// Longer ways, which take a turn for every move, on three rungs.
fn longer_ways(max_turns: usize) -> Config {
    let mut config = Config::default();
    config.plugins.files = ["plan-path", "solo"].map(plugin).to_vec();
    config.environment = "moves_per_turn = 1\nmax_distance = 12".parse().unwrap();
    let way = RampConfig { from: 14.0, to: 18.0, step: 2.0 };
    config.curriculum.settings = [("max_distance".to_owned(), way)].into();
    config.rollout.max_turns = max_turns;
    config
}

#[test]
fn a_rung_has_the_turns_that_its_settings_take_and_a_limit_that_is_set_holds_on_all() {
    let turns = |config: &Config| {
        let families = troupe_training::family::set_families(config).unwrap();
        let of_rungs = families[0].rungs.iter().map(|rung| rung.max_turns);
        (families[0].scenario.max_turns, of_rungs.collect::<Vec<_>>())
    };
    assert_eq!(turns(&longer_ways(0)), (12, vec![14, 16, 18]));
    assert_eq!(turns(&longer_ways(5)), (5, vec![5; 3]));
    // A run that is resumed reads what is written here.
    for (set, written) in [(0, 0), (5, 5)] {
        let config = longer_ways(set);
        let resolved = team(&config, &[]).resolve(&config);
        assert_eq!(resolved.rollout.max_turns, written);
        assert_eq!(turns(&resolved), turns(&config));
    }
    let mut level = longer_ways(0);
    level.curriculum = CurriculumConfig::default();
    assert_eq!(team(&level, &[]).resolve(&level).rollout.max_turns, 12);
}

#[test]
fn a_curriculum_that_cannot_be_climbed_is_refused_before_it_is_begun() {
    let mut config = climbing();
    config.curriculum.settings.get_mut("level").unwrap().to = 12.0;
    let error = troupe_training::family::set_families(&config).err().unwrap().to_string();
    assert!(error.contains("cannot be climbed: with level = 10"), "{error}");
    assert!(error.contains("whole number from 0 to 9"), "{error}");
}

#[test]
fn a_mixture_is_run_measured_and_played_by_family() {
    let folder = tempfile::tempdir().unwrap();
    let dir = format!("run.dir={}", folder.path().display());
    let (code, _, said) = run(&[
        "train",
        "configs/mixture/plan-path-and-sudoku.toml",
        "--plugins",
        &plugins(&["plan-path", "sudoku"]),
        "--set",
        &dir,
        "--set",
        "imitation.enabled=false",
        "--set",
        "train.steps=1",
        "--set",
        "rollout.tasks_per_step=4",
        "--set",
        "validation.tasks=3",
        "--set",
        "validation.tasks_during_training=2",
    ]);
    assert_eq!(code, 0, "{said}");
    let run_folder = folder.path().join("plan-path+sudoku");
    let read = |name: &str| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(run_folder.join(name)).unwrap()).unwrap()
    };
    let summary = read("summary.json");
    for family in ["plan-path", "sudoku"] {
        for when in ["before", "after"] {
            assert_eq!(summary["families"][family][when]["tasks"], 3, "{summary}");
        }
    }
    assert_eq!(summary["after"]["tasks"], 6, "{summary}");
    let plugins: Vec<String> = read("manifest.json")["plugins"]
        .as_array()
        .unwrap()
        .iter()
        .map(|plugin| plugin["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(plugins, ["plan-path", "planner-executor", "sudoku", "filler-checker"]);
    let run_folder = run_folder.to_str().unwrap();
    let (code, shown, said) = run(&["eval", "--run", run_folder, "--tasks", "2", "--json"]);
    assert_eq!(code, 0, "{said}");
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["families"]["sudoku"]["tasks"], 2, "{shown}");
    let (code, shown, said) = run(&["play", "--run", run_folder, "--family", "sudoku"]);
    assert_eq!(code, 0, "{said}");
    assert!(shown.starts_with("sudoku with filler-checker"), "{shown}");
    let (code, _, said) = run(&["play", "--run", run_folder, "--family", "sudoko"]);
    assert_eq!(code, 2);
    assert!(said.contains("there is no family `sudoko`; did you mean `sudoku`?"), "{said}");
    let (code, _, said) = run(&["train", "--resume", run_folder]);
    assert_eq!(code, 0, "a finished run that is resumed ends well: {said}");
}
