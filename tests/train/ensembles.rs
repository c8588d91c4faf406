//! Several policies in the place of one: who answers what.

mod examination;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::Value;
use troupe_core::config::{Config, EnsembleBy, EnsembleConfig, PolicyConfig, Roles};
use troupe_core::seed::Seed;
use troupe_core::storage::{read_json, write_json};
use troupe_core::trajectory::{Completion, Sample};
use troupe_guests::plugin::Split;
use troupe_model::{Device, Request, Sampling};
use troupe_training::evaluation::{HeldOutTasks, evaluate};
use troupe_training::examination::examine;
use troupe_training::imitation::imitate;
use troupe_training::metrics::Answers;
use troupe_training::rehearsal::pupils;
use troupe_training::rollout::Rollout;
use troupe_training::situations::{Cell, SituationTable};
use troupe_training::team::Team;

use crate::support::{plugin, run};

const MEMBERS: [&str; 2] = ["one", "two"];
/// The goal is in the same row or column, or it is not.
const RULES: &str = "level=row+0 col+0; apart=*";

/// A planner and an executor on small boards, one move a turn.
fn board() -> Config {
    let mut config = Config::default();
    config.plugins.files = ["plan-path", "planner-executor"].map(plugin).to_vec();
    config.environment = "size = 5\nwalls = 2\nmax_distance = 5".parse().unwrap();
    config.workflow.insert("situations".to_owned(), RULES.into());
    config.rollout.max_turns = 3;
    config.validation.tasks = 24;
    config
}

/// Two policies that have imitated the expert, one longer than the other; made once.
fn learned() -> &'static Path {
    static MADE: OnceLock<tempfile::TempDir> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        for (name, seed, success) in [("one", 1, 0.2), ("two", 2, 0.5)] {
            let mut config = board();
            config.run.seed = seed;
            (config.imitation.success, config.imitation.ceiling) = (success, 1.5);
            config.imitation.tasks = 32;
            let mut team = Team::assemble(&config, Device::cpu()).unwrap();
            let pupils = pupils(&config, &team);
            imitate(&mut team, &config, &pupils, |_| ()).unwrap();
            team.policies["shared"].save(&folder.path().join(name)).unwrap();
        }
        folder
    });
    made.path()
}

