//! Tools: what a workflow has called for a role, by name and with JSON.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;

use crate::plugin::{Call, Cause, PluginFailure, Returned, Tool, WorkflowPlugin};
use crate::program::{Ending, Execution, Program};

/// The name of the tool that runs programs.
const RUN: &str = "run";

/// What the tool that runs programs is told.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    language: String,
    source: String,
    #[serde(default)]
    stdin: String,
}

/// The tools that a workflow was granted.
pub fn offered(workflow: &WorkflowPlugin) -> Vec<Tool> {
    let run = || Tool {
        name: RUN.to_owned(),
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
    };
    workflow.plugin().grant().into_iter().map(|_| run()).collect()
}

/// Calls a tool. What a model got wrong, such as its arguments, is an answer;
/// what the workflow got wrong is a failure.
pub(super) fn call(workflow: &WorkflowPlugin, call: &Call) -> Result<Returned, PluginFailure> {
    let returned = |succeeded, answer: serde_json::Value| Returned {
        seat: call.seat.clone(),
        tool: call.tool.clone(),
        succeeded,
        answer: answer.to_string(),
    };
    match call.tool.as_str() {
        RUN => match serde_json::from_str::<Run>(&call.arguments) {
            Err(error) => Ok(returned(false, json!({ "error": error.to_string() }))),
            Ok(run) => {
                let execution = execute(workflow, &run)?;
                let longest = workflow.plugin().limits().text_kib.saturating_mul(1 << 10) / 4;
                let answer = json!({
                    "ending": execution.ending.word(),
                    "stdout": text(&execution.stdout, longest),
                    "stderr": said(&execution, longest),
                });
                Ok(returned(execution.ending.is_success(), answer))
            }
        },
        unknown => Err(workflow.failure("advance", format!("there is no tool `{unknown}`"))),
    }
}

fn not_granted(workflow: &WorkflowPlugin) -> PluginFailure {
    let file = workflow.plugin().file().file_stem().unwrap_or_default().to_string_lossy();
    workflow.failure(
        "advance",
        format!(
            "it wants to run a program in the sandbox, which was not granted to it; \
             grant it with `--grant-sandbox {file}`"
        ),
    )
}

fn execute(workflow: &WorkflowPlugin, run: &Run) -> Result<Arc<Execution>, PluginFailure> {
    let Some(grant) = workflow.plugin().grant() else { return Err(not_granted(workflow)) };
    let program = Program::new(&run.language, run.source.clone().into_bytes());
    let stdin = run.stdin.clone().into_bytes().into();
    grant
        .runner
        .run(&program, &stdin, &grant.limits)
        .map_err(|error| workflow.failed("advance", Cause::Sandbox { message: error.to_string() }))
}

/// Standard error, and behind it how the program was stopped if it was.
fn said(execution: &Execution, longest: usize) -> String {
    let mut said = text(&execution.stderr, longest);
    let stopped = match &execution.ending {
        Ending::Exited { .. } | Ending::Failed { .. } => return said,
        Ending::Malformed { message } => message.clone(),
        Ending::OutOfFuel | Ending::OutOfTime => "the program ran too long".to_owned(),
        Ending::OutOfMemory => "the program used too much memory".to_owned(),
        Ending::OutputFlood => "the program wrote too much".to_owned(),
        Ending::Crashed { message } => format!("the program crashed: {message}"),
        Ending::Unsupported { message } => format!("not supported here: {message}"),
    };
    if !said.is_empty() && !said.ends_with('\n') {
        said.push('\n');
    }
    said + &stopped
}

/// Bytes as text, cut to what a plugin may be told at once.
fn text(bytes: &[u8], longest: usize) -> String {
    let mut text = String::from_utf8_lossy(&bytes[..bytes.len().min(longest)]).into_owned();
    text.truncate(text.floor_char_boundary(longest));
    text
}
