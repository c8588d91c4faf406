//! `host plugin dev`: build, check and play one episode, whenever the sources
//! change. It does what one would type, with the commands that one would use.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, SystemTime};

use crate::project::{Kind, Project};
use troupe_core::error::ExitCode;
use troupe_terminal as terminal;

/// Between two looks at the sources.
const PAUSE: Duration = Duration::from_millis(300);
/// Tasks of the quick check.
const TASKS: &str = "3";
/// What a workflow is tried beside.
const ENVIRONMENT: &str = "plan-path";
/// Left by a build, or never edited.
const NO_SOURCES: [&str; 5] = ["target", "node_modules", "build", "__pycache__", "sdk"];

pub fn run(folder: &Path, once: bool) -> anyhow::Result<ExitCode> {
    let project = Project::open(folder)?;
    loop {
        let seen = newest(project.folder());
        let code = try_out(&project)?;
        if once {
            return Ok(code);
        }
        terminal::line("waiting for changes; Ctrl-C ends");
        while newest(project.folder()) == seen {
            thread::sleep(PAUSE);
        }
    }
}

/// Up to the first step that fails.
fn try_out(project: &Project) -> anyhow::Result<ExitCode> {
    let component = project.component().display().to_string();
    let folder = project.folder().display().to_string();
    let name = &project.manifest().name;
    let (plugins, choice) = match project.manifest().kind {
        Kind::Environment => (component.clone(), None),
        Kind::Workflow => {
            (format!("{ENVIRONMENT},{component}"), Some(format!("plugins.workflow={name}")))
        }
    };
    let mut play = vec!["play", "--oracle", "--plugins", &plugins];
    play.extend(choice.iter().flat_map(|choice| ["--set", choice]));
    let build = vec!["plugin", "build", &folder];
    let check = vec!["plugin", "check", &component, "--tasks", TASKS];
    for step in [build, check, play] {
        terminal::line(&format!("== host {}", step.join(" ")));
        let status = Command::new(std::env::current_exe()?).args(&step).status()?;
        if !status.success() {
            return Ok(ExitCode::Check);
        }
    }
    Ok(ExitCode::Success)
}

/// When a source file was last changed.
fn newest(folder: &Path) -> Option<SystemTime> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let changed = entries.filter_map(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let path = entry.path();
        if name.starts_with('.') || NO_SOURCES.contains(&&*name) || name.ends_with(".wasm") {
            None
        } else if path.is_dir() {
            newest(&path)
        } else {
            entry.metadata().ok()?.modified().ok()
        }
    });
    changed.max()
}
