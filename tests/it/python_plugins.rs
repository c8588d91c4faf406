//! Plugins in Python: what their page says, command by command, in an empty
//! folder; and a plugin that is the same in Python and in Rust.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use troupe::config::Limits;
use troupe::plugin::{
    Action, EnvironmentPlugin, Grants, LiveEpisode, Move, PluginLibrary, Seat, Split, Status, Task,
};

use crate::projects::{commands, type_in};
use crate::support;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// It has to succeed; what it printed.
fn succeed(folder: &Path, line: &str) -> String {
    type_in(folder, line).unwrap_or_else(|failure| panic!("{failure}"))
}

/// It has to fail with this exit code; what it says of that.
fn fail(folder: &Path, line: &str, code: i32) -> String {
    let line = format!("{line} || test $? = {code} && exit 99");
    type_in(folder, &line).expect_err("it succeeded")
}

#[test]
fn every_command_of_the_page_on_python_does_what_it_says() {
    let folder = TempDir::new().unwrap();
    let commands = commands("authors/python.md");
    assert!(commands.len() > 10, "{commands:?}");
    for command in commands {
        let said = succeed(folder.path(), &command);
        if command.contains("--oracle") {
            assert!(said.contains("Solved, total reward"), "{command}: {said}");
        }
        if command.starts_with("host train") {
            assert!(said.contains("3 steps") && said.contains("0 void episodes"), "{said}");
        }
    }
}

#[test]
fn the_python_sdk_keeps_its_own_tests() {
    let folder = repository().join("plugin-sdk/python");
    succeed(&folder, "python3 -B -m unittest discover -t . -s tests");
}

#[test]
fn what_is_wrong_with_a_python_project_is_said_in_one_message() {
    let folder = TempDir::new().unwrap();
    let here = folder.path();
    succeed(here, "host plugin new --lang python game");

    let said = fail(here, "PATH=/nowhere $(command -v host) plugin build game", 3);
    assert!(said.contains("python3, 3.10 or later, is missing"), "{said}");
    // `-S` hides what is installed beside Python, the empty cache what the set-up brought.
    fs::write(here.join("python3"), "#!/bin/sh\nexec \"$REAL\" -S \"$@\"\n").unwrap();
    succeed(here, "chmod +x python3");
    let bare = "REAL=$(python3 -c 'import sys; print(sys.executable)') PATH=$PWD:$PATH \
                XDG_CACHE_HOME=$PWD/cache host plugin build game";
    let said = fail(here, bare, 3);
    assert!(said.contains("python3 -m pip install componentize-py==0.25.1"), "{said}");

    let sources = here.join("game/game.py");
    fs::write(&sources, "import troupe_plugin\n\nGame = undefined\n").unwrap();
    let said = fail(here, "host plugin build game", 3);
    assert!(said.contains("game.py\", line 3"), "{said}");
    assert!(said.contains("NameError: name 'undefined'") && !said.contains("backtrace"), "{said}");
    fs::write(&sources, "class Game(:\n").unwrap();
    let said = fail(here, "host plugin build game", 3);
    assert!(said.contains("game.py:1: invalid syntax"), "{said}");
    fs::write(&sources, "").unwrap();
    let said = fail(here, "host plugin build game", 3);
    assert!(said.contains("has to define one class that derives from `Environment`"), "{said}");
}

/// The fixture `sudoku` as a component.
fn sudoku_in_python(folder: &Path) -> PathBuf {
    succeed(folder, "host plugin new --lang python sudoku");
    let sources = repository().join("tests/fixtures/languages/python/sudoku");
    for file in fs::read_dir(sources).unwrap().map(Result::unwrap) {
        if file.path().is_file() {
            fs::copy(file.path(), folder.join("sudoku").join(file.file_name())).unwrap();
        }
    }
    succeed(folder, "host plugin build sudoku");
    folder.join("sudoku/sudoku.wasm")
}

fn load(file: &Path) -> EnvironmentPlugin {
    let files = [file.to_owned()];
    let library = PluginLibrary::load(&files, &[], &Limits::default(), Grants::default()).unwrap();
    library.environment(None).unwrap().clone()
}

