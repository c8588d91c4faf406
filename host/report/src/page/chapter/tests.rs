use std::path::PathBuf;

use super::super::selection::length;
use super::*;
use troupe_core::archive::{episode_file, table_file};
use troupe_core::example::tree_of;
use troupe_core::table::{rows_of, write_table};
use troupe_core::trajectory::{Ending, Episode, Event};

fn episode(split: &str, task: usize, says: &str) -> Episode {
    let replied = |role: &str, text: &str| Event::Replied {
        role: role.to_owned(),
        instance: 0,
        thread: String::new(),
        turn: 0,
        prompt: Vec::new(),
        tools: Vec::new(),
        text: text.to_owned(),
        cut: false,
        forced: false,
    };
    Episode {
        task,
        family: "maze".to_owned(),
        split: split.to_owned(),
        seed: task as u32,
        episode: 0,
        events: vec![replied("planner", "a b"), replied("executor", says)],
        ending: Ending::Solved,
    }
}

/// A run of some steps, each with two tasks of two roles and three answers to a state.
fn run(folder: &Path, steps: usize) -> PathBuf {
    let run = folder.join("run");
    for name in ["episodes", "table"] {
        std::fs::create_dir_all(run.join(name)).unwrap();
    }
    std::fs::write(run.join("config.toml"), Config::default().to_toml()).unwrap();
    let mut lines = String::new();
    for step in 1..=steps {
        lines += &format!("{{\"step\":{step},\"roles\":{{\"planner\":{{\"samples\":12}}}}}}\n");
        let episodes = [episode("train", 0, "a b"), episode("validation", 0, "a b")];
        write_episodes(&run, step, &episodes);
        let samples = tree_of(2, 1, &["planner", "executor"], 3);
        let (advantages, weights) = (vec![Some(0.5); 12], vec![1.0; 12]);
        let credits = (&*advantages, &*weights);
        let rows = rows_of((step, |_: &str| 0), &samples, credits, &[], |_| true);
        write_table(&run.join("table").join(table_file(step)), &rows).unwrap();
    }
    std::fs::write(run.join("metrics.jsonl"), lines).unwrap();
    run
}

fn write_episodes(run: &Path, step: usize, episodes: &[Episode]) {
    let lines: Vec<String> =
        episodes.iter().map(|one| serde_json::to_string(one).unwrap()).collect();
    let packed = zstd::encode_all(lines.join("\n").as_bytes(), 3).unwrap();
    std::fs::write(run.join("episodes").join(episode_file(step)), packed).unwrap();
}

fn read(run: &Path, bounds: Bounds) -> (Chapter, Texts) {
    let mut texts = Texts::new(bounds.text_bytes);
    (write((run, "run".to_owned()), bounds, &mut texts).unwrap(), texts)
}

#[test]
fn answers_of_a_recorded_task_are_shown_with_the_row_that_each_reply_is() {
    let folder = tempfile::tempdir().unwrap();
    let (chapter, _) = read(&run(folder.path(), 2), Bounds::default());
    assert_eq!(chapter.tables.iter().map(|leaf| leaf.rows.len()).collect::<Vec<_>>(), [6, 6]);
    let rows: Vec<serde_json::Value> = chapter
        .episodes
        .iter()
        .map(|story| serde_json::to_value(&story.events).unwrap())
        .map(|events| serde_json::json!([events[0].get("row"), events[1].get("row")]))
        .collect();
    let (trained, held_out) = (serde_json::json!([0, 3]), serde_json::json!([null, null]));
    assert_eq!(rows, [&trained, &held_out, &trained, &held_out].map(Clone::clone));
    assert_eq!(chapter.shown.answers_drawn, 24);
}

#[test]
fn only_a_run_with_a_reference_says_how_far_it_is_from_it() {
    let folder = tempfile::tempdir().unwrap();
    let run = run(folder.path(), 1);
    assert!(!read(&run, Bounds::default()).0.has_reference);
    std::fs::write(run.join("config.toml"), "[train]\nkl_coefficient = 0.1\n").unwrap();
    assert!(read(&run, Bounds::default()).0.has_reference);
}

