//! AT-GRPO on real plugins: what is compared with what.

use std::collections::BTreeMap;

use troupe_core::config::{
    AdvantageConfig, BranchChoice, Config, Estimator, PolicyConfig, Roles, RolloutConfig,
    SamplingScheme, Scale, Scheduling,
};
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Ending, Event, Sample};
use troupe_estimators::advantage::{Memory, advantages, compare};
use troupe_estimators::group::filter_groups;
use troupe_model::Device;
use troupe_training::rollout::{Play, Rollout, RolloutError, Setting, collect, collect_in_turn};
use troupe_training::team::Team;

use crate::script::training_tasks;
use crate::support::plugin;

const TASKS: usize = 12;

fn config(files: &[&str]) -> Config {
    let mut config = Config::default();
    config.plugins.files = files.iter().map(|name| plugin(name)).collect();
    config.rollout.max_turns = 3;
    config
}

fn roll_out(config: &Config) -> Rollout {
    let team = Team::assemble(config, Device::cpu()).unwrap();
    let seed = Seed::new(5);
    let tasks = training_tasks(&team, TASKS as u32, seed);
    collect(&Setting::of(&team.role_map, config), &team.policies, &tasks).unwrap()
}

/// The rows of one (task, role, turn).
fn states(samples: &[Sample]) -> BTreeMap<(usize, usize, String), Vec<&Sample>> {
    let mut states: BTreeMap<_, Vec<&Sample>> = BTreeMap::new();
    for sample in samples {
        states.entry((sample.task, sample.turn, sample.role.clone())).or_default().push(sample);
    }
    states
}

#[test]
fn every_at_grpo_group_has_exactly_k_members_of_one_state() {
    for branch_choice in [BranchChoice::Greedy, BranchChoice::Random, BranchChoice::Softmax] {
        for branches in [2, 5] {
            let mut config = config(&["plan-path", "planner-executor"]);
            config.rollout = RolloutConfig { branches, branch_choice, ..config.rollout };
            let rollout = roll_out(&config);
            let groups = compare(
                &rollout.samples,
                &AdvantageConfig::default(),
                &mut Memory::default(),
                |_| true,
            )
            .formed;
            assert_eq!(groups.len(), states(&rollout.samples).len());
            for group in &groups {
                assert_eq!(group.units.len(), branches);
                let members: Vec<&Sample> =
                    group.units.iter().map(|unit| &rollout.samples[unit.members[0]]).collect();
                let first = members[0];
                assert!(members.iter().all(|m| m.state == first.state && m.prompt == first.prompt));
                assert!(members.iter().all(|m| (m.task, m.turn, &m.role) == (first.task, first.turn, &first.role)));
                assert_eq!(members.iter().filter(|member| member.kept).count(), 1);
            }
        }
    }
}

#[test]
fn the_second_role_has_its_own_rewards_and_saw_the_first_roles_kept_answer_in_the_same_turn() {
    let rollout = roll_out(&config(&["plan-path", "planner-executor"]));
    let (mut executors_with_a_choice, mut shown_whole) = (0, 0);
    for episode in &rollout.episodes {
        let mut plan = None;
        for event in &episode.events {
            let Event::Replied { role, turn, prompt, text, .. } = event else { continue };
            if role == "planner" {
                plan = Some((*turn, text.clone()));
                continue;
            }
            let (planned_turn, plan) = plan.clone().expect("the planner speaks first");
            assert_eq!(*turn, planned_turn, "both speak in the same turn");
            let told = &prompt.last().unwrap().text;
            let shown: Vec<&str> = plan.split_whitespace().collect();
            let whole = format!("plan {}", shown.join(" "));
            // Of a plan that the limit cut nothing is shown.
            assert!(
                told.ends_with(whole.trim_end()) || told.ends_with("plan …"),
                "{told:?} shows {plan:?}"
            );
            shown_whole += usize::from(told.ends_with(whole.trim_end()));
        }
    }
    for ((_, _, role), rows) in states(&rollout.samples) {
        let rewards: Vec<f64> = rows.iter().map(|row| row.reward.total(1.0)).collect();
        let differ = rewards.iter().any(|reward| (reward - rewards[0]).abs() > 1e-9);
        executors_with_a_choice += usize::from(role == "executor" && differ);
    }
    assert!(shown_whole > 0, "most plans come to an end");
    assert!(executors_with_a_choice > 0, "the executor's completions are scored one by one");
}

#[test]
fn a_role_that_is_asked_twice_in_one_list_gives_two_answers_of_its_own() {
    for sampling in [SamplingScheme::Tree, SamplingScheme::Trajectory] {
        let mut config = config(&["plan-path", "fixtures/chorus-workflow"]);
        config.rollout.scheme = sampling;
        let rollout = roll_out(&config);
        let key = |sample: &Sample| (sample.task, sample.episode, sample.branch, sample.turn);
        let sung = rollout.samples.iter().filter(|sample| sample.role == "singer");
        let sung: BTreeMap<_, &Sample> = sung.map(|sample| (key(sample), sample)).collect();
        let (mut pairs, mut equal) = (0, 0);
        for (&(task, episode, branch, turn), first) in &sung {
            if turn % 2 == 1 {
                continue;
            }
            let second = sung[&(task, episode, branch, turn + 1)];
            assert_eq!(first.prompt, second.prompt, "they are told the same");
            pairs += 1;
            equal += usize::from(first.completion.tokens == second.completion.tokens);
        }
        assert!(pairs >= 4 * TASKS && equal * 4 < pairs, "{equal} of {pairs} in {sampling:?}");
    }
}

