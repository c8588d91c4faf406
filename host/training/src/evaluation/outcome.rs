//! What became of held-out episodes, made from the rollout that played them.

use std::collections::BTreeMap;

use crate::metrics::{Answers, Outcome};
use crate::rollout::Rollout;
use troupe_core::trajectory::{Ending, Episode, Event};

/// The outcomes of a rollout, in the order of its episodes.
pub fn outcomes_of(rollout: &Rollout, step: Option<usize>, answers: Answers) -> Vec<Outcome> {
    let mut tokens: BTreeMap<(usize, usize), (usize, usize)> = BTreeMap::new();
    for sample in &rollout.samples {
        let (drawn, read) = tokens.entry((sample.task, sample.episode)).or_default();
        *drawn += sample.completion.length();
        *read += sample.prompt.len();
    }
    let outcome = |episode: &Episode| {
        let tokens = tokens.get(&(episode.task, episode.episode)).copied();
        let (completion_tokens, prompt_tokens) = tokens.unwrap_or_default();
        let earned = |act: &[Event]| match act.first() {
            Some(Event::Acted { reward, .. }) => reward.team,
            _ => 0.0,
        };
        let carried_out = |event: &Event| match event {
            Event::Acted { action, accepted: true, .. } => Some(action.text.clone()),
            _ => None,
        };
        let is_reply = |event: &&Event| matches!(event, Event::Replied { .. });
        Outcome {
            step,
            split: episode.split.clone(),
            answers,
            family: episode.family.clone(),
            task: episode.seed,
            sample: episode.episode,
            ending: episode.ending.word().to_owned(),
            solved: episode.ending == Ending::Solved,
            turns: episode.events.iter().filter(is_reply).count(),
            completion_tokens,
            prompt_tokens,
            reward: episode.acts().map(earned).sum(),
            last: episode.events.iter().rev().find_map(carried_out),
            acts: episode.events.iter().filter_map(carried_out).count(),
        }
    };
    rollout.episodes.iter().map(outcome).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::example::forked;
    use troupe_core::trajectory::{Action, Reward, Status};

    fn acted(text: &str, accepted: bool, team: f64) -> Event {
        let (role, kind) = ("walker".to_owned(), "move".to_owned());
        Event::Acted {
            action: Action { role, instance: 0, kind, text: text.to_owned() },
            accepted,
            feedback: String::new(),
            reward: Reward { team, ..Reward::default() },
            status: Status::Ongoing,
        }
    }

    #[test]
    fn an_outcome_adds_up_its_own_episode() {
        let samples = forked();
        let of_episode = |episode| samples.iter().filter(move |sample| sample.episode == episode);
        let tokens = of_episode(1).map(|sample| sample.completion.length()).sum::<usize>();
        let seen = || Event::Observed { text: String::new() };
        let joint = [acted("L", true, 1.0), acted("D", true, 1.0)];
        let events = [vec![acted("U", true, 0.5), seen()], joint.to_vec(), vec![seen()]].concat();
        let events = [events, vec![acted("X", false, 0.25)]].concat();
        let episode = |number, events, ending| Episode {
            task: 0,
            family: "maze".to_owned(),
            split: "test".to_owned(),
            seed: 7,
            episode: number,
            events,
            ending,
        };
        let episodes =
            vec![episode(0, Vec::new(), Ending::Failed), episode(1, events, Ending::Solved)];
        let rollout = Rollout { samples: samples.clone(), episodes, ..Rollout::default() };
        let [first, second] = outcomes_of(&rollout, Some(3), Answers::Sampled).try_into().unwrap();
        assert_eq!((first.solved, first.ending.as_str(), first.last), (false, "failed", None));
        assert_eq!((second.task, second.sample, second.step), (7, 1, Some(3)));
        assert_eq!((second.reward, second.last.as_deref(), second.acts), (1.75, Some("D"), 3));
        assert_eq!((second.solved, second.completion_tokens), (true, tokens));
    }
}
