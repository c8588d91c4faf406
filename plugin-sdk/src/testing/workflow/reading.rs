//! How answers are read: prose before an answer changes nothing, and neither what
//! a role was told, even if it says it again, nor what the limit cut is an answer.

use super::reach::expertly;
use super::stage::{Manner, Phrase};
use super::{Examination, Exchange};
use crate::testing::report::{Checked, Objection, fail, skip};
use crate::types::{Move, Problem};
use crate::workflow::{Directive, Message, Request};

/// What the expert does in these sessions, and what it decides against.
const MEANT: &str = "said4711";
const REJECTED: &str = "said1848";
/// What it was about to do when the limit cut its answer.
const CUT: &str = "said1905";
const PROSE: &str = "I looked at it from all sides. It could well be something else:";
const RATHER: &str = "But that would be wrong, so I say:";
/// Answers of a session.
const ANSWERS: u32 = 24;
/// An action that is longer is not what was picked from a prompt.
const PICKED_BYTES: usize = 80;

/// How one answer of a session is changed.
#[derive(Clone, Copy, PartialEq)]
enum Change {
    Nothing,
    /// Behind prose.
    Prose,
    /// Behind prose with another answer.
    Reconsidered,
    /// What it was told, instead.
    Echo,
    /// Something else, cut by the limit.
    Cut,
}

/// Each of the answers of a session, one at a time, is said in other ways.
pub fn check(examination: &Examination, _: &[Vec<Exchange>]) -> Checked {
    // Where the workflow knows no expert, its roles say things as they are.
    let read = match changes(examination, false)? {
        0 => changes(examination, true)?,
        read => read,
    };
    match read {
        0 => skip("no answer leads to an action"),
        _ => Ok(format!("{read} answers with prose, that repeat the prompt, or cut are read well")),
    }
}

/// How many changed answers were followed to an action.
fn changes(examination: &Examination, bare: bool) -> Result<u32, Objection> {
    let plain = acts(examination, u32::MAX, Change::Nothing, bare)?;
    let mut read = 0;
    for answer in 0..ANSWERS {
        let Some(meant) = following(&plain.acts, answer) else { break };
        for change in [Change::Prose, Change::Reconsidered, Change::Echo, Change::Cut] {
            let other = acts(examination, answer, change, bare)?;
            let Some(said) = &other.changed else { continue };
            let Some(done) = following(&other.acts, answer) else { continue };
            match change {
                Change::Echo => is_no_answer(answer, said, done)?,
                Change::Cut => counts_for_nothing(answer, &other.acts)?,
                _ => means_the_same(answer, meant, done)?,
            }
            read += 1;
        }
    }
    Ok(read)
}

/// The actions of a session, each with the number of answers before it.
struct Acts {
    acts: Vec<(u32, Vec<Move>)>,
    /// What was said instead of an answer.
    changed: Option<String>,
}

fn acts(
    examination: &Examination,
    which: u32,
    change: Change,
    bare: bool,
) -> Result<Acts, Objection> {
    let changed = std::cell::RefCell::new(None);
    let say = |answer: u32, request: &Request, phrase: Phrase<'_>| -> Result<String, Problem> {
        let phrased = phrase(MEANT)?.or_else(|| bare.then(|| MEANT.to_owned()));
        let Some(meant) = phrased else { return expertly(answer, request, phrase) };
        if answer != which {
            return Ok(meant);
        }
        let said = match change {
            Change::Nothing => meant,
            Change::Prose => format!("{PROSE} who knows.\n\n{RATHER}\n{meant}"),
            Change::Reconsidered => {
                let rejected = phrase(REJECTED)?.unwrap_or_else(|| REJECTED.to_owned());
                format!("{PROSE}\n{rejected}\n\n{RATHER}\n{meant}")
            }
            Change::Cut => phrase(CUT)?.unwrap_or_else(|| CUT.to_owned()),
            Change::Echo => {
                let messages: Vec<String> = request.messages.iter().map(Message::text).collect();
                messages.join("\n\n")
            }
        };
        changed.replace(Some(said.clone()));
        Ok(said)
    };
    let cut = (change == Change::Cut).then_some(which);
    let manner = Manner::Scripted { say: &say, answers: ANSWERS, solved_at_once: false, cut };
    let (mut acts, mut answers) = (Vec::new(), 0);
    for Exchange { event, step, .. } in examination.play(0, manner)? {
        answers += u32::from(matches!(event, crate::workflow::Event::Replied(_)));
        if let Directive::Act(moves) = step.directive {
            acts.push((answers, moves));
        }
    }
    Ok(Acts { acts, changed: changed.into_inner() })
}

/// What is done next after an answer.
fn following(acts: &[(u32, Vec<Move>)], answer: u32) -> Option<&Vec<Move>> {
    acts.iter().find(|(answers, _)| *answers > answer).map(|(_, moves)| moves)
}

/// Fail if anything of an answer that was cut is done, however much later.
fn counts_for_nothing(answer: u32, acts: &[(u32, Vec<Move>)]) -> Result<(), Objection> {
    let mut done = acts.iter().flat_map(|(_, moves)| moves);
    match done.find(|one| one.action.text.contains(CUT)) {
        Some(one) => {
            let text = &one.action.text;
            fail(format!("answer {answer} counts although the limit cut it: `{text}` is done"))
        }
        None => Ok(()),
    }
}

fn means_the_same(answer: u32, meant: &[Move], done: &[Move]) -> Result<(), Objection> {
    if meant.len() != done.len() {
        let (one, other) = (meant.len(), done.len());
        return fail(format!("prose before answer {answer} makes {other} moves of {one}"));
    }
    for (one, other) in meant.iter().zip(done) {
        let count = |text: &str| text.matches(MEANT).count();
        let (wanted, found) = (count(&one.action.text), count(&other.action.text));
        if wanted != found {
            return fail(format!(
                "prose before answer {answer} changes it: `{}` became `{}`",
                one.action.text, other.action.text
            ));
        }
    }
    Ok(())
}

/// Fail if a piece of the prompt was picked as an answer: something short that is
/// neither all of it nor its end.
fn is_no_answer(answer: u32, said: &str, done: &[Move]) -> Result<(), Objection> {
    let is_picked = |text: &str| {
        let text = text.trim();
        !text.is_empty()
            && text.len() <= PICKED_BYTES
            && !text.contains(MEANT)
            && said.contains(text)
            && !crate::reading::final_answer(said).ends_with(text)
            && !said.trim_end().ends_with(text)
    };
    match done.iter().find(|one| is_picked(&one.action.text)) {
        Some(one) => fail(format!(
            "an echo of the prompt counts as answer {answer}: `{}` is done",
            one.action.text
        )),
        None => Ok(()),
    }
}
