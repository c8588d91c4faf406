//! What critics learn from a table, and what becomes of their verdicts.
//!
//! Pure: a function of the sample table. A critic is a policy that plays no role; what it is made
//! of is not known here.

use std::collections::BTreeMap;

use crate::lineage::EpisodeOf;
use crate::worth::Earnings;
use troupe_core::config::{AdvantageConfig, Worth};
use troupe_core::trajectory::Sample;

/// Returns closer than this are the same.
const SAME_RETURN: f64 = 1e-9;

/// Two episodes of a task, by the rows of their answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The rows of the one that was worth more.
    pub better: Vec<usize>,
    /// Those of the other one.
    pub worse: Vec<usize>,
}

/// Each task's best episode against each that was worth less (SWEET-RL, arXiv 2503.15478, section
/// 4.2): an episode is worth Σ α·team. Of several best ones the first is taken. Only answers
/// that are `judged` are named; episodes without one are left out.
pub fn pairs(
    samples: &[Sample],
    config: &AdvantageConfig,
    judged: impl Fn(&Sample) -> bool,
) -> Vec<Pair> {
    let earnings = Earnings::of(samples, config, Worth::Whole);
    let mut episodes: BTreeMap<EpisodeOf, Vec<usize>> = BTreeMap::new();
    for (row, sample) in samples.iter().enumerate().filter(|(_, sample)| judged(sample)) {
        episodes.entry((sample.task, sample.episode)).or_default().push(row);
    }
    let mut tasks: BTreeMap<usize, Vec<(f64, Vec<usize>)>> = BTreeMap::new();
    for ((task, episode), rows) in episodes {
        let worth = earnings.team_reward((task, episode));
        tasks.entry(task).or_default().push((worth, rows));
    }
    let of_task = |episodes: Vec<(f64, Vec<usize>)>| -> Vec<Pair> {
        let most = episodes.iter().map(|(worth, _)| *worth).fold(f64::NEG_INFINITY, f64::max);
        let Some((_, better)) = episodes.iter().find(|(worth, _)| *worth == most).cloned() else {
            return Vec::new();
        };
        let worse = episodes.into_iter().filter(|(worth, _)| most - worth > SAME_RETURN);
        worse.map(|(_, worse)| Pair { better: better.clone(), worse }).collect()
    };
    tasks.into_values().flat_map(of_task).collect()
}

/// An answer, what it brought, and what its seat was asked next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transition {
    /// The answer's row.
    pub row: usize,
    /// What its seat earned until it was asked again: Σ (α·team + local), those of rounds in which
    /// only others were asked included.
    pub reward: f64,
    /// The row of the seat's next answer in the episode; none if there is none.
    pub next: Option<usize>,
}

/// The way of every seat through its episode, answer by answer, of those that their episodes went
/// on from. A seat that speaks in several conversations goes through each on its own. Episodes have
/// no answers in common.
pub fn transitions(
    samples: &[Sample],
    config: &AdvantageConfig,
    judged: impl Fn(&Sample) -> bool,
) -> Vec<Transition> {
    type Line<'s> = (EpisodeOf, &'s str, u32, &'s str);
    let mut lines: BTreeMap<Line, Vec<usize>> = BTreeMap::new();
    let mut team: BTreeMap<(EpisodeOf, usize), f64> = BTreeMap::new();
    for sample in samples.iter().filter(|sample| sample.kept) {
        let round = ((sample.task, sample.episode), sample.round);
        team.entry(round).or_insert(config.alpha * sample.reward.team);
    }
    for (row, sample) in samples.iter().enumerate().filter(|(_, s)| s.kept && judged(s)) {
        let episode = (sample.task, sample.episode);
        let line = (episode, sample.role.as_str(), sample.instance, sample.thread.as_str());
        lines.entry(line).or_default().push(row);
    }
    let mut transitions = Vec::new();
    for ((episode, ..), mut rows) in lines {
        rows.sort_by_key(|&row| samples[row].round);
        for (place, &row) in rows.iter().enumerate() {
            let next = rows.get(place + 1).copied();
            let until = next.map_or(usize::MAX, |next| samples[next].round);
            let rounds = team.range((episode, samples[row].round)..(episode, until));
            let shared: f64 = rounds.map(|(_, reward)| reward).sum();
            transitions.push(Transition { row, reward: shared + samples[row].reward.local, next });
        }
    }
    transitions.sort_by_key(|transition| transition.row);
    transitions
}

/// Generalized advantages along each seat's way: A = Σ (γλ)^l·δ with δ = r + γ·V(s′) − V(s), V(s′)
/// being 0 after the last answer (arXiv 1506.02438, equation 16). `values` has V of the state of
/// every row, in the unit of the reward. Rows without a transition have none.
pub fn generalized(
    transitions: &[Transition],
    values: &[f64],
    (discount, lambda): (f64, f64),
) -> BTreeMap<usize, f64> {
    let by_row: BTreeMap<usize, &Transition> =
        transitions.iter().map(|transition| (transition.row, transition)).collect();
    let mut advantages = BTreeMap::new();
    // A seat's next answer stands behind it in the table.
    for transition in by_row.values().rev() {
        let later = transition.next.map_or(0.0, |next| values[next]);
        let surprise = transition.reward + discount * later - values[transition.row];
        let carried = transition.next.and_then(|next| advantages.get(&next)).copied();
        let carried: f64 = discount * lambda * carried.unwrap_or(0.0);
        advantages.insert(transition.row, surprise + carried);
    }
    advantages
}

