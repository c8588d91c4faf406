//! What becomes of answers: seeds, rewards, branches and turns of episodes
//! whose players are scripted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use troupe_core::config::{BranchChoice, Config, SamplingScheme};
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Ending, Event};
use troupe_training::family::{scenario_of, set_families};
use troupe_training::rollout::{Demonstrator, Rollout};
use troupe_training::team::vocabulary;

use crate::script::{SEATS, Script, config, play, tasks};

/// A player that does the same whatever it is asked.
fn always(line: &'static str) -> Arc<Script> {
    Script::new(move |_| line)
}

/// Both seats scripted; whatever the first seat says is worth nothing else.
fn play_first(config: &Config, first: &Arc<Script>) -> Rollout {
    play(config, first, &always("second 0 0"))
}

#[test]
fn no_two_answers_of_a_step_are_drawn_from_one_seed() {
    for (sampling, episodes) in [(SamplingScheme::Tree, 1), (SamplingScheme::Trajectory, 3)] {
        let mut config = config();
        config.rollout.scheme = sampling;
        config.rollout.branches = 3;
        let players = [always("first 0 0"), always("second 0 0")];
        let rollout = play(&config, &players[0], &players[1]);
        assert_eq!(rollout.episodes.len(), 4 * episodes);
        let asked = players.iter().flat_map(|player| player.take_asked());
        let seeds: Vec<u64> = asked.map(|asked| asked.seed.value()).collect();
        assert_eq!(seeds.len(), 4 * 3 * 2 * 2, "tasks, answers, turns, seats: {sampling:?}");
        assert_eq!(seeds.iter().collect::<BTreeSet<_>>().len(), seeds.len(), "{sampling:?}");
    }
}

#[test]
fn the_trajectories_of_a_task_differ() {
    let mut config = config();
    config.rollout.scheme = SamplingScheme::Trajectory;
    let rollout =
        play_first(&config, &Script::new(|asked| format!("first 0 {}", asked.seed.unit())));
    for task in 0..4 {
        let own = rollout.samples.iter().filter(|s| s.task == task && s.role == "first");
        let rewards: Vec<f64> = own.filter(|s| s.turn == 0).map(|s| s.reward.local).collect();
        assert_eq!(rewards.len(), 4);
        assert!((1..4).all(|other| rewards[other] != rewards[0]), "{rewards:?}");
    }
}

#[test]
fn every_task_of_a_step_is_played_as_itself() {
    let first = always("first 0 0");
    play_first(&config(), &first);
    let asked = first.take_asked();
    assert_eq!(tasks(&asked), (0..4).map(|seed| ("train", seed)).collect());
}

#[test]
fn alpha_decides_which_branch_is_the_best() {
    let first = Script::new(|asked| ["first 1 0", "first 0 0.5"][asked.branch % 2]);
    for (alpha, best) in [(1.0, "first 1 0"), (0.0, "first 0 0.5")] {
        let mut config = config();
        config.advantage.alpha = alpha;
        config.rollout.branch_choice = BranchChoice::Greedy;
        for episode in play_first(&config, &first).episodes {
            let kept = episode.events.iter().filter_map(|event| match event {
                Event::Replied { role, text, .. } if role == "first" => Some(text.as_str()),
                _ => None,
            });
            assert_eq!(kept.collect::<Vec<_>>(), [best; 2], "alpha {alpha}");
        }
    }
}

#[test]
fn an_answer_earns_all_its_actions_but_not_what_another_seat_earns_for_itself() {
    let first = always("first 1 0.5; second 2 8; first 4 0.25");
    let rollout = play_first(&config(), &first);
    for sample in rollout.samples.iter().filter(|sample| sample.role == "first") {
        assert_eq!((sample.reward.team, sample.reward.local), (7.0, 0.75));
    }
    let second = always("first 2 8; second 1 0.5");
    let rollout = play(&config(), &always("first 0 0"), &second);
    for sample in rollout.samples.iter().filter(|sample| sample.role == "second") {
        assert_eq!((sample.reward.team, sample.reward.local), (3.0, 0.5));
    }
}

