//! What is searched: by an environment through its import, by a workflow with
//! the tool; and what was not granted stays out of reach.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use troupe_core::config::{Config, Grantee, PolicyConfig, Roles, SamplingScheme};
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Ending, Event};
use troupe_guests::plugin::{Cause, Move, PluginError, PluginFailure};
use troupe_guests::scenario::ScenarioError;
use troupe_model::{Device, Policy};
use troupe_training::family::{FamilyError, scenario_of};
use troupe_training::rollout::{Rollout, Setting, collect};
use troupe_training::team::Team;

use crate::script::{Asked, Script, team, training_tasks};
use crate::support::scenarios;
use crate::support::{fixture, plugin, run};

const TASKS: u32 = 8;

/// Questions whose answers stand in documents, and a tool to search for them.
pub fn quiz(folder: &Path) -> Config {
    let lines = |of: fn(u32) -> String| (0..30).map(of).collect::<Vec<_>>().join("\n");
    let (questions, corpus) = (folder.join("questions.jsonl"), folder.join("facts.jsonl"));
    let question = |n| format!(r#"{{"question": "what is number{n}", "answer": "{}"}}"#, n * n);
    let fact = |n| format!(r#"{{"title": "number{n}", "text": "the answer is {}"}}"#, n * n);
    fs::write(&questions, lines(question)).unwrap();
    fs::write(&corpus, lines(fact)).unwrap();
    let mut config = Config::default();
    config.plugins.files = ["records-environment", "search-workflow"].map(fixture).to_vec();
    config.roles = Roles::PerRole;
    config.tasks.train = vec![questions];
    config.retrieval.corpus = vec![corpus];
    config.retrieval.grant = vec![Grantee::named("search-workflow")];
    config
}

/// An environment that searches by itself, and its player.
pub fn library(folder: &Path) -> Config {
    let mut config = quiz(folder);
    config.tasks = Default::default();
    config.plugins.files = vec![fixture("search-environment"), plugin("solo")];
    config.retrieval.grant = vec![Grantee::named("search-environment")];
    config
}

fn play(config: &Config, team: &Team) -> Rollout {
    let tasks = training_tasks(team, TASKS, Seed::new(7));
    collect(&Setting::of(&team.role_map, config), &team.policies, &tasks).unwrap()
}

/// One who searches for the question, or, by chance, for what is nowhere.
fn searcher() -> Arc<Script> {
    Script::new(|asked: &Asked| match asked.seed.value() % 2 {
        0 => asked.told[0].clone(),
        _ => "nowhere".to_owned(),
    })
}

/// One who says the last word of the best document.
fn writer() -> Arc<Script> {
    Script::new(|asked: &Asked| {
        let best = asked.told[1].lines().next().unwrap_or("?");
        best.rsplit(' ').next().unwrap().to_owned()
    })
}

#[test]
fn whoever_searches_for_the_question_finds_the_answer() {
    let folder = tempfile::tempdir().unwrap();
    for sampling in [SamplingScheme::Tree, SamplingScheme::Trajectory] {
        let mut config = quiz(folder.path());
        config.rollout.scheme = sampling;
        let players = [("searcher", &searcher()), ("writer", &writer())];
        let rollout = play(&config, &team(&config, &players));
        let mut solved = 0;
        for episode in &rollout.episodes {
            let called = episode.events.iter().find_map(|event| match event {
                Event::Called { arguments, answer, succeeded: true, .. } => {
                    Some((arguments.contains("what is number"), answer))
                }
                _ => None,
            });
            let (asked, answer) = called.expect("it searched");
            let expected = if asked { Ending::Solved } else { Ending::Failed };
            assert_eq!(episode.ending, expected, "{sampling:?} {answer}");
            assert_eq!(answer.contains("the answer is"), asked, "{answer}");
            solved += usize::from(asked);
        }
        assert!(solved > 0 && solved < rollout.episodes.len(), "{sampling:?} {solved}");
        let again = play(&config, &team(&config, &players));
        assert_eq!(again.episodes, rollout.episodes, "the same is found again");
    }
}

#[test]
fn an_environment_searches_through_its_import() {
    let folder = tempfile::tempdir().unwrap();
    for sampling in [SamplingScheme::Tree, SamplingScheme::Trajectory] {
        let mut config = library(folder.path());
        config.rollout.scheme = sampling;
        let player = Script::new(|asked: &Asked| match asked.seed.value() % 2 {
            0 => asked.told[1].clone(),
            _ => "nowhere".to_owned(),
        });
        let rollout = play(&config, &team(&config, &[("player", &player)]));
        assert!(rollout.samples.iter().any(|sample| sample.completion.text == "nowhere"));
        for sample in &rollout.samples {
            let found = sample.completion.text.contains("find number");
            let earned = sample.reward.parts.get("found").copied();
            assert_eq!(earned == Some(1.0), found, "{sampling:?} {sample:?}");
        }
        assert!(rollout.episodes.iter().any(|episode| episode.ending == Ending::Solved));
    }
}

#[test]
fn only_a_role_that_may_use_a_tool_is_told_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let config = quiz(folder.path());
    let (searcher, writer) = (searcher(), writer());
    play(&config, &team(&config, &[("searcher", &searcher), ("writer", &writer)]));
    let (searched, wrote) = (searcher.take_asked(), writer.take_asked());
    assert!(!searched.is_empty() && searched.iter().all(|asked| asked.tools == ["search"]));
    assert!(!wrote.is_empty() && wrote.iter().all(|asked| asked.tools.is_empty()));
}

#[test]
fn the_schema_of_a_tool_stands_in_the_prompt_of_the_role_that_may_use_it() {
    let folder = tempfile::tempdir().unwrap();
    let numbers = (0..30).flat_map(|n| [format!("number{n}"), (n * n).to_string()]);
    let mut words: Vec<String> =
        numbers.chain(["what", "is", "search"].map(String::from)).collect();
    words.sort();
    words.dedup();
    let shape = PolicyConfig::default();
    let policy = Policy::random(&shape, &words, Seed::new(1), Device::cpu()).unwrap();
    let path = folder.path().join("policy");
    policy.save(&path).unwrap();
    let template = "{% for tool in tools or [] %}{{ tool.function.name }} \
                    {{ tool.function.parameters.required[0] }} {% endfor %}\
                    {% for message in messages %}{{ message.content }} {% endfor %}<|assistant|>";
    fs::write(path.join("chat_template.jinja"), template).unwrap();
    let mut config = quiz(folder.path());
    config.roles = Roles::Shared;
    config.policies.insert("shared".to_owned(), PolicyConfig { path: Some(path), ..shape });
    let rollout = play(&config, &Team::assemble(&config, Device::cpu()).unwrap());
    let name = policy.wording().encode_text("search").unwrap();
    for role in ["searcher", "writer"] {
        let mut own = rollout.samples.iter().filter(|sample| sample.role == role).peekable();
        assert!(own.peek().is_some(), "{role} was asked: {:?}", rollout.episodes);
        let told = role == "searcher";
        assert!(own.all(|sample| sample.prompt.starts_with(&name) == told), "{role}");
    }
    let replied = rollout.episodes[0].events.iter().filter_map(|event| match event {
        Event::Replied { role, tools, .. } => Some((role.as_str(), tools.len())),
        _ => None,
    });
    assert_eq!(replied.collect::<Vec<_>>(), [("searcher", 1), ("writer", 0)]);
}

/// What became of the tasks, all of them void.
fn void(rollout: &Rollout) -> Vec<(String, String)> {
    let ending = |ending: &Ending| match ending {
        Ending::Void { cause, message } => (cause.clone(), message.clone()),
        other => panic!("{other:?}"),
    };
    rollout.episodes.iter().map(|episode| ending(&episode.ending)).collect()
}

#[test]
fn a_tool_that_was_not_granted_is_neither_told_of_nor_called() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = quiz(folder.path());
    config.retrieval.grant = vec![Grantee::named("records-environment")];
    let rollout =
        play(&config, &team(&config, &[("searcher", &searcher()), ("writer", &writer())]));
    for (_, message) in void(&rollout) {
        let said = "search a corpus, which was not granted to it; grant it with \
                    `--grant search-workflow=search`";
        assert!(message.contains(said), "{message}");
    }
    assert!(rollout.samples.is_empty());
}

