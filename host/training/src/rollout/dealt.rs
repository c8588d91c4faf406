//! One rollout by several processes: tasks are dealt out in turn, and everybody gets the table of
//! all.
//!
//! What is drawn in a task depends on its seed alone, so the tasks, their episodes and their
//! groups are the same for any number of ranks.

use super::collect::{Play, Rollout, collect, in_turn};
use super::error::RolloutError;
use super::role_map::{Policies, RoleMap};
use super::setting::Setting;
use super::task::TaskSeed;
use troupe_core::trajectory::{Episode, Sample};
use troupe_trainer::ranks::Ranks;

/// [`collect`], by all ranks together.
///
/// # Errors
/// As there, or if a rank is lost.
pub fn collect_among(
    ranks: &Ranks,
    setting: &Setting,
    policies: &Policies,
    tasks: &[TaskSeed],
) -> Result<Rollout, RolloutError> {
    if ranks.is_alone() {
        return collect(setting, policies, tasks);
    }
    let share: Vec<TaskSeed> = ranks.share_of(tasks).cloned().collect();
    let rollout = collect(setting, policies, &share)?;
    Ok(join(ranks.gather(rollout)?))
}

/// The same for several plays, each to its end; `take` is given what it brought before the next
/// begins. What policies read in one need not be read in the next.
///
/// # Errors
/// As [`collect_among`], or what `take` returns: the plays after that are left out.
pub fn collect_in_turn<E: From<RolloutError>>(
    ranks: &Ranks,
    role_map: &RoleMap,
    policies: &Policies,
    plays: Vec<Play>,
    mut take: impl FnMut(Rollout) -> Result<(), E>,
) -> Result<(), E> {
    if ranks.is_alone() {
        return in_turn(role_map, policies, &plays, take);
    }
    let share = |play: Play| Play { tasks: ranks.share_of(&play.tasks).cloned().collect(), ..play };
    let plays: Vec<Play> = plays.into_iter().map(share).collect();
    let of_all = |share: Rollout| take(join(ranks.gather(share).map_err(RolloutError::from)?));
    in_turn(role_map, policies, &plays, of_all)
}

/// What the ranks have found, as if one had played all tasks.
fn join(parts: Vec<Rollout>) -> Rollout {
    let world = parts.len();
    let mut whole = Rollout::default();
    let (mut samples, mut episodes) = (Vec::new(), Vec::new());
    for (rank, part) in parts.into_iter().enumerate() {
        let task = |task: usize| task * world + rank;
        // What is measured of time is measured side by side.
        whole.generation = whole.generation.max(part.generation);
        whole.plugins = whole.plugins.max(part.plugins);
        whole.totals += part.totals;
        whole.fuel += part.fuel;
        let of_part = part.samples.into_iter().enumerate();
        samples.extend(of_part.map(|(row, sample)| {
            let place = (rank, row);
            (place, Sample { task: task(sample.task), ..sample })
        }));
        let of_part = part.episodes.into_iter();
        episodes.extend(of_part.map(|episode| Episode { task: task(episode.task), ..episode }));
    }
    samples.sort_by_key(|(_, sample)| sample.task);
    episodes.sort_by_key(|episode: &Episode| episode.task);
    let mut now = vec![Vec::new(); world];
    let mut places: Vec<((usize, usize), usize)> =
        samples.iter().enumerate().map(|(now, (place, _))| (*place, now)).collect();
    places.sort_unstable();
    places.iter().for_each(|((rank, _), place)| now[*rank].push(*place));
    whole.samples = samples
        .into_iter()
        .map(|((rank, _), sample)| Sample {
            parent: sample.parent.map(|row| now[rank][row]),
            caller: sample.caller.map(|row| now[rank][row]),
            ..sample
        })
        .collect();
    whole.episodes = episodes;
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::example::forked;

    #[test]
    fn answers_hang_where_they_hung_and_tasks_are_in_their_order() {
        // Five tasks of six answers, dealt to two.
        let of = |tasks: usize| {
            let mut rollout = Rollout { fuel: 1, ..Rollout::default() };
            for _ in 0..tasks {
                let further = Rollout { samples: forked(), ..Rollout::default() };
                let before = rollout.samples.last().map_or(0, |last| last.task + 1);
                rollout.append(further, before);
            }
            rollout
        };
        let (whole, joined) = (of(5), join(vec![of(3), of(2)]));
        assert_eq!((joined.samples, joined.fuel), (whole.samples, 2));
    }
}
