//! Which answers are drawn, and which of them episodes go on from.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use troupe_core::config::{
    Config, Estimator, PolicyConfig, RoleConfig, Roles, SamplingScheme, Scheduling,
};
use troupe_core::seed::Seed;
use troupe_core::table::read_table;
use troupe_core::trajectory::{Event, Sample};
use troupe_estimators::advantage::{Memory, compare};
use troupe_estimators::lineage::Lineage;
use troupe_guests::plugin::Split;
use troupe_model::Device;
use troupe_training::checkpoint::load_latest;
use troupe_training::evaluation::{HeldOutTasks, evaluate};
use troupe_training::metrics::Answers;
use troupe_training::rollout::{Rollout, Setting, collect};
use troupe_training::run::RunFolder;
use troupe_training::team::Team;
use troupe_training::training::Training;

use crate::script::{Script, begin, config as small, play, training_tasks};

/// Rounds of an episode: two turns of two seats.
const ROUNDS: usize = 4;

fn config(scheme: SamplingScheme, branches: usize) -> Config {
    let mut config = small();
    (config.rollout.scheme, config.rollout.branches) = (scheme, branches);
    config
}

/// Every answer earns its seat as much as its number among those of its state.
fn by_number(seat: &'static str) -> Arc<Script> {
    Script::new(move |asked| format!("{seat} 0 {}", asked.branch))
}

fn roll_out(config: &Config) -> Rollout {
    play(config, &by_number("first"), &by_number("second"))
}

/// How many answers of the first task there are in each round, and its episodes.
fn shape(rollout: &Rollout) -> (Vec<usize>, usize) {
    let own = rollout.samples.iter().filter(|sample| sample.task == 0);
    let count = |round| own.clone().filter(|sample| sample.round == round).count();
    let episodes = rollout.episodes.iter().filter(|episode| episode.task == 0);
    ((0..ROUNDS).map(count).collect(), episodes.count())
}

#[test]
fn every_scheme_draws_and_goes_on_from_what_its_name_says() {
    let shape_of = |sampling, branches| shape(&roll_out(&config(sampling, branches)));
    assert_eq!(shape_of(SamplingScheme::Tree, 3), (vec![3, 3, 3, 3], 1));
    assert_eq!(shape_of(SamplingScheme::Independent, 3), (vec![3, 3, 3, 3], 1));
    assert_eq!(shape_of(SamplingScheme::Trajectory, 3), (vec![3, 3, 3, 3], 3));
    assert_eq!(shape_of(SamplingScheme::ForkOnFirst, 3), (vec![3, 3, 3, 3], 3));
    assert_eq!(shape_of(SamplingScheme::Exhaustive, 2), (vec![2, 4, 8, 16], 16));
    let mut bounded = config(SamplingScheme::Exhaustive, 2);
    bounded.rollout.max_episodes = 5;
    assert_eq!(shape(&roll_out(&bounded)), (vec![2, 4, 4, 4], 4));
}

#[test]
fn round_robin_forks_at_one_role_which_differs_from_task_to_task() {
    let mut config = config(SamplingScheme::RoundRobin, 3);
    config.rollout.tasks_per_step = 12;
    let rollout = roll_out(&config);
    let mut forked_at = BTreeSet::new();
    for task in 0..12 {
        let first = rollout.samples.iter().filter(|s| s.task == task && s.round == 0).count();
        let second = rollout.samples.iter().filter(|s| s.task == task && s.round == 1).count();
        assert_eq!(second, 3, "from the fork on there are three episodes");
        forked_at.insert(first);
    }
    assert_eq!(forked_at, BTreeSet::from([1, 3]));
}

#[test]
fn a_frozen_role_is_asked_once_and_forks_nothing() {
    let mut config = config(SamplingScheme::ForkOnFirst, 3);
    let frozen = PolicyConfig { train: false, ..PolicyConfig::default() };
    config.policies.insert("first".to_owned(), frozen);
    assert_eq!(shape(&roll_out(&config)), (vec![1, 3, 3, 3], 3));
}

/// What an episode says of each of its rounds: the branch that went on.
fn replies(rollout: &Rollout, task: usize) -> Vec<Vec<String>> {
    let own = rollout.episodes.iter().filter(|episode| episode.task == task);
    let said = own.map(|episode| {
        let replied = |event: &Event| match event {
            Event::Replied { text, .. } => Some(text.clone()),
            _ => None,
        };
        episode.events.iter().filter_map(replied).collect()
    });
    said.collect()
}

