//! Tools, which a workflow calls for a role by name with JSON arguments, and whose
//! schemas its prompts may contain.

mod run;
mod search;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::plugin::{
    Call, Cause, PluginFailure, Request, Returned, Right, Tool, WorkflowPlugin, grant_flag,
};

/// The result of a call: whether it did what was asked, and a JSON object.
type ToolAnswer = (bool, Value);

/// A tool and what has to be granted for it.
struct ToolGrant {
    name: &'static str,
    right: Right,
    does: &'static str,
}

/// All tools, granted or not.
const ALL: [ToolGrant; 2] = [run::GRANT, search::GRANT];

/// The tools that a workflow was granted.
pub fn offered(workflow: &WorkflowPlugin) -> Vec<Tool> {
    let granted = workflow.plugin().granted();
    let run = granted.sandbox.iter().map(|_| run::described());
    run.chain(granted.corpus.iter().map(|_| search::described())).collect()
}

/// The schemas of the tools that a request names, as chat templates expect them. To name one
/// that is not offered is a failure of the workflow.
pub(super) fn schemas(
    workflow: &WorkflowPlugin,
    offered: &[Tool],
    request: &Request,
) -> Result<Arc<[Value]>, PluginFailure> {
    for name in &request.tools {
        if !offered.iter().any(|tool| tool.name == *name) {
            return Err(not_offered(workflow, name));
        }
    }
    let requested = offered.iter().filter(|tool| request.tools.contains(&tool.name));
    Ok(requested.map(schema).collect())
}

fn schema(tool: &Tool) -> Value {
    let parameters: Value = serde_json::from_str(&tool.parameters).unwrap_or_default();
    let (name, description) = (&tool.name, &tool.summary);
    let function = json!({ "name": name, "description": description, "parameters": parameters });
    json!({ "type": "function", "function": function })
}

/// Calls a tool. What a model got wrong, such as its arguments, is an answer;
/// what the workflow got wrong is a failure.
pub(super) fn call(workflow: &WorkflowPlugin, call: &Call) -> Result<Returned, PluginFailure> {
    let (succeeded, answer) = match call.tool.as_str() {
        run::NAME => run::call(workflow, &call.arguments)?,
        search::NAME => search::call(workflow, &call.arguments)?,
        unknown => return Err(not_offered(workflow, unknown)),
    };
    let (seat, tool, answer) = (call.seat.clone(), call.tool.clone(), answer.to_string());
    Ok(Returned { seat, tool, succeeded, answer })
}

/// The answer to arguments that are no JSON, or not the tool's.
fn misunderstood(error: impl std::fmt::Display) -> ToolAnswer {
    (false, json!({ "error": error.to_string() }))
}

/// The failure, with the flag that grants what the workflow says it lacks.
pub(super) fn explained(workflow: &WorkflowPlugin, failure: PluginFailure) -> PluginFailure {
    match (workflow.grant_flag(), failure.cause) {
        (Some(flag), Cause::Problem { fault, message }) => {
            let message = format!("{message}; grant it with `{flag}`");
            PluginFailure { cause: Cause::Problem { fault, message }, ..failure }
        }
        (_, cause) => PluginFailure { cause, ..failure },
    }
}

fn not_offered(workflow: &WorkflowPlugin, name: &str) -> PluginFailure {
    let message = match ALL.iter().find(|tool| tool.name == name) {
        None => format!("there is no tool `{name}`"),
        Some(ToolGrant { right, does, .. }) => format!(
            "it wants to {does}, which was not granted to it; grant it with `{}`",
            grant_flag(&workflow.plugin().stem(), &[*right]),
        ),
    };
    workflow.failure("advance", message)
}