#[test]
fn the_named_shares_of_a_reward_add_up_to_it_whoever_earned_it_and_when() {
    for sampling in [SamplingScheme::Tree, SamplingScheme::Trajectory] {
        let mut config = config();
        config.rollout.scheme = sampling;
        let first = always("first 1 0.5; second 2 8");
        let rollout = play(&config, &first, &always("first 4 16; second 1 0.25"));
        for sample in &rollout.samples {
            let shares: f64 = sample.reward.parts.values().sum();
            let reward = &sample.reward;
            assert_eq!(shares, reward.team + reward.local, "{sampling:?} {reward:?}");
        }
        // What the other earns for a seat counts for its last answer, if nothing else is compared.
        let own = rollout.samples.iter().filter(|s| s.role == "first" && s.turn == 0);
        let later = if sampling == SamplingScheme::Tree { 0.0 } else { 16.0 };
        assert!(own.into_iter().all(|sample| sample.reward.local == 0.5 + later), "{sampling:?}");
    }
}

#[test]
fn an_answer_is_accepted_if_every_action_of_its_seat_was() {
    for (line, accepted) in [
        ("first 0 0; first 0 0", true),
        ("first 0 0; first 0 0 refused", false),
        ("first 0 0 refused; first 0 0", false),
        // What another seat did is not held against it.
        ("first 0 0; second 0 0 refused; first 0 0", true),
    ] {
        let rollout = play_first(&config(), &always(line));
        let mut own = rollout.samples.iter().filter(|sample| sample.role == "first");
        assert!(own.all(|sample| sample.accepted == accepted), "{line}");
    }
}

#[test]
fn a_role_has_exactly_as_many_turns_as_max_turns_says() {
    for max_turns in 1..=3 {
        for together in [false, true] {
            let mut config = config();
            config.rollout.max_turns = max_turns;
            config.workflow.insert("together".to_owned(), together.into());
            let rollout = play_first(&config, &always("first 0 0"));
            let mut turns: BTreeMap<(usize, &str), BTreeSet<usize>> = BTreeMap::new();
            for sample in &rollout.samples {
                turns.entry((sample.task, &sample.role)).or_default().insert(sample.turn);
            }
            assert_eq!(turns.len(), 4 * SEATS.len());
            for asked in turns.values() {
                assert_eq!(*asked, (0..max_turns).collect(), "together: {together}");
            }
            for episode in rollout.episodes {
                assert_eq!(episode.ending, Ending::Truncated);
            }
        }
    }
}

#[test]
fn an_episode_ends_as_its_kept_branch_does() {
    let mut config = config();
    config.rollout.branch_choice = BranchChoice::Greedy;
    for (worth, ending) in [("1", Ending::Solved), ("-1", Ending::Truncated)] {
        let first = Script::new(move |asked| match asked.branch % 2 {
            0 => "first 0 0".to_owned(),
            _ => format!("first {worth} 0 solved"),
        });
        for episode in play_first(&config, &first).episodes {
            assert_eq!(episode.ending, ending, "solving is worth {worth}");
        }
    }
}

#[test]
fn demonstrations_and_words_come_from_training_tasks() {
    let scenario = scenario_of(&config(), None).unwrap();
    let demonstrations = Demonstrator::new(&scenario, Seed::new(1), 0.0).take(80).unwrap();
    let own = demonstrations.iter().filter(|demonstration| demonstration.role == "first");
    let told: Vec<&str> = own.map(|one| one.prompt[1].text.as_str()).collect();
    assert_eq!(told.len(), 80);
    assert!(told.iter().all(|told| told.starts_with("train-")), "{told:?}");
    let words = vocabulary(&set_families(&config()).unwrap(), &config());
    assert!(words.iter().any(|word| word.starts_with("train-")));
    let held_out = |word: &String| word.starts_with("validation-") || word.starts_with("test-");
    assert!(!words.iter().any(held_out), "{words:?}");
}
