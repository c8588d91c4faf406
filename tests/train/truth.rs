//! What answers are worth, found out by playing on from where they were given.

use std::collections::BTreeSet;

use troupe_core::config::{Config, PolicyConfig, SamplingScheme};
use troupe_core::table::{Row, rows_of};
use troupe_estimators::credit::Credits;
use troupe_guests::plugin::Split;
use troupe_training::states::StateError;
use troupe_training::truth::{Search, Truth, TruthError, find};

use crate::script::{Asked, SEATS, Script, config, play, team};

/// The rows of a rollout in which every answer earns its seat its own number, and
/// what there is to know of them.
fn truths(
    scheme: SamplingScheme,
    spoil: impl Fn(&mut Row),
) -> Result<(Vec<Row>, Vec<Truth>), TruthError> {
    let mut config = config();
    (config.rollout.scheme, config.rollout.branches) = (scheme, 3);
    found_in(&config, false, spoil)
}

fn found_in(
    config: &Config,
    team_only: bool,
    spoil: impl Fn(&mut Row),
) -> Result<(Vec<Row>, Vec<Truth>), TruthError> {
    found_with(config, team_only, spoil, |asked| asked.branch)
}

fn found_with(
    config: &Config,
    team_only: bool,
    spoil: impl Fn(&mut Row),
    earned: impl Fn(&Asked) -> usize + Copy + Send + Sync + 'static,
) -> Result<(Vec<Row>, Vec<Truth>), TruthError> {
    let scripts = SEATS.map(|seat| Script::new(move |asked| format!("{seat} 0 {}", earned(asked))));
    let rollout = play(config, &scripts[0], &scripts[1]);
    let credits = Credits::of(vec![None; rollout.samples.len()]);
    let (samples, episodes) = (&rollout.samples, &rollout.episodes);
    let credits = (&*credits.advantages, &*credits.weights);
    let mut rows = rows_of((1, |_: &str| 0), samples, credits, episodes, |_| true);
    rows.iter_mut().for_each(spoil);
    let team = team(config, &[(SEATS[0], &scripts[0]), (SEATS[1], &scripts[1])]);
    let search = Search { states: 1000, episodes: 2, team_only };
    let found = find(&team, config, &rows, search, |sample| sample.role == "first")?;
    Ok((rows, found))
}

#[test]
fn an_answer_is_better_than_a_fresh_one_by_what_it_earns_more() {
    for sampling in [SamplingScheme::Tree, SamplingScheme::Exhaustive] {
        let (rows, found) = truths(sampling, |_| ()).unwrap();
        let learning = rows.iter().filter(|row| row.sample.role == "first").count();
        assert_eq!(found.len(), learning, "{sampling:?}");
        for truth in found {
            // A fresh answer is number 0, which earns nothing; later ones are, too.
            let sample = &rows[truth.row].sample;
            assert_eq!((truth.advantage, truth.noise), (sample.branch as f64, 0.0), "{sample:?}");
            assert_eq!(truth.worth, truth.advantage);
        }
    }
}

#[test]
fn what_a_seat_earns_for_itself_is_no_truth_of_the_team() {
    let (_, found) = found_in(&config(), true, |_| ()).unwrap();
    assert!(!found.is_empty() && found.iter().all(|truth| truth.advantage == 0.0));
}

#[test]
fn every_episode_that_came_to_a_state_is_played_on_with_its_own_answer() {
    let mut config = config();
    (config.rollout.scheme, config.rollout.branches) = (SamplingScheme::Trajectory, 4);
    config.rollout.max_turns = 1;
    let (rows, found) = found_with(&config, false, |_| (), |asked| asked.seed.index(9)).unwrap();
    let mut earned = BTreeSet::new();
    for truth in found {
        let sample = &rows[truth.row].sample;
        assert_eq!(truth.worth, sample.reward.total(1.0), "{sample:?}");
        earned.insert((sample.task, sample.reward.local as usize));
    }
    assert!(earned.len() > config.rollout.tasks_per_step, "all say the same: {earned:?}");
}

#[test]
fn a_state_of_forks_is_reached_with_what_was_answered_once_for_all_of_them() {
    let mut config = config();
    (config.rollout.scheme, config.rollout.branches) = (SamplingScheme::ForkOnFirst, 3);
    // Both are asked at once, and only the first seat is asked three times.
    config.workflow.insert("together".to_owned(), true.into());
    let frozen = PolicyConfig { train: false, ..PolicyConfig::default() };
    config.policies.insert("second".to_owned(), frozen);
    let (rows, found) = found_in(&config, false, |_| ()).unwrap();
    let learning = rows.iter().filter(|row| row.sample.role == "first").count();
    assert_eq!(found.len(), learning);
    for truth in found {
        let sample = &rows[truth.row].sample;
        assert_eq!((truth.advantage, truth.noise), (sample.branch as f64, 0.0), "{sample:?}");
    }
}

#[test]
fn a_state_that_is_not_reached_again_is_named() {
    let error =
        truths(SamplingScheme::Tree, |row| row.sample.state ^= u64::from(row.sample.round == 2));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("the state of round 2 of the task 0"), "{error}");
    let other = truths(SamplingScheme::Tree, |row| row.split = Split::Test.name().to_owned());
    assert!(matches!(other, Err(TruthError::State(StateError::Other { round: 0, .. }))));
}
