//! Real components behind the plugin boundary: whole episodes, played by the
//! expert, come out the same however they are forked and wherever they run.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fmt::Write;
use std::path::PathBuf;

use troupe::config::Limits;
use troupe::plugin::{
    Briefing, Directive, EnvironmentPlugin, Event, Grants, LiveEpisode, LiveSession, PluginError,
    PluginFailure, PluginLibrary, Request, Settings, Split, Task, WorkflowPlugin,
};
use troupe::trajectory::Status;

use crate::components::{self, library};

/// The pairs of environment and workflow that belong together.
const PAIRS: [(&str, &str); 4] = [
    ("plan-path", "planner-executor"),
    ("plan-path", "solo"),
    ("sudoku", "filler-checker"),
    ("sudoku", "solo"),
];

/// How an episode gets from one answer to the next.
#[derive(Clone, Copy, Debug)]
enum Between {
    /// It stays where it is.
    Nothing,
    /// Both sides are saved and resumed in fresh instances.
    SaveAndResume,
    /// All actions and events are played again in fresh instances.
    Replay,
}

struct Pair {
    environment: EnvironmentPlugin,
    workflow: WorkflowPlugin,
    settings: Settings,
}

impl Pair {
    fn load(environment: &str, workflow: &str) -> Self {
        let library = library(&[environment, workflow]);
        let environment = library.environment(None).unwrap().clone();
        let workflow = library.workflow(Some(workflow), &environment).unwrap();
        let settings = environment.configure(&toml::Table::new()).unwrap();
        Pair { environment, workflow, settings }
    }

    fn task(&self, seed: u32) -> Task {
        Task { split: Split::Train, seed, settings: self.settings.clone(), entry: None }
    }

    /// Everything that is said and done when the expert plays.
    fn play(&self, seed: u32, between: Between) -> Result<String, PluginFailure> {
        let mut episode = self.environment.start(&self.task(seed))?;
        let description = self.environment.description();
        let kinds = description.actions.iter();
        let briefing = Briefing {
            environment: description.name.clone(),
            rules: episode.rules()?,
            actions: kinds.map(|kind| (kind.name.clone(), kind.summary.clone())).collect(),
            settings: self.workflow.configure(&toml::Table::new()).unwrap(),
            max_turns: description.max_turns,
        };
        let session = self.workflow.start(&briefing)?;
        Play { pair: self, between, episode, session, script: String::new() }.finish()
    }
}

struct Play<'a> {
    pair: &'a Pair,
    between: Between,
    episode: LiveEpisode,
    session: LiveSession,
    script: String,
}

impl Play<'_> {
    fn finish(mut self) -> Result<String, PluginFailure> {
        let mut event = Event::Begun(self.episode.observe()?);
        let mut due: Vec<Request> = Vec::new();
        for _ in 0..100 {
            let directive = self.session.advance(event.clone())?;
            writeln!(self.script, "{event:?}\n{directive:?}").unwrap();
            event = match directive {
                Directive::Ask(requests) => {
                    due = requests.into_iter().rev().collect();
                    self.answer(&mut due)?
                }
                Directive::Wait => self.answer(&mut due)?,
                Directive::Act(action) => {
                    let outcome = self.episode.act(&action.role, &action.kind, &action.text)?;
                    writeln!(self.script, "{outcome:?}").unwrap();
                    if outcome.status != Status::Ongoing {
                        return Ok(self.script);
                    }
                    Event::Acted {
                        role: action.role,
                        accepted: outcome.accepted,
                        feedback: outcome.feedback,
                        observation: self.episode.observe()?,
                        status: outcome.status,
                    }
                }
                Directive::Run(_) | Directive::Finish => return Ok(self.script),
            };
        }
        panic!("no end in sight:\n{}", self.script)
    }

    fn answer(&mut self, due: &mut Vec<Request>) -> Result<Event, PluginFailure> {
        self.fork()?;
        let role = due.pop().expect("an answer is due").role;
        let text = match self.episode.demonstrate()? {
            Some((kind, text)) => self.session.demonstrate(&role, &kind, &text)?,
            None => None,
        };
        let text = text.unwrap_or_else(|| "I do not know".to_owned());
        Ok(Event::Replied { role, text, complete: true })
    }

    fn fork(&mut self) -> Result<(), PluginFailure> {
        let (episode, session) = (self.episode.save()?, self.session.save()?);
        let (episode, session) = match self.between {
            Between::Nothing => return Ok(()),
            Between::SaveAndResume => {
                assert!(episode.saved().is_some() && session.saved().is_some());
                (episode, session)
            }
            Between::Replay => (episode.as_replay(), session.as_replay()),
        };
        self.episode = self.pair.environment.resume(&episode)?;
        self.session = self.pair.workflow.resume(&session)?;
        Ok(())
    }
}

