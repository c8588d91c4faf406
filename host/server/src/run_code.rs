//! `POST /run_code`: one run, in the words of SandboxFusion.
//!
//! Its fields are those of `sandbox/server/sandbox_api.py` and
//! `sandbox/runners/types.py` in bytedance/SandboxFusion; unknown ones are
//! refused. What cannot be done here is its `SandboxError`, which
//! its clients know to be no verdict.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::languages::Languages;
use super::refusal::Refusal;
use troupe_core::program::{Ending, Execution, Program, RunLimits, Runner};

/// SandboxFusion's own default.
const RUN_TIMEOUT_SECONDS: f64 = 10.0;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    code: String,
    language: String,
    stdin: Option<String>,
    /// Seconds, which no program needs here: none is compiled.
    #[serde(rename = "compile_timeout")]
    _compile_timeout: Option<f64>,
    /// Seconds.
    run_timeout: Option<f64>,
    /// MiB; -1 is no limit of the request's own.
    #[serde(rename = "memory_limit_MB")]
    memory_limit_mb: Option<f64>,
    files: Option<BTreeMap<String, Option<IgnoredAny>>>,
    fetch_files: Option<Vec<String>>,
}

/// What is to be run, or the answer that it cannot be.
#[derive(Debug)]
pub(super) enum RunCode {
    /// A program.
    Run(Box<Plan>),
    /// Why there is none that could run here.
    Impossible(String),
}

/// A run.
#[derive(Debug)]
pub(super) struct Plan {
    program: Program,
    stdin: Arc<[u8]>,
    limits: RunLimits,
    remark: &'static str,
}

/// SandboxFusion's answer, and ours under `troupe`.
#[derive(Debug, Serialize)]
pub(super) struct Answer {
    status: &'static str,
    message: String,
    compile_result: Option<()>,
    run_result: Option<RunResult>,
    executor_pod_name: Option<()>,
    files: BTreeMap<String, String>,
    troupe: Option<Account>,
}

#[derive(Debug, Serialize)]
struct RunResult {
    status: &'static str,
    execution_time: f64,
    return_code: Option<u8>,
    stdout: String,
    stderr: String,
}

/// What SandboxFusion has no field for.
#[derive(Debug, Serialize)]
struct Account {
    outcome: &'static str,
    error: Option<String>,
    fuel: u64,
    memory_bytes: u64,
    /// The limits that were in force.
    limits: RunLimits,
}

impl RunCode {
    /// Reads a body.
    pub(super) fn parse(
        body: &[u8],
        languages: &Languages,
        caps: &RunLimits,
    ) -> Result<Self, Refusal> {
        let request: Request =
            serde_json::from_slice(body).map_err(|error| Refusal::json(&error))?;
        let limits = request.limits(caps)?;
        // SandboxFusion passes over files without content, too.
        let files = request.files.unwrap_or_default();
        if let Some(name) = files.iter().find_map(|(name, content)| content.and(Some(name))) {
            let message = format!("programs here have no files, so `{name}` cannot be given");
            return Ok(RunCode::Impossible(message));
        }
        let Some((language, _)) = languages.find(&request.language) else {
            return Ok(RunCode::Impossible(languages.missing(&request.language)));
        };
        languages.allow(language, &limits).map_err(Refusal::unprocessable)?;
        let fetches = request.fetch_files.is_some_and(|names| !names.is_empty());
        Ok(RunCode::Run(Box::new(Plan {
            program: Program::new(language, request.code.into_bytes()),
            stdin: request.stdin.unwrap_or_default().into_bytes().into(),
            limits,
            remark: if fetches { "fetch_files is not supported: no file was fetched" } else { "" },
        })))
    }
}

impl Request {
    fn limits(&self, caps: &RunLimits) -> Result<RunLimits, Refusal> {
        let seconds = self.run_timeout.unwrap_or(RUN_TIMEOUT_SECONDS);
        if seconds <= 0.0 {
            return Err(Refusal::unprocessable("`run_timeout` has to be more than 0 seconds"));
        }
        let memory = self.memory_limit_mb.filter(|&memory| memory > 0.0);
        let asked = RunLimits {
            timeout_ms: (seconds * 1e3).ceil() as u64,
            memory_mib: memory.map_or(caps.memory_mib, |memory| memory.ceil() as u64),
            ..*caps
        };
        Ok(asked.capped(caps))
    }
}

impl Plan {
    /// Runs the program.
    pub(super) fn run(&self, runner: &dyn Runner) -> Answer {
        match runner.run(&self.program, &self.stdin, &self.limits) {
            Ok(execution) => self.answer(&execution),
            Err(error) => Answer::impossible(error.to_string()),
        }
    }

    fn answer(&self, execution: &Execution) -> Answer {
        if let Ending::Unsupported { message } = &execution.ending {
            return Answer::impossible(format!("unsupported: {message}"));
        }
        let result = self.result(execution);
        let error = match &execution.ending {
            Ending::Failed { error, .. } => Some(error.clone()),
            _ => None,
        };
        Answer {
            status: if result.return_code == Some(0) { "Success" } else { "Failed" },
            message: self.remark.to_owned(),
            run_result: Some(result),
            troupe: Some(Account {
                outcome: execution.ending.word(),
                error,
                fuel: execution.fuel,
                memory_bytes: execution.memory_bytes,
                limits: self.limits,
            }),
            ..Answer::impossible(String::new())
        }
    }

    fn result(&self, execution: &Execution) -> RunResult {
        let late = matches!(execution.ending, Ending::OutOfFuel | Ending::OutOfTime);
        let mut stderr = String::from_utf8_lossy(&execution.stderr).into_owned();
        if let Some(reason) = self.reason(&execution.ending) {
            let new_line = if stderr.is_empty() || stderr.ends_with('\n') { "" } else { "\n" };
            stderr.push_str(&format!("{new_line}stopped: {reason}\n"));
        }
        RunResult {
            status: if late { "TimeLimitExceeded" } else { "Finished" },
            execution_time: execution.wall.as_secs_f64(),
            return_code: (!late).then(|| execution.ending.shell_code()),
            stdout: String::from_utf8_lossy(&execution.stdout).into_owned(),
            stderr,
        }
    }

    /// Why the program was stopped, which it could not say itself.
    fn reason(&self, ending: &Ending) -> Option<String> {
        let limits = &self.limits;
        Some(match ending {
            Ending::Exited { .. } | Ending::Failed { .. } | Ending::Malformed { .. } => {
                return None;
            }
            Ending::OutOfFuel => format!("more than {} units of fuel", limits.fuel),
            Ending::OutOfTime => format!("more than {} ms", limits.timeout_ms),
            Ending::OutOfMemory => format!("more than {} MiB of memory", limits.memory_mib),
            Ending::OutputFlood => format!("more than {} bytes of output", limits.output_bytes),
            Ending::Crashed { message } => format!("the interpreter crashed: {message}"),
            Ending::Unsupported { message } => {
                format!("the interpreter lacks something: {message}")
            }
        })
    }
}

impl Answer {
    /// That there was no run.
    pub(super) fn impossible(message: String) -> Self {
        Answer {
            status: "SandboxError",
            message,
            compile_result: None,
            run_result: None,
            executor_pod_name: None,
            files: BTreeMap::new(),
            troupe: None,
        }
    }
}

#[cfg(test)]
mod tests;
