use super::*;
use troupe_core::example::forked;
use troupe_core::trajectory::{Ending, Episode};

/// An episode: its task, its number, what was met in it and earned, and how it ended.
type Line<'t> = (usize, usize, &'t [(&'t str, f64)], Ending);

/// The answers of one role, one a round: task, episode, situation and what it earns.
fn rollout(lines: &[Line]) -> Rollout {
    let mut rollout = Rollout::default();
    for &(task, episode, answers, ref ending) in lines {
        for (round, &(situation, earned)) in answers.iter().enumerate() {
            let mut sample = forked().swap_remove(0);
            sample.situation = Some(situation.to_owned()).filter(|word| !word.is_empty());
            (sample.task, sample.episode, sample.round) = (task, episode, round);
            (sample.role, sample.parent, sample.kept) = ("player".to_owned(), None, true);
            if round > 0 {
                sample.parent = Some(rollout.samples.len() - 1);
            }
            sample.reward.parts.clear();
            (sample.reward.team, sample.reward.local) = (0.0, earned);
            rollout.samples.push(sample);
        }
        rollout.episodes.push(Episode {
            task,
            family: "maze".to_owned(),
            split: "validation".to_owned(),
            seed: 0,
            episode,
            events: Vec::new(),
            ending: ending.clone(),
        });
    }
    rollout
}

fn roles() -> BTreeSet<String> {
    ["player".to_owned()].into()
}

fn counted(rollout: &Rollout) -> BTreeMap<Met, Count> {
    let returns = Sequel::of(rollout, &AdvantageConfig::default());
    let mut counts: BTreeMap<Met, Count> = BTreeMap::new();
    for (index, met) in first_met(&rollout.samples, &roles()) {
        let (worth, solved) = returns.after(index);
        let count = counts.entry(met).or_default();
        *count = Count {
            episodes: count.episodes + 1,
            solved: count.solved + usize::from(solved),
            sum: count.sum + worth,
        };
    }
    counts
}

#[test]
fn an_episode_counts_once_for_each_situation_with_what_it_earns_from_the_first_time_on() {
    let played = rollout(&[
        (0, 0, &[("far", 1.0), ("near", 2.0), ("far", 4.0), ("near", 8.0)], Ending::Solved),
        (1, 0, &[("near", 16.0), ("", 32.0)], Ending::Failed),
        (1, 1, &[("", 64.0)], Ending::Solved),
    ]);
    let met = |situation: Option<&str>| ("player".to_owned(), situation.map(str::to_owned));
    let count = |episodes, solved, sum| Count { episodes, solved, sum };
    let wanted = [
        (met(None), count(3, 2, 15.0 + 48.0 + 64.0)),
        (met(Some("far")), count(1, 1, 15.0)),
        (met(Some("near")), count(2, 1, 14.0 + 48.0)),
    ];
    assert_eq!(counted(&played), wanted.into());
}

#[test]
fn only_the_roles_that_the_members_play_count() {
    let mut played = rollout(&[(0, 0, &[("far", 1.0), ("near", 2.0)], Ending::Solved)]);
    played.samples[0].role = "other".to_owned();
    let met: Vec<Met> = counted(&played).into_keys().collect();
    assert_eq!(met, [("player".to_owned(), None), ("player".to_owned(), Some("near".to_owned()))]);
}

#[test]
fn a_cell_has_the_members_own_mean_and_what_it_never_met_has_none() {
    let met = |word: &str| ("player".to_owned(), Some(word.to_owned()));
    let count = |episodes, solved, sum| Count { episodes, solved, sum };
    let counts = [
        [(met("far"), count(2, 1, 3.0)), (met("near"), count(4, 0, -2.0))].into(),
        [(met("near"), count(1, 1, 5.0))].into(),
    ];
    let members = ["one", "two"].map(str::to_owned);
    let shown: Vec<String> = cells(&members, &counts)
        .iter()
        .map(|cell| {
            let situation = cell.situation.as_deref().unwrap_or("–");
            format!("{situation} {} {} {} {}", cell.member, cell.episodes, cell.solved, cell.mean)
        })
        .collect();
    assert_eq!(shown, ["far one 2 1 1.5", "near one 4 0 -0.5", "near two 1 1 5"]);
}
