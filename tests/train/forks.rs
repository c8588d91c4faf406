//! `rollout.branches = "adaptive"`: states whose answers differ are given more answers, for as
//! many tokens.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use troupe_core::config::{Allocation, Config, CreditStep, RolloutConfig};
use troupe_core::seed::Seed;
use troupe_core::table::read_table;
use troupe_estimators::forks::{Dealing, kind_of};
use troupe_model::Device;
use troupe_training::checkpoint::load_latest;
use troupe_training::rollout::{Setting, collect};
use troupe_training::run::RunFolder;
use troupe_training::team::Team;
use troupe_training::training::Training;

use crate::script::{Script, begin, config as small, team, training_tasks};
use crate::support::{plugin, run};

const STEPS: usize = 4;

/// A team on small boards that knows a little.
fn config(folder: &Path, branches: &str) -> Config {
    let files = ["plan-path", "planner-executor"].map(|name| format!("{:?}", plugin(name)));
    let sets = [
        format!("plugins.files=[{}]", files.join(",")),
        format!("run.dir={folder:?}"),
        format!("rollout.branches={branches}"),
        format!("train.steps={STEPS}"),
        "environment.size=5".to_owned(),
        "environment.max_distance=5".to_owned(),
        "rollout.tasks_per_step=8".to_owned(),
        "validation.tasks=2".to_owned(),
        "validation.tasks_during_training=2".to_owned(),
        "checkpoint.every=1".to_owned(),
    ];
    Config::load(None, &sets).unwrap()
}

/// What a step drew: answers of every state, the tokens of all, and of as many as with four to
/// each.
struct Step {
    answers: Vec<usize>,
    tokens: f64,
    even: f64,
}

fn steps(run: &Path) -> Vec<Step> {
    let of_step = |step: usize| {
        let rows = read_table(&run.join(format!("table/step-{step:06}.parquet"))).unwrap();
        let mut states: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for sample in rows.iter().map(|row| &row.sample) {
            let state = (sample.task, sample.round, sample.role.clone());
            states.entry(state).or_default().push(sample.completion.drawn());
        }
        let sum = |answers: &Vec<usize>| answers.iter().sum::<usize>() as f64;
        let even = states.values().map(|answers| 4.0 * sum(answers) / answers.len() as f64).sum();
        let tokens = states.values().map(sum).sum();
        Step { answers: states.values().map(Vec::len).collect(), tokens, even }
    };
    (1..=STEPS).map(of_step).collect()
}

fn to_the_end(mut training: Training) -> std::path::PathBuf {
    while !training.is_done() {
        training.step().unwrap();
    }
    training.finish().unwrap().1.path().to_owned()
}

#[test]
fn states_are_given_from_two_to_sixteen_answers_for_as_many_tokens_and_a_resumed_run_is_the_same() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [even, whole, parted] = folders.each_ref().map(|folder| folder.path());
    let fixed = steps(&to_the_end(begin(&config(even, "4"))));
    let adaptive = config(whole, "adaptive");
    assert_eq!((adaptive.rollout.branches, adaptive.rollout.allocation), (4, Allocation::Adaptive));
    assert_eq!(adaptive.advantage.then, [CreditStep::StateMean]);
    let run = to_the_end(begin(&adaptive));
    let dealt = steps(&run);
    // Nothing is known before the first step.
    assert_eq!(dealt[0].answers, fixed[0].answers);
    for (Step { answers, tokens, even }, step) in dealt.iter().zip(1..).skip(1) {
        assert!(answers.iter().all(|answers| (2..=16).contains(answers)), "{step}: {answers:?}");
        assert!(answers.iter().min() < answers.iter().max(), "{step}: {answers:?}");
        // Over a few states it is as many tokens only on average.
        assert!((tokens / even - 1.0).abs() < 0.35, "{step}: {tokens} {even}");
    }
    let stopped = {
        let mut training = begin(&config(parted, "adaptive"));
        training.step().unwrap();
        training.step().unwrap();
        training.stop().unwrap().path().to_owned()
    };
    let folder = RunFolder::open(&stopped).unwrap();
    let config = Config::load(Some(&folder.config_path()), &[]).unwrap();
    let found = load_latest(&folder.checkpoints()).unwrap().unwrap();
    let team = Team::assemble(&config, Device::cpu()).unwrap();
    let resumed = to_the_end(Training::resume(config, team, folder, found).unwrap());
    for step in 1..=STEPS {
        let name = format!("table/step-{step:06}.parquet");
        assert!(
            fs::read(run.join(&name)).unwrap() == fs::read(resumed.join(&name)).unwrap(),
            "{step}"
        );
    }
}

#[test]
fn what_is_dealt_to_a_role_and_a_turn_is_drawn_there_and_nowhere_else() {
    let config = small();
    let line = |seat: &'static str| Script::new(move |asked| format!("{seat} 0 {}", asked.branch));
    let (first, second) = (line("first"), line("second"));
    let team = team(&config, &[("first", &first), ("second", &second)]);
    let family = &team.families[0].scenario.family;
    let known = [((0, "first"), 3.0), ((1, "first"), 5.0), ((0, "second"), 2.0)];
    let known = known.map(|((turn, role), answers)| (kind_of(family, role, turn), answers));
    let dealing =
        Dealing::of(known.into(), &RolloutConfig { branches: 4, ..config.rollout.clone() });
    let setting = Setting { dealing: Some(&dealing), ..Setting::of(&team.role_map, &config) };
    let tasks = training_tasks(&team, 3, Seed::new(5));
    let rollout = collect(&setting, &team.policies, &tasks).unwrap();
    let mut drawn: BTreeMap<(usize, &str, usize), usize> = BTreeMap::new();
    for sample in &rollout.samples {
        *drawn.entry((sample.task, &sample.role, sample.turn)).or_default() += 1;
    }
    for ((task, role, turn), answers) in drawn {
        let expected = match (role, turn) {
            ("first", 0) => 3,
            ("first", 1) => 5,
            ("second", 0) => 2,
            // Of which nothing is known.
            _ => 4,
        };
        assert_eq!(answers, expected, "{task} {role} {turn}");
    }
}

#[test]
fn where_answers_to_a_state_are_not_compared_none_are_dealt_out() {
    let files = format!("{},{}", plugin("plan-path").display(), plugin("solo").display());
    for otherwise in [
        ["rollout.scheme=trajectory", "advantage.estimator=grpo"],
        // Answers to all states of a task are compared with each other.
        ["rollout.scheme=tree", "advantage.estimator=naive"],
    ] {
        let mut words = vec!["train", "--plugins", &files, "--set", "rollout.branches=adaptive"];
        words.extend(otherwise.iter().flat_map(|set| ["--set", set]));
        let (code, _, told) = run(&words);
        assert_eq!(code, 2, "{told}");
        assert!(told.contains("`rollout.branches` cannot be used"), "{told}");
        assert!(told.contains("\"at-grpo\""), "{told}");
    }
    let (code, _, told) = run(&["train", "--plugins", &files, "--set", "rollout.branches=many"]);
    assert_eq!((code, told.contains("rollout.branches")), (2, true), "{told}");
}
