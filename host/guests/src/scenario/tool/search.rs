//! The tool `search`: searches the corpus.

use serde::Deserialize;
use serde_json::json;

use super::{ToolAnswer, ToolGrant, misunderstood, not_offered};
use crate::plugin::{PluginFailure, Right, Tool, WorkflowPlugin};
use crate::retrieval::MAX_DOCUMENTS;

pub(super) const NAME: &str = "search";

pub(super) const GRANT: ToolGrant =
    ToolGrant { name: NAME, right: Right::Retrieval, does: "search a corpus" };

/// Its arguments.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    query: String,
    #[serde(default = "usual_limit")]
    limit: u64,
}

fn usual_limit() -> u64 {
    5
}

pub(super) fn described() -> Tool {
    Tool {
        name: NAME.to_owned(),
        summary: "Searches a corpus and returns the documents that fit best.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "the words to search for" },
                "limit": {
                    "type": "integer",
                    "description": "how many documents",
                    "minimum": 1,
                    "maximum": MAX_DOCUMENTS,
                    "default": usual_limit(),
                },
            },
            "required": ["query"],
        })
        .to_string(),
    }
}

pub(super) fn call(
    workflow: &WorkflowPlugin,
    arguments: &str,
) -> Result<ToolAnswer, PluginFailure> {
    let Some(corpus) = &workflow.plugin().granted().corpus else {
        return Err(not_offered(workflow, NAME));
    };
    let Search { query, limit } = match serde_json::from_str(arguments) {
        Ok(search) => search,
        Err(error) => return Ok(misunderstood(error)),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let longest = workflow.plugin().limits().longest_answer();
    Ok(match corpus.search(&query, limit, longest) {
        Ok(result) => (true, json!({ "documents": result.documents })),
        Err(error) => misunderstood(error),
    })
}
