//! Advantages, worked out by hand and by their properties.

mod repelled;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::group::GroupUnit;
use troupe_core::config::{Estimator, RoleAdvantageConfig, Worth};
use troupe_core::example::{forked, sample};

fn group(worths: &[f64]) -> Group {
    let unit = |(index, &worth)| {
        let parts = [("all".to_owned(), worth)].into();
        GroupUnit { members: vec![index], worth, weight: 1.0, parts }
    };
    let units = worths.iter().enumerate().map(unit).collect();
    Group { roles: BTreeSet::from(["solo".to_owned()]), units }
}

fn advantages_of(worths: &[f64], scale: Scale) -> Vec<f64> {
    advantages(&[group(worths)], (scale, 0.0), worths.len())
        .into_iter()
        .map(|advantage| f64::from(advantage.unwrap()))
        .collect()
}

fn scales() -> impl Strategy<Value = Scale> {
    let all = [Scale::None, Scale::Spread, Scale::LeaveOneOut, Scale::Parts];
    prop::sample::select(all.to_vec())
}

/// Two episodes of two roles in which the second role is asked three times in all:
/// the first earns 4 at its end, the second nothing.
fn unequal() -> Vec<Sample> {
    let rows = [(0, 0, "planner", 0), (0, 1, "executor", 0), (0, 2, "executor", 1)];
    let others = [(1, 0, "planner", 0), (1, 1, "executor", 0)];
    let played = rows.into_iter().chain(others).map(|(episode, round, role, turn)| {
        let mut row = sample(0, episode, turn, role, 0);
        row.round = round;
        row
    });
    let mut samples: Vec<Sample> = played.collect();
    samples[2].reward.team = 4.0;
    samples
}

fn by(estimator: Estimator, samples: &[Sample]) -> Vec<f32> {
    let config = AdvantageConfig { estimator, refused: 0.0, ..AdvantageConfig::default() };
    let compared = compare(samples, &config, &mut Memory::default(), |_| true);
    compared.credits.advantages.into_iter().map(|advantage| advantage.unwrap_or(0.0)).collect()
}

fn near(actual: &[f32], expected: &[f64]) {
    let close = |(a, b): (&f32, &f64)| (f64::from(*a) - b).abs() < 1e-3;
    assert!(actual.len() == expected.len() && actual.iter().zip(expected).all(close), "{actual:?}");
}

#[test]
fn every_estimator_of_whole_episodes_gives_the_numbers_of_its_paper() {
    let samples = unequal();
    let root = 0.5_f64.sqrt();
    // GRPO: a seat's episodes are worth 4 and 0: mean 2, spread 2√2.
    near(&by(Estimator::Grpo, &samples), &[root, root, root, -root, -root]);
    near(&by(Estimator::DrGrpo, &samples), &[2.0, 2.0, 2.0, -2.0, -2.0]);
    // As one group: 4, 4, 0 and 0, spread 4/√3.
    let team = 3.0_f64.sqrt() / 2.0;
    near(&by(Estimator::TeamGrpo, &samples), &[team, team, team, -team, -team]);
    // Dr. MAS: every answer counts, so the executor's are 4, 4 and 0: mean 8/3, spread 4/√3.
    let (up, down) = (4.0 / 3.0 / (4.0 / 3.0_f64.sqrt()), -8.0 / 3.0 / (4.0 / 3.0_f64.sqrt()));
    near(&by(Estimator::Drmas, &samples), &[root, up, up, -root, down]);
    // By turn: the executor's second answer is compared with nothing.
    near(&by(Estimator::TurnGrpo, &samples), &[root, root, 0.0, -root, -root]);
    near(&by(Estimator::Mhgpo, &samples), &[root, up, up, -root, down]);
}

#[test]
fn what_was_forked_is_worth_the_mean_of_what_came_of_it() {
    // Answers earn their index; the episodes are 0 1 2, 0 3 4 and 0 1 5 (lineage.rs).
    let samples = forked();
    // To go: 5.75, 4.5, 2, 7, 4 and 5, of one role: mean 4.71.
    let to_go: Vec<f64> = vec![5.75, 4.5, 2.0, 7.0, 4.0, 5.0];
    let mean = to_go.iter().sum::<f64>() / 6.0;
    let squares: f64 = to_go.iter().map(|worth| (worth - mean).powi(2)).sum();
    let spread = (squares / 5.0).sqrt();
    let expected: Vec<f64> = to_go.iter().map(|worth| (worth - mean) / spread).collect();
    near(&by(Estimator::Mhgpo, &samples), &expected);
}

