//! How good each of several policies is in which situation: what an examination finds.

use std::collections::BTreeMap;

use troupe_core::config::{EnsembleBy, EnsembleConfig, PolicyConfig, Roles};
use troupe_core::trajectory::Sample;
use troupe_guests::plugin::Split;
use troupe_model::Device;
use troupe_training::evaluation::HeldOutTasks;
use troupe_training::examination::examine;
use troupe_training::metrics::Answers;
use troupe_training::rollout::Rollout;
use troupe_training::situations::{Cell, SituationTable};
use troupe_training::team::Team;

use super::{MEMBERS, copy, ensemble, examined, held_out, learn, learned, play};
use crate::script;

/// What every role of a play met, counted in another way than the table is.
fn by_hand(rollout: &Rollout) -> BTreeMap<(String, Option<String>), (usize, usize, f64)> {
    let mut found = BTreeMap::new();
    for episode in &rollout.episodes {
        let rows: Vec<&Sample> =
            rollout.samples.iter().filter(|sample| sample.task == episode.task).collect();
        for role in ["planner", "executor"] {
            let own: Vec<&&Sample> = rows.iter().filter(|sample| sample.role == role).collect();
            for situation in [None, Some("level"), Some("apart")] {
                let fits =
                    |s: &&&&Sample| situation.is_none() || s.situation.as_deref() == situation;
                let Some(first) = own.iter().find(fits).map(|sample| sample.round) else {
                    continue;
                };
                let later = |sample: &&&Sample| sample.round >= first;
                // Planner and executor answer in rounds of their own, and the team is paid in all.
                let team: f64 =
                    rows.iter().filter(|s| s.round >= first).map(|s| s.reward.team).sum();
                let local: f64 = own.iter().copied().filter(later).map(|s| s.reward.local).sum();
                let key = (role.to_owned(), situation.map(str::to_owned));
                let count: &mut (usize, usize, f64) = found.entry(key).or_default();
                *count =
                    (count.0 + 1, count.1 + usize::from(episode.solved()), count.2 + team + local);
            }
        }
    }
    found
}

#[test]
fn a_table_is_what_each_member_does_alone_on_the_split_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    learn(folder);
    let alone = |name: &str, split| {
        let mut config = ensemble(folder, EnsembleBy::Random, MEMBERS);
        config.roles = Roles::named([("planner", name), ("executor", name)]);
        by_hand(&play(&config, split).1)
    };
    let (mut differ, mut cells) = (0, 0);
    for (split, other) in [(Split::Validation, Split::Test), (Split::Test, Split::Validation)] {
        let table = examined(folder, split, None);
        assert_eq!((table.split.as_str(), table.tasks), (split.name(), 24));
        for name in MEMBERS {
            let (right, wrong) = (alone(name, split), alone(name, other));
            let own = table.cells.iter().filter(|cell| cell.member == name);
            assert_eq!(own.clone().count(), right.len());
            for Cell { role, situation, episodes, solved, mean, .. } in own {
                let key = (role.clone(), situation.clone());
                let (count, of_those, sum) = right[&key];
                assert_eq!((*episodes, *solved), (count, of_those), "{key:?}");
                assert!((mean - sum / count as f64).abs() < 1e-9, "{key:?}: {mean} {sum} {count}");
                let (count, _, sum) = wrong.get(&key).copied().unwrap_or_default();
                differ += usize::from((mean - sum / count as f64).abs() > 1e-3);
                cells += 1;
            }
        }
        let member = |name| table.cells.iter().filter(move |cell| cell.member == name);
        let unlike = member("one").zip(member("two")).filter(|(a, b)| a.mean != b.mean).count();
        assert!(unlike > 3, "members are told apart");
    }
    assert!(differ > cells / 2, "splits are told apart: {differ} of {cells}");
}