/// What a critic's scores come to as advantages. Answers of one seat to one state that were all
/// scored are measured from their median, so that the upper half is better and the lower half
/// worse (SWEET-RL, arXiv 2503.15478, section 4.3); one that stands alone keeps its score.
pub fn relative(samples: &[Sample], scores: &BTreeMap<usize, f64>) -> BTreeMap<usize, f64> {
    type State<'s> = (usize, u64, &'s str, u32, &'s str, usize);
    let mut states: BTreeMap<State, Vec<usize>> = BTreeMap::new();
    for &row in scores.keys() {
        let Sample { task, state, role, instance, thread, turn, .. } = &samples[row];
        states.entry((*task, *state, role, *instance, thread, *turn)).or_default().push(row);
    }
    let mut advantages = BTreeMap::new();
    for rows in states.into_values() {
        let middle = if rows.len() > 1 { median(rows.iter().map(|row| scores[row])) } else { 0.0 };
        advantages.extend(rows.into_iter().map(|row| (row, scores[&row] - middle)));
    }
    advantages
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = numbers.collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        0 => (sorted[middle - 1] + sorted[middle]) / 2.0,
        _ => sorted[middle],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::example::sample;

    /// An answer of a seat in a round, with what it and its team earned.
    fn answer(task: usize, episode: usize, round: usize, role: &str, earned: (f64, f64)) -> Sample {
        let mut sample = sample(task, episode, round, role, 0);
        (sample.round, sample.kept) = (round, true);
        (sample.reward.team, sample.reward.local) = earned;
        sample
    }

    #[test]
    fn the_best_episode_of_a_task_stands_against_each_that_was_worth_less() {
        let samples = [
            answer(0, 0, 0, "solo", (0.0, 0.0)),
            answer(0, 1, 0, "solo", (0.25, 0.0)),
            answer(0, 1, 1, "solo", (0.75, 0.0)),
            answer(0, 2, 0, "solo", (1.0, 9.0)),
            answer(0, 3, 0, "solo", (0.5, 0.0)),
            answer(1, 0, 0, "solo", (1.0, 0.0)),
            answer(1, 1, 0, "solo", (1.0, 0.0)),
        ];
        let pairs = pairs(&samples, &AdvantageConfig::default(), |_| true);
        let pair = |better: &[usize], worse: &[usize]| Pair {
            better: better.to_vec(),
            worse: worse.to_vec(),
        };
        // Episodes 1 and 2 are worth the same: what a seat earned for itself does not count.
        assert_eq!(pairs, [pair(&[1, 2], &[0]), pair(&[1, 2], &[4])]);
        let none = super::pairs(&samples, &AdvantageConfig::default(), |sample| sample.task > 0);
        assert_eq!(none, []);
    }

    #[test]
    fn what_others_earn_the_team_meanwhile_is_part_of_what_an_answer_brought() {
        // The planner is asked in rounds 0 and 2, the executor in 1 and 3.
        let samples = [
            answer(0, 0, 0, "planner", (1.0, 0.5)),
            answer(0, 0, 1, "executor", (2.0, 0.25)),
            answer(0, 0, 2, "planner", (4.0, 0.125)),
            answer(0, 0, 3, "executor", (8.0, 0.0625)),
        ];
        let config = AdvantageConfig { alpha: 2.0, ..AdvantageConfig::default() };
        let transition = |row, reward, next| Transition { row, reward, next };
        assert_eq!(
            transitions(&samples, &config, |_| true),
            [
                transition(0, 2.0 * 3.0 + 0.5, Some(2)),
                transition(1, 2.0 * 6.0 + 0.25, Some(3)),
                transition(2, 2.0 * 12.0 + 0.125, None),
                transition(3, 2.0 * 8.0 + 0.0625, None),
            ]
        );
        let mut left_behind = samples.clone();
        left_behind[3].kept = false;
        let rows: Vec<usize> =
            transitions(&left_behind, &config, |_| true).iter().map(|t| t.row).collect();
        assert_eq!(rows, [0, 1, 2]);
    }

    #[test]
    fn generalized_advantages_are_those_worked_out_by_hand() {
        let transition = |row, reward, next| Transition { row, reward, next };
        let way = [transition(0, 1.0, Some(2)), transition(1, 5.0, None), transition(2, 2.0, None)];
        let advantages = generalized(&way, &[0.5, 4.0, 1.5], (0.5, 0.25));
        let last = 2.0 - 1.5;
        let first = 1.0 + 0.5 * 1.5 - 0.5 + 0.5 * 0.25 * last;
        assert_eq!(advantages, [(0, first), (1, 1.0), (2, last)].into());
    }

    #[test]
    fn of_answers_to_one_state_the_upper_half_is_better() {
        let mut samples: Vec<Sample> =
            (0..5).map(|branch| sample(0, 0, 0, "solo", branch)).collect();
        samples[4].state += 1;
        let scores = [(0, 3.0), (1, -1.0), (2, 5.0), (3, 1.0), (4, -2.0)].into();
        let advantages = relative(&samples, &scores);
        assert_eq!(advantages, [(0, 1.0), (1, -3.0), (2, 3.0), (3, -1.0), (4, -2.0)].into());
    }
}
