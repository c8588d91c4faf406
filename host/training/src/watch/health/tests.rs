//! Signs that show, and those that do not.

use super::*;
use crate::metrics::{FamilyMetrics, HeldOut, Spread};

/// A step of a run with which nothing is wrong.
fn healthy(step: usize) -> Record {
    let role = RoleMetrics {
        samples: 64,
        reward: Spread { mean: 0.5, std: 0.1 },
        accepted: 0.9,
        cut: 0.05,
        echo: 0.1,
        ..RoleMetrics::default()
    };
    let update = UpdateMetrics { samples: 64, entropy: 0.5, ..UpdateMetrics::default() };
    let family = FamilyMetrics { episodes: 64, solved: 0.4, ..FamilyMetrics::default() };
    Record {
        step,
        episodes: 64,
        endings: BTreeMap::from([("solved".to_owned(), 26), ("void".to_owned(), 1)]),
        families: BTreeMap::from([("maze".to_owned(), family)]),
        roles: BTreeMap::from([("singer".to_owned(), role)]),
        updates: BTreeMap::from([("shared".to_owned(), update)]),
        validation: Some(validated(0.4)),
        ..Record::default()
    }
}

fn validated(success: f64) -> HeldOut {
    HeldOut { greedy: Success::new((success * 200.0) as usize, 200), ..HeldOut::default() }
}

/// What is said of so many healthy steps, and then of others.
fn said(ill: impl Fn(&mut Record, usize), steps: usize) -> Vec<String> {
    let mut health = Health::default();
    let mut said: Vec<String> = (0..8).flat_map(|step| health.take_in(&healthy(step))).collect();
    assert!(said.is_empty(), "{said:?}");
    for step in 0..steps {
        let mut record = healthy(8 + step);
        ill(&mut record, step);
        said.extend(health.take_in(&record));
    }
    said
}

type Ill = fn(&mut Record, usize);

fn role(record: &mut Record) -> &mut RoleMetrics {
    record.roles.get_mut("singer").unwrap()
}

fn update(record: &mut Record) -> &mut UpdateMetrics {
    record.updates.get_mut("shared").unwrap()
}

/// What is wrong, after how many steps it is said, and by which words.
const ILLS: [(Ill, usize, &str); 9] = [
    (
        |record, _| role(record).cut = 0.6,
        SIGN_STEPS,
        "60 % of the answers of the role `singer` are cut",
    ),
    (
        |record, _| role(record).accepted = 0.2,
        SIGN_STEPS,
        "80 % of the answers of the role `singer` were not",
    ),
    (|record, _| role(record).echo = 0.7, SIGN_STEPS, "`singer` repeat their prompt"),
    (|record, _| update(record).entropy = 0.001, SIGN_STEPS, "`shared` has stopped trying"),
    (|record, _| update(record).skipped_steps = 2, 1, "2 optimizer steps of the policy `shared`"),
    (
        |record, _| {
            (update(record).taken_back, update(record).learning_rate) = (4, 2e-4);
        },
        1,
        "was given up; the next ones begin at 2.0e-4",
    ),
    (|record, _| update(record).mismatch = 0.05, SIGN_STEPS, "disagree about the policy `shared`"),
    (
        |record, _| {
            record.endings.insert("void".to_owned(), 16);
            record.void = BTreeMap::from([("trap".to_owned(), 12), ("time".to_owned(), 4)]);
        },
        SIGN_STEPS,
        "25 % of the episodes are void, and 2 % were before",
    ),
    (
        |record, step| {
            role(record).reward.mean = 0.6 + step as f64 / 10.0;
            record.validation = Some(validated(0.2));
        },
        1,
        "fell from 40.0 to 20.0 %",
    ),
];

#[test]
fn each_sign_is_said_once_after_its_patience_and_nothing_else_is() {
    for (ill, patience, words) in ILLS {
        assert!(said(ill, patience - 1).is_empty(), "too early: {words}");
        let told = said(ill, 4 * SIGN_STEPS);
        assert_eq!(told.len(), 1, "{words}: {told:?}");
        assert!(told[0].contains(words), "{words}: {told:?}");
    }
}

