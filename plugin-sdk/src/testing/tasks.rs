//! Tasks as a plugin's own tests begin with them: the first ones of a split, what
//! they look like for ever, and answers of which it is known what they are worth.

use serde::Deserialize;

use super::digest_of;
use crate::environment::{Environment, Task};
use crate::types::{Action, Seat, Split, Status};

/// The first tasks of a split, with default settings.
pub fn first_tasks<E: Environment>(split: Split, count: u32) -> Vec<Task> {
    (0..count).map(|seed| Task::of::<E>(split, seed)).collect()
}

/// For every split the [digest](digest_of) of its first eight tasks, seen so.
pub fn digests_of<E: Environment>(observation: &str) -> [String; 3] {
    let seen = |task: Task| task.with("observation", observation);
    Split::ALL.map(|split| {
        let tasks: Vec<Task> = first_tasks::<E>(split, 8).into_iter().map(seen).collect();
        digest_of::<E>(&tasks)
    })
}

/// Fail unless what is revealed, done in these tasks as an action of this kind, is the
/// solution from wherever they stand: here after the first of its words.
pub fn assert_that_what_is_revealed_solves<E: Environment>(
    tasks: impl IntoIterator<Item = Task>,
    kind: &str,
) {
    for task in tasks {
        let place = format!("{} {}", task.split, task.seed);
        let mut episode = E::start(&task).expect("a task that can be begun");
        let say = |episode: &mut E, words: usize| {
            let revealed = episode.reveal().unwrap_or_default();
            let said: Vec<&str> = revealed.split_whitespace().take(words).collect();
            let outcome = episode.act(&Seat::new("player"), &Action::new(kind, said.join(" ")));
            outcome.expect("a known kind").status
        };
        let mut status = say(&mut episode, 1);
        if status == Status::Ongoing {
            status = say(&mut episode, usize::MAX);
        }
        assert_eq!((status, episode.reveal()), (Status::Solved, None), "{place}");
    }
}

/// A record, and answers to it with whether each of them is a solution.
#[derive(Deserialize)]
struct Judged {
    answers: Vec<(String, bool)>,
}

/// Play every answer of these records, one a line with pairs in `answers`, in a
/// task that is changed so; how many there were.
///
/// # Panics
/// If one solves its task that is no solution, or the other way round.
pub fn judge_answers<E: Environment>(
    records: &str,
    kind: &str,
    change: impl Fn(Task) -> Task,
) -> usize {
    let judge = |line: &str| {
        let Judged { answers } = serde_json::from_str(line).expect("a record with answers");
        for (answer, is_solution) in &answers {
            let entry = Some(line.to_owned());
            let task = change(Task { entry, ..Task::of::<E>(Split::Test, 0) });
            let mut episode = E::start(&task).expect("a task of the record");
            let said = Action::new(kind, answer);
            let outcome = episode.act(&Seat::new("player"), &said).expect("a known kind");
            assert_eq!(outcome.status == Status::Solved, *is_solution, "{answer} in {line}");
        }
        answers.len()
    };
    records.lines().map(judge).sum()
}
