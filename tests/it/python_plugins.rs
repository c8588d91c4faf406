//! Plugins in Python: what their page says, command by command, in an empty
//! folder; and a plugin that is the same in Python and in Rust.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use troupe::config::Limits;
use troupe::plugin::{
    Action, EnvironmentPlugin, Grants, LiveEpisode, Move, PluginLibrary, Seat, Split, Status, Task,
};

use crate::support;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A shell command as the docs have it, with `host` in the path.
fn shell(folder: &Path, line: &str) -> Output {
    let host = Path::new(env!("CARGO_BIN_EXE_host"));
    let mut paths = vec![host.parent().unwrap().to_owned()];
    paths.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(folder);
    shell.env("PATH", std::env::join_paths(paths).unwrap());
    shell.env("TROUPE_DEVICE", "cpu").env("NO_COLOR", "1").output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// It has to succeed; what it printed.
fn succeed(folder: &Path, line: &str) -> String {
    let output = shell(folder, line);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "`{line}` failed:\n{said}");
    said
}

/// It has to fail; its exit code and what it says of that.
fn fail(folder: &Path, line: &str) -> (i32, String) {
    let output = shell(folder, line);
    assert!(!output.status.success(), "`{line}` succeeded");
    (output.status.code().unwrap_or_default(), text(&output.stderr))
}

/// The commands of a page, in their order.
fn commands(page: &str) -> Vec<String> {
    let text = fs::read_to_string(repository().join(page)).unwrap();
    text.lines().filter_map(|line| line.strip_prefix("$ ")).map(str::to_owned).collect()
}

#[test]
fn every_command_of_the_page_on_python_does_what_it_says() {
    let folder = TempDir::new().unwrap();
    for command in commands("docs/authors/python.md") {
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
    assert!(fail(here, "host plugin new --lang python game").1.contains("is there already"));

    let (code, said) = fail(here, "PATH=/nowhere $(command -v host) plugin build game");
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("python3, 3.10 or later, is missing"), "{said}");
    // `-S` hides what is installed beside Python, the empty cache what the set-up brought.
    let python = "#!/bin/sh\nexec \"$REAL\" -S \"$@\"\n";
    fs::write(here.join("python3"), python).unwrap();
    let bare = "chmod +x python3; REAL=$(python3 -c 'import sys; print(sys.executable)') \
                PATH=$PWD:$PATH XDG_CACHE_HOME=$PWD/cache host plugin build game";
    let (_, said) = fail(here, bare);
    assert!(said.contains("python3 -m pip install componentize-py==0.25.1"), "{said}");

    fs::write(here.join("game/game.py"), "import troupe_plugin\n\nGame = undefined\n").unwrap();
    let (code, said) = fail(here, "host plugin build game");
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("game.py\", line 3") && said.contains("NameError: name 'undefined'"));
    assert!(!said.contains("Stack backtrace"), "{said}");
    fs::write(here.join("game/game.py"), "class Game(:\n").unwrap();
    assert!(fail(here, "host plugin build game").1.contains("game.py:1: invalid syntax"));
    fs::write(here.join("game/game.py"), "").unwrap();
    let (_, said) = fail(here, "host plugin build game");
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
