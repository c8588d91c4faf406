//! Policies that judge others, answers that are learned from again, and steps from stored
//! tables: what reaches whom, and that a run which was killed goes on as if it had not been.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use troupe_core::archive::list_tables;
use troupe_core::table::{Row, read_table};

use crate::support::{host, plugins, run};

/// Whole episodes on a small board that pays its solution alone.
const BOARD: [&str; 20] = [
    "run.name=run",
    "environment.size=4",
    "environment.walls=2",
    "environment.min_distance=1",
    "environment.max_distance=3",
    "environment.rewards=sparse",
    "rollout.scheme=trajectory",
    "rollout.tasks_per_step=6",
    "rollout.branches=4",
    "rollout.max_turns=3",
    "advantage.estimator=turn-grpo",
    "advantage.refused=0",
    "train.minibatch_samples=0",
    "train.learning_rate=0.003",
    "validation.tasks=2",
    "validation.tasks_during_training=2",
    "validation.every=0",
    "checkpoint.every=1",
    "imitation.success=0.2",
    "imitation.tasks=64",
];

const PREFERENCE: &[&str] = &[
    "policies.critic.learns=preference",
    "policies.critic.learning_rate=0.003",
    "advantage.then=[\"judge:critic\"]",
];

const VALUE: &[&str] = &[
    "policies.critic.learns=value",
    "policies.critic.learning_rate=0.003",
    "policies.critic.value.updates=3",
    "policies.critic.value.minibatch_samples=16",
    "policies.critic.value.warmup_steps=1",
    "advantage.then=[\"judge:critic\", \"whiten\"]",
    "train.objective=reinforce",
];

const AGAIN: &[&str] =
    &["policies.critic.value.replay_steps=3", "policies.critic.value.asked_again=20"];

const GAE: &[&str] = &["policies.critic.value.reading=gae", "policies.critic.value.hint=true"];

const REPLAY: &[&str] =
    &["rollout.replay_steps=3", "train.importance=truncate", "train.anchor=rescored"];

const PANEL: &[&str] = &[
    "advantage.roles.judge.worth=now",
    "advantage.roles.judge.same=[\"task\", \"state\"]",
    "advantage.roles.judge.alpha=0",
    "advantage.worth=outcome",
    "roles=per-role",
];

fn arguments(dir: &Path, workflow: &str, settings: &[&[&str]]) -> Vec<String> {
    let mut arguments = vec!["train".to_owned(), "--plugins".to_owned()];
    arguments.push(plugins(&["plan-path", workflow]));
    let dir = format!("run.dir={:?}", dir.display().to_string());
    let settings = BOARD.iter().chain(settings.iter().copied().flatten());
    let sets = settings.map(ToString::to_string).chain([dir]);
    arguments.extend(sets.flat_map(|set| ["--set".to_owned(), set]));
    arguments
}

fn call(arguments: &[String]) -> (i32, String) {
    let (code, _, said) = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    (code, said)
}

fn train(dir: &Path, workflow: &str, settings: &[&[&str]]) -> PathBuf {
    let (code, said) = call(&arguments(dir, workflow, settings));
    assert_eq!(code, 0, "{said}");
    dir.join("run")
}

/// What is said of a run that cannot be.
fn refused(settings: &[&[&str]]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (code, said) = call(&arguments(folder.path(), "solo", settings));
    assert_ne!(code, 0, "{settings:?}");
    said
}

fn metrics(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let line = |line: &str| {
        let mut value: Value = serde_json::from_str(line).unwrap();
        value.as_object_mut().unwrap().remove("timing");
        value
    };
    text.lines().map(line).collect()
}

fn tables(run: &Path) -> Vec<Vec<Row>> {
    list_tables(run).unwrap().into_iter().map(|(_, path)| read_table(&path).unwrap()).collect()
}

/// Every file of the last checkpoint, but for what is said of the whole run.
fn checkpoint(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let last = fs::read_dir(run.join("checkpoints")).unwrap().map(|entry| entry.unwrap().path());
    let mut files = BTreeMap::new();
    collect(&last.max().unwrap(), "", &mut files);
    files.remove("/checkpoint.json");
    files
}

fn collect(folder: &Path, name: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        match entry.path().is_dir() {
            true => collect(&entry.path(), &name, files),
            false => drop(files.insert(name, fs::read(entry.path()).unwrap())),
        }
    }
}

