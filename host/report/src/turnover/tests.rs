//! Two sets of outcomes, from their files' lines to the curves.

use troupe_core::outcome::Outcome;

use super::*;

fn outcome(family: &str, task: u32, sample: usize, solved: bool) -> Outcome {
    Outcome {
        step: None,
        split: "test".to_owned(),
        answers: Answers::Sampled,
        family: family.to_owned(),
        task,
        sample,
        ending: if solved { "solved" } else { "failed" }.to_owned(),
        solved,
        turns: 1,
        completion_tokens: 1,
        prompt_tokens: 1,
        reward: 0.0,
        last: None,
        acts: 0,
    }
}

fn compare(before: &[Outcome], after: &[Outcome], most: Option<usize>) -> Option<Comparison> {
    Paired::of(before, after, most).map(|paired| Comparison::of(&paired))
}

/// Two episodes of each task.
fn side(solved: [[bool; 2]; 4]) -> Vec<Outcome> {
    let of = |task: usize| {
        let family = if task < 2 { "maze" } else { "sums" };
        (0..2).map(move |sample| outcome(family, task as u32, sample, solved[task][sample]))
    };
    (0..4).flat_map(of).collect()
}

#[test]
fn four_tasks_of_two_families_fall_into_the_four_sets() {
    let (yes, no, once) = ([true, true], [false, false], [false, true]);
    let before = side([yes, no, once, no]);
    let after = side([once, once, no, no]);
    let found = compare(&before, &after, None).unwrap();
    assert_eq!((found.k, found.answers), (2, Answers::Sampled));
    let expected = Turnover { tasks: 4, preserved: 1, gained: 1, lost: 1, never: 1 };
    assert_eq!((found.all, found.all.expansion_to_shrinkage()), (expected, Some(1.0)));
    let sums = Turnover { tasks: 2, lost: 1, never: 1, ..Turnover::default() };
    assert_eq!(found.families["sums"], sums);
    let easy = Turnover { tasks: 1, preserved: 1, ..Turnover::default() };
    let hard = Turnover { tasks: 3, gained: 1, lost: 1, never: 1, ..Turnover::default() };
    assert_eq!(
        found.difficulties,
        BTreeMap::from([(Difficulty::Easy, easy), (Difficulty::Hard, hard)])
    );
    // The first episode alone.
    let found = compare(&before, &after, Some(1)).unwrap();
    assert!(found.difficulties.is_empty());
    assert_eq!((found.k, found.all.lost, found.all.never), (1, 1, 3));
}

#[test]
fn a_task_is_as_hard_as_both_sides_find_it() {
    let of = |solved: usize| {
        let episodes: Vec<bool> = (0..6).map(|place| place < solved).collect();
        // What either side does does not matter, only what both do.
        let turned: Vec<bool> = episodes.iter().rev().copied().collect();
        let both = [&episodes, &turned].map(|list| Difficulty::of(&list[..3], &list[3..]));
        assert_eq!(both[0], both[1]);
        both[0]
    };
    assert_eq!([0, 1].map(of), [Difficulty::Hard; 2]);
    assert_eq!([2, 3, 4].map(of), [Difficulty::Medium; 3]);
    assert_eq!([5, 6].map(of), [Difficulty::Easy; 2]);
}

#[test]
fn tasks_of_one_side_alone_are_not_compared() {
    let both = [outcome("maze", 0, 0, true), outcome("maze", 1, 0, true)];
    let found = compare(&both, &both[1..], None).unwrap();
    assert_eq!((found.all.tasks, found.all.preserved), (1, 1));
    let other = [outcome("sums", 1, 0, true)];
    assert_eq!(compare(&both, &other, None), None);
}

#[test]
fn of_each_task_as_many_episodes_count_as_the_one_with_the_fewest_has() {
    let of = |task: u32, solved: &[bool]| -> Vec<Outcome> {
        let one = |(sample, solved): (usize, &bool)| outcome("maze", task, sample, *solved);
        solved.iter().enumerate().map(one).collect()
    };
    let before = [of(0, &[false, false, true]), of(1, &[true, false, false])].concat();
    let after = [of(0, &[true, false]), of(1, &[false, true, true, true])].concat();
    let paired = Paired::of(&before, &after, None).unwrap();
    assert_eq!(paired.samples, 2);
    let expected =
        [[vec![false, false], vec![true, false]], [vec![true, false], vec![false, true]]];
    assert_eq!(paired.tasks.values().cloned().collect::<Vec<_>>(), expected);
    let fewer = Paired::of(&before, &after[..2], None).unwrap();
    assert_eq!((fewer.without(&paired), paired.without(&fewer).unwrap().1), (None, 1));
}
