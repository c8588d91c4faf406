//! `host train --plugins NAME`, which the README begins with, for every environment,
//! alone and with every workflow that suits it: it trains, or says before there is a
//! run folder what it needs, with the code of the layer and a command to copy.

use std::path::Path;
use std::sync::Mutex;

use troupe_core::config::Limits;
use troupe_guests::plugin::{Grants, PluginLibrary};

use crate::support::components::folder;
use crate::support::{plugin, run, shipped};

/// Everything as small as can be; what is tried is whether it goes through.
const SMALL: [&str; 13] = [
    "train.steps=1",
    "rollout.tasks_per_step=1",
    "rollout.branches=2",
    "rollout.max_turns=2",
    "rollout.store=none",
    "imitation.success=0",
    "imitation.every=1",
    "imitation.tasks=1",
    "imitation.answers_per_role=1",
    "validation.tasks=1",
    "validation.tasks_during_training=1",
    "checkpoint.keep=1",
    "run.recorded_episodes=0",
];

/// What became of a command.
#[derive(Clone, Debug, PartialEq)]
enum End {
    Trained,
    /// With this code, and the flag that is to be added.
    Refused(i32, String),
}

/// Trains for a step: by itself, and with the flags given besides.
fn train(plugins: &str, besides: &[&str]) -> End {
    let runs = tempfile::tempdir().unwrap();
    let dir = format!("run.dir={}", runs.path().display());
    let mut words = vec!["train", "--plugins", plugins, "--set", &dir];
    words.extend(besides);
    words.extend(SMALL.iter().flat_map(|pair| ["--set", pair]));
    let (code, _, told) = run(&words);
    let folders = runs.path().read_dir().unwrap().count();
    if code == 0 {
        assert_eq!(folders, 1, "{plugins}: {told}");
        return End::Trained;
    }
    assert!([2, 3, 4].contains(&code), "{plugins} ends with {code}: {told}");
    assert_eq!(folders, 0, "{plugins} leaves a folder behind: {told}");
    let command = told.lines().find_map(|line| line.split_once("try: "));
    let (_, command) = command.unwrap_or_else(|| panic!("{plugins} says no command: {told}"));
    // What was said, and then the flag.
    let (said, flag) = command.split_once(&format!("{} ", SMALL[SMALL.len() - 1])).unwrap();
    assert!(said.starts_with(&format!("host train --plugins {plugins} ")), "{command}");
    End::Refused(code, flag.to_owned())
}

/// Shipped components that bring something of this kind, by name.
fn named(is_wanted: impl Fn(&PluginLibrary) -> bool) -> Vec<String> {
    let mut names = shipped(&["environments", "workflows"]);
    // It is large.
    names.retain(|name| name != "reasoning-gym" && folder().join(format!("{name}.wasm")).is_file());
    names.retain(|name| is_wanted(&look(&[name])));
    names
}

/// Plugins that are only looked at.
fn look(names: &[&str]) -> PluginLibrary {
    let files: Vec<_> = names.iter().map(|name| plugin(name)).collect();
    let grants = Grants { for_a_look: true, ..Grants::default() };
    PluginLibrary::load(&files, &[], &Limits::default(), grants).unwrap()
}

fn suits(environment: &str, workflow: &str) -> bool {
    let library = look(&[environment, workflow]);
    let environment = library.environment(None).unwrap();
    library.workflow(Some(workflow), environment).is_ok()
}

