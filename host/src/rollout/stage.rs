//! An environment and a workflow side by side, and how one answer moves both.
//!
//! Between two answers an episode is a `Scene`: two saved states and the
//! requests that are due. Nothing lives in between, so a scene can be forked,
//! moved between threads and played again; every fork is played in fresh
//! instances and therefore depends on nothing but the scene and the answer.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::tool;
use crate::plugin::{
    Briefing, Directive, EnvironmentPlugin, EnvironmentState, Event as SessionEvent, LiveEpisode,
    LiveSession, PluginFailure, Request, SessionState, Settings, Split, Task, WorkflowPlugin,
};
use crate::trajectory::{Action, Completion, Ending, Event, Reward, Status, StopReason};

/// Lines of a plugin's log that are kept of an answer, and bytes of a line.
const LOG_LINES: usize = 8;
const LOG_BYTES: usize = 256;

/// An environment and a workflow, configured for a run.
#[derive(Clone)]
pub struct Stage {
    /// The rules.
    pub environment: EnvironmentPlugin,
    /// The environment's settings.
    pub environment_settings: Settings,
    /// Who speaks when.
    pub workflow: WorkflowPlugin,
    /// The workflow's settings.
    pub workflow_settings: Settings,
    /// Turns per role after which an episode is truncated.
    pub max_turns: usize,
    /// Actions that may follow one answer.
    pub actions_per_answer: usize,
}

/// An episode at a moment when answers are due.
#[derive(Clone)]
pub struct Scene {
    environment: EnvironmentState,
    session: SessionState,
    /// The requests due, in the order in which they will be reported.
    pub due: VecDeque<Arc<Request>>,
    turns: BTreeMap<String, usize>,
}

impl Scene {
    /// How often `role` had been asked before the request that is due.
    pub fn turn_of(&self, role: &str) -> usize {
        self.turns.get(role).copied().unwrap_or(0)
    }

    /// The requests due, each with its role's turn: a role that stands in the
    /// list twice has two turns there.
    pub fn due_by_turn(&self) -> Vec<(Arc<Request>, usize)> {
        let mut turns = self.turns.clone();
        let mut count = |request: &Arc<Request>| {
            let next = turns.entry(request.role.clone()).or_default();
            *next += 1;
            (request.clone(), *next - 1)
        };
        self.due.iter().map(&mut count).collect()
    }

    /// Digest of the states of environment and session.
    pub fn digest(&self) -> u64 {
        self.environment.digest() ^ self.session.digest().rotate_left(32)
    }
}

/// Where an answer led.
#[derive(Clone)]
pub enum Progress {
    /// To more answers due.
    Asked(Scene),
    /// To the end of the episode.
    Ended(Ending),
}

/// What an answer, or the beginning, brought about.
#[derive(Clone)]
pub struct Consequence {
    /// What it was worth.
    pub reward: Reward,
    /// Whether every action was carried out in full.
    pub accepted: bool,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// Where it led.
    pub progress: Progress,
}

/// An answer as a session is told of it.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The whole answer.
    pub text: &'a str,
    /// Whether it ended by itself.
    pub complete: bool,
}

impl<'a> From<&'a Completion> for Answer<'a> {
    fn from(completion: &'a Completion) -> Self {
        Answer { text: &completion.text, complete: completion.stop != StopReason::Length }
    }
}

impl Stage {
    /// Begin a task.
    pub fn begin(&self, split: Split, seed: u32) -> Result<Consequence, PluginFailure> {
        let settings = self.environment_settings.clone();
        let mut episode = self.environment.start(&Task { split, seed, settings, entry: None })?;
        let session = self.workflow.start(&self.briefing(&mut episode)?)?;
        let observation = episode.observe()?;
        let mut play = Play {
            stage: self,
            episode,
            session,
            acting: None,
            reward: Reward::default(),
            accepted: true,
            events: vec![Event::Observed { text: observation.clone() }],
        };
        let progress =
            play.tell(SessionEvent::Begun(observation), VecDeque::new(), BTreeMap::new())?;
        Ok(play.ended_with(progress))
    }

    /// Report an answer to the first request due, in a fork of the scene.
    pub fn answer(&self, scene: &Scene, answer: Answer) -> Result<Consequence, PluginFailure> {
        let mut due = scene.due.clone();
        let Some(request) = due.pop_front() else {
            return Err(self.workflow.failure("advance", "it asked for no answer"));
        };
        let mut turns = scene.turns.clone();
        *turns.entry(request.role.clone()).or_default() += 1;
        let mut episode = self.environment.resume(&scene.environment)?;
        let mut session = self.workflow.resume(&scene.session)?;
        // What was written while actions were replayed was kept when they were new.
        episode.take_log();
        session.take_log();
        let mut play = Play {
            stage: self,
            episode,
            session,
            acting: Some(request.role.clone()),
            reward: Reward::default(),
            accepted: true,
            events: Vec::new(),
        };
        let event = SessionEvent::Replied {
            role: request.role.clone(),
            text: answer.text.to_owned(),
            complete: answer.complete,
        };
        let progress = play.tell(event, due, turns)?;
        Ok(play.ended_with(progress))
    }

