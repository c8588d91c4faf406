//! Policies that are trained here while a server draws their answers, with the real binary.

mod sglang;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

use crate::adapters::{config, metrics, warm_base};
use crate::fake_vllm::{Fake, Trap};
use crate::support::client::Server;
use crate::support::run;

/// A base that has learned a little, made once.
fn base() -> &'static Path {
    static BASE: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, base) = BASE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        warm_base(folder.path());
        let base = folder.path().join("base");
        (folder, base)
    });
    base
}

/// A run's folder of folders with the base in it, and a configuration.
pub fn prepared() -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("base");
    fs::create_dir(&copy).unwrap();
    for file in fs::read_dir(base()).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), copy.join(file.file_name())).unwrap();
    }
    let config = config(folder.path(), "");
    (folder, config)
}

/// Train with both roles sampled at `url`.
pub fn train(config: &str, url: &str, flags: &[&str]) -> (i32, String) {
    let urls = ["planner", "executor"].map(|role| format!("policies.{role}.sampler.url={url}"));
    let all = ["train", config, "--set", &urls[0], "--set", &urls[1], "--set", "run.name=run"];
    let (code, _, stderr) = run(&[&all[..], flags].concat());
    (code, stderr)
}

/// What a run says that meets a trap, and its exit code; `flags` beside the usual ones.
pub fn caught(trap: Trap, flags: &[&str]) -> (i32, String) {
    let (folder, config) = prepared();
    let fake = Fake::start(folder.path(), &folder.path().join("base"), 4, trap);
    // Steps that are large enough to be seen.
    let usual = ["train.learning_rate=0.01", "train.warmup_steps=0", "train.max_movement=0"];
    let usual: Vec<&str> = usual.iter().flat_map(|set| ["--set", set]).collect();
    train(&config, &fake.url, &[&usual, flags].concat())
}

fn reward(record: &Value) -> f64 {
    let roles = record["roles"].as_object().unwrap().values();
    roles.map(|role| role["reward"]["mean"].as_f64().unwrap()).sum()
}

#[test]
fn a_run_that_is_sampled_elsewhere_learns_as_one_at_home() {
    let (folder, config) = prepared();
    let fake = Fake::start(folder.path(), &folder.path().join("base"), 4, Trap::None);
    let longer = [
        "--set",
        "train.steps=10",
        "--set",
        "rollout.tasks_per_step=16",
        "--set",
        "rollout.max_turns=8",
        "--set",
        "train.entropy_coefficient=0",
        "--set",
        "train.learning_rate=0.003",
    ];
    let (code, stderr) = train(&config, &fake.url, &longer);
    assert_eq!(code, 0, "{stderr}");
    let home = ["train", &config, "--set", "run.name=home"];
    let (code, _, stderr) = run(&[&home[..], &longer].concat());
    assert_eq!(code, 0, "{stderr}");
    let [there, home] = ["run", "home"].map(|name| metrics(&folder.path().join(name)));
    let gain = |records: &[Value]| {
        let mean = |some: &[Value]| some.iter().map(reward).sum::<f64>() / some.len() as f64;
        mean(&records[9..]) - reward(&records[1])
    };
    let (there_gain, home_gain) = (gain(&there), gain(&home));
    assert!(home_gain > 0.15, "{home_gain}");
    assert!(there_gain > 0.5 * home_gain, "{there_gain} there, {home_gain} at home");
    for record in &there[1..] {
        for role in ["planner", "executor"] {
            let update = &record["updates"][role];
            assert!(update["mean_logprob_difference"].as_f64().unwrap() < 1e-5, "{record}");
            assert_eq!(update["capped_share"], 0.0);
        }
    }
    let canaries: Vec<&Value> = there.iter().filter_map(|it| it.get("canaries")).collect();
    assert!(canaries.len() == 11 && canaries.iter().all(|it| it["planner"].as_f64() < Some(1e-5)));
    assert!(home.iter().all(|record| record.get("canaries").is_none()));
    left_in_order(&fake, &folder.path().join("run"));
}

/// Names were used once, few were loaded at a time, and nothing is left.
fn left_in_order(fake: &Fake, run: &Path) {
    let names = fake.names();
    assert!(names.len() >= 22, "two of each state: {names:?}");
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("run-")), "{names:?}");
    assert!(names.iter().any(|name| name.ends_with("-planner-v10")), "{names:?}");
    assert_eq!(fake.loaded(), (4, 0), "two versions of two policies");
    assert_eq!(fake.evictions(), 0);
    assert!(!run.join("sampler").exists());
    let seeds = fake.seeds();
    let different = seeds.iter().collect::<BTreeSet<_>>().len();
    // Canaries and validations ask the same each time.
    assert!(different > seeds.len() / 2, "{different} of {}", seeds.len());
}

