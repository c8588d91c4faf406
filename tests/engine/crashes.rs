//! Whatever ends, the run goes on as if nothing had.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::server::{Server, is_installed};
use crate::support::{distant, host, plugins, run};

const STEPS: usize = 3;
const PORT: u16 = 8134;

struct Stage {
    folder: tempfile::TempDir,
}

impl Stage {
    fn set() -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("base").display().to_string();
        let files = plugins(&["plan-path", "planner-executor"]);
        let (code, _, stderr) = run(&["policy", "new", "--plugins", &files, "--out", &base]);
        assert_eq!(code, 0, "{stderr}");
        Stage { folder }
    }

    fn base(&self) -> PathBuf {
        self.folder.path().join("base").canonicalize().unwrap()
    }

    fn server(&self) -> Server {
        Server::start(&self.base(), &self.folder.path().join("state"), PORT)
    }

    fn run(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn start(&self, name: &str) -> Child {
        let base = self.base();
        let (url, named) = (format!("http://127.0.0.1:{PORT}"), base.display().to_string());
        let steps = format!("train.steps={STEPS}");
        let more =
            [&*steps, "policies.planner.tinker.rank=4", "validation.every=0", "checkpoint.every=1"];
        let server = (&*url, &*named, &*base);
        let arguments = distant::arguments(self.folder.path(), name, server, &more);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        host(&arguments).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Begin, and wait for the first step.
    fn begun(&self, name: &str) -> Child {
        let mut child = self.start(name);
        let begun = Instant::now();
        while steps(&self.run(name)).len() < 2 {
            assert!(child.try_wait().unwrap().is_none(), "it ended before its first step");
            assert!(begun.elapsed() < Duration::from_secs(300), "no step in five minutes");
            thread::sleep(Duration::from_millis(50));
        }
        child
    }

    fn compare(&self, name: &str) {
        let (here, whole) = (steps(&self.run(name)), steps(&self.run("whole")));
        assert_eq!(here.len(), whole.len(), "{name}");
        for (here, whole) in here.iter().zip(&whole) {
            for policy in ["planner", "executor"] {
                for figure in ["loss", "movement", "gradient_norm", "entropy"] {
                    let of = |step: &Value| step["updates"][policy][figure].as_f64();
                    let (Some(here), Some(whole)) = (of(here), of(whole)) else { continue };
                    let near = (here - whole).abs() <= 1e-4 * whole.abs() + 1e-6;
                    assert!(near, "{name}: {policy} {figure} {here} and {whole}");
                }
            }
        }
    }
}

fn steps(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn end(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_run_survives_the_end_of_either_side() {
    if !is_installed() {
        return;
    }
    let stage = Stage::set();
    let mut server = stage.server();
    let (code, stderr) = end(stage.start("whole"));
    assert_eq!(code, Some(0), "{stderr}");
    // Its engine alone, its interface alone, and both.
    for (name, victim) in [("engine", "tinker.engine"), ("interface", "tinker.api"), ("both", "")] {
        let child = stage.begun(name);
        server.kill(victim);
        // A new one on the same state, where the old one was: first the old one ends as a whole.
        drop(server);
        server = stage.server();
        let (code, stderr) = end(child);
        assert_eq!(code, Some(0), "{name}: {stderr}");
        stage.compare(name);
    }
    let mut child = stage.begun("ours");
    child.kill().unwrap();
    child.wait().unwrap();
    let folder = stage.run("ours").display().to_string();
    let (code, _, stderr) = run(&["train", "--resume", &folder]);
    assert_eq!(code, 0, "{stderr}");
    stage.compare("ours");
}
