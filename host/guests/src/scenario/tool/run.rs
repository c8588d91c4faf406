//! The tool `run`: runs a program in the sandbox.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;

use super::{ToolAnswer, ToolGrant, misunderstood, not_offered};
use crate::plugin::{Cause, PluginFailure, Right, Tool, WorkflowPlugin};
use troupe_core::program::{Ending, Execution, Program};

pub(super) const NAME: &str = "run";

pub(super) const GRANT: ToolGrant =
    ToolGrant { name: NAME, right: Right::Sandbox, does: "run a program in the sandbox" };

/// Its arguments.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    language: String,
    source: String,
    #[serde(default)]
    stdin: String,
}

pub(super) fn described() -> Tool {
    Tool {
        name: NAME.to_owned(),
        summary: "Runs a program and returns what it printed.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "language": { "type": "string", "description": "such as `python`" },
                "source": { "type": "string", "description": "the program" },
                "stdin": { "type": "string", "description": "its standard input" },
            },
            "required": ["language", "source"],
        })
        .to_string(),
    }
}

pub(super) fn call(
    workflow: &WorkflowPlugin,
    arguments: &str,
) -> Result<ToolAnswer, PluginFailure> {
    let run: Run = match serde_json::from_str(arguments) {
        Ok(run) => run,
        Err(error) => return Ok(misunderstood(error)),
    };
    let execution = execute(workflow, &run)?;
    let longest = workflow.plugin().limits().longest_answer();
    let answer = json!({
        "ending": execution.ending.word(),
        "stdout": text(&execution.stdout, longest),
        "stderr": stderr(&execution, longest),
    });
    Ok((execution.ending.is_success(), answer))
}

fn execute(workflow: &WorkflowPlugin, run: &Run) -> Result<Arc<Execution>, PluginFailure> {
    let Some(grant) = &workflow.plugin().granted().sandbox else {
        return Err(not_offered(workflow, NAME));
    };
    let program = Program::new(&run.language, run.source.clone().into_bytes());
    let stdin = run.stdin.clone().into_bytes().into();
    grant
        .runner
        .run(&program, &stdin, &grant.limits)
        .map_err(|error| workflow.failed("advance", Cause::Sandbox { message: error.to_string() }))
}

/// Standard error, and behind it how the program was stopped if it was.
fn stderr(execution: &Execution, longest: usize) -> String {
    let mut stderr = text(&execution.stderr, longest);
    let stopped = match &execution.ending {
        Ending::Exited { .. } | Ending::Failed { .. } => return stderr,
        Ending::Malformed { message } => message.clone(),
        Ending::OutOfFuel | Ending::OutOfTime => "the program ran too long".to_owned(),
        Ending::OutOfMemory => "the program used too much memory".to_owned(),
        Ending::OutputFlood => "the program wrote too much".to_owned(),
        Ending::Crashed { message } => format!("the program crashed: {message}"),
        Ending::Unsupported { message } => format!("not supported here: {message}"),
    };
    if !stderr.is_empty() && !stderr.ends_with('\n') {
        stderr.push('\n');
    }
    stderr + &stopped
}

/// Bytes as text, cut to the longest text that a plugin may get.
fn text(bytes: &[u8], longest: usize) -> String {
    let mut text = String::from_utf8_lossy(&bytes[..bytes.len().min(longest)]).into_owned();
    text.truncate(text.floor_char_boundary(longest));
    text
}