/// Have both of them in a folder of one's own.
fn learn(folder: &Path) {
    MEMBERS.iter().for_each(|name| copy(&learned().join(name), &folder.join(name)));
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for file in fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

/// Both of them in the place of the one that plays all roles.
fn ensemble(folder: &Path, by: EnsembleBy, members: [&str; 2]) -> Config {
    let mut config = board();
    for name in MEMBERS {
        let path = Some(folder.join(name));
        let member = PolicyConfig { path, ..PolicyConfig::default() };
        config.policies.insert(name.to_owned(), member);
    }
    let ensemble = EnsembleConfig {
        members: members.map(str::to_owned).to_vec(),
        by,
        table: (by == EnsembleBy::Situation).then(|| folder.join("table.json")),
        ..EnsembleConfig::default()
    };
    let shared = PolicyConfig { ensemble: Some(ensemble), ..PolicyConfig::default() };
    config.policies.insert("shared".to_owned(), shared);
    config
}

fn held_out(split: Split) -> HeldOutTasks {
    let seed = Seed::new(1).named("evaluation");
    HeldOutTasks { split, from: 0, tasks: 24, answers: Answers::Greedy, samples: 1, seed }
}

fn play(config: &Config, split: Split) -> (Team, Rollout) {
    let team = Team::assemble(config, Device::cpu()).unwrap();
    let rollout = evaluate(&team, held_out(split), config).unwrap().rollout;
    (team, rollout)
}

/// The table of the members on some tasks.
fn examined(folder: &Path, split: Split, forks: Option<usize>) -> SituationTable {
    let config = ensemble(folder, EnsembleBy::Random, MEMBERS);
    let mut team = Team::assemble(&config, Device::cpu()).unwrap();
    examine(&mut team, &config, held_out(split), forks).unwrap()
}

/// Have the table say who is best: of each role in each situation, and overall.
fn decide(folder: &Path, best: impl Fn(&Cell) -> &'static str) {
    let path = folder.join("table.json");
    let mut table: SituationTable = read_json(&path).unwrap();
    for cell in &mut table.cells {
        cell.mean = if best(cell) == cell.member { 0.5 } else { -0.5 };
    }
    write_json(&path, &table).unwrap();
}

/// The policy's likeliest answer to the prompt of a sample.
fn likeliest(team: &Team, config: &Config, name: &str, sample: &Sample) -> Completion {
    let sampling = Sampling { temperature: 0.0, ..Sampling::from(&config.rollout) };
    let request = Request { prompt: sample.prompt.clone(), seeds: vec![Seed::new(9)] };
    team.policies[name].generate(&[request], &sampling).unwrap().remove(0).remove(0)
}

fn places(rollout: &Rollout) -> Vec<(usize, usize, &str, &str)> {
    let place = |s| {
        let &Sample { task, round, ref role, ref policy, .. } = s;
        (task, round, role.as_str(), policy.as_str())
    };
    rollout.samples.iter().map(place).collect()
}

#[test]
fn every_request_is_answered_by_the_member_that_the_table_has_for_its_role_and_situation() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    learn(folder);
    write_json(&folder.join("table.json"), &examined(folder, Split::Validation, None)).unwrap();
    // The executor's best in each situation is not the planner's.
    let right = |role: &str, situation: Option<&str>| match (role, situation) {
        ("planner", Some("level")) | ("executor", Some("apart")) => "two",
        _ => "one",
    };
    decide(folder, |cell| right(&cell.role, cell.situation.as_deref()));
    let config = ensemble(folder, EnsembleBy::Situation, MEMBERS);
    let (team, rollout) = play(&config, Split::Test);
    let (mut asked, mut differ) = (BTreeSet::new(), 0);
    for sample in &rollout.samples {
        let situation = sample.situation.as_deref();
        assert_eq!(sample.policy, right(&sample.role, situation), "{sample:?}");
        let own = likeliest(&team, &config, &sample.policy, sample);
        assert_eq!(sample.completion.tokens, own.tokens, "it answers as itself");
        let other = if sample.policy == "one" { "two" } else { "one" };
        differ += usize::from(likeliest(&team, &config, other, sample).tokens != own.tokens);
        asked.insert((sample.role.as_str(), situation));
    }
    assert_eq!(asked.len(), 4, "both roles are in both situations: {asked:?}");
    assert!(differ > 10, "members say different things: {differ}");
    // Names decide, not places.
    let (_, again) = play(&ensemble(folder, EnsembleBy::Situation, ["two", "one"]), Split::Test);
    assert_eq!(places(&again), places(&rollout));
    assert_eq!(again.totals, rollout.totals);
}

#[test]
fn a_situation_that_the_table_does_not_know_is_for_the_best_overall() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    learn(folder);
    let mut table = examined(folder, Split::Validation, None);
    table.cells.retain(|cell| cell.situation.as_deref() != Some("level"));
    write_json(&folder.join("table.json"), &table).unwrap();
    decide(folder, |cell| if cell.situation.is_none() { "two" } else { "one" });
    let (_, rollout) = play(&ensemble(folder, EnsembleBy::Situation, MEMBERS), Split::Test);
    for Sample { situation, policy, .. } in &rollout.samples {
        let right = if situation.as_deref() == Some("level") { "two" } else { "one" };
        assert_eq!(policy, right, "{situation:?}");
    }
}

#[test]
fn a_council_plays_what_its_members_agree_on() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    learn(folder);
    for by in [EnsembleBy::Vote, EnsembleBy::Boltzmann] {
        let config = ensemble(folder, by, MEMBERS);
        let (team, rollout) = play(&config, Split::Test);
        let mut of = [0, 0];
        for sample in &rollout.samples {
            assert_eq!(sample.policy, "shared");
            let own = MEMBERS.map(|name| likeliest(&team, &config, name, sample));
            let said = &sample.completion.tokens;
            of[0] += usize::from(*said == own[0].tokens);
            of[1] += usize::from(*said != own[0].tokens && *said == own[1].tokens);
        }
        assert_eq!(of[0] + of[1], rollout.samples.len(), "{by:?}: nobody else answers");
        // Of two that disagree, a vote is for the first.
        assert_eq!(of[1] == 0, by == EnsembleBy::Vote, "{of:?}");
        let given: usize = rollout.samples.iter().map(|s| s.completion.length()).sum();
        let asked = rollout.samples.len() as u64;
        assert_eq!(rollout.totals.samples, 2 * asked, "both are paid for");
        assert!(rollout.totals.completion_tokens > given as u64);
    }
}

/// The command line's view of a configuration.
struct Desk<'f> {
    folder: &'f Path,
    config: String,
}