#[test]
fn a_query_that_is_too_long_is_an_answer_of_the_tool() {
    let folder = tempfile::tempdir().unwrap();
    let config = quiz(folder.path());
    let searcher = Script::new(|_| "number1 ".repeat(1000));
    let rollout = play(&config, &team(&config, &[("searcher", &searcher), ("writer", &writer())]));
    for episode in &rollout.episodes {
        assert_eq!(episode.ending, Ending::Failed, "a bad query is not void");
        let refused = episode.events.iter().any(|event| match event {
            Event::Called { succeeded, answer, .. } => {
                !succeeded && answer.contains("at most 4096 can be searched for")
            }
            _ => false,
        });
        assert!(refused, "{:?}", episode.events);
    }
}

/// What an environment makes of an action when it searches so, among two hundred
/// documents that are alike.
fn search_so(folder: &Path, mode: &str, fuel: u64) -> Result<String, PluginFailure> {
    let mut config = library(folder);
    let words: String = (0..1000).map(|word| format!(" w{word}")).collect();
    let line = format!(r#"{{"text": "number1 {} {words}"}}"#, "ä".repeat(5000));
    fs::write(folder.join("many.jsonl"), vec![line; 200].join("\n")).unwrap();
    config.retrieval.corpus = vec![folder.join("many.jsonl")];
    config.plugins.limits.fuel = fuel;
    let scenario = scenario_of(&config, None).unwrap();
    let task = scenarios::task(
        scenario.environment.component().unwrap(),
        &format!("mode = \"{mode}\""),
        0,
    );
    let mut episode = scenario.environment.start(&task)?;
    let outcome = episode.act(vec![Move::new("player", "search", "number1")])?;
    Ok(outcome.told().to_owned())
}

#[test]
fn an_environment_that_asks_for_everything_gets_its_share() {
    let folder = tempfile::tempdir().unwrap();
    let told = search_so(folder.path(), "greedy", 1_000_000_000).unwrap();
    assert_eq!(told.lines().count(), 64, "of a thousand million documents");
    assert!(told.len() < (1 << 20) / 3, "{}", told.len());
    assert!(told.starts_with("many-1 ") && told.contains("\nmany-64 "));
    let failure = search_so(folder.path(), "long", 1_000_000_000).unwrap_err();
    assert!(matches!(failure.cause, Cause::Problem { .. }), "{failure}");
    assert!(failure.to_string().contains("the query has 700000 bytes"), "{failure}");
}

#[test]
fn a_search_is_paid_for_with_fuel_whatever_is_done_with_it() {
    let folder = tempfile::tempdir().unwrap();
    // A thousand and two words of two hundred documents are looked at.
    assert_eq!(search_so(folder.path(), "blind", 400_000).unwrap(), "");
    for (mode, fuel) in [("blind", 200_000), ("endless", 100_000_000)] {
        let failure = search_so(folder.path(), mode, fuel).unwrap_err();
        assert_eq!(failure.cause, Cause::OutOfFuel { fuel }, "{mode}");
    }
}

#[test]
fn without_a_grant_a_plugin_that_wants_to_search_is_not_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = library(folder.path());
    config.retrieval = Default::default();
    let error = scenario_of(&config, None).err().unwrap().to_string();
    let said = "grant that and name the corpus with `--grant search-environment=search --set";
    assert!(error.contains("troupe:plugin/retrieval@0.2.0") && error.contains(said), "{error}");
    let file = fixture("search-environment").display().to_string();
    let (code, _, stderr) = run(&["plugin", "bench", &file]);
    assert!(code == 3 && stderr.contains(said), "{stderr}");
    let corpus = folder.path().join("facts.jsonl").display().to_string();
    let (code, _, stderr) = run(&["plugin", "bench", &file, "--grant-retrieval", &corpus]);
    assert_eq!(code, 0, "{stderr}");
    // The other right is of no use.
    let (code, _, stderr) = run(&["plugin", "bench", &file, "--grant-sandbox"]);
    assert!(code == 3 && stderr.contains(said), "{stderr}");
}

