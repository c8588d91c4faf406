//! Answers and their forms, natively: only the form that is asked for counts, and
//! no example is an answer.

use crate::environment::{Environment, Episode, Task};
use crate::format::Format;
use crate::types::{Action, Move, Part, Seat};
use crate::unreadable::UNREADABLE;

/// Play the expert's first answer to each task in every form under every setting
/// `format`, and compare it with what rules, views and kinds give as an example.
///
/// # Panics
/// If the form that is asked for is refused, another one counts, what cannot be
/// read is not named so, or an example is the answer.
pub fn check_forms<E: Environment>(tasks: impl IntoIterator<Item = Task>) {
    let seat = Seat::new("player");
    for task in tasks {
        let plain = start::<E>(&task, Format::Any);
        let answer = plain.demonstrate(&seat).expect("an expert");
        refuse_examples::<E>(&plain, &answer, task.seed);
        for asked in Format::ALL {
            for written in Format::ALL {
                let is_right = asked == written || asked == Format::Any;
                // The plain answer is the last line, too.
                let is_plain = |one| [Format::Any, Format::LastLine].contains(&one);
                if is_right || !(is_plain(asked) && is_plain(written)) {
                    say::<E>(&task, asked, written, &answer, is_right);
                }
            }
        }
    }
}

fn start<E: Environment>(task: &Task, format: Format) -> Episode<E> {
    let task = task.clone().with("format", format.name());
    Episode::start(&task).expect("a task")
}

fn say<E: Environment>(
    task: &Task,
    asked: Format,
    written: Format,
    answer: &Action,
    is_right: bool,
) {
    let mut episode = start::<E>(task, asked);
    let action = written.written(answer.clone());
    let (kind, text) = (&action.kind, &action.text);
    let outcome = episode.act(&[Move::new("player", kind, text)]).expect("an outcome");
    let context = format!("task {}: {asked:?} of {text}: {}", task.seed, outcome.told());
    assert_eq!(outcome.is_accepted(), is_right, "{context}");
    let named = outcome.awards.iter().any(|award| award.name == UNREADABLE && award.value <= 0.0);
    // A board with nothing left in the last line was not moved.
    assert!(is_right || named || asked == Format::LastLine, "{context}");
    if asked == written {
        let advice = start::<E>(task, asked).demonstrate(&Seat::new("player"));
        assert_eq!(advice.as_ref(), Some(&action), "{context}");
    }
}

fn refuse_examples<E: Environment>(episode: &Episode<E>, answer: &Action, seed: u32) {
    let seat = Seat::new("player");
    let seen = episode.observe(&seat);
    let kinds = E::describe().actions.into_iter().map(|kind| kind.summary);
    let told = kinds.chain([episode.environment().rules(&seat)]);
    for text in told.chain(seen.iter().map(Part::text).map(str::to_owned)) {
        for example in text.split(" as `").skip(1).filter_map(|rest| rest.split('`').next()) {
            let is_answer = example.eq_ignore_ascii_case(&answer.text);
            assert!(!is_answer, "task {seed}: the example `{example}` is the answer");
        }
    }
}