#[test]
fn however_a_run_is_played_a_server_draws_its_answers_with_the_adapters_of_the_step() {
    for flags in [
        &["--processes", "2"][..],
        &["--set", "rollout.scheduling=overlapped"],
        &[
            "--set",
            "rollout.scheme=cross-policy",
            "--set",
            "advantage.estimator=grpo",
            "--set",
            "policies.old.snapshot_of=planner",
        ],
    ] {
        let (folder, config) = prepared();
        let fake = Fake::start(folder.path(), &folder.path().join("base"), 4, Trap::None);
        let few = ["--set", "train.steps=2", "--set", "validation.every=0"];
        let (code, stderr) = train(&config, &fake.url, &[flags, &few].concat());
        assert_eq!(code, 0, "{flags:?}: {stderr}");
        for record in &metrics(&folder.path().join("run"))[1..] {
            for role in ["planner", "executor"] {
                let difference = &record["updates"][role]["mean_logprob_difference"];
                assert!(difference.as_f64().unwrap() < 1e-5, "{flags:?}: {record}");
                assert!(record["canaries"][role].as_f64().unwrap() < 1e-5, "{flags:?}: {record}");
            }
        }
        let names = fake.names();
        assert_eq!(names.len(), 6, "each state of each policy once: {names:?}");
        assert_eq!(fake.loaded(), (4, 0), "{flags:?}");
    }
}

#[test]
fn what_answers_without_being_the_policy_is_told_by_the_canary() {
    let hot = ["--set", "rollout.temperature=1.5"];
    for (trap, flags, said) in [
        (Trap::ForgetsAfter(600), &[][..], "these are the log-probabilities of the base"),
        // The adapter before was new, so it changed nothing.
        (Trap::KeepsOldKeys(0), &[], "these are the log-probabilities of the base"),
        (Trap::KeepsOldKeys(1), &[], "of the adapter that was published before: it keeps files"),
        (Trap::Raw, &hot, "of the policy before temperature and cut-offs: start it with"),
        (Trap::FillsIn, &[], "--generation-config vllm"),
    ] {
        let (code, stderr) = caught(trap, flags);
        assert_eq!(code, 6, "{trap:?}: {stderr}");
        assert!(stderr.contains(said), "{trap:?}: {stderr}");
        assert!(stderr.contains("does not answer as the policy"), "{trap:?}: {stderr}");
        assert!(stderr.contains(".sampler.tolerance is 0.001"), "{trap:?}: {stderr}");
    }
}

#[test]
fn another_base_is_told_by_the_canary() {
    let (folder, config) = prepared();
    // The same after a step of training.
    let other = base().with_file_name("warm").join("checkpoints/step-000001/policies/shared");
    let fake = Fake::start(folder.path(), &other, 4, Trap::None);
    let (code, stderr) = train(&config, &fake.url, &[]);
    assert_eq!(code, 6, "{stderr}");
    assert!(stderr.contains("its base is another checkpoint"), "{stderr}");
}

#[test]
fn a_server_that_cannot_do_its_part_is_told_what_to_be_started_with() {
    for (trap, code, said) in [
        (Trap::NoRuntimeLoading, 6, "VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 and `--enable-lora`"),
        (Trap::FewSlotsTold, 4, "start it with `--max-loras 4`"),
        (Trap::SmallRank, 8, "start it with a larger `--max-lora-rank`"),
    ] {
        let hasty =
            ["planner", "executor"].map(|role| format!("policies.{role}.sampler.retries=0"));
        let (found, stderr) = caught(trap, &["--set", &hasty[0], "--set", &hasty[1]]);
        assert_eq!(found, code, "{trap:?}: {stderr}");
        assert!(stderr.contains(said), "{trap:?}: {stderr}");
    }
    let (_folder, config) = prepared();
    let (code, stderr) = train(
        &config,
        "http://127.0.0.1:9/v1",
        &[
            "--set",
            "policies.planner.sampler.retries=0",
            "--set",
            "policies.executor.sampler.retries=0",
        ],
    );
    assert_eq!(code, 4, "{stderr}");
    for said in ["127.0.0.1:9", "vllm serve", "--max-lora-rank 8", "--max-loras 4"] {
        assert!(stderr.contains(said), "{said}: {stderr}");
    }
}

