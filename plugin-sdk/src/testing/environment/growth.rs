//! Growth: what is saved and what is seen may not grow with every action for ever.

use super::Examination;
use crate::testing::report::{Checked, Objection, Reproducer, Seen, fail};
use crate::testing::walk::{Deed, Moment, Walk};
use crate::types::{Seat, Split, Status};

/// Actions of a long episode.
const LONG: usize = 400;
/// Bytes that an action may add, on average, without end.
const BYTES_PER_ACTION: usize = 4;
/// Texts of long episodes: a few of the expert's, taken in turns.
const TEXTS: usize = 5;

/// What is measured after every action: bytes of the state and of what is seen.
type Sizes = (Vec<usize>, Vec<usize>);

/// Long episodes, in which the same is said again and again, do not swell.
pub fn check(examination: &Examination) -> Checked {
    let mut longest = 0;
    let mut most = 0;
    let texts = examination.phrasebook.short_texts();
    let step = texts.len().div_ceil(TEXTS).max(1);
    let few: Vec<&str> = texts.iter().step_by(step).map(String::as_str).collect();
    let long = "what is this ".repeat(8);
    let ways: [&[&str]; 3] = [&few, &[&long], &few[..few.len().min(2)]];
    let experts = examination.experts.iter().take(Split::ALL.len());
    let episodes = experts.flat_map(|expert| ways.map(|texts| (expert, texts)));
    for (expert, texts) in examination.pace.of(episodes) {
        let (states, looks) = sizes(examination, expert, texts)?;
        longest = longest.max(states.len());
        most = most.max(states.iter().chain(&looks).copied().max().unwrap_or(0));
        for (what, sizes) in [("saved state", states), ("observation", looks)] {
            if let Some(bytes) = endless_growth(&sizes) {
                let count = sizes.len();
                return fail(format!(
                    "the {what} grows by {bytes} bytes with every action, {count} actions long, \
                     in {}",
                    expert.place()
                ))
                .seen(|| Reproducer::of(&expert.task).with(acts(examination, texts, 2)));
            }
        }
    }
    Ok(format!(
        "within {longest} actions, states and observations stay below {} KiB",
        most / 1024 + 1
    ))
}

/// One after the other says the texts in turns.
fn acts(examination: &Examination, texts: &[&str], count: usize) -> Vec<Vec<crate::types::Move>> {
    (0..count).filter_map(|index| said(examination, texts, index)).map(|deed| deed.0).collect()
}

fn said(examination: &Examination, texts: &[&str], index: usize) -> Option<Deed> {
    let voices = examination.team.voices();
    let voice: &(Seat, &str) = voices.get(index / texts.len().max(1) % voices.len().max(1))?;
    Some(Deed::saying(std::slice::from_ref(voice), texts.get(index % texts.len().max(1))?))
}

/// Sizes after every action, until the episode ends or there is no time left.
fn sizes(examination: &Examination, expert: &Walk, texts: &[&str]) -> Result<Sizes, Objection> {
    let team = &examination.team;
    let mut episode = team.environment.start(&expert.task)?;
    let (mut states, mut looks) = (Vec::new(), Vec::new());
    for index in 0..LONG {
        let Some(deed) = said(examination, texts, index) else { break };
        let outcome = deed.carry_out(&mut *episode).map_err(Objection::from);
        let outcome = outcome
            .seen(|| Reproducer::of(&expert.task).with(acts(examination, texts, index + 1)))?;
        states.push(episode.save()?.map_or(0, |saved| saved.len()));
        let seen = Moment::seen(team.viewers(), &mut *episode)?;
        looks.push(seen.iter().map(String::len).sum());
        if outcome.status != Status::Ongoing || !examination.pace.goes_on(index) {
            break;
        }
    }
    Ok((states, looks))
}

/// Bytes that every action adds, if it goes on like that to the end of a long
/// episode.
fn endless_growth(sizes: &[usize]) -> Option<usize> {
    if sizes.len() < LONG {
        return None;
    }
    let quarter = sizes.len() / 4;
    let grown = |part: usize| {
        let (start, end) = ((part * quarter).max(1) - 1, (part + 1) * quarter - 1);
        sizes[end].saturating_sub(sizes[start])
    };
    let least = (1..4).map(grown).min()?;
    (least >= BYTES_PER_ACTION * quarter).then(|| least / quarter)
}
