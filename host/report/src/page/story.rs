//! An episode as a page tells it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::texts::{Place, Texts};
use super::turns::Course;
use troupe_core::trajectory::{Ending, Episode, Event, Status};

/// An episode.
#[derive(Debug, Serialize)]
pub struct Story {
    /// The step it was played in, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<usize>,
    /// The part of the tasks.
    pub split: String,
    /// The family of tasks.
    pub family: String,
    /// Index of the task within the step.
    pub task: usize,
    /// The task's seed; of a held-out task, its number in the split.
    pub seed: u32,
    /// Which of the task's episodes it is.
    pub episode: usize,
    /// How it ended, in a word.
    pub ending: &'static str,
    /// If void, the kind of failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// If void, the failure in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Place>,
    /// The seats that answered in it.
    pub roles: BTreeSet<String>,
    /// What it was worth: to all once for each act, and to each alone.
    pub reward: f64,
    /// What happened, in order.
    pub events: Vec<Line>,
    /// How it looked at its moments, if it was drawn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drawings: Vec<Drawing>,
    /// What its turns gained and lost, if that was looked into.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub course: Option<Course>,
}

/// How an episode looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Drawing {
    /// As an image, if there was room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub svg: Option<Place>,
    /// In characters.
    pub text: Place,
}

/// One thing that happened.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Line {
    /// What could be seen.
    Observed {
        /// The observation.
        text: Place,
        /// Which moment of the episode it shows; one of several views has it.
        #[serde(skip_serializing_if = "Option::is_none")]
        moment: Option<usize>,
    },
    /// A role answered.
    Replied {
        /// Who.
        #[serde(flatten)]
        seat: Seat,
        /// In which conversation; empty for the main one.
        #[serde(skip_serializing_if = "String::is_empty")]
        thread: String,
        /// Its turn in it.
        turn: usize,
        /// What it was told: the authors, and what each wrote.
        prompt: Vec<(&'static str, Place)>,
        /// The tools it was told of.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tools: Vec<Place>,
        /// What it answered.
        text: Place,
        /// The row of this answer in the step's table.
        #[serde(skip_serializing_if = "Option::is_none")]
        row: Option<usize>,
    },
    /// The environment carried out an action.
    Acted {
        /// Whose.
        #[serde(flatten)]
        seat: Seat,
        /// Of which kind.
        kind: String,
        /// The action.
        text: Place,
        /// Whether it was carried out in full.
        accepted: bool,
        /// What the environment said.
        feedback: Place,
        /// What it was worth to all who acted at once, and to the seat alone.
        team: f64,
        /// The seat's own share.
        local: f64,
        /// Named shares of both.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        parts: BTreeMap<String, f64>,
        /// Where the episode stood then.
        status: Status,
        /// Which moment came of it, if nothing could be seen any more.
        #[serde(skip_serializing_if = "Option::is_none")]
        moment: Option<usize>,
    },
    /// A tool was called.
    Called {
        /// For whom.
        role: String,
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: Place,
        /// Whether it did what was asked.
        succeeded: bool,
        /// What it answered.
        answer: Place,
    },
    /// An answer was credited.
    Credited {
        /// Its number in the episode.
        answer: u32,
        /// For what.
        name: String,
        /// How much.
        value: f64,
    },
    /// A plugin wrote to its log.
    Logged {
        /// The plugin.
        plugin: String,
        /// How much the line matters.
        level: String,
        /// The line.
        text: Place,
    },
}

/// The seat that answered or acted.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Seat {
    /// The role.
    pub role: String,
    /// Which of its seats.
    #[serde(skip_serializing_if = "troupe_core::trajectory::is_first")]
    pub instance: u32,
}

/// Tell an episode of a step, if it is known of which. `row` says where in the step's table the answer stands that a role
/// gave in its turn of a conversation.
pub fn tell(
    step: Option<usize>,
    episode: &Episode,
    texts: &mut Texts,
    row: impl Fn(&Event) -> Option<usize>,
) -> Story {
    let mut roles = BTreeSet::new();
    let mut events = Vec::with_capacity(episode.events.len());
    let (mut moment, mut reward) = (0, 0.0);
    let is_act = |at: Option<&Event>| matches!(at, Some(Event::Acted { .. }));
    for (index, event) in episode.events.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| episode.events.get(before));
        let after = episode.events.get(index + 1);
        if let Event::Replied { role, .. } = event {
            roles.insert(role.clone());
        }
        reward += worth(event, is_act(before));
        let shows = match event {
            Event::Observed { .. } => !matches!(before, Some(Event::Observed { .. })),
            Event::Acted { .. } => {
                moment += usize::from(!is_act(before));
                !is_act(after) && !matches!(after, Some(Event::Observed { .. }))
            }
            _ => false,
        };
        events.push(line(event, texts, shows.then_some(moment), &row));
    }
    let (cause, message) = match &episode.ending {
        Ending::Void { cause, message } => (Some(cause.clone()), Some(texts.place(message))),
        _ => (None, None),
    };
    Story {
        step,
        split: episode.split.clone(),
        family: episode.family.clone(),
        task: episode.task,
        seed: episode.seed,
        episode: episode.episode,
        ending: episode.ending.word(),
        cause,
        message,
        roles,
        reward,
        events,
        drawings: Vec::new(),
        course: None,
    }
}

