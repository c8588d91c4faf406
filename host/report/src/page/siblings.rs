//! The answers of a step as a page shows them: each with those it was compared with, side by
//! side, and with the answer before it, as a tree.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::texts::{Place, Texts};
use troupe_core::table::Row;
use troupe_core::trajectory::{Event, StopReason};

/// Some answers of a step.
#[derive(Debug, Serialize)]
pub struct Leaf {
    /// The step.
    pub step: usize,
    /// The answers of some of its tasks.
    pub rows: Vec<Answer>,
}

/// One answer.
#[derive(Debug, PartialEq, Serialize)]
pub struct Answer {
    /// Index of the task within the step.
    pub task: usize,
    /// Which of the task's episodes it belongs to.
    pub episode: usize,
    /// Which round of it.
    pub round: usize,
    /// The row of the answer that the episode went on from before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<usize>,
    /// The role that answered.
    pub role: String,
    /// Which of its seats.
    #[serde(skip_serializing_if = "troupe_core::totals::is_zero")]
    pub instance: usize,
    /// The conversation; empty for the main one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub thread: String,
    /// How often the seat had been asked before in it.
    pub turn: usize,
    /// The policy that played it.
    pub policy: String,
    /// Which answers are its siblings: those with the same number.
    pub group: usize,
    /// Whether these were given in states that are not the same.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub apart: bool,
    /// Which of the state's answers it is.
    pub branch: usize,
    /// Whether the episode went on from it.
    pub kept: bool,
    /// Whether its actions were carried out in full.
    pub accepted: bool,
    /// Whether it was cut by the limit on tokens.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub was_cut: bool,
    /// What it earned the team.
    pub team: f64,
    /// What it earned the role alone.
    pub local: f64,
    /// Named shares of both.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, f64>,
    /// What it was worth to the update; nothing if its group was left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advantage: Option<f32>,
    /// How often it counted there.
    pub weight: f32,
    /// How its episode ended.
    pub ending: String,
    /// Its tokens.
    pub tokens: usize,
    /// The answer.
    pub text: Place,
}

/// The rows of some tasks, in their order; what hangs on each other is of one task.
pub fn of_tasks<'r>(rows: &'r [Row], tasks: &BTreeSet<usize>) -> Vec<(Option<usize>, &'r Row)> {
    let mut places = vec![None; rows.len()];
    let mut found = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        if tasks.contains(&row.sample.task) {
            places[index] = Some(found.len());
            let parent = row.sample.parent;
            found.push((parent.and_then(|parent| places.get(parent).copied().flatten()), row));
        }
    }
    found
}

/// Make leaves of rows and of where their parents stand among them.
pub fn gather(step: usize, rows: &[(Option<usize>, &Row)], texts: &mut Texts) -> Leaf {
    let groups = groups(rows.iter().map(|(_, row)| *row));
    let answers = rows.iter().zip(groups).map(|((parent, row), (group, apart))| {
        let sample = &row.sample;
        Answer {
            task: sample.task,
            episode: sample.episode,
            round: sample.round,
            parent: *parent,
            role: sample.role.clone(),
            instance: sample.instance as usize,
            thread: sample.thread.clone(),
            turn: sample.turn,
            policy: sample.policy.clone(),
            group,
            apart,
            branch: sample.branch,
            kept: sample.kept,
            accepted: sample.accepted,
            was_cut: sample.completion.stop == StopReason::Length,
            team: sample.reward.team,
            local: sample.reward.local,
            parts: sample.reward.parts.clone(),
            advantage: row.advantage,
            weight: row.weight,
            ending: row.ending.clone(),
            tokens: sample.completion.length(),
            text: texts.place(&sample.completion.text),
        }
    });
    Leaf { step, rows: answers.collect() }
}

/// Which rows belong together, and whether their states differ: the answers to one state of a
/// seat, or, where every state was answered once, those of one turn of a task's seat.
fn groups<'r>(rows: impl Iterator<Item = &'r Row> + Clone) -> Vec<(usize, bool)> {
    type Turn<'r> = (usize, &'r str, u32, &'r str, usize);
    fn turn_of(row: &Row) -> Turn<'_> {
        let sample = &row.sample;
        (sample.task, &sample.role, sample.instance, &sample.thread, sample.turn)
    }
    let mut turns: BTreeMap<Turn<'r>, BTreeMap<u64, usize>> = BTreeMap::new();
    for row in rows.clone() {
        *turns.entry(turn_of(row)).or_default().entry(row.sample.state).or_default() += 1;
    }
    let mut numbers: BTreeMap<(Turn<'r>, Option<u64>), usize> = BTreeMap::new();
    let number = |row: &'r Row| {
        let states = &turns[&turn_of(row)];
        let apart = states.len() > 1 && states.values().all(|answers| *answers == 1);
        let key = (turn_of(row), (!apart).then_some(row.sample.state));
        let next = numbers.len();
        (*numbers.entry(key).or_insert(next), apart)
    };
    rows.map(number).collect()
}