#[test]
fn the_table_says_what_every_episode_was_made_of() {
    for sampling in
        [SamplingScheme::Exhaustive, SamplingScheme::RoundRobin, SamplingScheme::ForkOnFirst]
    {
        let rollout = roll_out(&config(sampling, 2));
        let samples = &rollout.samples;
        let lineage = Lineage::of(samples);
        for (number, said) in replies(&rollout, 1).into_iter().enumerate() {
            let last = samples.iter().rposition(|s| (s.task, s.episode) == (1, number)).unwrap();
            let path = std::iter::successors(Some(last), |&at| samples[at].parent);
            let mut texts: Vec<&str> = path.map(|at| &samples[at].completion.text[..]).collect();
            texts.reverse();
            assert_eq!(texts, said, "{sampling:?}, episode {number}");
        }
        // Every answer is part of as many episodes as hang on it.
        for (index, sample) in samples.iter().enumerate() {
            let leaves = (0..samples.len()).filter(|leaf| {
                samples[*leaf].round == ROUNDS - 1
                    && std::iter::successors(Some(*leaf), |&at| samples[at].parent)
                        .any(|at| at == index)
            });
            let through = lineage.through((sample.task, sample.episode), sample.round);
            assert_eq!(through.len(), leaves.count(), "{sampling:?}, answer {index}");
        }
    }
}

#[test]
fn an_independent_answer_is_worth_all_that_follows_and_its_siblings_share_the_draws() {
    let mut config = config(SamplingScheme::Independent, 3);
    // An answer of the first seat earns both; what is looked ahead to earns 10 a turn.
    config.rollout.max_turns = 3;
    let first = Script::new(|asked| format!("first 1 {}", asked.branch));
    let second = Script::new(|_| "second 10 0".to_owned());
    let rollout = play(&config, &first, &second);
    let of = |role: &str, turn: usize| -> Vec<(f64, f64)> {
        let own =
            rollout.samples.iter().filter(|s| (s.task, &s.role[..], s.turn) == (0, role, turn));
        own.map(|sample| (sample.reward.team, sample.reward.local)).collect()
    };
    for turn in 0..3 {
        let later = (2 - turn) as f64;
        let team = 11.0 + 11.0 * later;
        // Looking ahead draws one answer to each question, which is number 0.
        assert_eq!(of("first", turn), [(team, 0.0), (team, 1.0), (team, 2.0)], "turn {turn}");
        assert_eq!(of("second", turn), [(10.0 + 11.0 * later, 0.0); 3], "turn {turn}");
    }
}

#[test]
fn what_pays_only_later_teaches_where_answers_have_a_future() {
    // The first seat's first answer earns nothing, and its second as much as the
    // first one made there be entries.
    let first = Script::new(|asked| {
        let entries: usize = asked.told[1].split(' ').nth(1).unwrap().parse().unwrap();
        match entries {
            0 => vec!["first 0 0"; asked.branch + 1].join("; "),
            entries => format!("first 0 {entries}"),
        }
    });
    let second = Script::new(|_| "second 0 0");
    let taught = |estimator, sampling| {
        let mut config = config(sampling, 4);
        config.advantage.estimator = estimator;
        let rollout = play(&config, &first, &second);
        let advantages =
            compare(&rollout.samples, &config.advantage, &mut Memory::default(), |_| true)
                .credits
                .advantages;
        let of_first = |(sample, _): &(&Sample, &Option<f32>)| {
            sample.task == 0 && sample.role == "first" && sample.turn == 0
        };
        let own = rollout.samples.iter().zip(&advantages).filter(of_first);
        own.map(|(_, advantage)| advantage.unwrap_or(0.0)).collect::<Vec<f32>>()
    };
    assert_eq!(taught(Estimator::AtGrpo, SamplingScheme::Tree), [0.0; 4]);
    for (estimator, sampling) in [
        (Estimator::Malt, SamplingScheme::Exhaustive),
        (Estimator::AtGrpo, SamplingScheme::Independent),
        (Estimator::TurnGrpo, SamplingScheme::ForkOnFirst),
    ] {
        let found = taught(estimator, sampling);
        assert!(found.is_sorted() && found[0] < -0.5 && found[3] > 0.5, "{sampling:?} {found:?}");
        assert!(found.iter().sum::<f32>().abs() < 1e-3, "{found:?}");
    }
    // Compared with its role's second answers, which are worth the same.
    let found = taught(Estimator::Mhgpo, SamplingScheme::ForkOnFirst);
    assert!(found.is_sorted() && found[3] - found[0] > 1.0, "{found:?}");
}