/// The same task in both.
fn begin(environment: &EnvironmentPlugin, settings: &str, split: Split, seed: u32) -> LiveEpisode {
    let table: toml::Table = settings.parse().unwrap();
    let settings = environment.settings(&table).unwrap().configured().to_vec();
    let seats = ["filler", "checker"].map(Seat::new).to_vec();
    environment.start(&Task { split, seed, settings, seats, entry: None }).unwrap()
}

/// Everything that can be seen in it.
fn seen(episode: &mut LiveEpisode) -> String {
    let seats = ["filler", "checker"].map(Seat::new);
    let views = seats.each_ref().map(|seat| {
        let (rules, view) = (episode.rules(seat).unwrap(), episode.observe(seat).unwrap());
        format!("{rules} {view:?} {:?}", episode.demonstrate(seat).unwrap())
    });
    views.join("\n")
}

/// Words that models would say, right and wrong, in every form.
const SAID: [(&str, &str); 14] = [
    ("fill", "r1c1=1"),
    ("fill", "r1c1=1, r1c2=2"),
    ("fill", "I think\n```\nr4c4=4\n```"),
    ("fill", "pass"),
    ("erase", "r1c1-"),
    ("fill", "r2c2=3 r2c3=1"),
    ("plan", "r3c3=1 r3c4=2"),
    ("plan", "1234 3412 2143 4321"),
    ("grid", "1234341221434321"),
    ("erase", "r1c1=1"),
    ("fill", "Ünd\u{a0}r1c1=9 \u{1f3b2}\u{1f3b2}\u{1f3b2}\u{1f3b2}\u{1f3b2}\u{1f3b2}\u{1f3b2}"),
    ("fill", ""),
    ("plan", "<answer>r1c2=4</answer>"),
    ("grid", "[[1,2,3,4],[3,4,1,2],[2,1,4,3],[4,3,2,1]]"),
];

#[test]
fn sudoku_in_python_is_sudoku_in_rust_to_the_last_letter() {
    let folder = TempDir::new().unwrap();
    let (ours, theirs) = (load(&support::plugin("sudoku")), load(&sudoku_in_python(folder.path())));
    for settings in [
        "",
        "edits_per_turn = 16\nobservation = \"text\"",
        "sight = \"split\"\nblanks = 6",
        "size = 6\nobservation = \"grid\"",
    ] {
        let table: toml::Table = settings.parse().unwrap();
        let words = |environment: &EnvironmentPlugin| {
            environment.configure(&environment.settings(&table).unwrap()).unwrap().vocabulary
        };
        assert_eq!(words(&ours), words(&theirs), "{settings}");
        for (split, seed) in Split::ALL.into_iter().flat_map(|split| [(split, 0), (split, 7)]) {
            let mut pair = [&ours, &theirs].map(|plugin| begin(plugin, settings, split, seed));
            let steps = play(&mut pair, &format!("{settings} {split} {seed}"));
            assert!(steps > SAID.len(), "{settings} {split} {seed}: it ended early");
        }
    }
}

/// Says everything to both, and what the expert says until the end; the steps.
fn play([ours, theirs]: &mut [LiveEpisode; 2], place: &str) -> usize {
    for step in 0.. {
        assert_eq!(seen(ours), seen(theirs), "{place}, step {step}");
        let seat = Seat::new(if step % 3 == 2 { "checker" } else { "filler" });
        let action = match SAID.get(step) {
            // A whole board may solve the task too soon.
            Some((kind, text)) => Action::new(*kind, *text),
            None => ours.demonstrate(&seat).unwrap().unwrap(),
        };
        let moves = vec![Move { seat, action }];
        let outcome = ours.act(moves.clone()).unwrap();
        assert_eq!(outcome, theirs.act(moves).unwrap(), "{place}, step {step}");
        if outcome.status != Status::Ongoing {
            return step;
        }
    }
    unreachable!("an episode ends")
}
