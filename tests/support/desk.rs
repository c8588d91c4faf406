//! `host grade` on problems and programs of a test.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{host, plugin, run};

/// About 30 ms of an endless loop.
const FUEL: &str = "300000000";

/// A folder with problems and programs, and the commands on them.
pub struct Desk {
    folder: TempDir,
}

impl Desk {
    pub fn new(problems: &str, programs: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("problems.jsonl"), problems).unwrap();
        fs::write(folder.path().join("programs.jsonl"), programs).unwrap();
        Desk { folder }
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn arguments(&self, out: &str, more: &[&str]) -> Vec<String> {
        let path = |name: &str| self.file(name).display().to_string();
        let python = plugin("python").display().to_string();
        let mut arguments = vec!["grade".to_owned()];
        for (flag, value) in [
            ("--problems", path("problems.jsonl")),
            ("--programs", path("programs.jsonl")),
            ("--out", path(out)),
            ("--interpreter", python),
        ] {
            arguments.extend([flag.to_owned(), value]);
        }
        if !more.contains(&"--fuel") {
            arguments.extend(["--fuel", FUEL].map(str::to_owned));
        }
        arguments.extend(more.iter().map(ToString::to_string));
        arguments
    }

    /// Exit code, standard output, standard error.
    pub fn grade(&self, out: &str, more: &[&str]) -> (i32, String, String) {
        let arguments = self.arguments(out, more);
        run(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }

    pub fn start(&self, out: &str, more: &[&str]) -> Child {
        let arguments = self.arguments(out, more);
        let mut command = host(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// The lines of the verdict file without what no two gradings share.
    pub fn verdicts(&self, out: &str) -> Vec<String> {
        let text = fs::read_to_string(self.file(out)).unwrap();
        let without_time = |line: &str| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            line["wall_ms"] = json!(0);
            line.to_string()
        };
        text.lines().map(without_time).collect()
    }

    /// Exit code and message, with the parts that differ from machine to machine taken out.
    pub fn refusal(&self, out: &str, more: &[&str]) -> String {
        let (code, stdout, stderr) = self.grade(out, more);
        assert_eq!(stdout, "", "a refusal prints no result");
        let text = stderr.replace(&self.folder.path().display().to_string(), "[FOLDER]");
        format!("exit code {code}\n{text}")
    }
}
