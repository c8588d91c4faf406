//! Plugins by people who have this program and no clone: what the docs tell
//! them to type, in an empty folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::support::host;
use crate::support::registry::DebianRegistry;

/// The commands of a page: lines after `$ ` in its `console` blocks.
pub fn commands(page: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let text = std::fs::read_to_string(path).unwrap();
    let blocks = text.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(str::lines).filter_map(|line| line.strip_prefix("$ "));
    lines.map(str::to_owned).collect()
}

/// A command of a page; training takes as few tasks as it can.
pub fn shortened(command: &str) -> String {
    const FEW: &str = " --set imitation.enabled=false --set rollout.tasks_per_step=4 \
                       --set validation.tasks=8 --set validation.tasks_during_training=8";
    let trains = command.starts_with("host train") && !command.contains("--explain");
    let few = if trains { FEW } else { "" };
    format!("{command}{few}")
}

/// A folder with nothing but the folder in which cargo keeps what it built for these tests.
fn empty() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Type a line in a shell, where `host` is this program; what it printed.
pub fn type_in(folder: &Path, line: &str) -> Result<String, String> {
    let program = Path::new(env!("CARGO_BIN_EXE_host")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let output = Command::new("sh")
        .args(["-ec", line])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", program.display()))
        .env("TROUPE_DEVICE", "cpu")
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let said =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).join("");
    if output.status.success() { Ok(said) } else { Err(format!("`{line}` failed:\n{said}")) }
}

/// A shell that stays open: a line begins in the folder in which the one before it ended.
pub struct Shell {
    folder: PathBuf,
}

impl Shell {
    pub fn open(folder: &Path) -> Self {
        Shell { folder: folder.to_owned() }
    }

    pub fn type_in(&mut self, line: &str) -> Result<String, String> {
        let ended = tempfile::NamedTempFile::new().unwrap();
        let end = format!("[ $? = 0 ]\npwd > '{}'", ended.path().display());
        let said = type_in(&self.folder, &format!("{line}\n{end}"))?;
        self.folder = std::fs::read_to_string(ended.path()).unwrap().trim_end().into();
        Ok(said)
    }
}

/// All commands of a page, in its order.
fn follow(page: &str, project: &str) -> TempDir {
    follow_with(page, project, ("", ""))
}

/// The same with something of the page's in place of something else. The crates of several
/// projects are compiled once.
fn follow_with(page: &str, project: &str, (from, to): (&str, &str)) -> TempDir {
    let folder = empty();
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("projects");
    std::fs::create_dir_all(&built).unwrap();
    let commands = commands(page);
    assert!(commands.len() > 4, "{commands:?}");
    let mut shell = Shell::open(folder.path());
    for command in commands {
        let command = if from.is_empty() { command } else { command.replace(from, to) };
        let said = shell.type_in(&shortened(&command)).unwrap();
        if command.starts_with("host plugin new") {
            std::os::unix::fs::symlink(&built, folder.path().join(project).join("target")).unwrap();
        }
        if command.starts_with("host train") && !command.contains("--explain") {
            let run = std::fs::read_dir(folder.path().join("runs")).unwrap().next().unwrap();
            let metrics = std::fs::read_to_string(run.unwrap().path().join("metrics.jsonl"));
            let last = metrics.unwrap().lines().last().unwrap().to_owned();
            let last: serde_json::Value = serde_json::from_str(&last).unwrap();
            assert_eq!(last["step"], 3, "{said}");
        }
    }
    folder
}

#[test]
fn the_page_on_environments_holds_in_an_empty_folder_and_what_does_not_compile_is_explained() {
    let folder = follow("write-an-environment.md", "guess");
    std::fs::write(folder.path().join("guess/src/lib.rs"), "fn broken( {}\n").unwrap();
    let output = host(&["plugin", "build", "guess"]).current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("src/lib.rs:1") && said.contains("could not be built"), "{said}");
    let dev =
        host(&["plugin", "dev", "--once", "guess"]).current_dir(folder.path()).output().unwrap();
    assert_eq!(dev.status.code(), Some(7));
}

#[test]
fn the_page_for_coding_agents_holds_in_an_empty_folder() {
    let registry = DebianRegistry::start("");
    let page = ("127.0.0.1:5000", registry.address.as_str());
    let folder = follow_with("for-agents.md", "guess", page);
    let report = std::fs::read_to_string(folder.path().join("report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["passed"], true, "{report}");
}

#[test]
fn the_page_on_workflows_holds_in_an_empty_folder() {
    follow("write-a-workflow.md", "pair");
}

#[test]
fn what_cannot_be_made_or_built_is_said_in_one_line() {
    let folder = empty();
    let refused = |arguments: &[&str]| {
        let output = host(arguments).current_dir(folder.path()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said.lines().filter(|line| line.starts_with("error")).count(), 1, "{said}");
        (output.status.code().unwrap(), said)
    };
    let (code, said) = refused(&["plugin", "new", "My Game"]);
    assert!(code == 2 && said.contains("kebab-case"), "{said}");
    let (code, said) = refused(&["plugin", "build"]);
    assert!(code == 2 && said.contains("host plugin new NAME"), "{said}");
    type_in(folder.path(), "host plugin new broken").unwrap();
    let (code, said) = refused(&["plugin", "new", "broken"]);
    assert!(code == 2 && said.contains("`broken` is there already"), "{said}");
    std::fs::write(folder.path().join("broken/plugin.toml"), "name = \"broken\"\n").unwrap();
    let (code, said) = refused(&["plugin", "build", "broken"]);
    assert!(code == 2 && said.contains("language"), "{said}");
}
