//! Calls that answer as they did before: the same actions, looked at or not,
//! in this instance or in another, lead to the same.

use super::examination::patience;
use super::{EpisodeUnderTest, Examination};
use crate::testing::report::{Checked, Objection, Reproducer, Seen, fail, require, skip};
use crate::testing::walk::{Moment, Step, Walk};
use crate::types::{Action, Fault, Split, Status};

/// How often everything is asked between two actions, beside once.
const LOOKS: [usize; 2] = [0, 3];
/// Tasks that the expert solves besides, for every task per split of the scope.
const MORE_TASKS: u32 = 6;

/// Every task begins and says its rules.
pub fn check_start(examination: &Examination) -> Checked {
    for task in &examination.tasks {
        for seat in examination.team.viewers() {
            let begun = examination.team.environment.start(task);
            let said = begun.and_then(|mut episode| episode.rules(seat));
            let rules = said.map_err(Objection::from).seen(|| Reproducer::of(task))?;
            require(!rules.trim().is_empty(), || "the rules are empty".to_owned())
                .seen(|| Reproducer::of(task))?;
        }
    }
    Ok(format!("{} tasks begin and say their rules", examination.tasks.len()))
}

/// The walks are taken again, after all others, and must come out the same.
pub fn check_determinism(examination: &Examination) -> Checked {
    for walk in examination.pace.of(examination.walks()) {
        repeats(examination, walk).seen(|| walk.reproducer())?;
    }
    Ok("the same task and actions give the same bytes".to_owned())
}

/// The walk comes out the same the second time.
pub fn repeats(examination: &Examination, walk: &Walk) -> Result<(), Objection> {
    retrace(examination, walk, 1)
}

/// The walks are taken without a look at the episode, as when a host replays
/// actions, and with many: to look must change nothing.
pub fn check_pure(examination: &Examination) -> Checked {
    for walk in examination.pace.of(examination.walks()) {
        is_pure(examination, walk).seen(|| walk.reproducer())?;
    }
    Ok("`observe`, `rules`, `demonstrate`, `reveal` and `save` change nothing, however often"
        .to_owned())
}

/// The walk comes out the same, however often the episode is looked at.
pub fn is_pure(examination: &Examination, walk: &Walk) -> Result<(), Objection> {
    LOOKS.into_iter().try_for_each(|looks| retrace(examination, walk, looks))
}

/// Takes a walk once more, with so many looks between two actions.
fn retrace(examination: &Examination, walk: &Walk, looks: usize) -> Result<(), Objection> {
    let mut episode = examination.team.environment.start(&walk.task)?;
    let place = match looks {
        1 => format!("the second time, in {}", walk.place()),
        _ => format!("when it is looked at {looks} times between two actions, in {}", walk.place()),
    };
    retraced(examination, walk, looks, &mut *episode, &place)
}

/// The walk comes out the same in an episode that has just begun.
pub fn retraced(
    examination: &Examination,
    walk: &Walk,
    looks: usize,
    episode: &mut dyn EpisodeUnderTest,
    place: &str,
) -> Result<(), Objection> {
    let team = &examination.team;
    for (moment, Step { deed, outcome, .. }) in walk.moments().zip(&walk.steps) {
        for _ in 0..looks {
            let seen = Moment::of(team, episode)?;
            let mut told = team.viewers().iter().map(|seat| episode.rules(seat));
            told.try_for_each(|rules| rules.map(drop))?;
            require(seen == *moment, || format!("an episode looks different {place}"))?;
        }
        require(deed.carry_out(episode)? == *outcome, || {
            format!("`{}` leads elsewhere {place}", deed.words())
        })?;
    }
    require(Moment::of(team, episode)? == *walk.now(), || {
        format!("an episode ends elsewhere {place}")
    })
}

/// At every moment, a saved and resumed episode looks and goes on the same.
pub fn check_resume(examination: &Examination) -> Checked {
    let mut resumed = 0;
    for walk in examination.pace.of(examination.walks()) {
        resumes(examination, walk)?;
        resumed += walk.steps.len();
    }
    Ok(format!("{resumed} resumed episodes went on like the saved ones"))
}