    /// What the expert would answer to the first request due; nothing if
    /// there is no expert or the workflow cannot phrase it.
    pub fn demonstrate(&self, scene: &Scene) -> Result<Option<String>, PluginFailure> {
        let Some(request) = scene.due.front() else { return Ok(None) };
        let expert = self.environment.resume(&scene.environment)?.demonstrate()?;
        let Some((kind, text)) = expert else { return Ok(None) };
        self.workflow.resume(&scene.session)?.demonstrate(&request.role, &kind, &text)
    }

    fn briefing(&self, episode: &mut LiveEpisode) -> Result<Briefing, PluginFailure> {
        let description = self.environment.description();
        Ok(Briefing {
            environment: description.name.clone(),
            rules: episode.rules()?,
            actions: description
                .actions
                .iter()
                .map(|kind| (kind.name.clone(), kind.summary.clone()))
                .collect(),
            settings: self.workflow_settings.clone(),
            max_turns: u32::try_from(self.max_turns).unwrap_or(u32::MAX),
        })
    }
}

/// One fork being played from an answer to the next.
struct Play<'a> {
    stage: &'a Stage,
    episode: LiveEpisode,
    session: LiveSession,
    /// The role whose answer is being played.
    acting: Option<String>,
    reward: Reward,
    accepted: bool,
    events: Vec<Event>,
}

impl Play<'_> {
    /// Report an event and carry out directives until answers are due again.
    fn tell(
        &mut self,
        event: SessionEvent,
        due: VecDeque<Arc<Request>>,
        turns: BTreeMap<String, usize>,
    ) -> Result<Progress, PluginFailure> {
        let workflow = &self.stage.workflow;
        let mut directive = self.session.advance(event)?;
        for _ in 0..=self.stage.actions_per_answer {
            match directive {
                Directive::Finish => return Ok(Progress::Ended(Ending::Finished)),
                Directive::Wait if due.is_empty() => {
                    return Err(workflow.failure("advance", "it waits although no answer is due"));
                }
                Directive::Wait => return self.pause(due, turns),
                Directive::Ask(_) if !due.is_empty() => {
                    return Err(
                        workflow.failure("advance", "it asks again although answers are still due")
                    );
                }
                Directive::Ask(requests) => {
                    let limit = self.stage.max_turns;
                    if requests.iter().any(|r| turns.get(&r.role).is_some_and(|t| *t >= limit)) {
                        return Ok(Progress::Ended(Ending::Truncated));
                    }
                    return self.pause(requests.into_iter().map(Arc::new).collect(), turns);
                }
                Directive::Act(action) => match self.act(action)? {
                    Ok(event) => directive = self.session.advance(event)?,
                    Err(ending) => return Ok(Progress::Ended(ending)),
                },
                Directive::Run(program) => {
                    let (event, recorded) = tool::run(workflow, program)?;
                    self.events.push(recorded);
                    directive = self.session.advance(event)?;
                }
            }
        }
        Err(workflow.failure(
            "advance",
            format!(
                "it took more than {} actions after one answer (plugins.limits.actions_per_answer)",
                self.stage.actions_per_answer
            ),
        ))
    }

    /// Carry out an action: the event it leads to, or the episode's ending.
    fn act(&mut self, action: Action) -> Result<Result<SessionEvent, Ending>, PluginFailure> {
        let outcome = self.episode.act(&action.role, &action.kind, &action.text)?;
        self.accepted &= outcome.accepted;
        let mut reward = outcome.reward;
        if self.acting.as_ref().is_some_and(|role| *role != action.role) {
            // Another seat's action: its effect on the team counts, its own worth does not.
            reward.local = 0.0;
        }
        self.reward.add(&reward);
        let role = action.role.clone();
        self.events.push(Event::Acted {
            action,
            accepted: outcome.accepted,
            feedback: outcome.feedback.clone(),
            reward,
            status: outcome.status,
        });
        match outcome.status {
            Status::Solved => return Ok(Err(Ending::Solved)),
            Status::Failed => return Ok(Err(Ending::Failed)),
            Status::Ongoing => {}
        }
        let observation = self.episode.observe()?;
        self.events.push(Event::Observed { text: observation.clone() });
        Ok(Ok(SessionEvent::Acted {
            role,
            accepted: outcome.accepted,
            feedback: outcome.feedback,
            observation,
            status: outcome.status,
        }))
    }

    /// Save both states: answers are due.
    fn pause(
        &mut self,
        due: VecDeque<Arc<Request>>,
        turns: BTreeMap<String, usize>,
    ) -> Result<Progress, PluginFailure> {
        let environment = self.episode.save()?;
        let session = self.session.save()?;
        Ok(Progress::Asked(Scene { environment, session, due, turns }))
    }

    fn ended_with(mut self, progress: Progress) -> Consequence {
        self.keep_logs();
        let Play { reward, accepted, events, .. } = self;
        Consequence { reward, accepted, events, progress }
    }

    /// The first lines that each plugin logged become part of what happened.
    fn keep_logs(&mut self) {
        let stage = self.stage;
        let logs = [
            (stage.environment.name(), self.episode.take_log()),
            (stage.workflow.name(), self.session.take_log()),
        ];
        for (plugin, lines) in logs {
            self.events.extend(lines.into_iter().take(LOG_LINES).map(|line| Event::Logged {
                plugin: plugin.to_owned(),
                level: line.level.word().to_owned(),
                text: line.text[..line.text.floor_char_boundary(LOG_BYTES)].to_owned(),
            }));
        }
    }
}
