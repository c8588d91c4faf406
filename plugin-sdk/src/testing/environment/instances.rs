//! Instances that serve more than one episode: nothing may be left of the first.

use super::Examination;
use super::conduct::retraced;
use crate::environment::{Split, Task};
use crate::testing::report::{Checked, Objection, Seen};
use crate::testing::walk::Walk;

/// Walks are taken again where another episode was played before.
pub fn check(examination: &Examination) -> Checked {
    let mut walks = 0;
    for walk in examination.pace.of(examination.walks()) {
        starts_anew(examination, walk).seen(|| walk.reproducer())?;
        walks += 1;
    }
    Ok(format!("{walks} episodes in instances that had served others went on like the first"))
}

/// The walk is the same in an instance that has served another episode.
pub fn starts_anew(examination: &Examination, walk: &Walk) -> Result<(), Objection> {
    let other = Task {
        seed: walk.task.seed.wrapping_add(1),
        split: if walk.task.split == Split::Train { Split::Test } else { Split::Train },
        entry: examination.scope.entry(walk.task.seed.wrapping_add(1)),
        ..walk.task.clone()
    };
    let mut episode = examination.team.environment.start(&other)?;
    for step in &walk.steps {
        if episode.observe(&examination.team.seats[0]).is_err()
            || step.deed.carry_out(&mut *episode).is_err()
        {
            break;
        }
    }
    episode.restart(&walk.task)?;
    let place = format!(
        "in an instance that has served {} task {}, in {}",
        other.split.name(),
        other.seed,
        walk.place()
    );
    retraced(examination, walk, 1, &mut *episode, &place)
}