#[test]
fn a_run_with_a_critic_goes_on_to_the_bit_where_it_was_killed() {
    for (name, workflow, settings) in [
        ("preference", "solo", &[PREFERENCE][..]),
        ("value", "solo", &[VALUE]),
        ("asked again", "planner-executor", &[VALUE, AGAIN]),
        ("gae", "solo", &[VALUE, GAE]),
        ("replay", "solo", &[REPLAY]),
        ("panel", "judged", &[PANEL]),
    ] {
        let [whole, parted] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let settings: Vec<&[&str]> =
            settings.iter().copied().chain([&["train.steps=4"][..]]).collect();
        let whole = train(whole.path(), workflow, &settings);
        let killed = kill_in_the_middle(parted.path(), workflow, &settings);
        let (code, said) =
            call(&["train", "--resume", killed.to_str().unwrap()].map(str::to_owned));
        assert_eq!(code, 0, "{name}: {said}");
        let (first, second) = (metrics(&whole), metrics(&killed));
        assert_eq!((first.len(), &first), (5, &second), "{name}");
        assert!(checkpoint(&whole) == checkpoint(&killed), "{name}");
        assert!(tables(&whole) == tables(&killed), "{name}");
    }
}

/// A run that was killed after its second step and before its last; one that was faster than that
/// is begun again.
fn kill_in_the_middle(dir: &Path, workflow: &str, settings: &[&[&str]]) -> PathBuf {
    let arguments = arguments(dir, workflow, settings);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let killed = dir.join("run");
    let steps = || {
        let text = fs::read_to_string(killed.join("metrics.jsonl")).unwrap_or_default();
        text.lines().count().saturating_sub(1)
    };
    for _ in 0..20 {
        let mut child =
            host(&arguments).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        while steps() < 2 && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if steps() >= 2 && !killed.join("summary.json").exists() {
            return killed;
        }
        fs::remove_dir_all(&killed).unwrap();
    }
    panic!("the run was never killed in the middle");
}

#[test]
fn only_the_critic_reads_the_hint_and_nobody_else_learns_otherwise_for_its_sake() {
    let [with, without] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let idle = &["policies.critic.learns=preference", "train.steps=2"][..];
    let with = train(with.path(), "solo", &[idle]);
    let without = train(without.path(), "solo", &[&["train.steps=2"]]);
    let (hinted, plain) = (tables(&with), tables(&without));
    let hints: Vec<&str> =
        hinted.iter().flatten().map(|row| row.sample.hint.as_deref().unwrap()).collect();
    assert!(hints.iter().all(|hint| hint.split(' ').all(|word| "UDLR".contains(word))));
    assert!(hints.iter().any(|hint| *hint != hints[0]));
    // But for the hint all is the same: what is told, said and learned.
    let without_hints = |tables: Vec<Vec<Row>>| -> Vec<Row> {
        let mut rows: Vec<Row> = tables.into_iter().flatten().collect();
        rows.iter_mut().for_each(|row| row.sample.hint = None);
        rows
    };
    assert!(plain.iter().flatten().all(|row| row.sample.hint.is_none()));
    assert_eq!(without_hints(hinted), without_hints(plain));
    let learned = &metrics(&with)[1]["critics"]["critic"]["contests"];
    assert!(learned["contests"].as_u64().unwrap() > 0, "{learned}");
}

#[test]
fn a_critics_verdicts_take_the_place_of_advantages() {
    let folder = tempfile::tempdir().unwrap();
    let run = train(folder.path(), "solo", &[PREFERENCE, &["train.steps=1"]]);
    let rows = tables(&run).remove(0);
    let solved = |row: &&Row| row.ending == "solved";
    let mean = |rows: Vec<&Row>| {
        rows.iter().map(|row| f64::from(row.advantage.unwrap())).sum::<f64>() / rows.len() as f64
    };
    let (good, bad) = (
        mean(rows.iter().filter(solved).collect()),
        mean(rows.iter().filter(|row| !solved(row)).collect()),
    );
    // It has seen these episodes already, and what led to a solution is what it finds likelier.
    assert!(good > bad, "{good} {bad}");
    assert!(rows.iter().all(|row| row.advantage != Some(0.0)));
    let untaught = tempfile::tempdir().unwrap();
    let frozen = ["policies.critic.learning_rate=0.0000000001", "train.steps=1"];
    let run = train(untaught.path(), "solo", &[PREFERENCE, &frozen]);
    let most =
        tables(&run).remove(0).iter().map(|row| row.advantage.unwrap().abs()).fold(0.0, f32::max);
    assert!(most < 1e-4, "a critic that has not learned finds nothing: {most}");
}

