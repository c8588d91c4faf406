//! What a row's configuration resolves to, and the warm start that it begins with.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::error::ExperimentError;
use super::file::Exam;
use super::row::Row;
use troupe_core::config::{Config, PolicyConfig, Roles};

/// The policy that a shared warm start makes.
const SHARED: &str = "shared";

/// The program that runs experiments: this one, and the device its children work on.
#[derive(Clone, Debug)]
pub struct Program {
    /// `host`.
    pub host: PathBuf,
    /// What it is told by `TROUPE_DEVICE`, if anything.
    pub device: Option<String>,
    /// Threads of a child for its plugins.
    pub threads: usize,
}

impl Program {
    /// A command of it without standard input.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.host);
        command.stdin(Stdio::null());
        if let Some(device) = &self.device {
            command.env("TROUPE_DEVICE", device);
        }
        if std::env::var_os("RAYON_NUM_THREADS").is_none() {
            command.env("RAYON_NUM_THREADS", self.threads.to_string());
        }
        command
    }
}

/// The command of ours that resolves many rows, so that libtorch is loaded once for all of them.
pub const RESOLVE_COMMAND: &str = "resolve-rows";

/// What it says of a row, in a line of JSON.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resolution {
    /// What `host train --print-config` prints.
    Resolved(String),
    /// Why it does not.
    Refused(String),
}

/// What the rows' configurations resolve to: everything that plugins leave to the host is filled
/// in, and nothing has been trained for it. There is at least one row.
///
/// # Errors
/// If `host train --print-config` refuses one.
pub fn resolve(
    rows: &[&Row],
    exam: &Exam,
    program: &Program,
) -> Result<Vec<Config>, ExperimentError> {
    let asked: Vec<String> =
        rows.iter().map(|row| json!(arguments(row, exam)).to_string()).collect();
    let output = say(&asked.join("\n"), program)
        .map_err(|reason| ExperimentError::Start { program: program.host.clone(), reason })?;
    let refused = |row: &Row, reason: String| ExperimentError::Refused { row: row.label(), reason };
    let said = String::from_utf8_lossy(&output.stdout);
    let answers: Vec<&str> = said.lines().collect();
    if !output.status.success() || answers.len() != rows.len() {
        let said = String::from_utf8_lossy(&output.stderr);
        let reason = match said.trim().trim_start_matches("error: ") {
            "" => "it did not say why; who runs out of memory is killed so",
            said => said,
        };
        let (status, reason) = (output.status, reason.to_owned());
        return Err(ExperimentError::Unresolved { status, reason });
    }
    let config = |(&row, answer): (&&Row, &str)| match serde_json::from_str(answer) {
        Ok(Resolution::Resolved(text)) => {
            let table: toml::Table =
                text.parse().map_err(|error: toml::de::Error| refused(row, error.to_string()))?;
            Config::from_table(table).map_err(|error| refused(row, error.to_string()))
        }
        Ok(Resolution::Refused(reason)) => Err(refused(row, reason)),
        Err(error) => Err(refused(row, error.to_string())),
    };
    rows.iter().zip(answers).map(config).collect()
}

/// What `host train` is told of a row.
fn arguments(row: &Row, exam: &Exam) -> Vec<String> {
    let sets = row.sets.iter().cloned().chain(exam_sets(exam));
    let files = row.files.iter().map(|file| file.display().to_string());
    files.chain(sets.flat_map(|set| ["--set".to_owned(), set])).collect()
}

/// It reads all lines before it says anything.
fn say(lines: &str, program: &Program) -> io::Result<Output> {
    let mut command = program.command();
    command.arg(RESOLVE_COMMAND).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        match input.write_all(lines.as_bytes()) {
            // It says itself why it reads no more.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error),
            _ => {}
        }
    }
    child.wait_with_output()
}

/// A run examines itself, before and after.
fn exam_sets(exam: &Exam) -> [String; 3] {
    [
        format!("validation.tasks={}", exam.tasks),
        format!("validation.samples={}", exam.samples.max(1)),
        format!("validation.sampled={}", exam.samples > 0),
    ]
}

/// What policies learn before the rows begin, once for all rows that it is the same for.
#[derive(Clone, Debug, PartialEq)]
pub struct WarmStart {
    /// The configuration of `host imitate`.
    pub config: Config,
    /// Which of its policies each of the row's begins as.
    pub policies: BTreeMap<String, String>,
}

impl WarmStart {
    /// That of a row; nothing if none of its policies begins as random weights of its own, or the
    /// row's configuration wants none.
    ///
    /// It depends on what is played and on the policies' shape, and on nothing that is said of
    /// training. Where all policies have one shape, one policy learns all roles, and every policy
    /// of the row begins as that: so rows that share policies and rows that do not begin alike.
    pub fn of(config: &Config) -> Option<Self> {
        let own = |(name, policy): &(&String, &PolicyConfig)| {
            let separate = policy.base.is_none() && policy.snapshot_of.is_none();
            separate && config.is_random(name) && !config.is_base(name)
        };
        let random: Vec<(&String, PolicyConfig)> = (config.policies.iter())
            .filter(own)
            .map(|(name, policy)| (name, PolicyConfig { train: true, ..policy.clone() }))
            .collect();
        let (_, first) = random.first().filter(|_| config.imitation.enabled)?;
        let alike = random.iter().all(|(_, policy)| policy == first);
        let name = |own: &String| if alike { SHARED.to_owned() } else { own.clone() };
        let mut warm = Config {
            plugins: config.plugins.clone(),
            sandbox: config.sandbox.clone(),
            retrieval: config.retrieval.clone(),
            environment: config.environment.clone(),
            workflow: config.workflow.clone(),
            tasks: config.tasks.clone(),
            curriculum: config.curriculum.clone(),
            mix: config.mix.clone(),
            imitation: config.imitation.clone(),
            roles: if alike { Roles::Shared } else { config.roles.clone() },
            policies: random.iter().map(|(own, policy)| (name(own), policy.clone())).collect(),
            ..Config::default()
        };
        warm.rollout.max_turns = config.rollout.max_turns;
        warm.rollout.max_completion_tokens = config.rollout.max_completion_tokens;
        warm.rollout.stop.clone_from(&config.rollout.stop);
        let policies = random.iter().map(|(own, _)| ((*own).clone(), name(own))).collect();
        Some(WarmStart { config: warm, policies })
    }
}
