use super::*;
use crate::manifest::tests::manifest;
use troupe_core::archive::list_tables;

fn config(folder: &Path, name: Option<&str>) -> Config {
    let run =
        RunConfig { dir: folder.to_owned(), name: name.map(str::to_owned), ..RunConfig::default() };
    Config { run, ..Config::default() }
}

#[test]
fn a_derived_name_is_numbered_and_a_chosen_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let first = RunFolder::create(&config(folder.path(), None), "game").unwrap();
    let second = RunFolder::create(&config(folder.path(), None), "game").unwrap();
    assert!(first.path().ends_with("game") && second.path().ends_with("game-2"));
    let error = RunFolder::create(&config(folder.path(), Some("game")), "x").unwrap_err();
    assert!(error.to_string().contains("--resume"), "{error}");
}

#[test]
fn a_run_that_was_killed_before_it_began_begins_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("game");
    create_folder(&path.join("episodes")).unwrap();
    std::fs::write(path.join(".lock"), b"").unwrap();
    let error = RunFolder::open(&path).unwrap_err().to_string();
    assert!(error.contains("killed before it began"), "{error}");
    RunFolder::create(&config(folder.path(), Some("game")), "x").unwrap();
    let error = RunFolder::create(&config(folder.path(), Some("game")), "x").unwrap_err();
    assert!(error.to_string().contains("--resume"), "{error}");
}

#[test]
fn opening_a_run_tidies_it_and_brings_back_its_folder_of_episodes() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunFolder::create(&config(folder.path(), None), "game").unwrap();
    let path = run.path().to_owned();
    drop(run);
    std::fs::remove_dir_all(path.join("episodes")).unwrap();
    create_folder(&path.join("checkpoints/.unfinished-.unfinished-step-000010/policies")).unwrap();
    RunFolder::open(&path).unwrap();
    assert!(path.join("episodes").is_dir());
    assert!(list_folder(&path.join("checkpoints")).unwrap().is_empty());
}

#[test]
fn only_one_process_works_on_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunFolder::create(&config(folder.path(), None), "game").unwrap();
    let error = RunFolder::open(run.path()).unwrap_err();
    assert!(error.to_string().contains("another process"), "{error}");
    let path = run.path().to_owned();
    drop(run);
    RunFolder::open(&path).unwrap();
}

#[test]
fn rewinding_drops_what_came_after_the_checkpoint_and_half_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunFolder::create(&config(folder.path(), None), "game").unwrap();
    for step in 0..4 {
        run.metrics().append(&serde_json::json!({ "step": step })).unwrap();
    }
    std::fs::write(run.path().join("episodes/step-000003.jsonl.zst"), b"").unwrap();
    let metrics = run.path().join("metrics.jsonl");
    let text = std::fs::read_to_string(&metrics).unwrap() + "{\"step\":";
    std::fs::write(&metrics, text).unwrap();
    run.rewind(Some(2)).unwrap();
    let text = std::fs::read_to_string(&metrics).unwrap();
    assert_eq!(text, "{\"step\":0}\n{\"step\":1}\n{\"step\":2}\n");
    assert!(list_folder(&run.path().join("episodes")).unwrap().is_empty());
    run.rewind(None).unwrap();
    assert_eq!(std::fs::read_to_string(&metrics).unwrap(), "");
}

#[test]
fn rewinding_drops_the_tables_of_later_steps() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunFolder::create(&config(folder.path(), None), "run").unwrap();
    for step in 1..=3 {
        run.write_table(step, &[], (u64::MAX, false)).unwrap();
    }
    run.rewind(Some(1)).unwrap();
    assert_eq!(list_tables(run.path()).unwrap().len(), 1);
}

#[test]
fn a_run_that_goes_on_has_come_to_no_end() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunFolder::create(&config(folder.path(), None), "run").unwrap();
    for name in ["summary.json", "roles.json", "metrics.jsonl"] {
        std::fs::write(run.path().join(name), b"{}").unwrap();
    }
    run.forget_end().unwrap();
    run.forget_end().unwrap();
    let left = |name: &str| run.path().join(name).exists();
    assert!(!left("summary.json") && !left("roles.json") && left("metrics.jsonl"));
}

#[test]
fn a_run_that_became_something_else_keeps_its_chain() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunFolder::create(&config(folder.path(), None), "run").unwrap();
    let leave = |step: usize| {
        run.append_link(&serde_json::json!({ "step": step }), BTreeMap::new()).unwrap();
    };
    let is_tied = |manifest: &Manifest| {
        let mut before = root(Some(manifest));
        let links = run.chain().read().unwrap().into_iter();
        let tied = links.map(|link| {
            let tied = link.is_tied_to(&before);
            before = link.knot(Some(manifest));
            tied
        });
        tied.collect::<Vec<bool>>()
    };
    run.settle_manifest(&manifest(&[]), false).unwrap();
    (0..=2).for_each(leave);
    let mut now = manifest(&["train.clip_high=0.3"]);
    now.sessions[0].after = 2;
    let refused = run.settle_manifest(&now, false).unwrap_err().to_string();
    assert!(refused.contains("--accept-changes"), "{refused}");
    run.settle_manifest(&now, true).unwrap();
    (3..=4).for_each(leave);
    let kept = run.manifest().unwrap().unwrap();
    assert_eq!((kept.changed_after(), is_tied(&kept)), (Some(2), vec![true; 5]));
    // Neither what it was nor what it became can be said to be something else.
    let forged = Manifest { seed: 7, ..kept.clone() };
    assert_eq!(is_tied(&forged), [true, true, true, false, true]);
    let forged = Manifest { begun_as: None, ..kept };
    assert_eq!(is_tied(&forged), [false, true, true, true, true]);
}
