//! The tool `run`: runs a program in the sandbox.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;

use super::{ToolAnswer, ToolGrant, misunderstood, not_offered};
use crate::plugin::{Cause, PluginFailure, Right, Tool, WorkflowPlugin};
use troupe_core::program::{Ending, Execution, Program, SandboxError};

pub(super) const NAME: &str = "run";

/// The language that callers are told of. If it is missing, that is nobody's mistake but the
/// installation's.
const LANGUAGE: &str = "python";
/// Letters of a language's name that are repeated to whoever asked for it.
const LANGUAGE_LETTERS: usize = 40;

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
                "language": { "type": "string", "description": format!("such as `{LANGUAGE}`") },
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
    let execution = match execute(workflow, &run)? {
        Ok(execution) => execution,
        Err(error) => {
            return answered(&error).ok_or_else(|| {
                workflow.failed("advance", Cause::Sandbox { message: error.to_string() })
            });
        }
    };
    let longest = workflow.plugin().limits().longest_answer();
    let answer = json!({
        "ending": execution.ending.word(),
        "stdout": text(&execution.stdout, longest),
        "stderr": stderr(&execution, longest),
    });
    Ok((execution.ending.is_success(), answer))
}

fn execute(
    workflow: &WorkflowPlugin,
    run: &Run,
) -> Result<Result<Arc<Execution>, SandboxError>, PluginFailure> {
    let Some(grant) = &workflow.plugin().granted().sandbox else {
        return Err(not_offered(workflow, NAME));
    };
    let program = Program::new(&run.language, run.source.clone().into_bytes());
    let stdin = run.stdin.clone().into_bytes().into();
    Ok(grant.runner.run(&program, &stdin, &grant.limits))
}

/// The answer, where there is no execution because the model named a language that is none. It
/// is not told where interpreters are looked for.
fn answered(error: &SandboxError) -> Option<ToolAnswer> {
    match error {
        SandboxError::UnknownLanguage { language, .. } if language != LANGUAGE => {
            let name: String = language.chars().take(LANGUAGE_LETTERS).collect();
            Some(misunderstood(format!(
                "no program can be run in the language `{name}`; name another, such as \
                 `{LANGUAGE}`"
            )))
        }
        SandboxError::UnknownLanguage { .. } | SandboxError::Harness { .. } => None,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_that_is_none_is_an_answer_and_a_lost_run_is_not() {
        let unknown = |language: &str| SandboxError::UnknownLanguage {
            language: language.to_owned(),
            hint: ": looked in `/home/someone/plugins`".to_owned(),
        };
        let (succeeded, answer) = answered(&unknown(&"malbolge".repeat(1000))).unwrap();
        let said = answer["error"].as_str().unwrap();
        assert!(!succeeded && said.len() < 150, "{said}");
        assert!(said.contains("`malbolgemalbolge") && !said.contains("/home"), "{said}");
        assert!(answered(&SandboxError::harness("a worker was lost")).is_none());
        assert!(answered(&unknown("python")).is_none());
    }
}
