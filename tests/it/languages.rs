//! Plugins in JavaScript and C: what their pages say, command by command, in an
//! empty folder; their SDKs' own tests; and a plugin that is the same in Rust.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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

/// Whether what a test cannot do without is there; says so if it is not.
fn has(tool: &str) -> bool {
    let there = Command::new(tool).arg("--version").output().is_ok();
    if !there {
        eprintln!("skipped: `{tool}` is missing");
    }
    there
}

/// All commands of a page; training takes as few tasks as it can.
fn follow(page: &str) {
    let folder = TempDir::new().unwrap();
    let commands = commands(page);
    assert!(commands.len() > 10, "{commands:?}");
    for command in commands {
        let trains = command.starts_with("host train");
        let few = if trains { FEW } else { "" };
        let said = type_in(folder.path(), &format!("{command}{few}")).unwrap();
        if command.contains("--oracle") {
            assert!(said.contains("Solved"), "{command}: {said}");
        }
        if trains {
            assert!(said.contains("3 steps") && said.contains("0 void episodes"), "{said}");
        }
    }
}

/// What keeps three steps short.
const FEW: &str = " --set imitation.enabled=false --set rollout.tasks_per_step=4 \
                   --set validation.tasks=8 --set validation.tasks_during_training=8";

#[test]
fn every_command_of_the_page_on_javascript_does_what_it_says() {
    if has("node") {
        follow("authors/javascript.md");
    }
}

#[test]
fn every_command_of_the_page_on_c_does_what_it_says() {
    if has("cc") {
        follow("authors/c.md");
    }
}

#[test]
fn the_javascript_sdk_keeps_its_own_tests() {
    if has("node") {
        type_in(&repository().join("plugin-sdk/javascript"), "node --test").unwrap();
    }
}