/// Episodes of two roles with rewards of both kinds.
fn played(rewards: &[(f64, f64)]) -> Vec<Sample> {
    let rows = rewards.iter().enumerate().map(|(index, (team, local))| {
        let (task, episode, round) = (index / 12, index / 4 % 3, index % 4);
        let role = ["planner", "executor"][round % 2];
        let mut row = sample(task, episode, round / 2, role, 0);
        // Equal states, so that those who compare by state have something to compare.
        row.state = (task * 10 + round) as u64;
        row.round = round;
        (row.reward.team, row.reward.local) = (*team, *local);
        row
    });
    rows.collect()
}

fn all() -> impl Strategy<Value = Estimator> {
    prop::sample::select(Estimator::ALL.to_vec())
}

fn rewards() -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop::collection::vec((-3.0..3.0_f64, -3.0..3.0_f64), 24)
}

proptest! {
    #[test]
    fn what_roles_and_tasks_are_called_does_not_matter(rewards in rewards(), estimator in all()) {
        let samples = played(&rewards);
        let mut renamed = samples.clone();
        for sample in &mut renamed {
            sample.role = if sample.role == "planner" { "a" } else { "b" }.to_owned();
            sample.task = 1 - sample.task;
        }
        for (here, there) in by(estimator, &samples).iter().zip(by(estimator, &renamed)) {
            prop_assert!((here - there).abs() < 1e-5, "{here} against {there}");
        }
    }

    #[test]
    fn the_order_of_the_table_does_not_matter(rewards in rewards(), estimator in all()) {
        // A running mean sees one after the other.
        prop_assume!(estimator != Estimator::Rae);
        let samples = played(&rewards);
        let (first, second) = samples.split_at(12);
        let there = by(estimator, &samples);
        let back = by(estimator, &[second, first].concat());
        for (here, there) in there[..12].iter().zip(&back[12..]) {
            prop_assert!((here - there).abs() < 1e-4, "{here} against {there}");
        }
    }

    #[test]
    fn advantages_of_a_group_sum_to_zero(
        worths in prop::collection::vec(-5.0..5.0_f64, 1..9), scale in scales(),
    ) {
        let sum: f64 = advantages_of(&worths, scale).iter().sum();
        prop_assert!(sum.abs() < 1e-4, "sum {sum}");
    }

    #[test]
    fn a_shift_of_all_rewards_changes_nothing(
        worths in prop::collection::vec(-5.0..5.0_f64, 1..9),
        shift in -3.0..3.0_f64, scale in scales(),
    ) {
        let shifted: Vec<f64> = worths.iter().map(|worth| worth + shift).collect();
        for (a, b) in advantages_of(&worths, scale).iter().zip(advantages_of(&shifted, scale)) {
            prop_assert!((a - b).abs() < 1e-4, "{a} against {b}");
        }
    }

    #[test]
    fn the_order_of_members_does_not_matter(
        worths in prop::collection::vec(-5.0..5.0_f64, 1..9), scale in scales(),
    ) {
        let reversed: Vec<f64> = worths.iter().rev().copied().collect();
        let there = advantages_of(&worths, scale);
        let back = advantages_of(&reversed, scale);
        for (a, b) in there.iter().zip(back.iter().rev()) {
            prop_assert!((a - b).abs() < 1e-4, "{a} against {b}");
        }
    }

    #[test]
    fn a_group_of_one_has_advantage_zero(worth in -5.0..5.0_f64, scale in scales()) {
        prop_assert_eq!(advantages_of(&[worth], scale), vec![0.0]);
    }
}

#[test]
fn a_spread_is_the_sample_standard_deviation() {
    let normalized = advantages_of(&[1.0, 3.0], Scale::Spread);
    assert!((normalized[1] - 1.0 / (2.0_f64.sqrt() + EPSILON)).abs() < 1e-6);
    assert_eq!(advantages_of(&[1.0, 3.0], Scale::None), [-1.0, 1.0]);
}