/// A plugin under another name; with a mark, it is another file that does the same.
pub fn copy(from: &Path, folder: &Path, name: &str, mark: Option<u8>) -> PathBuf {
    let mut bytes = fs::read(from).unwrap();
    // A custom section: its kind, its length, the length of its name, its name.
    bytes.extend(mark.into_iter().flat_map(|mark| [0, 2, 1, mark]));
    fs::create_dir_all(folder).unwrap();
    let to = folder.join(name);
    fs::write(&to, bytes).unwrap();
    to
}

fn digest_of(file: &Path) -> String {
    troupe_core::storage::digest_file(file).unwrap()
}

fn granted_as(name: &str, digest: &str) -> Vec<Grantee> {
    vec![format!("{name}@sha256:{digest}").parse().unwrap()]
}

#[test]
fn a_namesake_with_another_digest_gets_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for (mut config, name, place) in [
        (library(folder.path()), "search-environment", 0),
        (quiz(folder.path()), "search-workflow", 1),
    ] {
        let honest = fixture(name);
        config.retrieval.grant = granted_as(name, &digest_of(&honest));
        scenario_of(&config, None).unwrap();
        let other =
            copy(&honest, &folder.path().join("other"), &format!("{name}.wasm"), Some(b'x'));
        config.plugins.files[place] = other.clone();
        let error = scenario_of(&config, None).err().unwrap().to_string();
        assert!(error.starts_with(&format!("`{name}` was granted `retrieval` as the file")));
        for said in [&digest_of(&honest), &digest_of(&other), "`--grant "] {
            assert!(error.contains(said), "{error}");
        }
        // Whoever grants the name grants what is there.
        config.retrieval.grant = vec![Grantee::named(name)];
        scenario_of(&config, None).unwrap();
    }
}