#[test]
fn only_roles_that_train_are_asked_k_times() {
    let mut config = config(&["plan-path", "planner-executor"]);
    config.roles = Roles::PerRole;
    let frozen = PolicyConfig { train: false, ..PolicyConfig::default() };
    config.policies.insert("executor".to_owned(), frozen);
    for ((.., role), rows) in states(&roll_out(&config).samples) {
        let expected = if role == "executor" { 1 } else { config.rollout.branches };
        assert_eq!(rows.len(), expected, "{role}");
    }
}

#[test]
fn advantages_of_real_groups_sum_to_zero() {
    let config = config(&["plan-path", "planner-executor"]);
    let rollout = roll_out(&config);
    let groups =
        compare(&rollout.samples, &AdvantageConfig::default(), &mut Memory::default(), |_| true)
            .formed;
    let groups = filter_groups(groups, &config.advantage);
    assert!(!groups.is_empty());
    let table = advantages(&groups, (Scale::Spread, 0.0), rollout.samples.len());
    for group in &groups {
        let sum: f32 = group.units.iter().map(|unit| table[unit.members[0]].unwrap()).sum();
        assert!(sum.abs() < 1e-4, "{sum}");
    }
}

#[test]
fn the_same_seed_rolls_out_the_same_whatever_the_number_of_threads() {
    let config = config(&["plan-path", "planner-executor"]);
    let first = roll_out(&config);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let second = pool.install(|| roll_out(&config));
    assert_eq!(first.samples, second.samples);
    assert_eq!(first.episodes, second.episodes);
}

#[test]
fn overlapped_episodes_are_those_of_lock_step() {
    for roles in [Roles::PerRole, Roles::Shared] {
        let mut config = config(&["plan-path", "planner-executor"]);
        config.roles = roles;
        config.rollout.scheduling = Scheduling::LockStep;
        let lock_step = roll_out(&config);
        config.rollout.scheduling = Scheduling::Overlapped;
        let overlapped = roll_out(&config);
        assert_eq!(lock_step.episodes, overlapped.episodes);
        assert_eq!(lock_step.totals, overlapped.totals);
        assert_eq!(lock_step.totals.samples, lock_step.samples.len() as u64, "none is void");
        assert!(lock_step.totals.acts >= lock_step.episodes.len() as u64 && lock_step.fuel > 0);
        assert_eq!(lock_step.samples.len(), overlapped.samples.len());
        for (left, right) in lock_step.samples.iter().zip(&overlapped.samples) {
            assert_eq!(left.completion.tokens, right.completion.tokens);
            assert_eq!(
                (&left.role, left.turn, left.reward.clone()),
                (&right.role, right.turn, right.reward.clone())
            );
        }
    }
}

#[test]
fn an_episode_whose_prompt_is_too_long_is_void() {
    let mut config = config(&["plan-path", "planner-executor"]);
    config.rollout.max_completion_tokens = 4096;
    let rollout = roll_out(&config);
    assert!(rollout.samples.is_empty());
    for episode in &rollout.episodes {
        let Ending::Void { cause, message } = &episode.ending else { panic!("{episode:?}") };
        assert_eq!(cause, "prompt_too_long");
        assert!(message.contains("leaves no room"), "{message}");
    }
}

#[test]
fn a_prompt_that_the_policies_own_answers_made_too_long_truncates_the_episode_and_is_charged() {
    for sampling in [SamplingScheme::Tree, SamplingScheme::Trajectory] {
        for scheduling in [Scheduling::LockStep, Scheduling::Overlapped] {
            let mut config = config(&["plan-path", "planner-executor"]);
            (config.rollout.scheme, config.rollout.scheduling) = (sampling, scheduling);
            config.advantage.estimator = match sampling {
                SamplingScheme::Tree => Estimator::AtGrpo,
                _ => Estimator::Grpo,
            };
            let whole = roll_out(&config);
            let first = whole.samples.iter().filter(|s| s.role == "planner" && s.turn == 0);
            let first = first.map(|sample| sample.prompt.len()).max().unwrap();
            // What a tiny policy reads at most; later prompts tell what was said before.
            config.rollout.max_completion_tokens = 4096 - first;
            let rollout = roll_out(&config);
            let truncated = rollout.episodes.iter().filter(|e| e.ending == Ending::Truncated);
            assert!(truncated.count() > 0, "{sampling:?}");
            assert!(rollout.episodes.iter().all(|episode| !episode.is_void()), "{sampling:?}");
            assert!(!rollout.samples.is_empty(), "what led there is charged with it");
        }
    }
}

#[test]
fn what_a_play_brought_is_taken_before_a_later_one_fails() {
    let config = config(&["plan-path", "planner-executor"]);
    let team = Team::assemble(&config, Device::cpu()).unwrap();
    let play = |temperature| Play {
        tasks: training_tasks(&team, TASKS as u32, Seed::new(5)),
        config: RolloutConfig { temperature, ..config.rollout.clone() },
    };
    let in_turn = |plays, take: &mut dyn FnMut(Rollout) -> Result<(), RolloutError>| {
        let Team { ranks, role_map, policies, .. } = &team;
        collect_in_turn(ranks, role_map, policies, plays, take)
    };
    let mut taken = Vec::new();
    let error = in_turn(vec![play(1.0), play(-1.0), play(1.0)], &mut |rollout| {
        taken.push(rollout.samples);
        Ok(())
    });
    assert!(error.unwrap_err().to_string().contains("temperature"));
    assert_eq!(taken, [roll_out(&config).samples]);
    let mut asked = 0;
    let error = in_turn(vec![play(1.0), play(0.0)], &mut |_| {
        asked += 1;
        Err(RolloutError::Missing { policy: "nobody".to_owned() })
    });
    assert!(error.is_err() && asked == 1, "nothing is played after what could not be taken");
}