#[test]
fn forks_compare_members_in_the_same_states() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    learn(folder);
    let forks = examined(folder, Split::Validation, Some(1));
    let alone = examined(folder, Split::Validation, None);
    let of = |table: &SituationTable, name: &str| -> BTreeMap<_, Cell> {
        let own = table.cells.iter().filter(|cell| cell.member == name).cloned();
        own.map(|cell| ((cell.role.clone(), cell.situation.clone()), cell)).collect()
    };
    let (one, two) = (of(&forks, "one"), of(&forks, "two"));
    assert_eq!(one.keys().collect::<Vec<_>>(), two.keys().collect::<Vec<_>>());
    for (met, cell) in &one {
        assert_eq!(cell.episodes, two[met].episodes, "{met:?}");
    }
    // The planner is asked first, so that from there on members play alone.
    let first = ("planner".to_owned(), None);
    for name in MEMBERS {
        let (forked, whole) = (&of(&forks, name)[&first], &of(&alone, name)[&first]);
        assert_eq!((forked.episodes, forked.solved), (whole.episodes, whole.solved));
        assert!((forked.mean - whole.mean).abs() < 1e-9, "{forked:?} {whole:?}");
    }
    assert!(one.iter().any(|(met, cell)| cell.mean != two[met].mean));
}

#[test]
fn forks_of_a_state_differ_and_are_alike_for_members_that_are_alike() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for name in MEMBERS {
        copy(&learned().join("one"), &folder.join(name));
    }
    let config = ensemble(folder, EnsembleBy::Random, MEMBERS);
    let mut team = Team::assemble(&config, Device::cpu()).unwrap();
    let held_out = HeldOutTasks { answers: Answers::Sampled, ..held_out(Split::Validation) };
    let table = examine(&mut team, &config, held_out, Some(4)).unwrap();
    let of = |name: &'static str| table.cells.iter().filter(move |cell| cell.member == name);
    assert_eq!(of("one").count(), of("two").count());
    for (cell, twin) in of("one").zip(of("two")) {
        assert_eq!(*cell, Cell { member: "one".to_owned(), ..twin.clone() });
        assert_eq!(cell.episodes % 4, 0, "each state four times");
    }
    // All four of a state would be solved, or none of them, if they were one.
    assert!(of("one").any(|cell| cell.solved % 4 != 0), "{:?}", table.cells);
    let first = of("one").find(|cell| cell.role == "planner" && cell.situation.is_none());
    assert_eq!(first.unwrap().episodes, 4 * 24);
}

#[test]
fn of_roles_that_are_asked_at_once_only_that_of_the_members_counts() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = script::config();
    config.workflow.insert("together".to_owned(), true.into());
    let team = Team::assemble(&config, Device::cpu()).unwrap();
    for (seat, name) in script::SEATS.into_iter().zip(MEMBERS) {
        let path = folder.path().join(name);
        team.policies[seat].save(&path).unwrap();
        let member = PolicyConfig { path: Some(path), ..PolicyConfig::default() };
        config.policies.insert(name.to_owned(), member);
    }
    let (members, by) = (MEMBERS.map(str::to_owned).to_vec(), EnsembleBy::Random);
    let of = Some(EnsembleConfig { members, by, ..EnsembleConfig::default() });
    let both = PolicyConfig { ensemble: of, ..PolicyConfig::default() };
    config.policies.insert("both".to_owned(), both);
    config.roles = Roles::named([("first", "both"), ("second", "two")]);
    let mut team = Team::assemble(&config, Device::cpu()).unwrap();
    let held_out = HeldOutTasks { tasks: 6, ..held_out(Split::Validation) };
    for forks in [None, Some(1)] {
        let cells = examine(&mut team, &config, held_out, forks).unwrap().cells;
        let met = |cell: &Cell| (cell.role.clone(), cell.situation.clone(), cell.episodes);
        let wanted = vec![("first".to_owned(), None, 6); 2];
        assert_eq!(cells.iter().map(met).collect::<Vec<_>>(), wanted, "{forks:?}");
    }
}
