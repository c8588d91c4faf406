//! Runs whose plugins come from a registry.

use std::fs;
use std::path::Path;

use crate::support::plugin;
use crate::support::registry::{DebianRegistry, Place, altered, push};

/// A configuration of a few seconds.
const SHORT: &str = "
    run.dir = 'runs'
    run.name = 'run'
    train.steps = 1
    rollout = { tasks_per_step = 4, max_turns = 2 }
    validation = { tasks = 4, tasks_during_training = 4 }
    imitation = { max_steps = 2, success = 0.0, ceiling = 1.1, tasks = 8 }
";

fn write(place: &Place, text: &str) {
    fs::write(place.work().join("mine.toml"), text).unwrap();
}

fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn a_run_brings_its_plugins_says_what_it_trusts_and_goes_on_without_the_registry() {
    let registry = DebianRegistry::start("");
    let (author, user) = (Place::new(), Place::new());
    let [board, team] = ["plan-path", "planner-executor"].map(|name| {
        let reference = registry.reference(&format!("{name}:0.1"));
        (push(&author, &plugin(name), &reference), reference)
    });
    write(&user, &format!("plugins.files = ['{}', '{}']{SHORT}", board.1, team.0));
    let told = user.told(&["train", "mine.toml"]);
    for said in [&board.0, &team.0, "plan-path 0.1.0: ", "imports nothing", "grade "] {
        assert!(told.contains(said), "{said}: {told}");
    }
    // Beside the configuration, of what was not pinned there.
    let lock = user.lock();
    assert!(lock.contains(&board.1), "{lock}");
    drop(registry);

    let run = user.work().join("runs/run");
    let config = fs::read_to_string(run.join("config.toml")).unwrap();
    assert!(config.contains(&board.0) && config.contains(&team.0), "{config}");
    edit(&run.join("config.toml"), "\nsteps = 1", "\nsteps = 2");
    let told = user.told(&["train", "--resume", "runs/run", "--accept-changes"]);
    assert!(!told.contains("imports nothing"), "{told}");
    user.done(&["train", "mine.toml", "--set", "run.name=again"]);
    user.done(&["train", "runs/run/config.toml", "--set", "run.name=third"]);
    user.done(&["eval", "--run", "runs/run", "--tasks", "4"]);
    let stderr = author.refused(&["train", "--plugins", &board.0], 3);
    assert!(stderr.contains("cannot be used: "), "{stderr}");
}

#[test]
fn a_changed_component_under_the_same_tag_gets_no_grant() {
    let registry = DebianRegistry::start("");
    let place = Place::new();
    let reference = registry.reference("search:0.1.0");
    push(&place, &plugin("search"), &reference);
    fs::write(
        place.work().join("corpus.jsonl"),
        "{\"id\": \"a\", \"title\": \"Ant\", \"text\": \"An ant is small.\"}\n",
    )
    .unwrap();
    write(
        &place,
        &format!(
            "plugins.files = ['{reference}', '{}']\n\
             retrieval = {{ corpus = ['corpus.jsonl'], grant = ['search'] }}",
            plugin("searcher-reasoner").display()
        ),
    );
    let shown = ["train", "mine.toml", "--print-config"];
    let told = place.told(&shown);
    assert!(told.contains("imports retrieval") && told.contains("not checked"), "{told}");

    push(&place, &altered("search", &place.work()), &reference);
    // What is here is used; the registry is not asked.
    assert!(!place.told(&shown).contains("imports retrieval"));
    place.done(&["plugin", "pull", &reference, "--config", "mine.toml", "--update"]);
    let stderr = place.refused(&shown, 3);
    assert!(
        stderr.contains("`search` was granted `retrieval` as the file with the digest"),
        "{stderr}"
    );
    place.done(&[&shown[..], &["--grant", "search=search"]].concat());
}
