//! Episodes that were recorded earlier, with the states that they went through.

use crate::rollout::{Rollout, TaskSeed};
use crate::states::StateError;
use crate::team::Team;
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Completion, Episode, Event, Reward, Sample, StopReason};
use troupe_guests::scenario::{Answer, Due, Next, Position};

/// Play recorded episodes again from what was answered in them; `seed` is the root of what is
/// drawn anew. Those that are void are left out.
///
/// # Errors
/// If one is not of this team's environments and workflows, or a plugin fails.
pub fn play_recorded(
    team: &Team,
    episodes: Vec<Episode>,
    seed: Seed,
) -> Result<(Vec<TaskSeed>, Rollout), StateError> {
    let (mut tasks, mut rollout) = (Vec::new(), Rollout::default());
    for mut episode in episodes.into_iter().filter(|episode| !episode.is_void()) {
        // The files of a run number the tasks of each step from 0 on.
        episode.task = tasks.len();
        let (kind, seed) = ((&episode.family[..], &episode.split[..]), seed.at(tasks.len() as u64));
        let task = TaskSeed::find(team, kind, episode.seed, seed)
            .ok_or(StateError::Other { task: episode.seed, round: 0 })?;
        rollout.samples.extend(samples(team, &task, &episode)?);
        rollout.episodes.push(episode);
        tasks.push(task);
    }
    Ok((tasks, rollout))
}

/// A row for every answer.
fn samples(team: &Team, task: &TaskSeed, episode: &Episode) -> Result<Vec<Sample>, StateError> {
    let is_reply = |event: &&Event| matches!(event, Event::Replied { .. });
    let mut replies = episode.events.iter().filter(is_reply);
    let count = replies.clone().count();
    let mut next = task.scenario.begin(task.split, task.task)?.next;
    let (mut samples, mut round) = (Vec::new(), 0);
    while let Next::Asked(position) = next {
        let due = position.due.iter();
        let answers = due.map(|due| replies.next().and_then(|reply| answer(due, reply)));
        let answers: Option<Vec<Completion>> = answers.collect();
        let answers = match answers {
            Some(answers) => answers,
            // A limit of the run ended it here.
            None if samples.len() == count => break,
            None => return Err(StateError::Other { task: task.task, round }),
        };
        let texts: Vec<Answer> = answers.iter().map(Answer::from).collect();
        next = task.scenario.answer(&position, &texts)?.next;
        for (due, completion) in position.due.iter().zip(answers) {
            let policy = team.role_map.policy_of(due.role()).to_owned();
            samples.push(sample(&position, due, completion, (episode, policy, round)));
        }
        round += 1;
    }
    match samples.len() == count {
        true => Ok(samples),
        false => Err(StateError::Other { task: task.task, round }),
    }
}

/// What was answered to a request, if that is the one that was answered.
fn answer(due: &Due, reply: &Event) -> Option<Completion> {
    let Event::Replied { role, instance, thread, turn, prompt, text, cut, forced, .. } = reply
    else {
        return None;
    };
    let seat = &due.request.seat;
    let asked = (&seat.role, seat.instance, &due.request.thread, due.turn, &due.messages[..]);
    if asked != (role, *instance, thread, *turn, &prompt[..]) {
        return None;
    }
    Some(Completion {
        tokens: Vec::new(),
        logprobs: Vec::new(),
        text: text.clone(),
        stop: if *cut { StopReason::Length } else { StopReason::EndOfText },
        forced: if *forced { vec![0] } else { Vec::new() },
        usage: None,
    })
}

fn sample(
    position: &Position,
    due: &Due,
    completion: Completion,
    (episode, policy, round): (&Episode, String, usize),
) -> Sample {
    Sample {
        task: episode.task,
        family: episode.family.clone(),
        episode: episode.episode,
        turn: due.turn,
        role: due.role().to_owned(),
        instance: due.request.seat.instance,
        thread: due.request.thread.clone(),
        situation: due.request.situation.clone(),
        hint: None,
        parent: None,
        caller: None,
        round,
        policy,
        branch: 0,
        kept: true,
        state: position.digest(),
        prompt: [].into(),
        completion,
        reward: Reward::default(),
        accepted: true,
    }
}