/// The row of an answer that an episode of a task tells of: the one it went on from.
pub fn row_of(
    rows: &[(Option<usize>, &Row)],
    task: usize,
    number: usize,
    event: &Event,
) -> Option<usize> {
    let Event::Replied { role, instance, thread, turn, text, .. } = event else { return None };
    let is_it = |row: &Row| {
        let sample = &row.sample;
        sample.kept
            && (sample.task, &sample.role, &sample.instance) == (task, role, instance)
            && (&sample.thread, &sample.turn) == (thread, turn)
            && sample.completion.text == *text
    };
    let of_own = |(_, row): &(Option<usize>, &Row)| is_it(row) && row.sample.episode == number;
    // What several episodes have in common belongs to the first of them.
    let of_any = |(_, row): &(Option<usize>, &Row)| is_it(row);
    rows.iter().position(of_own).or_else(|| rows.iter().position(of_any))
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::example::{forked, tree_of};
    use troupe_core::table::rows_of;
    use troupe_core::trajectory::Sample;

    fn rows(samples: &[Sample]) -> Vec<Row> {
        let advantages: Vec<_> = (0..samples.len()).map(|index| Some(index as f32)).collect();
        let weights = vec![1.0; samples.len()];
        rows_of((4, |_: &str| 0), samples, (&advantages, &weights), &[], |_| true)
    }

    fn groups_of(rows: &[Row]) -> Vec<usize> {
        groups(rows.iter()).into_iter().map(|(group, _)| group).collect()
    }

    #[test]
    fn siblings_answer_one_state_of_one_role_in_one_turn_of_one_task() {
        let mut samples = tree_of(2, 2, &["planner", "executor"], 3);
        // Roles that are asked together are asked in one state.
        samples.iter_mut().for_each(|sample| sample.state = 7);
        let rows = rows(&samples);
        let groups = groups_of(&rows);
        assert_eq!(groups.iter().max(), Some(&7), "2 tasks, 2 turns, 2 roles");
        for (row, group) in rows.iter().zip(&groups) {
            let alike = |other: &&Row| {
                let (one, other) = (&row.sample, &other.sample);
                (one.task, one.turn, &one.role, one.state)
                    == (other.task, other.turn, &other.role, other.state)
            };
            assert_eq!(rows.iter().filter(alike).count(), 3);
            assert_eq!(groups.iter().filter(|other| *other == group).count(), 3);
        }
        let mut other = tree_of(1, 1, &["planner"], 6);
        (other[2].instance, other[3].thread) = (1, "aside".to_owned());
        (other[4].state, other[5].state) = (1, 1);
        assert_eq!(groups_of(&self::rows(&other)), [0, 0, 1, 2, 3, 3]);
    }

    #[test]
    fn where_every_state_was_answered_once_those_of_a_turn_stand_side_by_side() {
        let mut samples = tree_of(1, 2, &["solo"], 3);
        for (index, sample) in samples.iter_mut().enumerate() {
            (sample.episode, sample.state) = (sample.branch, index as u64);
        }
        let found = groups(rows(&samples).iter());
        assert_eq!(found[..3], [(0, true); 3]);
        assert_eq!(found[3..], [(1, true); 3]);
        samples[1].state = samples[0].state;
        let found: Vec<_> = groups(rows(&samples).iter())[..3].to_vec();
        assert_eq!(found, [(0, false), (0, false), (1, false)]);
    }

    #[test]
    fn rows_of_some_tasks_still_hang_on_each_other() {
        let mut samples = tree_of(1, 1, &["solo"], 2);
        samples.extend(forked().into_iter().map(|mut sample| {
            sample.task = 1;
            sample.parent = sample.parent.map(|parent| parent + 2);
            sample
        }));
        let rows = rows(&samples);
        let found = of_tasks(&rows, &BTreeSet::from([1]));
        let parents: Vec<Option<usize>> = found.iter().map(|(parent, _)| *parent).collect();
        assert_eq!(parents, [None, Some(0), Some(1), Some(0), Some(3), Some(1)]);
        let leaf = gather(4, &found, &mut Texts::new(100));
        assert_eq!(leaf.rows[2].local, 2.0, "it earned its index");
        assert_eq!((leaf.rows[2].advantage, leaf.rows[2].tokens), (Some(4.0), 2));
    }

    #[test]
    fn an_answer_of_an_episode_is_found_in_its_own_task_episode_role_and_turn() {
        let samples = tree_of(2, 2, &["planner", "executor"], 3);
        let rows = rows(&samples);
        let all = of_tasks(&rows, &BTreeSet::from([0, 1]));
        let event = |role: &str, turn: usize, text: &str| Event::Replied {
            role: role.to_owned(),
            instance: 0,
            thread: String::new(),
            turn,
            prompt: Vec::new(),
            tools: Vec::new(),
            text: text.to_owned(),
            cut: false,
            forced: false,
        };
        // 12 rows a task, 6 a turn, 3 a role, of which the first is kept.
        assert_eq!(row_of(&all, 1, 0, &event("executor", 1, "a b")), Some(12 + 6 + 3));
        assert_eq!(row_of(&all, 0, 5, &event("planner", 1, "a b")), Some(6));
        assert_eq!(row_of(&all, 0, 0, &event("planner", 2, "a b")), None);
        assert_eq!(row_of(&all, 0, 0, &event("planner", 1, "a c")), None);
    }
}