/// All of them, two at a time.
fn all(cases: Vec<String>, besides: &[&str]) -> Vec<(String, End)> {
    let (due, done) = (Mutex::new(cases), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(case) = { due.lock().unwrap().pop() } {
                    let end = train(&case, besides);
                    done.lock().unwrap().push((case, end));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by(|(one, _), (other, _)| one.cmp(other));
    done
}

fn environments() -> Vec<String> {
    named(|library| !library.environments().is_empty())
}

#[test]
fn every_environment_trains_by_its_name_or_says_what_it_needs() {
    let environments = environments();
    assert!(environments.len() >= 11, "{environments:?}");
    for (name, end) in all(environments, &[]) {
        let expected = match name.as_str() {
            "code" => End::Refused(3, "--grant code=sandbox".to_owned()),
            "search" => {
                let corpus = "--set 'retrieval.corpus=[\"FILE\"]'";
                End::Refused(3, format!("--grant search=search {corpus}"))
            }
            _ => End::Trained,
        };
        assert_eq!(end, expected, "{name}");
    }
}

#[test]
fn every_workflow_trains_in_environments_that_it_suits_or_says_what_it_needs() {
    let workflows = named(|library| !library.workflows().is_empty());
    assert!(workflows.len() >= 15, "{workflows:?}");
    // Those that need a grant themselves say so whoever plays.
    let environments =
        environments().into_iter().filter(|name| !["code", "search"].contains(&&**name));
    let pairs = environments.flat_map(|environment| {
        let suitable = workflows.iter().filter(|workflow| suits(&environment, workflow));
        suitable.map(|workflow| format!("{environment},{workflow}")).collect::<Vec<_>>()
    });
    let pairs: Vec<String> = pairs.collect();
    assert!(pairs.len() > 90, "{}", pairs.len());
    // Every second one: each workflow is still tried with half of what it suits.
    let pairs: Vec<String> = pairs.into_iter().step_by(2).collect();
    let is_tried = |workflow: &String| {
        pairs.iter().filter(|pair| pair.ends_with(&format!(",{workflow}"))).count() >= 2
    };
    assert!(workflows.iter().filter(|workflow| is_tried(workflow)).count() >= 12, "{pairs:?}");
    for (pair, end) in all(pairs, &[]) {
        let (_, workflow) = pair.split_once(',').unwrap();
        let expected = match workflow {
            // Nobody can show a tiny policy how a team is designed.
            "designer" => End::Refused(2, "--set imitation.enabled=false".to_owned()),
            "reasoner-tool" | "tool-planner" => {
                End::Refused(3, format!("--grant {workflow}=sandbox"))
            }
            // Where a game is over before the second has moved nobody shows the second how.
            "versus" if !pair.starts_with("connect-four") && end != End::Trained => {
                End::Refused(2, "--set imitation.enabled=false".to_owned())
            }
            // Where nothing is revealed nobody shows a judge what is good.
            "judged" if !reveals(&pair) && end != End::Trained => {
                End::Refused(2, "--set imitation.enabled=false".to_owned())
            }
            _ => End::Trained,
        };
        assert_eq!(end, expected, "{pair}");
    }
}

/// Whether the environment says how far an act has led, so that a judge can be shown what to say.
fn reveals(pair: &str) -> bool {
    ["blocksworld,", "plan-path,", "sokoban,", "sudoku,"].iter().any(|name| pair.starts_with(name))
}

#[test]
fn one_setting_further_it_trains_as_well() {
    let seed = ["--set", "run.seed=90210"];
    let per_role = ["--set", "roles=per-role"];
    let cases = ["math,solver-verifier", "plan-path", "sudoku", "connect-four,versus"];
    for besides in [&seed[..], &per_role, &[&seed[..], &per_role].concat()] {
        let cases = cases.map(str::to_owned).to_vec();
        for (name, end) in all(cases, besides) {
            assert_eq!(end, End::Trained, "{name} {besides:?}");
        }
    }
}

#[test]
fn what_is_proposed_is_what_is_needed() {
    let granted = ["--grant", "code=sandbox"];
    let words = "--set environment.preset=words".to_owned();
    assert_eq!(train("code", &granted), End::Refused(4, words));
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/search/corpus.jsonl");
    let corpus = format!("retrieval.corpus=[{:?}]", corpus.display().to_string());
    let searched = ["--grant", "search=search", "--set", &corpus];
    assert_eq!(train("search", &searched), End::Trained);
    let in_text = [&searched[..], &["--set", "environment.observation=text"]].concat();
    let words = "--set environment.preset=easy".to_owned();
    assert_eq!(train("search", &in_text), End::Refused(4, words));
    let alone = ["--set", "imitation.enabled=false"];
    assert_eq!(train("plan-path,designer", &alone), End::Trained);
    // Nobody shows a tiny policy how to write programs either.
    let granted = ["--grant", "reasoner-tool=sandbox"];
    let alone = "--set imitation.enabled=false".to_owned();
    assert_eq!(train("math", &granted), End::Refused(2, alone));
}