/// What an event was worth. Of actions that were carried out at once, each carries what all of
/// them earned the team.
fn worth(event: &Event, is_one_more: bool) -> f64 {
    match event {
        Event::Acted { reward, .. } if is_one_more => reward.local,
        Event::Acted { reward, .. } => reward.team + reward.local,
        Event::Credited { value, .. } => *value,
        _ => 0.0,
    }
}

fn line(
    event: &Event,
    texts: &mut Texts,
    moment: Option<usize>,
    row: impl Fn(&Event) -> Option<usize>,
) -> Line {
    match event {
        Event::Observed { text } => Line::Observed { text: texts.place(text), moment },
        Event::Replied { role, instance, thread, turn, prompt, tools, text, .. } => Line::Replied {
            seat: Seat { role: role.clone(), instance: *instance },
            thread: thread.clone(),
            turn: *turn,
            prompt: prompt
                .iter()
                .map(|message| (message.author.name(), texts.place(&message.text)))
                .collect(),
            tools: tools.iter().map(|tool| texts.place(&tool.to_string())).collect(),
            text: texts.place(text),
            row: row(event),
        },
        Event::Acted { action, accepted, feedback, reward, status } => Line::Acted {
            seat: Seat { role: action.role.clone(), instance: action.instance },
            kind: action.kind.clone(),
            text: texts.place(&action.text),
            accepted: *accepted,
            feedback: texts.place(feedback),
            team: reward.team,
            local: reward.local,
            parts: reward.parts.clone(),
            status: *status,
            moment,
        },
        Event::Called { role, tool, arguments, succeeded, answer } => Line::Called {
            role: role.clone(),
            tool: tool.clone(),
            arguments: texts.place(arguments),
            succeeded: *succeeded,
            answer: texts.place(answer),
        },
        Event::Credited { answer, name, value } => {
            Line::Credited { answer: *answer, name: name.clone(), value: *value }
        }
        Event::Logged { plugin, level, text } => {
            Line::Logged { plugin: plugin.clone(), level: level.clone(), text: texts.place(text) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::trajectory::{Action, Author, Message, Reward};

    fn observed(text: &str) -> Event {
        Event::Observed { text: text.to_owned() }
    }

    fn acted(role: &str, team: f64, local: f64) -> Event {
        let action =
            Action { role: role.to_owned(), instance: 0, kind: "move".into(), text: "up".into() };
        Event::Acted {
            action,
            accepted: true,
            feedback: String::new(),
            reward: Reward { team, local, parts: BTreeMap::new() },
            status: Status::Ongoing,
        }
    }

    fn replied(role: &str) -> Event {
        let told = |author, text: &str| Message { author, text: text.to_owned() };
        Event::Replied {
            role: role.to_owned(),
            instance: 0,
            thread: String::new(),
            turn: 0,
            prompt: vec![told(Author::System, "rules"), told(Author::User, "now")],
            tools: Vec::new(),
            text: "up".to_owned(),
            cut: false,
            forced: false,
        }
    }

    fn episode(events: Vec<Event>) -> Episode {
        let (family, split) = ("maze".to_owned(), "train".to_owned());
        Episode { task: 3, family, split, seed: 7, episode: 0, events, ending: Ending::Solved }
    }

    #[test]
    fn what_moves_at_once_is_one_act_and_earns_the_team_once() {
        let events = vec![
            observed("[left] a"),
            observed("[right] b"),
            replied("left"),
            acted("left", 1.0, 0.25),
            acted("right", 1.0, -0.5),
            observed("[left] c"),
            observed("[right] d"),
            acted("left", 0.5, 0.0),
            Event::Credited { answer: 0, name: "proof".to_owned(), value: 2.0 },
        ];
        let episode = episode(events);
        let sizes: Vec<usize> = episode.acts().map(<[Event]>::len).collect();
        assert_eq!(sizes, [2, 1]);
        let story = tell(Some(5), &episode, &mut Texts::new(100), |_| Some(9));
        assert_eq!(story.reward, 1.0 + 0.25 - 0.5 + 0.5 + 2.0);
        let moments: Vec<Option<usize>> = story
            .events
            .iter()
            .filter_map(|line| match line {
                Line::Observed { moment, .. } | Line::Acted { moment, .. } => Some(*moment),
                _ => None,
            })
            .collect();
        assert_eq!(moments, [Some(0), None, None, None, Some(1), None, Some(2)]);
    }

    #[test]
    fn a_prompt_that_comes_again_is_kept_once_and_an_answer_knows_its_row() {
        let mut texts = Texts::new(100);
        let story =
            tell(Some(5), &episode(vec![replied("left"), replied("left")]), &mut texts, |_| None);
        assert_eq!(texts.count(), 3, "rules, now, up");
        assert_eq!(story.roles, BTreeSet::from(["left".to_owned()]));
        let story = tell(Some(5), &episode(vec![replied("left")]), &mut texts, |_| Some(9));
        let Line::Replied { prompt, row, .. } = &story.events[0] else { unreachable!() };
        assert_eq!((prompt.as_slice(), *row), (&[("system", 0), ("user", 1)][..], Some(9)));
    }

    #[test]
    fn a_void_episode_says_why() {
        let ending = Ending::Void { cause: "trap".to_owned(), message: "it fell".to_owned() };
        let void = Episode { ending, ..episode(Vec::new()) };
        let story = tell(Some(5), &void, &mut Texts::new(100), |_| None);
        assert_eq!((story.ending, story.cause.as_deref()), ("void", Some("trap")));
        assert_eq!(story.message, Some(0));
    }
}
