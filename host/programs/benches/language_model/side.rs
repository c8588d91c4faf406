//! A process that does what a line asks for.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// The competitors, a script each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rival {
    Transformers,
    LlamaCpp,
    Trl,
}

impl Rival {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Rival::Transformers => "transformers",
            Rival::LlamaCpp => "llama.cpp",
            Rival::Trl => "TRL",
        }
    }

    fn script(self) -> &'static str {
        match self {
            Rival::Transformers => "transformers_side.py",
            Rival::LlamaCpp => "llama_cpp_side.py",
            Rival::Trl => "trl_side.py",
        }
    }

    fn packages(self) -> &'static str {
        match self {
            Rival::Transformers => "torch, transformers",
            Rival::LlamaCpp => "llama_cpp",
            Rival::Trl => "torch, trl",
        }
    }
}

/// A side of a comparison.
pub(crate) struct Side {
    process: Child,
    to: ChildStdin,
    lines: Receiver<String>,
    patience: Duration,
}

impl Side {
    pub(crate) fn ours(folder: &Path, patience: Duration) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        // As `host` starts the engine.
        command.arg("--side").arg(folder).env("MIMALLOC_PURGE_DELAY", "3600000");
        Side::start(command, patience)
    }

    /// None if Python lacks what the script needs.
    pub(crate) fn rival(rival: Rival, folder: &Path, patience: Duration) -> Option<Self> {
        let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let packages = rival.packages();
        // Our libtorch is not theirs.
        let start = |command: &mut Command| {
            command.env_remove("LD_LIBRARY_PATH").stderr(Stdio::null());
        };
        let mut probe = Command::new(&python);
        probe.args(["-c", &format!("import {packages}")]);
        start(&mut probe);
        if !probe.status().is_ok_and(|status| status.success()) {
            println!("`{python}` cannot import {packages}; set PYTHON");
            return None;
        }
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/language_model");
        let mut command = Command::new(python);
        command.arg(scripts.join(rival.script())).arg(folder);
        start(&mut command);
        Some(Side::start(command, patience))
    }

    fn start(mut command: Command, patience: Duration) -> Self {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let to = process.stdin.take().unwrap();
        let from = BufReader::new(process.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            // The receiver is gone once the side's turn is over.
            from.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)).ok();
        });
        let mut side = Side { process, to, lines, patience };
        side.answer();
        side
    }

    pub(crate) fn ask(&mut self, line: &str) -> Value {
        if writeln!(self.to, "{line}").is_err() {
            return json!({ "error": "it ended" });
        }
        self.answer()
    }

    /// The next line of JSON; libraries may print others.
    fn answer(&mut self) -> Value {
        loop {
            let Ok(line) = self.lines.recv_timeout(self.patience) else {
                return json!({ "error": format!("no answer in {} s", self.patience.as_secs()) });
            };
            if let Ok(answer @ Value::Object(_)) = serde_json::from_str(&line) {
                return answer;
            }
        }
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The largest resident memory of this process, in MiB.
pub(crate) fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kibibytes.unwrap_or(0.0) / 1024.0
}