#[test]
fn a_critic_of_preferences_learns_at_the_rate_of_what_is_spent() {
    let folder = tempfile::tempdir().unwrap();
    let spends = ["train.budget.samples=150", "train.warmup_steps=0", "train.max_movement=0"];
    let run = train(folder.path(), "solo", &[PREFERENCE, &spends]);
    let rates: Vec<[f64; 2]> = metrics(&run)[1..]
        .iter()
        .map(|line| [&line["critics"]["critic"]["contests"], &line["updates"]["shared"]])
        .map(|both| both.map(|learned| learned["learning_rate"].as_f64().unwrap()))
        .collect();
    assert!(rates.len() > 1 && rates.iter().all(|[critic, player]| critic == player), "{rates:?}");
    assert!(rates.windows(2).all(|pair| pair[1][0] < pair[0][0]), "{rates:?}");
}

#[test]
fn tasks_that_too_few_or_too_many_episodes_solve_teach_nothing_whatever_a_critic_finds() {
    let folder = tempfile::tempdir().unwrap();
    let band = ["advantage.least_solved=0.25", "advantage.most_solved=0.75", "train.steps=1"];
    let run = train(folder.path(), "solo", &[PREFERENCE, &band]);
    let rows = tables(&run).remove(0);
    let mut episodes: BTreeMap<usize, BTreeMap<usize, bool>> = BTreeMap::new();
    for Row { sample, ending, .. } in &rows {
        let of_task = episodes.entry(sample.task).or_default();
        of_task.insert(sample.episode, ending == "solved");
    }
    let is_in_band = |task: usize| {
        let solved = episodes[&task].values().filter(|solved| **solved).count();
        (1..=3).contains(&solved) && episodes[&task].len() == 4
    };
    let taught = |row: &Row| (is_in_band(row.sample.task), row.advantage.is_some());
    assert!(rows.iter().all(|row| taught(row).0 == taught(row).1));
    assert!(rows.iter().any(|row| taught(row).0) && rows.iter().any(|row| !taught(row).0));
}

#[test]
fn what_a_step_before_the_critic_masks_is_masked_where_states_are_asked_again() {
    let folder = tempfile::tempdir().unwrap();
    let masked = ["advantage.then=[\"mask:role=planner\", \"judge:critic\"]", "train.steps=2"];
    let run = train(folder.path(), "planner-executor", &[VALUE, AGAIN, &masked]);
    let learned = metrics(&run)[2]["updates"]["shared"]["samples"].as_u64().unwrap();
    assert!((1..20).contains(&learned), "{learned} of 20 answers, some of them a planner's");
}

#[test]
fn a_critic_may_learn_from_a_team_that_stays_as_it_is() {
    let [first, second] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let warm = train(first.path(), "solo", &[&["train.steps=1"]]);
    let warm = warm.join("checkpoints/step-000001/policies/shared");
    let path = format!("policies.shared.path={:?}", warm.display().to_string());
    let settings = [&path[..], "policies.shared.train=false", "train.steps=1"];
    let learns = ["policies.critic.learns=preference"];
    let run = train(second.path(), "solo", &[&settings, &learns]);
    let line = &metrics(&run)[1];
    assert!(line["critics"]["critic"]["contests"]["contests"].as_u64().unwrap() > 0, "{line}");
    assert!(line["updates"].as_object().unwrap().is_empty(), "{line}");
}

#[test]
fn policies_wait_for_their_critic_and_then_learn_from_answers_that_were_not_played() {
    let folder = tempfile::tempdir().unwrap();
    let run = train(folder.path(), "solo", &[VALUE, AGAIN, &["train.steps=3"]]);
    let lines = metrics(&run);
    let moved: Vec<bool> = lines[1..]
        .iter()
        .map(|line| line["updates"]["shared"]["moved"].as_bool().unwrap())
        .collect();
    assert_eq!(moved, [false, true, true]);
    let learned = &lines[2]["updates"]["shared"];
    assert_eq!(learned["samples"], 20);
    let seen = |step: usize| {
        lines[step]["critics"]["critic"]["values"]["answers"].as_u64().unwrap() as usize
    };
    let counts: Vec<usize> = tables(&run).iter().map(Vec::len).collect();
    let spent = |step: usize| lines[step]["totals"]["samples"].as_u64().unwrap() as usize;
    assert_eq!(spent(1), counts[0] + 20, "what is asked again is paid for");
    assert_eq!(spent(3), counts.iter().sum::<usize>() + 3 * 20);
    assert_eq!(
        [seen(1), seen(2), seen(3)],
        [counts[0], counts[0] + counts[1], counts.iter().sum()]
    );
    assert!(tables(&run).iter().flatten().all(|row| row.weight == 0.0 && row.advantage.is_none()));
}