#[test]
fn a_hair_weighs_less_than_right_against_wrong_where_a_least_spread_is_set() {
    let largest = |worths: &[f64], least| {
        let table = advantages(&[group(worths)], (Scale::Spread, least), worths.len());
        table.into_iter().flatten().fold(0.0, f32::max)
    };
    let (hair, right) = ([0.0, 0.02], [0.0, 1.0]);
    assert!((largest(&hair, 0.0) - largest(&right, 0.0)).abs() < 0.01);
    assert!((largest(&hair, 0.1) - 0.01 / (0.1 + EPSILON as f32)).abs() < 1e-4);
    assert_eq!(largest(&right, 0.1), largest(&right, 0.0));
}

#[test]
fn leaving_one_out_compares_with_the_mean_of_the_others() {
    // 1 with (2 + 6) / 2, 2 with (1 + 6) / 2, 6 with (1 + 2) / 2.
    assert_eq!(advantages_of(&[1.0, 2.0, 6.0], Scale::LeaveOneOut), [-3.0, -1.5, 4.5]);
}

#[test]
fn max_rl_divides_by_the_mean() {
    let advantages = advantages_of(&[0.0, 1.0, 0.0, 1.0], Scale::Mean);
    for (advantage, expected) in advantages.into_iter().zip([-1.0, 1.0, -1.0, 1.0]) {
        assert!((advantage - expected).abs() < 1e-3);
    }
    let rare = advantages_of(&[0.0, 0.0, 0.0, 1.0], Scale::Mean);
    assert!((rare[3] - 3.0).abs() < 2e-3 && (rare[0] + 1.0).abs() < 1e-3, "{rare:?}");
}

/// One seat's episodes of one task, each worth so much.
fn episodes(role: &str, worths: &[f64]) -> Vec<Sample> {
    let rows = worths.iter().enumerate().map(|(episode, worth)| {
        let mut row = sample(0, episode, 0, role, 0);
        row.reward.local = *worth;
        row
    });
    rows.collect()
}

#[test]
fn a_running_mean_follows_its_role_from_step_to_step() {
    let config =
        AdvantageConfig { estimator: Estimator::Rae, decay: 0.5, ..AdvantageConfig::default() };
    let mut memory = Memory::default();
    let mut step = |role: &str, worths: &[f64]| {
        let samples = episodes(role, worths);
        compare(&samples, &config, &mut memory, |_| true).credits.advantages
    };
    // b is 0, 0.5, 0.25: the worth comes before the update.
    assert_eq!(step("white", &[1.0, 0.0, 2.0]), [Some(1.0), Some(-0.5), Some(1.75)]);
    assert_eq!(step("black", &[-4.0]), [Some(-4.0)]);
    assert_eq!(step("white", &[1.125]), [Some(0.0)]);
    assert_eq!(memory.means["maze/black"], -2.0);
    let kept = serde_json::to_string(&memory).unwrap();
    assert_eq!(serde_json::from_str::<Memory>(&kept).unwrap(), memory);
}

#[test]
fn two_games_of_a_mixture_have_a_running_mean_for_each_role_of_theirs() {
    let config =
        AdvantageConfig { estimator: Estimator::Rae, decay: 0.5, ..AdvantageConfig::default() };
    let mut memory = Memory::default();
    let mut step = |worths: [f64; 2]| {
        // One game pays ten, the other a tenth.
        let mut samples = episodes("first", &worths);
        samples[0].family = "loud".to_owned();
        (samples[1].family, samples[1].task) = ("quiet".to_owned(), 1);
        compare(&samples, &config, &mut memory, |_| true).credits.advantages
    };
    assert_eq!(step([10.0, 0.125]), [Some(10.0), Some(0.125)]);
    // b is 5 and 0.0625; one for both would be 5.03.
    assert_eq!(step([10.0, 0.125]), [Some(5.0), Some(0.0625)]);
    // Who sets `same = ["role"]` has one for both.
    let same = Some(vec![Same::Role]);
    let config = AdvantageConfig { same, ..config };
    let samples = episodes("first", &[4.0]);
    compare(&samples, &config, &mut memory, |_| true);
    assert_eq!(memory.means["first"], 2.0);
}