#[test]
fn lock_step_and_overlapped_make_the_same_episodes() {
    for sampling in
        [SamplingScheme::Exhaustive, SamplingScheme::RoundRobin, SamplingScheme::Independent]
    {
        let mut config = config(sampling, 2);
        let mut by = |scheduling| {
            config.rollout.scheduling = scheduling;
            let rollout = roll_out(&config);
            (rollout.samples, rollout.episodes)
        };
        assert_eq!(by(Scheduling::LockStep), by(Scheduling::Overlapped), "{sampling:?}");
    }
}

#[test]
fn forked_episodes_draw_for_themselves() {
    let mut config = config(SamplingScheme::ForkOnFirst, 3);
    config.rollout.tasks_per_step = 1;
    let first = Script::new(|asked| format!("first 0 {}", asked.seed.index(1_000_000)));
    let rollout = play(&config, &first, &by_number("second"));
    let said: BTreeSet<String> =
        replies(&rollout, 0).into_iter().map(|replies| replies[2].clone()).collect();
    assert_eq!(said.len(), 3, "the second turns of the three episodes: {said:?}");
}

#[test]
fn what_a_seat_earns_later_is_shared_out_among_the_episodes_that_its_answer_is_part_of() {
    let mut config = config(SamplingScheme::RoundRobin, 3);
    (config.rollout.tasks_per_step, config.rollout.max_turns) = (12, 1);
    // The second seat's answer pays the first, which is not asked then, its number.
    let second = Script::new(|asked| format!("first 0 {}", asked.branch));
    let rollout = play(&config, &Script::new(|_| "first 0 0"), &second);
    let mut shared = 0;
    for task in 0..12 {
        let own = rollout.samples.iter().filter(|s| s.task == task && s.role == "first");
        let earned: Vec<f64> = own.map(|sample| sample.reward.local).collect();
        match earned.len() {
            // One answer is part of all three episodes, in which it earns 0, 1 and 2.
            1 => assert!((earned[0] - 1.0).abs() < 1e-9, "{earned:?}"),
            // Each is followed by one answer, number 0.
            _ => assert_eq!(earned, [0.0; 3]),
        }
        shared += usize::from(earned.len() == 1);
    }
    assert!((1..12).contains(&shared));
}

#[test]
fn a_roles_own_limit_holds_for_a_policy_of_ours() {
    let mut config = config(SamplingScheme::Tree, 4);
    let limited = RoleConfig { max_completion_tokens: Some(2), ..RoleConfig::default() };
    config.roles = Roles::Table([("first".to_owned(), limited)].into());
    let team = Team::assemble(&config, Device::cpu()).unwrap();
    let tasks = training_tasks(&team, 6, Seed::new(5));
    let rollout = collect(&Setting::of(&team.role_map, &config), &team.policies, &tasks).unwrap();
    let longest = |role: &str| {
        let own = rollout.samples.iter().filter(|sample| sample.role == role);
        own.map(|sample| sample.completion.tokens.len()).max().unwrap()
    };
    assert_eq!(longest("first"), 2);
    assert!(longest("second") > 2);
}

#[test]
fn a_role_may_be_asked_in_its_own_way() {
    let mut config = config(SamplingScheme::Tree, 3);
    let first = RoleConfig {
        policy: Some("first".to_owned()),
        branches: Some(5),
        temperature: Some(0.25),
        max_turns: Some(1),
        ..RoleConfig::default()
    };
    let second = RoleConfig { policy: Some("second".to_owned()), ..RoleConfig::default() };
    config.roles =
        Roles::Table([("first".to_owned(), first), ("second".to_owned(), second)].into());
    config.policies = ["first", "second"].map(|p| (p.to_owned(), PolicyConfig::default())).into();
    let (first, second) = (by_number("first"), by_number("second"));
    let rollout = play(&config, &first, &second);
    assert_eq!(shape(&rollout), (vec![5, 3, 0, 0], 1), "the first seat's turns are over");
    assert!(first.take_asked().iter().all(|asked| asked.temperature == 0.25));
    assert!(second.take_asked().iter().all(|asked| asked.temperature == 1.0));
}

/// Draws from a policy and from what it was two steps ago.
fn cross(folder: &Path) -> Config {
    let mut config = config(SamplingScheme::CrossPolicy, 4);
    config.roles = Roles::Shared;
    let of = Some("shared".to_owned());
    let old = PolicyConfig { snapshot_of: of, every: 2, ..PolicyConfig::default() };
    config.policies = [("old".to_owned(), old)].into();
    config.advantage.estimator = Estimator::TurnGrpo;
    in_folder(config, folder)
}

