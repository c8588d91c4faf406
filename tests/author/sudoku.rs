//! One environment in four languages: sudoku in Python, JavaScript and C is sudoku
//! in Rust to the last letter. And what their SDKs have besides: grants, drawings.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use troupe_core::config::Limits;
use troupe_guests::plugin::{
    Action, EnvironmentDescription, EnvironmentPlugin, Grants, LiveEpisode, Move, Outcome,
    PluginLibrary, Seat, Settings, Split, Status, Task, Value,
};

use crate::languages::{has, repository};
use crate::projects::type_in;
use crate::support;

/// A fixture as a component.
pub fn built(language: &str, name: &str, folder: &Path) -> PathBuf {
    type_in(folder, &format!("host plugin new --lang {language} {name}")).unwrap();
    let sources = repository().join("tests/fixtures/languages").join(language).join(name);
    for file in fs::read_dir(sources).unwrap().map(Result::unwrap) {
        if file.path().is_file() {
            fs::copy(file.path(), folder.join(name).join(file.file_name())).unwrap();
        }
    }
    type_in(folder, &format!("host plugin build {name}")).unwrap();
    folder.join(name).join(name).with_extension("wasm")
}

fn load(file: &Path) -> EnvironmentPlugin {
    let files = [file.to_owned()];
    let library = PluginLibrary::load(&files, &[], &Limits::default(), Grants::default()).unwrap();
    library.environment(None).unwrap().clone()
}

fn chosen(environment: &EnvironmentPlugin, settings: &str) -> Settings {
    environment.settings(&settings.parse().unwrap()).unwrap()
}

fn begin(environment: &EnvironmentPlugin, settings: &str, split: Split, seed: u32) -> LiveEpisode {
    let settings = chosen(environment, settings).configured().to_vec();
    let seats = ["filler", "checker"].map(Seat::new).to_vec();
    environment.start(&Task { split, seed, settings, seats, entry: None }).unwrap()
}

/// Everything that can be seen in it.
fn seen(episode: &mut LiveEpisode) -> String {
    let views = ["filler", "checker"].map(Seat::new).map(|seat| {
        let (rules, view) = (episode.rules(&seat).unwrap(), episode.observe(&seat).unwrap());
        format!("{rules} {view:?} {:?}", episode.demonstrate(&seat).unwrap())
    });
    views.join("\n")
}

/// What models would say, right and wrong, in every form. A whole board may not
/// solve a task too soon.
const SAID: [(&str, &str); 24] = [
    ("fill", "r1c1=1"),
    ("fill", "r1c1=1, r1c2=2"),
    ("fill", "I think\n```\nr4c4=4\n```"),
    ("fill", "pass"),
    ("erase", "pass"),
    ("erase", "r1c1-"),
    ("fill", "r2c2=3\u{a0}r2c3=1"),
    ("fill", "r2c2=3 r2c3=1 r2c4=2 r3c3=1\u{2003}r3c4=2\u{3000}"),
    ("erase", "r2c2- r2c3-"),
    ("erase", "r1c1=1"),
    ("fill", ""),
    ("fill", "größer als ein Brett, das niemand kennt"),
    ("fill", "ünd\u{a0}r1c1=9 \u{1f3b2}\u{1f3b2}\u{1f3b2}\u{1f3b2}\u{1f3b2}\u{1f3b2}\u{1f3b2}"),
    ("fill", "r1c1=1\u{200b}r1c2=2\u{feff}\u{1c}"),
    ("fill", "Answer: **r3c1=1**"),
    ("grid", "1 2 3 4"),
    ("grid", "1\u{a0}2 3\u{85}4 | 3412 2143 4321\u{1c}"),
    ("grid", "[[1,1,1,1],[1,1,1,1],[1,1,1,1],[1,1,1,1]]"),
    ("plan", "r1c1=1"),
    ("plan", "1234 3412 2143 4321"),
    ("plan", "nothing\n\nr3c3=2 r4c3=1"),
    ("plan", "<answer>r1c2=4</answer>"),
    ("plan", "\u{a0}pass\u{2028}"),
    ("plan", "r1c1=1"),
];