/// The walk goes on the same from every moment in it.
pub fn resumes(examination: &Examination, walk: &Walk) -> Result<(), Objection> {
    for (index, (moment, step)) in walk.moments().zip(&walk.steps).enumerate() {
        let Some(saved) = &moment.saved else {
            return skip("it saves no state, so the host replays actions instead");
        };
        resume(examination, saved, moment, step)
            .map_err(|objection| objection.placed(&walk.place()))
            .seen(|| walk.reproducer_to(index + 1))?;
    }
    Ok(())
}

fn resume(
    examination: &Examination,
    saved: &[u8],
    moment: &Moment,
    step: &Step,
) -> Result<(), Objection> {
    let team = &examination.team;
    let mut episode = team.environment.resume(saved)?;
    if Moment::of(team, &mut *episode)? != *moment {
        return fail("a resumed episode does not look like the saved one");
    }
    let outcome = step.deed.carry_out(&mut *episode)?;
    if outcome != step.outcome || Moment::of(team, &mut *episode)? != step.after {
        return fail("a resumed episode goes on differently");
    }
    Ok(())
}

/// What has ended refuses to go on.
pub fn check_end(examination: &Examination) -> Checked {
    let mut ended = 0;
    let over = examination.walks().filter(|walk| walk.status() != Status::Ongoing);
    for walk in examination.pace.of(over) {
        let mut episode = examination.team.environment.start(&walk.task)?;
        for step in &walk.steps {
            step.deed.carry_out(&mut *episode)?;
        }
        let Some(last) = walk.steps.last() else { continue };
        let refused = last.deed.carry_out(&mut *episode);
        require(refused.is_err_and(|problem| problem.fault == Fault::Order), || {
            let place = walk.place();
            format!("an action after the end was not refused as out of order, in {place}")
        })
        .seen(|| walk.reproducer())?;
        ended += 1;
    }
    match ended {
        0 => skip("no walk came to an end"),
        _ => Ok(format!("{ended} ended episodes refuse further actions")),
    }
}

/// The expert, if there is one, solves every task.
pub fn check_expert(examination: &Examination) -> Checked {
    let experts = &examination.experts;
    if !examination.has_expert() {
        return skip("there is no expert");
    }
    for walk in experts {
        solves(examination, walk)?;
    }
    let mut longest = experts.iter().map(|walk| walk.steps.len()).max().unwrap_or(0);
    let mut solved = experts.len();
    // Only the expert plays these, so that there can be more of them.
    let from = examination.scope.from.saturating_add(examination.scope.tasks);
    let seeds = from..from.saturating_add(MORE_TASKS * examination.scope.tasks);
    let tasks = seeds.flat_map(|seed| Split::ALL.map(|split| examination.task(split, seed)));
    for task in examination.pace.of(tasks) {
        let walk = Walk::of_expert(&examination.team, &task, patience(&examination.configuration))?;
        solves(examination, &walk)?;
        longest = longest.max(walk.steps.len());
        solved += 1;
    }
    Ok(format!("the expert solves {solved} tasks, within {longest} actions"))
}

/// The expert solves the task, and all it does is accepted.
fn solves(examination: &Examination, walk: &Walk) -> Result<(), Objection> {
    for (index, Step { deed, outcome, .. }) in walk.steps.iter().enumerate() {
        for Action { kind, .. } in deed.0.iter().map(|one| &one.action) {
            let known = examination.team.describes(kind);
            require(known, || format!("the expert's `{kind}` is not described"))?;
        }
        require(outcome.is_accepted(), || {
            let text = deed.words();
            format!("the expert's `{text}` was not accepted, in {}", walk.place())
        })
        .seen(|| walk.reproducer_to(index + 1))?;
    }
    require(walk.status() == Status::Solved, || {
        let actions = walk.steps.len();
        format!("the expert had not solved {} after {actions} actions", walk.place())
    })
    .seen(|| walk.reproducer())?;
    Ok(())
}
