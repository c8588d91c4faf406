//! Real components behind the plugin boundary: whole episodes, played by the
//! expert, come out the same however they are forked and wherever they run.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fmt::Write;
use std::path::PathBuf;

use troupe_core::config::Limits;
use troupe_guests::plugin::{
    Consequence, Directive, EnvironmentPlugin, Event, Grants, LiveEpisode, LiveSession, Part,
    PluginError, PluginFailure, PluginLibrary, Reply, Request, ResultOfMove, Seat, Split, Status,
    Task, View,
};
use troupe_guests::scenario::Scenario;

use crate::support::components::{self, library};
use crate::support::scenarios;

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

fn pair(environment: &str, workflow: &str) -> Scenario {
    let library = library(&[environment, workflow]);
    let environment = library.environment(None).unwrap().clone();
    let workflow = library.workflow(Some(workflow), &environment).unwrap();
    scenarios::scenario(&environment, "", &workflow, "")
}

fn task(environment: &EnvironmentPlugin, seed: u32) -> Task {
    scenarios::task(environment, "", seed)
}

/// Everything that is said and done when the expert plays.
fn play(pair: &Scenario, seed: u32, between: Between) -> Result<String, PluginFailure> {
    let episode = pair
        .environment
        .component()
        .unwrap()
        .start(&task(pair.environment.component().unwrap(), seed))?;
    let session = scenarios::session(pair)?;
    Play { pair, between, episode, session, answers: 0, script: String::new() }.finish()
}

struct Play<'a> {
    pair: &'a Scenario,
    between: Between,
    episode: LiveEpisode,
    session: LiveSession,
    answers: u32,
    script: String,
}

impl Play<'_> {
    fn finish(mut self) -> Result<String, PluginFailure> {
        let mut event = Event::Begun(self.views()?);
        let mut due: Vec<Request> = Vec::new();
        for _ in 0..100 {
            let directive = self.session.advance(event.clone())?.directive;
            writeln!(self.script, "{event:?}\n{directive:?}").unwrap();
            event = match directive {
                Directive::Ask(requests) => {
                    due = requests.into_iter().rev().collect();
                    self.answer(&mut due)?
                }
                Directive::Wait => self.answer(&mut due)?,
                Directive::Act(moves) => {
                    let outcome = self.episode.act(moves.clone())?;
                    writeln!(self.script, "{outcome:?}").unwrap();
                    if outcome.status != Status::Ongoing {
                        return Ok(self.script);
                    }
                    let results = moves.into_iter().zip(outcome.effects);
                    let result = |(one, effect): (troupe_guests::plugin::Move, _)| {
                        let plugin_sdk::environment::Effect { accepted, feedback } = effect;
                        ResultOfMove { seat: one.seat, accepted, feedback }
                    };
                    Event::Acted(Consequence {
                        results: results.map(result).collect(),
                        views: self.views()?,
                        revealed: None,
                        status: outcome.status,
                    })
                }
                Directive::Call(_) | Directive::Finish => return Ok(self.script),
            };
        }
        panic!("no end in sight:\n{}", self.script)
    }

    fn views(&mut self) -> Result<Vec<View>, PluginFailure> {
        Ok(vec![View { seat: None, parts: self.episode.observe(&Seat::new("anybody"))? }])
    }

    fn answer(&mut self, due: &mut Vec<Request>) -> Result<Event, PluginFailure> {
        self.fork()?;
        let seat = due.pop().expect("an answer is due").seat;
        let text = match self.episode.demonstrate(&seat)? {
            Some(expert) => self.session.demonstrate(&seat, &expert)?,
            None => None,
        };
        let text = text.unwrap_or_else(|| "I do not know".to_owned());
        self.answers += 1;
        let (answer, thread) = (self.answers - 1, String::new());
        Ok(Event::Replied(Reply { seat, answer, thread, text, complete: true }))
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
        self.episode = self.pair.environment.component().unwrap().resume(&episode)?;
        self.session = self.pair.workflow.resume(&session)?;
        Ok(())
    }
}

/// What anybody sees.
fn seen(episode: &mut LiveEpisode) -> Vec<Part> {
    episode.observe(&Seat::new("anybody")).unwrap()
}

#[test]
fn fork_by_save_and_fork_by_replay_change_nothing() {
    for (environment, workflow) in PAIRS {
        let pair = pair(environment, workflow);
        for seed in 0..5 {
            let straight = play(&pair, seed, Between::Nothing).unwrap();
            assert!(straight.contains("Solved"), "{environment}, {workflow}:\n{straight}");
            assert_eq!(straight, play(&pair, seed, Between::SaveAndResume).unwrap());
            assert_eq!(straight, play(&pair, seed, Between::Replay).unwrap());
        }
    }
}

#[test]
fn the_same_task_is_the_same_in_another_engine_and_on_any_thread() {
    let [other, pair] = [0, 1].map(|_| pair("plan-path", "planner-executor"));
    let expected: Vec<String> =
        (0..16).map(|seed| play(&other, seed, Between::Nothing).unwrap()).collect();
    std::thread::scope(|scope| {
        for first in 0..8 {
            let (pair, expected) = (&pair, &expected);
            scope.spawn(move || {
                for index in 0..32 {
                    let seed = (first * 5 + index) % 16;
                    let script = play(pair, seed, Between::SaveAndResume).unwrap();
                    assert_eq!(script, expected[seed as usize]);
                }
            });
        }
    });
}

#[test]
fn forks_of_one_state_do_not_see_each_other() {
    let pair = pair("plan-path", "solo");
    let mut episode = pair
        .environment
        .component()
        .unwrap()
        .start(&task(pair.environment.component().unwrap(), 1))
        .unwrap();
    let before = seen(&mut episode);
    let state = episode.save().unwrap();
    let seat = Seat::new("player");
    let action = episode.demonstrate(&seat).unwrap().unwrap();
    let mut forks: Vec<LiveEpisode> =
        (0..8).map(|_| pair.environment.component().unwrap().resume(&state).unwrap()).collect();
    forks[0].act(vec![troupe_guests::plugin::Move { seat, action }]).unwrap();
    assert_ne!(seen(&mut forks[0]), before);
    for fork in &mut forks[1..] {
        assert_eq!(seen(fork), before);
    }
    assert_ne!(forks[0].save().unwrap().digest(), state.digest());
    assert_eq!(forks[1].save().unwrap().digest(), state.digest());
}

#[test]
fn splits_share_no_task_and_settings_reach_the_guest() {
    let pair = pair("plan-path", "solo");
    let see = |task: &Task| seen(&mut pair.environment.component().unwrap().start(task).unwrap());
    let train = task(pair.environment.component().unwrap(), 7);
    let test = Task { split: Split::Test, ..train.clone() };
    assert_ne!(see(&train), see(&test));
    let name = &pair.environment.component().unwrap().description().settings[0].name;
    let error = pair.environment.settings(&format!("{name}x = 1").parse().unwrap()).unwrap_err();
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