/// Says everything to both, and what the expert says until the end; the steps.
fn play([ours, theirs]: &mut [LiveEpisode; 2], place: &str) -> usize {
    for step in 0.. {
        assert_eq!(seen(ours), seen(theirs), "{place}, step {step}");
        let seat = Seat::new(if step % 3 == 2 { "checker" } else { "filler" });
        let action = match SAID.get(step) {
            Some((kind, text)) => Action::new(*kind, *text),
            None => ours.demonstrate(&seat).unwrap().unwrap(),
        };
        let moves = vec![Move { seat, action }];
        let outcome = ours.act(moves.clone()).unwrap();
        let theirs = theirs.act(moves).unwrap();
        assert_eq!(ungraded(&outcome), ungraded(&theirs), "{place}, step {step}");
        if outcome.status != Status::Ongoing {
            return step;
        }
    }
    unreachable!("an episode ends")
}

/// What is unreadable costs the same, however near it came: only the SDK for Rust grades that.
fn ungraded(outcome: &Outcome) -> Outcome {
    let mut outcome = outcome.clone();
    for award in outcome.awards.iter_mut().filter(|award| award.name == "unreadable") {
        award.value = -0.3;
    }
    outcome
}

/// Without the forms of answers that may be asked for and the rewards that may be paid, which
/// only the SDK for Rust knows.
fn but_for_choices(description: &EnvironmentDescription) -> EnvironmentDescription {
    let mut description = description.clone();
    description.settings.retain(|setting| !["format", "rewards"].contains(&setting.name.as_str()));
    description.extras.retain(|extra| extra.key != "formats");
    description
}

/// Settings and the tasks that are played with them.
const PLAYED: [(&str, &[(Split, u32)]); 5] = [
    ("", &[(Split::Train, 0), (Split::Validation, 7), (Split::Test, 3)]),
    ("edits_per_turn = 16\nobservation = \"text\"", &[(Split::Train, 7), (Split::Test, 0)]),
    ("sight = \"split\"\nblanks = 6", &[(Split::Validation, 1)]),
    ("size = 6\nobservation = \"grid\"\nedits_per_turn = 9", &[(Split::Train, 2)]),
    ("size = 9\nedits_per_turn = 40\nobservation = \"text\"", &[(Split::Test, 0)]),
];

fn is_that_of_rust(file: &Path) {
    let (theirs, ours) = (load(file), load(&support::plugin("sudoku")));
    assert_eq!(but_for_choices(ours.description()), but_for_choices(theirs.description()));
    for (settings, tasks) in PLAYED {
        let said =
            |plugin: &EnvironmentPlugin| plugin.configure(&chosen(plugin, settings)).unwrap();
        assert_eq!(said(&ours), said(&theirs), "{settings}");
        for &(split, seed) in tasks {
            let mut pair = [&ours, &theirs].map(|plugin| begin(plugin, settings, split, seed));
            let steps = play(&mut pair, &format!("{settings} {split} {seed}"));
            assert!(steps >= SAID.len(), "{settings} {split} {seed}: it ended early");
        }
    }
    refuses_as_rust_does(&ours, &theirs);
}

/// What no setting may be is refused by the plugin itself, and in the same words.
fn refuses_as_rust_does(ours: &EnvironmentPlugin, theirs: &EnvironmentPlugin) {
    for (name, value) in [
        ("size", Value::Integer(10)),
        ("size", Value::Integer(-1)),
        ("size", Value::Text("large".to_owned())),
        ("size", Value::Number(5.5)),
        ("observation", Value::Text("map".to_owned())),
        ("observation", Value::Flag(true)),
        ("color", Value::Integer(1)),
        ("size", Value::Integer(5)),
    ] {
        let refused = |plugin: &EnvironmentPlugin| {
            plugin.configure(&chosen(plugin, "").with(name, value.clone())).unwrap_err().cause
        };
        assert_eq!(refused(ours), refused(theirs), "{name} = {value}");
    }
}

#[test]
fn sudoku_in_python_is_sudoku_in_rust() {
    let folder = TempDir::new().unwrap();
    is_that_of_rust(&built("python", "sudoku", folder.path()));
}

#[test]
fn sudoku_in_javascript_is_sudoku_in_rust() {
    if has("node") {
        let folder = TempDir::new().unwrap();
        is_that_of_rust(&built("javascript", "sudoku", folder.path()));
    }
}

#[test]
fn sudoku_in_c_is_sudoku_in_rust() {
    let folder = TempDir::new().unwrap();
    is_that_of_rust(&built("c", "sudoku", folder.path()));
}
