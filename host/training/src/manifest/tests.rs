use super::*;

pub(crate) fn manifest(overrides: &[&str]) -> Manifest {
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    let config = Config::load(None, &overrides).unwrap();
    Manifest {
        host: "0.1.0".to_owned(),
        builds: vec![Build::unknown("0.1.0")],
        sessions: vec![Session::of(&config, 0, 1)],
        begun_as: None,
        seed: config.run.seed,
        device: "cpu".to_owned(),
        processor: processor(),
        plugins: vec![PluginEntry {
            name: "plan-path".to_owned(),
            version: "1.0.0".to_owned(),
            digest: "aa".to_owned(),
        }],
        servers: Vec::new(),
        interpreters: BTreeMap::from([("python.wasm".to_owned(), "bb".to_owned())]),
        records: RecordsEntry::default(),
        corpus: BTreeMap::from([("facts.jsonl".to_owned(), "ee".to_owned())]),
        tables: BTreeMap::from([("0/step-000001.parquet".to_owned(), "dd".to_owned())]),
        distant: BTreeMap::new(),
        policies: vec![PolicyEntry {
            name: "planner".to_owned(),
            roles: vec!["planner".to_owned()],
            digest: "cc".to_owned(),
            parameters: 7,
        }],
        settled: Settled::of(&config),
        config: serde_json::to_value(&config).unwrap(),
    }
}

#[test]
fn what_says_how_long_and_where_may_change_and_all_else_is_named() {
    let before = manifest(&["policies.a.path=x", "environment.walls=3"]);
    let free = [
        "policies.a.path=y",
        "environment.walls=3",
        "train.steps=7",
        "checkpoint.every=2",
        "run.name=other",
        "plugins.files=[\"b\"]",
    ];
    assert_eq!(before.compare(&manifest(&free)), Differences::default());
    let changed = ["run.seed=999", "train.learning_rate=0.5", "policies.a.path=x"];
    assert_eq!(
        before.compare(&manifest(&changed)).grave,
        [
            "`run.seed` was 1 and is 999",
            "`environment.walls` was 3 and is not set",
            "`train.learning_rate` was 0.0 and is 0.5",
        ]
    );
}

#[test]
fn every_build_that_worked_on_a_run_is_remembered() {
    let made_by = |commits: &[&str]| {
        let build = |commit: &&str| Build {
            commit: Some((*commit).to_owned()),
            binary: Some("ff".to_owned()),
            ..Build::unknown("0.1.0")
        };
        Manifest { builds: commits.iter().map(build).collect(), ..manifest(&[]) }
    };
    let builds = |then: &[&str], now: &str| made_by(then).builds_with(&made_by(&[now]));
    assert_eq!(builds(&["a"], "a"), made_by(&["a"]).builds);
    assert_eq!(builds(&["a"], "b"), made_by(&["a", "b"]).builds);
    assert_eq!(builds(&["a", "b"], "a"), made_by(&["a", "b", "a"]).builds);
    // A run older than the record of builds has an unknown one.
    let unknown = builds(&[], "a");
    assert_eq!((unknown.len(), &unknown[0]), (2, &Build::unknown("0.1.0")));
    let said = made_by(&["a"]).compare(&made_by(&["b"])).slight;
    assert_eq!(
        said,
        [
            "the build of the host was 0.1.0 (commit a, program ff) and is 0.1.0 (commit b, program ff)"
        ]
    );
}

#[test]
fn what_a_run_is_made_of_is_the_same_whoever_works_on_it_and_for_how_long() {
    let now = manifest(&[]);
    let mut early = serde_json::to_value(Manifest { sessions: Vec::new(), ..now.clone() });
    let fields = early.as_mut().unwrap().as_object_mut().unwrap();
    // As it was before there were sessions: chains of that time are tied to it.
    ["builds", "host"].iter().for_each(|field| drop(fields.remove(*field)));
    let early = digest(early.unwrap().to_string().as_bytes());
    assert_eq!(now.made_of(), early);
    let later = Manifest {
        builds: Vec::new(),
        begun_as: Some(String::new()),
        sessions: [now.sessions.clone(), now.sessions.clone()].concat(),
        ..now.clone()
    };
    assert_eq!(later.made_of(), early);
    assert_ne!(Manifest { seed: 9, ..now }.made_of(), early);
}

#[test]
fn a_grant_is_compared_by_its_names() {
    let granted = |grant: &str| manifest(&[&format!("sandbox.grant={grant}")]);
    let digest = |letter: &str| format!("['quiz@sha256:{}']", letter.repeat(64));
    let before = granted(&digest("a"));
    assert_eq!(before.compare(&granted(&digest("b"))), Differences::default());
    assert_eq!(granted("['quiz']").compare(&before), Differences::default());
    let other = before.compare(&granted("['quiz', 'solo']")).grave;
    assert!(matches!(&other[..], [one] if one.starts_with("`sandbox.grant` was [")), "{other:?}");
}

#[test]
fn other_weights_plugins_interpreters_and_devices_are_named() {
    let (mut before, mut now) = (manifest(&[]), manifest(&[]));
    before.records.files.insert("a.jsonl".to_owned(), "dd".to_owned());
    now.records.files.insert("a.jsonl".to_owned(), "xx".to_owned());
    now.plugins[0].digest = "xx".to_owned();
    now.policies[0].digest = "xx".to_owned();
    now.interpreters.clear();
    now.corpus.insert("facts.jsonl".to_owned(), "xx".to_owned());
    now.tables.insert("0/step-000001.parquet".to_owned(), "xx".to_owned());
    now.device = "cuda".to_owned();
    now.processor = "abacus".to_owned();
    let differences = before.compare(&now);
    assert_eq!(
        differences.grave,
        [
            "the device was cpu and is cuda",
            "the plugin `plan-path` has another digest",
            "the interpreter `python.wasm` is not there",
            "the record file `a.jsonl` has another digest",
            "the corpus file `facts.jsonl` has another digest",
            "the table `0/step-000001.parquet` has another digest",
            "the policy it began with (its base included) `planner` has another digest",
        ]
    );
    assert!(differences.slight[0].ends_with("and is abacus"));
}

#[test]
fn what_was_left_to_the_machine_is_not_chosen_anew() {
    let overrides = ["train.gradient_checkpointing=on", "rollout.cache_gib=0.5"];
    let chosen = Config::load(None, &overrides.map(str::to_owned)).unwrap();
    assert_eq!(Settled::of(&chosen).apply(Config::default()), chosen);
}