#[test]
fn gigpo_adds_what_answers_to_one_prompt_say() {
    let config = AdvantageConfig {
        estimator: Estimator::Gigpo,
        step_weight: 2.0,
        filter: GroupFilter::Off,
        ..AdvantageConfig::default()
    };
    let mut samples = episodes("solo", &[0.0, 2.0]);
    // Both meet this prompt again, in other turns, and only the second episode is paid.
    for (episode, turn, worth) in [(0, 1, 0.0), (1, 1, 4.0)] {
        let mut later = sample(0, episode, turn, "solo", 0);
        later.prompt = vec![9].into();
        later.reward.local = worth;
        samples.push(later);
    }
    let advantages =
        compare(&samples, &config, &mut Memory::default(), |_| true).credits.advantages;
    // The episodes are worth 0 and 6, the steps 0, 6 and 0, 4: each pair is ±1/√2 apart.
    let unit = 0.5_f32.sqrt();
    for (advantage, sign) in advantages.into_iter().zip([-1.0, 1.0, -1.0, 1.0]) {
        assert!((advantage.unwrap() - sign * 3.0 * unit).abs() < 1e-3, "{advantage:?}");
    }
}

#[test]
fn conversations_that_count_again_weigh_in_their_groups_mean() {
    let then = vec!["align".parse().unwrap()];
    let config = AdvantageConfig {
        estimator: Estimator::MGrpo,
        scale: Some(Scale::None),
        then,
        threads: 2,
        ..AdvantageConfig::default()
    };
    let called = |episode, thread: &str, worth| {
        let mut row = sample(0, episode, 0, "worker", 0);
        (row.thread, row.caller, row.reward.local) = (thread.to_owned(), Some(0), worth);
        row
    };
    // One conversation of the first episode stands for two, so the mean is
    // (2 · 6 + 0 + 0) / 4.
    let samples = [called(0, "a", 6.0), called(1, "a", 0.0), called(1, "b", 0.0)];
    let credits = compare(&samples, &config, &mut Memory::default(), |_| true).credits;
    assert_eq!(credits.advantages, [Some(3.0), Some(-3.0), Some(-3.0)]);
    assert_eq!(credits.weights, [2.0, 1.0, 1.0]);
}

#[test]
fn small_shares_of_a_reward_count_as_much_as_large_ones() {
    let unit = |member, shares: [(&str, f64); 2]| GroupUnit {
        members: vec![member],
        worth: shares.iter().map(|(_, value)| value).sum(),
        weight: 1.0,
        parts: shares.map(|(name, value)| (name.to_owned(), value)).into(),
    };
    let units = vec![
        unit(0, [("solved", 10.0), ("form", 0.0)]),
        unit(1, [("solved", 0.0), ("form", 0.1)]),
        unit(2, [("solved", 0.0), ("form", 0.0)]),
        unit(3, [("solved", 10.0), ("form", 0.1)]),
    ];
    let group = Group { roles: BTreeSet::from(["solo".to_owned()]), units };
    let table = advantages(&[group], (Scale::Parts, 0.0), 4);
    let [solved, form, neither, both] = [0, 1, 2, 3].map(|index| table[index].unwrap());
    // Each share is ±0.866 (0.865 of the small one, by ε); their sums are 0, 0, −1.73, 1.73,
    // whose standard deviation is 1.22.
    assert!(solved.abs() < 0.01 && form.abs() < 0.01, "{solved} {form}");
    assert!((both - 1.414).abs() < 0.01 && (neither + 1.414).abs() < 0.01, "{both}");
}

#[test]
fn samples_outside_every_group_have_no_advantage() {
    assert_eq!(advantages(&[], (Scale::Spread, 0.0), 2), [None, None]);
}

#[test]
fn beyond_one_half_every_answer_stands_alone() {
    assert_eq!(advantages_of(&[1.0, 0.75, 0.5, 0.0], Scale::Half), [0.5, 0.25, 0.0, -0.5]);
    assert_eq!(advantages_of(&[1.0, 1.0], Scale::Half), [0.5, 0.5]);
}