impl<'f> Desk<'f> {
    fn new(folder: &'f Path, config: &Config) -> Self {
        let file = folder.join("config.toml");
        fs::write(&file, config.to_toml()).unwrap();
        Desk { folder, config: file.display().to_string() }
    }

    fn run(&self, command: &str, more: &[&str]) -> (i32, String, String) {
        run(&[&[command, self.config.as_str()], more].concat())
    }

    fn says(&self, command: &str, more: &[&str]) -> String {
        let (code, _, stderr) = self.run(command, more);
        assert_ne!(code, 0, "{more:?}");
        stderr
    }

    fn eval(&self, more: &[&str]) -> (Value, String) {
        let (code, stdout, stderr) = self.run("eval", &[&["--json"], more].concat());
        assert_eq!(code, 0, "{stderr}");
        (serde_json::from_str(&stdout).unwrap(), stderr)
    }
}

#[test]
fn a_table_is_made_and_heeded_by_the_command_line_and_refused_where_it_does_not_fit() {
    let folder = tempfile::tempdir().unwrap();
    learn(folder.path());
    let desk = Desk::new(folder.path(), &ensemble(folder.path(), EnsembleBy::Situation, MEMBERS));
    let file = desk.folder.join("table.json").display().to_string();
    // It is not read before it is made.
    let make = ["--tasks", "12", "--situations", &file];
    let (made, _) = desk.eval(&make);
    let written: Value = read_json(Path::new(&file)).unwrap();
    assert_eq!((&made, &made["split"]), (&written, &"validation".into()));
    assert!(made["spent"]["samples"].as_u64().unwrap() > 100, "{made}");
    let (_, shown, _) = desk.run("eval", &make);
    assert!(shown.contains("level") && shown.contains("spent: "), "{shown}");
    let on = |split: &str, more: &[&str]| {
        desk.eval(&[&["--tasks", "12", "--split", split], more].concat())
    };
    let (found, said) = on("test", &[]);
    let answers = found["policies"].as_object().unwrap();
    assert!(answers.keys().all(|name| MEMBERS.contains(&name.as_str())), "{found}");
    let all: u64 = answers.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(found["spent"]["samples"], all);
    let of_situations = found["situations"].as_object().unwrap();
    assert_eq!(of_situations.values().map(|count| count.as_u64().unwrap()).sum::<u64>(), all);
    assert!(!said.contains("note: the table"), "{said}");
    let (_, said) = on("validation", &[]);
    assert!(
        said.contains("note: the table of `shared` was made of tasks of the same split"),
        "{said}"
    );
    let turned = "policies.shared.ensemble.members=[\"two\", \"one\"]";
    assert_eq!(on("test", &["--set", turned]).0, found);
    let refused = |set: &str| desk.says("eval", &["--set", set]);
    let rules = refused("workflow.situations=\"level=row+0; apart=*\"");
    assert!(rules.contains("workflow.situations was \"level=row+0 col+0; apart=*\""), "{rules}");
    let two = desk.folder.join("two").display().to_string();
    let weights = refused(&format!("policies.one.path={two:?}"));
    assert!(weights.contains("it was made with other weights of `one`"), "{weights}");
    let missing = refused("policies.shared.ensemble.table=\"nowhere.json\"");
    assert!(missing.contains("nowhere.json"), "{missing}");
    let often = desk.says("eval", &["--situations", &file, "--forks", "2"]);
    assert!(often.contains("add --sampled, or set --forks 1"), "{often}");
    let nobody = ["--set", "roles={planner=\"one\", executor=\"one\"}", "--situations", &file];
    let nobody = desk.says("eval", &nobody);
    assert!(nobody.contains("no policy that plays a role is several others"), "{nobody}");
    let alone = desk.says("train", &[]);
    assert!(alone.contains("`shared` is several policies that stay as they are"), "{alone}");
    let (code, shown, _) = desk.run("train", &["--print-config"]);
    assert!(code == 0 && shown.contains("[policies.shared.ensemble]"), "{shown}");
    assert!(shown.contains("[policies.one]") && shown.contains("[policies.two]"), "{shown}");
    let (code, played, stderr) = desk.run("play", &[]);
    assert!(code == 0 && played.contains("planner (turn 1)"), "{stderr}");
}