#[test]
fn what_is_damaged_is_noted_and_the_rest_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let run = run(folder.path(), 4);
    std::fs::write(run.join("table").join(table_file(2)), b"PAR1 nonsense").unwrap();
    std::fs::remove_file(run.join("table").join(table_file(3))).unwrap();
    std::fs::write(run.join("episodes").join(episode_file(1)), b"no zstd").unwrap();
    std::fs::write(run.join("manifest.json"), b"{").unwrap();
    let (chapter, _) = read(&run, Bounds::default());
    assert_eq!((chapter.shown.episodes, chapter.tables.len()), (6, 2));
    for name in ["step-000002.parquet", "step-000001.jsonl.zst", "manifest.json"] {
        let named = chapter.notes.iter().filter(|note| note.contains(name)).count();
        assert_eq!(named, 1, "{name}: {:?}", chapter.notes);
    }
    // The default configuration names no environment, so that nothing can be drawn.
    assert!(chapter.notes.iter().any(|note| note.starts_with("states are not drawn:")));
}

#[test]
fn an_environment_on_a_server_is_said_to_be_neither_isolated_nor_reproducible() {
    let folder = tempfile::tempdir().unwrap();
    let run = run(folder.path(), 2);
    assert!(read(&run, Bounds::default()).0.caveats.is_empty());
    let server = r#"{"servers": [{"name": "maze", "address": "http://h:1", "forks": true}]}"#;
    std::fs::write(run.join("manifest.json"), server).unwrap();
    let [caveat] = read(&run, Bounds::default()).0.caveats.try_into().unwrap();
    assert_eq!(
        caveat,
        "the environment `maze` is played at http://h:1: it is neither isolated nor reproducible; \
         states are gone back to by replaying the actions"
    );
}

#[test]
fn a_folder_of_no_run_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let named = (folder.path(), "run".to_owned());
    let error = write(named, Bounds::default(), &mut Texts::new(9)).unwrap_err();
    assert!(error.to_string().contains("there is no config.toml in it"), "{error}");
}

#[test]
fn no_bound_is_exceeded_and_the_ends_of_the_run_come_first() {
    let folder = tempfile::tempdir().unwrap();
    let run = run(folder.path(), 9);
    let few = Bounds { episodes: 5, answers: 13, ..Bounds::default() };
    let (chapter, _) = read(&run, few);
    let steps: Vec<usize> = chapter.episodes.iter().filter_map(|story| story.step).collect();
    assert_eq!(steps, [1, 1, 5, 9, 9]);
    let steps: Vec<usize> = chapter.tables.iter().map(|leaf| leaf.step).collect();
    assert_eq!(steps, [1, 9], "12 answers, and 6 more would be too many");
    assert_eq!((chapter.shown.left_out, chapter.shown.episode_files), (1, (9, 3)));
}

#[test]
fn a_page_is_no_larger_than_it_may_be_whatever_models_write() {
    let folder = tempfile::tempdir().unwrap();
    let run = run(folder.path(), 9);
    for step in 1..=9 {
        // Every byte of it takes six.
        let long = format!("{step}{}", "<".repeat(5000));
        write_episodes(&run, step, &[episode("train", 0, &long), episode("train", 1, "a b")]);
    }
    let bounds = Bounds { text_bytes: 1000, bytes: 40_000, ..Bounds::default() };
    let (chapter, texts) = read(&run, bounds);
    let whole = [length(&chapter.episodes), length(&chapter.tables)].iter().sum::<usize>();
    assert!(whole + texts.bytes() <= bounds.bytes, "{whole} and {}", texts.bytes());
    assert!(chapter.shown.left_out > 0 && chapter.shown.episodes > 4, "{:?}", chapter.shown);
    let text = serde_json::to_value(&texts).unwrap();
    let longest = text["list"].as_array().unwrap().iter().map(|t| t.as_str().unwrap().len()).max();
    assert_eq!(longest, Some(1000));
}

#[test]
fn a_word_of_a_command_is_one_word_to_a_shell() {
    assert_eq!(quoted("runs/plan-path_2"), "runs/plan-path_2");
    let hostile = "my run's $(rm x) \"`y`\"";
    assert_eq!(shlex::split(&quoted(hostile)).unwrap(), [hostile]);
}