#[test]
fn a_grant_that_fits_two_files_is_refused_until_it_says_which() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = quiz(folder.path());
    let namesake = folder.path().join("other");
    let namesake = copy(&plugin("solo"), &namesake, "search-workflow.wasm", None);
    config.plugins.files.push(namesake.clone());
    config.plugins.workflow = Some("search-workflow".to_owned());
    let error = scenario_of(&config, None).err().unwrap();
    let FamilyError::Load(_) = &error else { panic!("{error}") };
    let error = error.to_string();
    assert!(error.contains("there are two different files of that name"), "{error}");
    let honest = digest_of(&fixture("search-workflow"));
    assert!(error.contains(&format!("search-workflow@sha256:{honest}")), "{error}");
    config.retrieval.grant = granted_as("search-workflow", &honest);
    let scenario = scenario_of(&config, None).unwrap();
    assert_eq!(scenario.tools.len(), 1);
    config.plugins.workflow = Some("solo".to_owned());
    let scenario = scenario_of(&config, None).unwrap();
    assert_eq!(scenario.workflow.plugin().file(), namesake);
    assert!(scenario.tools.is_empty() && scenario.workflow.plugin().granted().corpus.is_none());
}

#[test]
fn a_looked_up_workflow_is_held_to_its_digest_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = quiz(folder.path());
    config.plugins.workflow = Some("search-workflow".to_owned());
    config.plugins.files.truncate(1);
    config.plugins.path = vec![folder.path().join("other")];
    let honest = fixture("search-workflow");
    config.retrieval.grant = granted_as("search-workflow", &digest_of(&honest));
    scenario_of(&config, None).unwrap();
    let environment = fixture("records-environment");
    let beside = folder.path().join("other");
    config.plugins.files = vec![copy(&environment, &beside, "records-environment.wasm", None)];
    copy(&honest, &beside, "search-workflow.wasm", Some(b'x'));
    let error = scenario_of(&config, None).err().unwrap();
    let FamilyError::Scenario(ScenarioError::Plugin(error)) = &error else { panic!("{error}") };
    assert!(matches!(error, PluginError::AnotherFile { .. }), "{error}");
}