#[test]
fn members_with_other_tokens_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    learn(folder);
    let mut config = board();
    config.environment.insert("observation".to_owned(), "map".into());
    let team = Team::assemble(&config, Device::cpu()).unwrap();
    fs::remove_dir_all(folder.join("two")).unwrap();
    team.policies["shared"].save(&folder.join("two")).unwrap();
    let mut config = ensemble(folder, EnsembleBy::Vote, MEMBERS);
    let error = Team::assemble(&config, Device::cpu()).err().unwrap().to_string();
    assert!(error.contains("does not fit the environment"), "{error}");
    // A policy that knows more words than are needed is unlike the others, too.
    config.environment.insert("size".to_owned(), 12.into());
    let large = {
        let mut config = config.clone();
        config.policies.clear();
        Team::assemble(&config, Device::cpu()).unwrap()
    };
    fs::remove_dir_all(folder.join("two")).unwrap();
    large.policies["shared"].save(&folder.join("two")).unwrap();
    let config = ensemble(folder, EnsembleBy::Vote, MEMBERS);
    let error = Team::assemble(&config, Device::cpu()).err().unwrap().to_string();
    assert!(error.contains("`one` and `two`, members of the policy `shared`, have"), "{error}");
}

#[test]
fn a_policy_learns_beside_several_that_stay_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    learn(folder);
    write_json(&folder.join("table.json"), &examined(folder, Split::Validation, None)).unwrap();
    let mut config = ensemble(folder, EnsembleBy::Situation, MEMBERS);
    config.roles = Roles::named([("planner", "learner"), ("executor", "shared")]);
    config.policies.insert("learner".to_owned(), PolicyConfig::default());
    (config.run.dir, config.run.name) = (folder.to_owned(), Some("run".to_owned()));
    (config.train.steps, config.rollout.tasks_per_step) = (2, 4);
    config.imitation.enabled = false;
    config.validation.tasks = 4;
    let desk = Desk::new(folder, &config);
    let (code, _, stderr) = desk.run("train", &[]);
    assert_eq!(code, 0, "{stderr}");
    let run_folder = folder.join("run");
    let metrics = fs::read_to_string(run_folder.join("metrics.jsonl")).unwrap();
    let last: Value = serde_json::from_str(metrics.lines().last().unwrap()).unwrap();
    let updates: Vec<&String> = last["updates"].as_object().unwrap().keys().collect();
    assert_eq!(updates, ["learner"]);
    let manifest: Value = read_json(&run_folder.join("manifest.json")).unwrap();
    let entries = manifest["policies"].as_array().unwrap();
    let of = |name: &str| entries.iter().find(|entry| entry["name"] == name).unwrap();
    let table: SituationTable = read_json(&folder.join("table.json")).unwrap();
    for name in MEMBERS {
        assert_eq!(of(name)["digest"], table.members[name], "as it was examined");
        assert_eq!(of(name)["roles"], serde_json::json!(["executor"]));
    }
    assert_eq!(entries.len(), 3, "{entries:?}");
    // Another table would have others answer.
    decide(folder, |_| "two");
    let (code, _, stderr) = run(&["train", "--resume", run_folder.to_str().unwrap()]);
    assert_ne!(code, 0);
    let wanted = "the table `policies.shared.ensemble.table` has another digest";
    assert!(stderr.contains(wanted), "{stderr}");
}

#[test]
fn the_rows_of_llm_ens_differ_in_who_answers_and_in_what_a_situation_is() {
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/methods");
    let row = |name: &str| {
        let files = ["board.toml", "llm-ens/members.toml", name].map(|file| configs.join(file));
        let config = Config::layered(&files, &[]).unwrap();
        let ensemble = config.policies["shared"].ensemble.clone().unwrap();
        assert_eq!(ensemble.members, ["one", "two", "three", "four", "five"], "{name}");
        let table = ensemble.table.map(|table| table.display().to_string());
        (ensemble.by, table, config.workflow["situations"].to_string())
    };
    let (by, _, rules) = row("llm-ens/members.toml");
    assert_eq!(by, EnsembleBy::Random);
    for (name, by, table) in [
        ("llm-ens/vote.toml", EnsembleBy::Vote, None),
        ("llm-ens/boltzmann.toml", EnsembleBy::Boltzmann, None),
        ("llm-ens/situations.toml", EnsembleBy::Situation, Some("situations.json")),
        ("llm-ens/forks.toml", EnsembleBy::Situation, Some("forks.json")),
    ] {
        assert_eq!(row(name), (by, table.map(str::to_owned), rules.clone()), "{name}");
    }
    let (by, table, chance) = row("llm-ens/chance.toml");
    assert_eq!((by, table.as_deref()), (EnsembleBy::Situation, Some("chance.json")));
    assert!(chance.contains('%') && chance != rules, "{chance}");
}