#[test]
fn the_c_sdk_draws_and_reads_what_the_others_do() {
    if !has("cc") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let sdk = repository().join("plugin-sdk/c");
    let build = format!("cc -Wall -Werror '{0}'/tests/sdk_test.c '{0}'/*.c -o sdk", sdk.display());
    type_in(folder.path(), &build).unwrap();
    type_in(folder.path(), "./sdk").unwrap();
    let problem = type_in(folder.path(), "./sdk problem").unwrap_err();
    assert!(problem.contains("has the field `{plan}`, but may only have {observation}"));

    let vectors = fs::read_to_string(repository().join("plugin-sdk/tests/chance.json")).unwrap();
    let vectors: serde_json::Value = serde_json::from_str(&vectors).unwrap();
    let drawn = |given: &serde_json::Value| {
        let split = ["train", "validation", "test"].iter().position(|name| given["split"] == *name);
        let sdk = folder.path().join("sdk");
        let mut command = Command::new(sdk);
        command.args(["random", &split.unwrap().to_string(), &given["seed"].to_string()]);
        let output = command.arg(given["purpose"].as_str().unwrap()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    for given in vectors["random"].as_array().unwrap() {
        let bits =
            given["bits"].as_array().unwrap().iter().map(|bits| bits.as_str().unwrap().to_owned());
        let below = given["below"].as_array().unwrap().iter().map(|pair| pair[1].to_string());
        let items = given["shuffled"].as_array().unwrap().iter().map(ToString::to_string);
        let mut expected: Vec<String> = bits.chain(below).collect();
        expected.push(items.collect());
        assert_eq!(drawn(given).trim(), expected.join(" "));
    }
    for given in vectors["owning"].as_array().unwrap() {
        let problem = given["problem"].as_str().unwrap();
        let owner = type_in(folder.path(), &format!("./sdk owning '{problem}'")).unwrap();
        assert_eq!(given["split"], owner.trim(), "{problem}");
    }
}

#[test]
fn what_is_wrong_with_sources_is_said_where_it_is() {
    let folder = TempDir::new().unwrap();
    let here = folder.path();
    let write = |file: &str, text: &str| fs::write(here.join(file), text).unwrap();
    for (language, name) in [("javascript", "one"), ("c", "two")] {
        type_in(here, &format!("host plugin new --lang {language} {name}")).unwrap();
        let again =
            type_in(here, &format!("host plugin new --lang {language} {name}")).unwrap_err();
        assert!(again.contains("is there already"), "{again}");
    }
    let refused = |line: &str, parts: &[&str]| {
        let said = type_in(here, line).unwrap_err();
        parts.iter().for_each(|part| assert!(said.contains(part), "no `{part}` in {said}"));
        assert_eq!(said.lines().filter(|line| line.starts_with("error: ")).count(), 1, "{said}");
    };
    // Nothing on the path, and an empty cache: as on a machine of somebody who begins.
    let bare = "export XDG_CACHE_HOME=$PWD/cache; PATH=/nowhere $(command -v host) plugin build ";
    refused(&format!("{bare}one"), &["Node.js is missing", "apt-get install nodejs npm"]);
    refused(&format!("{bare}two"), &["is missing", "pip install ziglang=="]);
    write("two/two.c", "#include \"sdk/troupe.h\"\nint broken(\n");
    refused("host plugin build two", &["two.c:2", "error: expected", "`two` could not be built"]);
    if has("node") {
        refused(
            "XDG_CACHE_HOME=$PWD/cache NODE_PATH= host plugin build one",
            &["npm install --prefix one"],
        );
        write("one/one.js", "export default class {\n  act( {\n}\n");
        refused("host plugin build one", &["one.js:", "SyntaxError", "`one` could not be built"]);
        write("one/one.js", "export default class {}\n");
        refused(
            "host plugin build one",
            &["one.js exports no class of an environment or a workflow"],
        );
    }
}

/// The fixture `sudoku` as a component.
fn sudoku_in(language: &str, folder: &Path) -> PathBuf {
    type_in(folder, &format!("host plugin new --lang {language} sudoku")).unwrap();
    let sources = repository().join("tests/fixtures/languages").join(language).join("sudoku");
    for file in fs::read_dir(sources).unwrap().map(Result::unwrap) {
        fs::copy(file.path(), folder.join("sudoku").join(file.file_name())).unwrap();
    }
    type_in(folder, "host plugin build sudoku").unwrap();
    folder.join("sudoku/sudoku.wasm")
}

fn load(file: &Path) -> EnvironmentPlugin {
    let files = [file.to_owned()];
    let library = PluginLibrary::load(&files, &[], &Limits::default(), Grants::default()).unwrap();
    library.environment(None).unwrap().clone()
}

fn begin(environment: &EnvironmentPlugin, settings: &str, split: Split, seed: u32) -> LiveEpisode {
    let table: toml::Table = settings.parse().unwrap();
    let settings = environment.settings(&table).unwrap().configured().to_vec();
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

/// What models would say, right and wrong, in every form.
const SAID: [(&str, &str); 18] = [
    ("fill", "r1c1=1"),
    ("fill", "r1c1=1, r1c2=2"),
    ("fill", "I think\n```\nr4c4=4\n```"),
    ("fill", "pass"),
    ("erase", "pass"),
    ("erase", "r1c1-"),
    ("fill", "r2c2=3 r2c3=1"),
    ("fill", "r2c2=3 r2c3=1 r2c4=2 r3c3=1 r3c4=2"),
    ("erase", "r2c2- r2c3-"),
    ("erase", "r1c1=1"),
    ("fill", ""),
    ("fill", "größer als ein Brett, das niemand kennt"),
    ("fill", "Answer: **r3c1=1**"),
    ("grid", "1 2 3 4"),
    ("grid", "[[1,1,1,1],[1,1,1,1],[1,1,1,1],[1,1,1,1]]"),
    ("plan", "r1c1=1"),
    ("plan", "nothing\n\nr3c3=2 r4c3=1"),
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
        assert_eq!(outcome, theirs.act(moves).unwrap(), "{place}, step {step}");
        if outcome.status != Status::Ongoing {
            return step;
        }
    }
    unreachable!("an episode ends")
}

fn sudoku_is_the_same_in(language: &str) {
    let folder = TempDir::new().unwrap();
    let theirs = load(&sudoku_in(language, folder.path()));
    let ours = load(&support::plugin("sudoku"));
    for settings in [
        "",
        "edits_per_turn = 16\nobservation = \"text\"",
        "sight = \"split\"\nblanks = 6",
        "size = 6\nobservation = \"grid\"\nedits_per_turn = 9",
    ] {
        let words = |plugin: &EnvironmentPlugin| {
            let table: toml::Table = settings.parse().unwrap();
            plugin.configure(&plugin.settings(&table).unwrap()).unwrap()
        };
        assert_eq!(words(&ours), words(&theirs), "{settings}");
        for (split, seed) in Split::ALL.into_iter().flat_map(|split| [(split, 0), (split, 7)]) {
            let mut pair = [&ours, &theirs].map(|plugin| begin(plugin, settings, split, seed));
            let steps = play(&mut pair, &format!("{settings} {split} {seed}"));
            assert!(steps >= SAID.len(), "{settings} {split} {seed}: it ended early");
        }
    }
}

#[test]
fn sudoku_in_javascript_is_sudoku_in_rust() {
    if has("node") {
        sudoku_is_the_same_in("javascript");
    }
}

#[test]
fn sudoku_in_c_is_sudoku_in_rust() {
    sudoku_is_the_same_in("c");
}
