//! A workflow has a program run for a role: a tool call.

use crate::plugin::{
    Cause, Event as SessionEvent, PluginFailure, Program as Request, WorkflowPlugin,
};
use crate::program::{Ending, Execution, Program};
use crate::trajectory::Event;

/// Runs the program that `workflow` asks for: what the session is told of it,
/// and what is recorded.
pub fn run(
    workflow: &WorkflowPlugin,
    request: Request,
) -> Result<(SessionEvent, Event), PluginFailure> {
    let Some(grant) = workflow.plugin().grant() else {
        let file = workflow.plugin().file().file_stem().unwrap_or_default().to_string_lossy();
        return Err(workflow.failure(
            "advance",
            format!(
                "it wants to run a program in the sandbox, which was not granted to it; \
                 grant it with `--grant-sandbox {file}`"
            ),
        ));
    };
    let Request { role, language, source, stdin } = request;
    let program = Program::new(&language, source.clone().into_bytes());
    let execution =
        grant.runner.run(&program, &stdin.into_bytes().into(), &grant.limits).map_err(|error| {
            workflow.failed("advance", Cause::Sandbox { message: error.to_string() })
        })?;
    let longest = workflow.plugin().limits().text_kib.saturating_mul(1 << 10);
    let stdout = text(&execution.stdout, longest);
    let stderr = said(&execution, longest);
    let recorded = Event::Ran {
        role: role.clone(),
        language,
        source,
        ending: execution.ending.word().to_owned(),
        stdout: stdout.clone(),
        stderr: stderr.clone(),
        fuel: execution.fuel,
    };
    let succeeded = execution.ending.is_success();
    Ok((SessionEvent::Ran { role, succeeded, stdout, stderr }, recorded))
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
