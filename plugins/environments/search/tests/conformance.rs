//! Search keeps the contract, and its corpus is what the world makes it.

use plugin_sdk::testing::{Native, Scope};
use search::Search;
use search::world::World;

#[test]
fn keeps_the_contract() {
    let scope = Scope { tasks: 2, steps: 20, ..Scope::default() };
    scope.assert_every_view_passes::<Search>();
    let scope = Scope { tasks: 8, ..Scope::default() }.with("max_hops", 4);
    scope.check_environment(&Native::<Search>::default()).assert_passed();
}

#[test]
fn keeps_the_contract_with_records() {
    let documents = World::new().documents();
    let titles: Vec<&str> = documents.iter().take(2).map(|one| one.title.as_str()).collect();
    let entry = |answer: &str| {
        let question = "What do they have in common?";
        format!(r#"{{"question": "{question}", "answer": "{answer}", "hops": {titles:?}}}"#)
    };
    let entries = vec![entry("names"), entry("letters")];
    let scope =
        Scope { tasks: 2, steps: 20, entries, ..Scope::default() }.with("observation", "text");
    scope.check_environment(&Native::<Search>::default()).assert_passed();
}

#[test]
fn the_committed_corpus_is_what_the_world_makes_it() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../configs/search/corpus.jsonl");
    let committed = std::fs::read_to_string(path).expect("a committed corpus");
    let lines = World::new()
        .documents()
        .into_iter()
        .map(|document| serde_json::to_string(&document).expect("documents are JSON") + "\n");
    assert_eq!(committed, lines.collect::<String>());
}