#[test]
fn a_good_step_between_begins_the_count_anew() {
    let told = said(
        |record, step| {
            role(record).cut = if step == SIGN_STEPS - 1 { 0.0 } else { 0.6 };
        },
        2 * SIGN_STEPS - 1,
    );
    assert!(told.is_empty(), "{told:?}");
}

#[test]
fn entropy_is_gone_also_where_nothing_is_learned_and_steps_without_answers_do_not_count() {
    let told = |measured: [bool; 7]| {
        said(
            |record, step| {
                update(record).samples = 0;
                update(record).entropy = if measured[step] { 0.001 } else { 0.0 };
            },
            measured.len(),
        )
    };
    let said = told([true, true, false, true, false, true, true]);
    assert!(said.len() == 1 && said[0].contains("`shared` has stopped trying"), "{said:?}");
    assert!(told([true, true, false, true, false, true, false]).is_empty());
    assert!(told([false; 7]).is_empty());
}

#[test]
fn a_role_that_begins_with_few_answers_that_count_is_given_time_and_one_that_had_more_is_not() {
    let few = |step, accepted| {
        let mut record = healthy(step);
        role(&mut record).accepted = accepted;
        record
    };
    let said = |shares: &[f64]| {
        let mut health = Health::default();
        let told =
            shares.iter().enumerate().flat_map(|(step, share)| health.take_in(&few(step, *share)));
        told.filter(|words| words.contains("were not carried out")).count()
    };
    let improves: Vec<f64> = (0..39).map(|step| 0.06 + 0.0061 * f64::from(step)).collect();
    assert_eq!(said(&[&improves[..], &[0.4; 9]].concat()), 0);
    assert_eq!(said(&[&[0.25; 4][..], &[0.1; 8], &[0.25; 4]].concat()), 0);
    assert_eq!(said(&[0.1; 39]), 0);
    assert_eq!(said(&[0.1; 40]), 1);
    assert_eq!(said(&[&[0.6; 3][..], &[0.1; 5]].concat()), 1);
}

#[test]
fn a_policy_that_solves_everything_may_be_sure_of_itself() {
    let told = said(
        |record, _| {
            update(record).entropy = 0.001;
            record.families.get_mut("maze").unwrap().solved = 0.97;
        },
        3 * SIGN_STEPS,
    );
    assert!(told.is_empty(), "{told:?}");
}

#[test]
fn success_that_falls_by_what_chance_does_is_no_hacking_whatever_is_earned() {
    let validated = |solved| HeldOut { greedy: Success::new(solved, 256), ..HeldOut::default() };
    let told = said(
        |record, step| {
            role(record).reward.mean = 0.6 + step as f64 / 10.0;
            record.validation = Some(validated(if step == 0 { 253 } else { 245 }));
        },
        4,
    );
    assert!(told.is_empty(), "{told:?}");
}

#[test]
fn success_and_reward_that_fall_together_are_no_hacking() {
    let told = said(
        |record, _| {
            role(record).reward.mean = 0.3;
            record.validation = Some(validated(0.2));
        },
        3,
    );
    assert!(told.is_empty(), "{told:?}");
}

#[test]
fn good_answers_that_are_lost_and_answers_that_ignore_their_prompts_are_noticed() {
    let mut health = Health::default();
    for step in 1..=40 {
        let mut record = healthy(step);
        update(&mut record).displacement = Some(if step < 20 { -0.02 } else { 0.2 });
        if step % 10 == 0 {
            let (information, found_again) = if step < 30 { (1.2, 0.4) } else { (0.1, 0.07) };
            let found =
                Information { prompts: 16, information, found_again, ..Information::default() };
            record.information = BTreeMap::from([("singer".to_owned(), found)]);
        }
        let said = health.take_in(&record);
        let expected = match step {
            22 => "make the good answers of the policy `shared` less likely, too: by 0.20",
            40 => "say 0.10 nats of their prompts, and said 1.20",
            _ => "",
        };
        let fits = if expected.is_empty() { said.is_empty() } else { said[0].contains(expected) };
        assert!(fits, "step {step}: {said:?}");
    }
}
