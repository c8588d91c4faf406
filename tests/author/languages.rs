//! Plugins in Python, JavaScript and C: what their pages say, command by command,
//! in an empty folder; their SDKs' own tests; and what is wrong with sources.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::projects::{Shell, commands, shortened, type_in};

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Whether what a test cannot do without is there; says so if it is not.
pub fn has(tool: &str) -> bool {
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
    let mut shell = Shell::open(folder.path());
    for command in commands {
        let trains = command.starts_with("host train");
        let said = shell.type_in(&shortened(&command)).unwrap();
        if command.contains("--oracle") {
            assert!(said.contains("Solved"), "{command}: {said}");
        }
        if trains {
            assert!(said.contains("3 steps") && said.contains("0 void episodes"), "{said}");
        }
    }
}

#[test]
fn every_command_of_the_page_on_python_does_what_it_says() {
    follow("authors/python.md");
}

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
fn the_python_sdk_keeps_its_own_tests() {
    let folder = repository().join("plugin-sdk/python");
    type_in(&folder, "python3 -B -m unittest discover -t . -s tests").unwrap();
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
    write("two/two.c", "#include \"sdk/troupe.h\"\n");
    refused("host plugin build two", &["exports no environment and no workflow"]);
    write(
        "two/two.c",
        "#include \"sdk/troupe.h\"\n#include <stdio.h>\nstruct Session { int turns; };\n\
         static void begun(Session *s, const View *v, Step *step) { puts(\"hi\"); }\n\
         static const Role ROLES[] = {{0}};\n\
         static const Workflow two = {.name = \"two\", .roles = ROLES, .begun = begun};\n\
         TROUPE_WORKFLOW(two)\n",
    );
    refused("host plugin build two", &["asks the system for `fd_", "no files, no clock"]);
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
        let class = "import { Environment } from 'troupe-plugin';\n\
                     export default class One extends Environment { start() {} ";
        write("one/one.js", &format!("{class}}}\n"));
        refused("host plugin build one", &["the class One has no `static description`"]);
        write("one/one.js", &format!("{class}static description = {{}}; }}\n"));
        refused("host plugin build one", &["the class One has no method `rules`"]);
    }
}

/// It has to fail with this exit code; what it says of that.
fn fail(folder: &Path, line: &str, code: i32) -> String {
    let line = format!("{line} || test $? = {code} && exit 99");
    type_in(folder, &line).expect_err("it succeeded")
}

#[test]
fn what_is_wrong_with_a_python_project_is_said_in_one_message() {
    let folder = TempDir::new().unwrap();
    let here = folder.path();
    type_in(here, "host plugin new --lang python game").unwrap();

    let said = fail(here, "PATH=/nowhere $(command -v host) plugin build game", 3);
    assert!(said.contains("python3, 3.10 or later, is missing"), "{said}");
    // `-S` hides what is installed beside Python, the empty cache what the set-up brought.
    fs::write(here.join("python3"), "#!/bin/sh\nexec \"$REAL\" -S \"$@\"\n").unwrap();
    type_in(here, "chmod +x python3").unwrap();
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