fn in_folder(mut config: Config, folder: &Path) -> Config {
    config.validation.tasks = 2;
    config.validation.tasks_during_training = 2;
    config.train.steps = 3;
    config.checkpoint.every = 1;
    config.run.dir = folder.to_owned();
    config
}

#[test]
fn a_snapshot_stands_in_while_answers_are_collected_and_never_while_policies_are_examined() {
    let folder = tempfile::tempdir().unwrap();
    let config = cross(folder.path());
    let team = Team::assemble(&config, Device::cpu()).unwrap();
    let who = |rollout: &Rollout| -> BTreeSet<String> {
        rollout.samples.iter().map(|sample| sample.policy.clone()).collect()
    };
    let tasks = training_tasks(&team, 4, Seed::new(5));
    let collected = collect(&Setting::of(&team.role_map, &config), &team.policies, &tasks).unwrap();
    assert_eq!(who(&collected), BTreeSet::from(["old".to_owned(), "shared".to_owned()]));
    for answers in [Answers::Greedy, Answers::Sampled] {
        let held_out = HeldOutTasks {
            split: Split::Test,
            from: 0,
            tasks: 8,
            answers,
            samples: 2,
            seed: Seed::new(1),
        };
        let examined = evaluate(&team, held_out, &config).unwrap().rollout;
        assert_eq!(who(&examined), BTreeSet::from(["shared".to_owned()]), "{answers:?}");
    }
}

#[test]
fn a_snapshot_that_stands_in_leads_elsewhere_and_is_not_learned_from() {
    let folder = tempfile::tempdir().unwrap();
    let mut training = begin(&cross(folder.path()));
    while !training.is_done() {
        let record = training.step().unwrap();
        assert_eq!(record.updates.keys().collect::<Vec<_>>(), ["shared"]);
    }
    let path = training.finish().unwrap().1.path().to_owned();
    let mut by: BTreeMap<(usize, String), BTreeSet<usize>> = BTreeMap::new();
    let (mut own, mut stood_in) = (0, 0);
    for step in 1..=3 {
        for row in read_table(&path.join(format!("table/step-{step:06}.parquet"))).unwrap() {
            let policy = row.sample.policy.clone();
            by.entry((step, policy.clone())).or_default().insert(row.version);
            if policy == "old" { stood_in += 1 } else { own += 1 }
        }
    }
    let share = f64::from(stood_in) / f64::from(own + stood_in);
    assert!((0.3..0.7).contains(&share), "{share} of the answers are by the snapshot");
    for (step, old) in [(1, 0), (2, 0), (3, 2)] {
        assert_eq!(by[&(step, "old".to_owned())], BTreeSet::from([old]));
        assert_eq!(by[&(step, "shared".to_owned())], BTreeSet::from([step - 1]));
    }
}

#[test]
fn a_run_that_was_stopped_goes_on_as_if_it_had_not_with_every_scheme() {
    for (sampling, estimator) in [
        (SamplingScheme::ForkOnFirst, Estimator::Mhgpo),
        (SamplingScheme::RoundRobin, Estimator::Mhgpo),
        (SamplingScheme::Independent, Estimator::AtGrpo),
        (SamplingScheme::Exhaustive, Estimator::Malt),
        (SamplingScheme::CrossPolicy, Estimator::TurnGrpo),
        (SamplingScheme::Trajectory, Estimator::Rae),
    ] {
        let run = |folder: &Path, stop: bool| {
            let mut config = match sampling {
                SamplingScheme::CrossPolicy => cross(folder),
                _ => in_folder(config(sampling, 2), folder),
            };
            config.advantage.estimator = estimator;
            let mut training = begin(&config);
            if stop {
                training.step().unwrap();
                let path = training.stop().unwrap().path().to_owned();
                let folder = RunFolder::open(&path).unwrap();
                let config = Config::load(Some(&folder.config_path()), &[]).unwrap();
                let found = load_latest(&folder.checkpoints()).unwrap().unwrap();
                let team = Team::assemble(&config, Device::cpu()).unwrap();
                training = Training::resume(config, team, folder, found).unwrap();
            }
            while !training.is_done() {
                training.step().unwrap();
            }
            let path = training.finish().unwrap().1.path().to_owned();
            (1..=3)
                .map(|step| fs::read(path.join(format!("table/step-{step:06}.parquet"))).unwrap())
                .collect::<Vec<_>>()
        };
        let (whole, parted) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        assert!(run(whole.path(), false) == run(parted.path(), true), "{sampling:?}");
    }
}