#[test]
fn answers_of_earlier_steps_are_learned_from_with_their_own_advantages() {
    let folder = tempfile::tempdir().unwrap();
    let off = ["advantage.filter=off", "train.steps=4"];
    let run = train(folder.path(), "solo", &[REPLAY, &off]);
    let counts: Vec<usize> = tables(&run).iter().map(Vec::len).collect();
    let lines = metrics(&run);
    for step in 1..=4 {
        let samples: usize = counts[step.max(3) - 3..step].iter().sum();
        assert_eq!(lines[step]["updates"]["shared"]["samples"], samples, "step {step}");
    }
}

#[test]
fn a_step_from_stored_answers_learns_from_those_and_draws_none() {
    let [drawn, stored] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let trees = ["train.steps=2", "train.learning_rate=0.0000000001", "advantage.filter=off"];
    let first = train(drawn.path(), "solo", &[&trees]);
    let policy = first.join("checkpoints/step-000002/policies/shared");
    let path = format!("policies.shared.path={:?}", policy.display().to_string());
    let settings = [&path[..], "train.steps=3", "advantage.filter=off"];
    let mut arguments = arguments(stored.path(), "solo", &[&settings]);
    arguments.extend(["--from-tables".to_owned(), first.display().to_string()]);
    let (code, said) = call(&arguments);
    assert_eq!(code, 0, "{said}");
    let second = stored.path().join("run");
    let (before, after) = (tables(&first), tables(&second));
    let samples = |rows: &[Row]| -> Vec<_> { rows.iter().map(|row| row.sample.clone()).collect() };
    // After the last table comes the first again.
    for (step, table) in [(0, 0), (1, 1), (2, 0)] {
        assert_eq!(samples(&after[step]), samples(&before[table]), "step {step}");
        let advantages =
            |rows: &[Row]| -> Vec<_> { rows.iter().map(|row| row.advantage).collect() };
        assert_eq!(advantages(&after[step]), advantages(&before[table]));
    }
    let lines = metrics(&second);
    assert_eq!(lines[3]["totals"]["samples"], 0);
    assert_eq!(lines[1]["updates"]["shared"]["samples"], before[0].len());
    assert_eq!(lines[1]["updates"]["shared"]["moved"], true);
    let manifest = fs::read_to_string(second.join("manifest.json")).unwrap();
    assert!(manifest.contains("0/step-000001.parquet"), "{manifest}");
    // Another name, other tokens, another workflow, no tables.
    let stored = format!("rollout.tables=[{:?}]", first.display().to_string());
    let said = refused(&[&[&stored, "roles.player=other", "policies.other.layers=2"]]);
    assert!(said.contains("the policy `shared` drew answers in it"), "{said}");
    let said = refused(&[&[&stored, "environment.size=6"]]);
    assert!(said.contains("other tokens"), "{said}");
    let said = refused(&[&[&stored, "train.budget.samples=20"]]);
    assert!(said.contains("`train.budget.samples` cannot be used"), "{said}");
    let empty = tempfile::tempdir().unwrap();
    let nothing = format!("rollout.tables=[{:?}]", empty.path().display().to_string());
    assert!(refused(&[&[&nothing]]).contains("no tables of answers"));
}

#[test]
fn critics_that_cannot_do_their_part_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut deaf = arguments(folder.path(), "solo", &[PREFERENCE]);
    deaf[2] = plugins(&["connect-four", "solo"]);
    deaf.retain(|argument| !argument.starts_with("environment."));
    let sets: Vec<usize> = (1..deaf.len())
        .filter(|&at| deaf[at] == "--set" && deaf.get(at + 1).is_none_or(|next| next == "--set"))
        .collect();
    sets.into_iter().rev().for_each(|at| drop(deaf.remove(at)));
    let (code, said) = call(&deaf);
    assert!(code != 0 && said.contains("reveals nothing"), "{said}");
    let said = refused(&[&["advantage.roles.judge.alpha=0"]]);
    assert!(said.contains("no role `judge`"), "{said}");
}