#[test]
fn an_answer_that_cannot_be_learned_from_ends_the_run_by_name() {
    for (trap, said) in [
        (Trap::Diverges, "gives infinities or NaN there"),
        (Trap::NoIds, "has no `token_ids`"),
        (Trap::MissingLogprob, "log-probabilities"),
        (Trap::NullLogprob, "is missing or is none"),
        (Trap::ForeignToken, "drew the token 1000000"),
        (Trap::TwoChoices, "gave 2 answers"),
        (Trap::Aborts, "\"abort\""),
        (Trap::OtherPrompt, "read another prompt"),
        (Trap::LosesAfter(100), "no longer has the adapter"),
    ] {
        let (code, stderr) = caught(trap, &[]);
        assert_eq!(code, 6, "{trap:?}: {stderr}");
        assert!(stderr.contains(said) && stderr.contains("resume the run"), "{trap:?}: {stderr}");
    }
}

#[test]
fn a_server_that_fails_once_is_asked_again() {
    let (code, stderr) = caught(Trap::BusyOnceAt(150), &["--set", "train.steps=1"]);
    assert_eq!(code, 0, "{stderr}");
}

#[test]
fn a_run_whose_server_dies_loses_nothing_and_goes_on_with_another() {
    let (folder, config) = prepared();
    let base = folder.path().join("base");
    let fake = Fake::start(folder.path(), &base, 4, Trap::DiesAt(1000));
    let few = ["planner", "executor"].map(|role| format!("policies.{role}.sampler.retries=0"));
    let flags = ["--set", &few[0], "--set", &few[1], "--set", "validation.every=0"];
    let (code, stderr) = train(&config, &fake.url, &flags);
    assert_eq!(code, 8, "{stderr}");
    assert!(stderr.contains("cannot be reached") && stderr.contains("resume the run"), "{stderr}");
    let run_folder = folder.path().join("run");
    let done = metrics(&run_folder);
    let last = done.last().unwrap()["step"].as_u64().unwrap();
    assert!(last > 0, "it died in the middle: {last}");
    let saved = run_folder.join(format!("checkpoints/step-{last:06}"));
    assert!(saved.exists(), "the last step that was done is saved");
    // Another server, elsewhere.
    let fake = Fake::start(folder.path(), &base, 4, Trap::None);
    let path = run_folder.join("config.toml");
    let text = fs::read_to_string(&path).unwrap();
    let old = text.lines().find(|line| line.starts_with("url = ")).unwrap();
    fs::write(&path, text.replace(old, &format!("url = {:?}", fake.url))).unwrap();
    let (code, _, stderr) = run(&["train", "--resume", run_folder.to_str().unwrap()]);
    assert_eq!(code, 0, "{stderr}");
    let whole = metrics(&run_folder);
    assert_eq!(whole[..done.len()], done[..]);
    assert_eq!(whole.last().unwrap()["step"], 4);
    assert!(fake.names().iter().any(|name| name.ends_with(&format!("-planner-v{last}"))));
}

#[test]
fn too_few_slots_are_slow_and_a_folder_that_is_gone_ends_the_server_and_the_run_by_name() {
    for (trap, expected) in [(Trap::None, 0), (Trap::FolderGoesAt(600), 8)] {
        let (folder, config) = prepared();
        let fake = Fake::start(folder.path(), &folder.path().join("base"), 1, trap);
        let flags = ["train.steps=2", "policies.planner.sampler.retries=0"];
        let flags: Vec<&str> = flags.iter().flat_map(|set| ["--set", set]).collect();
        let (code, stderr) = train(&config, &fake.url, &flags);
        assert_eq!(code, expected, "{trap:?}: {stderr}");
        assert!(fake.evictions() > 0);
        assert!(code == 0 || stderr.contains("cannot be reached"), "{stderr}");
    }
}

#[test]
fn our_own_server_draws_answers_for_a_run_elsewhere() {
    let (folder, config) = prepared();
    let (base, within) = (folder.path().join("base"), folder.path().to_str().unwrap().to_owned());
    let base = base.to_str().unwrap();
    let closed = Server::of(&["--policy", base]);
    let (code, stderr) = train(&config, &format!("http://{}/v1", closed.address()), &[]);
    assert_eq!(code, 6, "{stderr}");
    assert!(stderr.contains("did not load the adapter"), "{stderr}");
    let server = Server::of(&["--policy", base, "--adapters-within", &within]);
    let url = format!("http://{}/v1", server.address());
    fs::remove_dir_all(folder.path().join("run")).unwrap();
    let (code, stderr) = train(&config, &url, &[]);
    assert_eq!(code, 0, "{stderr}");
    let load = |path: &str| {
        let body = format!("{{\"lora_name\": \"x\", \"lora_path\": {path:?}}}");
        server.post("/v1/load_lora_adapter", &body).status
    };
    assert_eq!((load("/"), load(&format!("{within}/nothing"))), (400, 404));
    assert_eq!(server.get("/v1/models").json()["data"].as_array().unwrap().len(), 1);
}