#[test]
fn beyond_one_half_answers_that_are_all_worth_the_same_teach_too() {
    let mut samples: Vec<Sample> = (0..2).map(|branch| sample(0, 0, 0, "solo", branch)).collect();
    for (filter, right, wrong) in [
        (GroupFilter::ZeroVariance, Some(0.5), Some(-0.5)),
        (GroupFilter::Off, Some(0.5), Some(-0.5)),
        // A share that somebody asks to be left out is left out.
        (GroupFilter::Std, None, None),
    ] {
        let scale = Some(Scale::Half);
        let config =
            AdvantageConfig { scale, filter, filter_ratio: 1.0, ..AdvantageConfig::default() };
        for (worth, expected) in [(1.0, right), (0.0, wrong)] {
            samples.iter_mut().for_each(|sample| sample.reward.local = worth);
            let compared = compare(&samples, &config, &mut Memory::default(), |_| true);
            assert_eq!(compared.credits.advantages, [expected; 2], "{filter:?} {worth}");
            assert_eq!(compared.taught, [expected.is_some(); 2], "{filter:?} {worth}");
        }
    }
}

#[test]
fn a_called_answer_that_does_not_learn_inherits_nothing() {
    let config = AdvantageConfig {
        estimator: Estimator::Grpo,
        then: vec!["inherit".parse().unwrap()],
        ..AdvantageConfig::default()
    };
    let mut samples = Vec::new();
    for (episode, role) in [(0, "near"), (1, "far")] {
        let mut main = sample(0, episode, 0, "main", 0);
        main.reward.local = episode as f64;
        let mut called = sample(0, episode, 0, role, 0);
        (called.caller, called.thread) = (Some(samples.len()), "call".to_owned());
        samples.extend([main, called]);
    }
    // The task lies outside the band of one of the two roles.
    let learns = |sample: &Sample| sample.role != "far";
    let advantages = compare(&samples, &config, &mut Memory::default(), learns).credits.advantages;
    assert!(advantages[0].unwrap() < 0.0 && advantages[2].unwrap() > 0.0, "{advantages:?}");
    assert_eq!((advantages[1], advantages[3]), (advantages[0], None));
}

#[test]
fn a_role_with_settings_of_its_own_is_compared_as_they_say_and_changes_nobody_else() {
    // Two episodes of one task, two turns each: a player and two judges, who answer in one state.
    let mut samples = Vec::new();
    for episode in 0..2 {
        for turn in 0..2 {
            let place = 4 * episode + 2 * turn;
            let mut player = sample(0, episode, turn, "player", 0);
            (player.round, player.reward.team) = (turn, place as f64);
            let mut judge = sample(0, episode, turn, "judge", 0);
            (judge.round, judge.reward.local) = (turn, (place * place) as f64);
            (judge.reward.team, judge.state) = (place as f64, turn as u64);
            samples.extend([player, judge]);
        }
    }
    let judge = RoleAdvantageConfig {
        worth: Some(Worth::Now),
        same: Some(vec![Same::Task, Same::State]),
        scale: Some(Scale::None),
        alpha: Some(0.0),
        ..RoleAdvantageConfig::default()
    };
    let config = AdvantageConfig {
        estimator: Estimator::TurnGrpo,
        roles: [("judge".to_owned(), judge)].into(),
        ..AdvantageConfig::default()
    };
    let of = |config: &AdvantageConfig| {
        compare(&samples, config, &mut Memory::default(), |_| true).credits.advantages
    };
    let (apart, alike) =
        (of(&config), of(&AdvantageConfig { roles: BTreeMap::new(), ..config.clone() }));
    let of_role = |advantages: &[Option<f32>], role: &str| -> Vec<f32> {
        let rows = advantages.iter().zip(&samples).filter(|(_, sample)| sample.role == role);
        rows.map(|(advantage, _)| advantage.unwrap()).collect()
    };
    assert_eq!(of_role(&apart, "player"), of_role(&alike, "player"));
    // 0 against 16 in the first state, 4 against 36 in the second.
    assert_eq!(of_role(&apart, "judge"), [-8.0, -16.0, 8.0, 16.0]);
    let named =
        RoleAdvantageConfig { estimator: Some(Estimator::Grpo), ..RoleAdvantageConfig::default() };
    let over = AdvantageConfig {
        worth: Some(Worth::Now),
        roles: [("judge".to_owned(), named)].into(),
        ..config
    };
    assert_eq!(over.of_role("judge").comparison(), Estimator::Grpo.comparison());
    assert_eq!(over.of_role("player").comparison(), over.comparison());
}