#[test]
fn fork_by_save_and_fork_by_replay_change_nothing() {
    for (environment, workflow) in PAIRS {
        let pair = Pair::load(environment, workflow);
        for seed in 0..5 {
            let straight = pair.play(seed, Between::Nothing).unwrap();
            assert!(straight.contains("Solved"), "{environment}, {workflow}:\n{straight}");
            assert_eq!(straight, pair.play(seed, Between::SaveAndResume).unwrap());
            assert_eq!(straight, pair.play(seed, Between::Replay).unwrap());
        }
    }
}

#[test]
fn the_same_task_is_the_same_in_another_engine_and_on_any_thread() {
    let pair = Pair::load("plan-path", "planner-executor");
    let other = Pair::load("plan-path", "planner-executor");
    let expected: Vec<String> =
        (0..16).map(|seed| other.play(seed, Between::Nothing).unwrap()).collect();
    std::thread::scope(|scope| {
        for first in 0..8 {
            let (pair, expected) = (&pair, &expected);
            scope.spawn(move || {
                for index in 0..32 {
                    let seed = (first * 5 + index) % 16;
                    let script = pair.play(seed, Between::SaveAndResume).unwrap();
                    assert_eq!(script, expected[seed as usize]);
                }
            });
        }
    });
}

#[test]
fn forks_of_one_state_do_not_see_each_other() {
    let pair = Pair::load("plan-path", "solo");
    let mut episode = pair.environment.start(&pair.task(1)).unwrap();
    let before = episode.observe().unwrap();
    let state = episode.save().unwrap();
    let (kind, text) = episode.demonstrate().unwrap().unwrap();
    let mut forks: Vec<LiveEpisode> =
        (0..8).map(|_| pair.environment.resume(&state).unwrap()).collect();
    forks[0].act("player", &kind, &text).unwrap();
    assert_ne!(forks[0].observe().unwrap(), before);
    for fork in &mut forks[1..] {
        assert_eq!(fork.observe().unwrap(), before);
    }
    assert_ne!(forks[0].save().unwrap().digest(), state.digest());
    assert_eq!(forks[1].save().unwrap().digest(), state.digest());
}

#[test]
fn splits_share_no_task_and_settings_reach_the_guest() {
    let pair = Pair::load("plan-path", "solo");
    let see = |task: &Task| pair.environment.start(task).unwrap().observe().unwrap();
    let train = pair.task(7);
    let test = Task { split: Split::Test, ..train.clone() };
    assert_ne!(see(&train), see(&test));
    let name = &pair.environment.description().settings[0].name;
    let error = pair.environment.configure(&format!("{name}x = 1").parse().unwrap()).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("[environment] settings do not fit `plan-path`"), "{message}");
    assert!(message.contains(&format!("did you mean `{name}`?")), "{message}");
}

#[test]
fn a_workflow_is_found_by_advice_by_name_and_beside_the_environment() {
    let alone = library(&["plan-path"]);
    let environment = alone.environment(None).unwrap();
    assert_eq!(alone.workflow(None, environment).unwrap().name(), "planner-executor");
    assert_eq!(alone.workflow(Some("solo"), environment).unwrap().name(), "solo");
    let misfit = alone.workflow(Some("filler-checker"), environment).unwrap_err();
    assert!(matches!(misfit, PluginError::Misfit { .. }), "{misfit}");
    let unknown = library(&["plan-path", "solo"]);
    let unknown = unknown.workflow(Some("sol"), environment).unwrap_err();
    assert_eq!(unknown.to_string(), "no plugin offers the workflow `sol`; did you mean `solo`?");
    let several = library(&["plan-path", "sudoku"]).environment(None).unwrap_err();
    assert!(several.to_string().contains("`plan-path`, `sudoku`"), "{several}");
}

#[test]
fn two_files_that_offer_the_same_are_refused_and_one_named_twice_is_not() {
    let file = components::folder().join("plan-path.wasm");
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.wasm");
    // An empty custom section makes another file of the same component.
    let bytes = [std::fs::read(&file).unwrap(), vec![0, 2, 1, b'x']].concat();
    std::fs::write(&other, bytes).unwrap();
    let load = |files: &[&PathBuf]| {
        let files: Vec<PathBuf> = files.iter().copied().cloned().collect();
        PluginLibrary::load(&files, &[], &Limits::default(), Grants::default())
    };
    let error = load(&[&file, &other]).unwrap_err();
    assert!(matches!(error, PluginError::Duplicate { .. }), "{error}");
    assert_eq!(load(&[&file, &file]).unwrap().environments().len(), 1);
}
