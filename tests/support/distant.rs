//! A run in which a server has the planner of plan-path, and the executor learns here.

use std::path::Path;

use super::plugins;

/// `host train` in a folder; `url` is the server, which has `base`, whose tokenizer lies in the
/// folder `tokenizer`. Few tasks, four steps; `more` is set last.
pub fn arguments(
    folder: &Path,
    name: &str,
    (url, base, tokenizer): (&str, &str, &Path),
    more: &[&str],
) -> Vec<String> {
    let sets = [
        format!("run.dir={}", folder.display()),
        format!("run.name={name}"),
        "roles.planner=planner".to_owned(),
        "roles.executor=executor".to_owned(),
        "policies.executor.train=true".to_owned(),
        format!("policies.planner.tinker.url={url}"),
        format!("policies.planner.tinker.base={base}"),
        format!("policies.planner.tinker.tokenizer={}", tokenizer.display()),
        "imitation.enabled=false".to_owned(),
        "train.steps=4".to_owned(),
        "rollout.tasks_per_step=4".to_owned(),
        "rollout.max_turns=2".to_owned(),
        "validation.tasks=4".to_owned(),
        "validation.tasks_during_training=4".to_owned(),
        "checkpoint.every=2".to_owned(),
    ];
    let files = plugins(&["plan-path", "planner-executor"]);
    let mut arguments = vec!["train".to_owned(), "--plugins".to_owned(), files];
    let sets = sets.into_iter().chain(more.iter().map(ToString::to_string));
    arguments.extend(sets.flat_map(|set| ["--set".to_owned(), set]));
    arguments
}
