//! Experiments, whole: child processes that are killed, tables that are the same all the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{host, plugins, run};

/// Three seeds of a row that is prompted, one with a policy for both roles, and one with two.
fn write_file(folder: &Path, extra: &str) -> PathBuf {
    let files: Vec<String> =
        plugins(&["plan-path", "planner-executor"]).split(',').map(|f| format!("{f:?}")).collect();
    let team = format!("[plugins]\nfiles = [{}]\n", files.join(", "));
    fs::write(folder.join("team.toml"), team).unwrap();
    let text = format!(
        r#"
seeds = [1, 2, 3]
base = ["team.toml"]
set = ["rollout.tasks_per_step=4", "rollout.max_turns=3", "validation.every=0",
    "validation.tasks_during_training=4", "imitation.tasks=8", "environment.size=5",
    "environment.walls=2", "environment.max_distance=3"]
budget = {{ steps = 12 }}
warm = {{ success = 0.3, ceiling = 1.1, max_steps = 300 }}
exam = {{ tasks = 24, samples = 2 }}

[[rows]]
name = "prompted"
train = false

[[rows]]
name = "shared"

[[rows]]
name = "roles"
set = ["roles=per-role"]

[[compare]]
better = "roles"
than = "shared"
{extra}"#
    );
    let path = folder.join("small.toml");
    fs::write(&path, text).unwrap();
    path
}

fn experiment(file: &Path, out: &Path, jobs: &str) -> std::process::Command {
    let (file, out) = (file.to_str().unwrap(), out.to_str().unwrap());
    host(&["experiment", file, "--out", out, "--jobs", jobs])
}

fn fill(file: &Path, out: &Path) {
    let output = experiment(file, out, "2").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Wait until something holds of the folder, or the call is over.
fn wait_until(call: &mut Child, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() && call.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < Duration::from_secs(300), "nothing happened");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// How many lines of metrics all runs have together.
fn steps(out: &Path) -> usize {
    let runs = fs::read_dir(out.join("runs")).into_iter().flatten();
    let lines = |run: PathBuf| {
        fs::read_to_string(run.join("metrics.jsonl")).map_or(0, |text| text.lines().count())
    };
    runs.map(|run| lines(run.unwrap().path())).sum()
}

#[test]
fn an_experiment_killed_three_times_has_the_table_of_one_that_never_was_and_makes_no_run_twice() {
    let folder = tempfile::tempdir().unwrap();
    let file = write_file(folder.path(), "");
    let (killed, whole) = (folder.path().join("killed"), folder.path().join("whole"));
    // Among warm starts, in the first runs, and when a run is done.
    for at_least in [0, 5, 25] {
        let mut call = experiment(&file, &killed, "2")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until(&mut call, || {
            killed.join("logs").is_dir() && !names(&killed.join("logs")).is_empty()
        });
        wait_until(&mut call, || steps(&killed) >= at_least);
        call.kill().unwrap();
        call.wait().unwrap();
        assert!(!killed.join("table.md").exists(), "it was killed before it was done");
    }
    fill(&file, &killed);
    let cells = folder.path().join("cells");
    let filled = experiment(&file, &whole, "1").arg("--cells").arg(&cells).output().unwrap();
    let said = String::from_utf8(filled.stderr).unwrap();
    assert!(filled.status.success(), "{said}");
    // Whoever stops it has whole seeds, in which rows can be compared.
    let begun: Vec<&str> = said.lines().filter(|line| line.starts_with("begun: ")).collect();
    let seeds: Vec<char> = begun.iter().filter_map(|line| line.chars().last()).collect();
    assert!(seeds.is_sorted() && seeds.contains(&'1') && seeds.contains(&'3'), "{begun:?}");
    verdicts_follow_from_the_cells(&file, &cells, &whole);
    for name in ["table.md", "table.csv", "claims.csv", "table.tex"] {
        assert_eq!(read(&killed.join(name)), read(&whole.join(name)), "{name}");
    }
    // Each run was begun once, and went on from what it had saved.
    assert_eq!(names(&killed.join("runs")), names(&whole.join("runs")));
    for run in names(&killed.join("runs")) {
        let text = read(&killed.join("runs").join(&run).join("metrics.jsonl"));
        let step = |line: &str| serde_json::from_str::<Value>(line).unwrap()["step"].as_u64();
        let steps: Vec<Option<u64>> = text.lines().map(step).collect();
        assert_eq!(steps, (0..=12).map(Some).collect::<Vec<_>>());
        let log = read(&killed.join("logs").join(format!("{run}.log")));
        let warm_starts = log.matches("test tasks solved before training").count();
        assert!(warm_starts >= 1 && !log.contains("error:"), "{log}");
    }
    // A second call finds everything there.
    let before: Vec<_> = names(&killed.join("logs"))
        .iter()
        .map(|log| read(&killed.join("logs").join(log)))
        .collect();
    fill(&file, &killed);
    let after: Vec<_> = names(&killed.join("logs"))
        .iter()
        .map(|log| read(&killed.join("logs").join(log)))
        .collect();
    assert_eq!(before, after);
    every_figure_is_of_its_own_row_and_seed(&whole);
}

/// A script that anybody can read says what the program says.
fn verdicts_follow_from_the_cells(file: &Path, cells: &Path, out: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut python = std::process::Command::new("python3");
    python.arg(root.join("docs/experiments/verdicts.py")).arg(file).arg(cells);
    let output = python.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let results: Value = serde_json::from_str(&read(&out.join("results.json"))).unwrap();
    let claim = &results["claims"][0];
    let expected = format!(
        "roles − shared on : {:+.1} points, chance {:.3}: {}\n",
        100.0 * claim["difference"]["mean"].as_f64().unwrap(),
        claim["chance"].as_f64().unwrap(),
        claim["verdict"].as_str().unwrap().replace('-', " ")
    );
    assert!(said.ends_with(&expected), "{said}{expected}");
}

/// The share of the test tasks that a run's last outcomes say is solved greedily.
fn solved(run: &Path) -> f64 {
    let text = read(&run.join("outcomes.jsonl"));
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let is_last =
        |one: &Value| one["split"] == "test" && one["answers"] == "greedy" && one["step"] == 12;
    let last: Vec<Value> = lines.filter(is_last).collect();
    last.iter().filter(|one| one["solved"] == true).count() as f64 / last.len() as f64
}

fn every_figure_is_of_its_own_row_and_seed(out: &Path) {
    let results: Value = serde_json::from_str(&read(&out.join("results.json"))).unwrap();
    let mut by_row: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for row in results["rows"].as_array().unwrap() {
        let name = row["name"].as_str().unwrap();
        let figures: Vec<f64> = row["solved"]["seeds"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one.as_f64().unwrap())
            .collect();
        assert_eq!(row["seeds"], serde_json::json!([1, 2, 3]));
        for (seed, figure) in (1..).zip(&figures) {
            let Some(address) = row["runs"][seed - 1].as_str() else { continue };
            let run = out.join("runs").join(address);
            let config: toml::Table = read(&run.join("config.toml")).parse().unwrap();
            assert_eq!(config["run"]["seed"].as_integer(), Some(seed as i64), "{name}");
            let roles = if name == "roles" { "per-role" } else { "shared" };
            assert_eq!(config["roles"].as_str(), Some(roles), "{name}, seed {seed}");
            assert_eq!(*figure, solved(&run), "{name}, seed {seed}");
        }
        by_row.insert(name.to_owned(), figures);
    }
    let differences = results["claims"][0]["difference"]["seeds"].as_array().unwrap();
    for (place, difference) in differences.iter().enumerate() {
        let expected = by_row["roles"][place] - by_row["shared"][place];
        assert!((difference.as_f64().unwrap() - expected).abs() < 1e-12);
    }
    let spread = by_row["shared"].iter().chain(&by_row["roles"]);
    let distinct: std::collections::BTreeSet<String> = spread.map(ToString::to_string).collect();
    assert!(distinct.len() > 2, "rows and seeds that come to the same would not be told apart");
}

#[test]
fn rows_that_begin_alike_share_a_warm_start_and_one_that_ended_itself_is_examined_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let extra = r#"
[[rows]]
name = "broken"
set = ["train.learning_rate=1e-30"]

[[rows]]
name = "swapped"
of = "roles"
exam_set = ["roles.planner=executor", "roles.executor=planner"]

[[rows]]
name = "apart"
set = ["roles=per-role"]
combine = { planner = "roles", executor = "roles" }
"#;
    let file = write_file(folder.path(), extra);
    let out = folder.path().join("out");
    let arguments = ["experiment", file.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let sets = ["--jobs", "2", "--set", "seeds=[5]", "--set", "budget.steps=2"];
    let (code, table, stderr) = run(&[&arguments[..], &sets].concat());
    assert_eq!(code, 0, "{stderr}");
    assert!(table.contains("seed 5: ended after step 1, and examined as it was:"), "{table}");
    let warm = names(&out.join("warm")).into_iter().filter(|name| !name.ends_with(".toml"));
    assert_eq!(warm.count(), 1);
    let results: Value = serde_json::from_str(&read(&out.join("results.json"))).unwrap();
    let row = |name: &str| {
        let rows = results["rows"].as_array().unwrap();
        rows.iter().find(|row| row["name"] == name).unwrap().clone()
    };
    // Put together of one row's policies, a team is that row's.
    assert_eq!(row("apart")["solved"]["seeds"], row("roles")["solved"]["seeds"]);
    assert_eq!(row("swapped")["runs"], row("roles")["runs"]);
    // It had learned nothing, so it is what all began as.
    assert_eq!(row("broken")["failed"], false);
    assert_eq!(row("broken")["solved"]["seeds"], row("prompted")["solved"]["seeds"]);
    // It would end again, and is not tried again.
    let (code, _, stderr) = run(&[&arguments[..], &sets].concat());
    assert!(code == 0 && !stderr.contains("begun:"), "{stderr}");
}

#[test]
fn a_row_that_cannot_be_run_is_refused_before_anything_is_begun() {
    let folder = tempfile::tempdir().unwrap();
    let file =
        write_file(folder.path(), "[[rows]]\nname = \"odd\"\nset = [\"rollout.brunches=3\"]\n");
    let out = folder.path().join("out");
    let (code, _, stderr) =
        run(&["experiment", file.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    assert_eq!(code, 2);
    assert_eq!(
        stderr.trim(),
        "error: the row `odd` cannot be run: there is no setting `rollout.brunches`; did you mean \
         `branches`?"
    );
    assert!(names(&out.join("runs")).is_empty() && names(&out.join("warm")).is_empty());
}

#[test]
fn every_row_of_the_shipped_experiments_can_be_run_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/experiments");
    for name in names(&shipped) {
        let out = folder.path().join(&name);
        let mut command = experiment(&shipped.join(&name), &out, "3");
        command.arg("--table");
        if name == "stronger-together.toml" {
            // The rows of the other parts are those of `dense` with other rewards and views.
            for part in ["dense", "sudoku", "math", "code", "search", "plan-path", "sokoban"] {
                command.args(["--only", part]);
            }
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let results: Value = serde_json::from_str(&read(&out.join("results.json"))).unwrap();
        let rows = results["rows"].as_array().unwrap();
        assert!(rows.iter().all(|row| row["missing"] == true), "nothing was begun");
    }
}

#[test]
fn a_table_of_kept_cells_needs_no_run_and_a_tuned_row_is_what_was_best_on_validation_tasks() {
    let folder = tempfile::tempdir().unwrap();
    let tune = "[tune]\nrows = ['shared']\nseeds = [7]\nbudget = { steps = 2 }\n\
                [tune.values]\n'train.learning_rate' = [1e-4, 2e-3]\n";
    let file = write_file(folder.path(), tune);
    let [first, second, cells] = ["first", "second", "cells"].map(|name| folder.path().join(name));
    let fill = |out: &Path, more: &[&str]| {
        let mut call = experiment(&file, out, "2");
        call.args(["--only", "prompted,shared", "--set", "seeds=[1]", "--cells"]).arg(&cells);
        let output = call.args(more).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = fill(&first, &[]);
    assert_eq!(code, Some(0), "{said}");
    let of = |trial: &str| format!("shared with learning_rate={trial}-7.json");
    let expected =
        ["prompted-1.json", "prompted.toml", "shared-1.json", &of("0.002"), &of("0.0001")];
    let kept = names(&cells);
    assert!(expected.iter().all(|name| kept.iter().any(|there| there == name)), "{kept:?}");
    let results: Value = serde_json::from_str(&read(&first.join("results.json"))).unwrap();
    let tuned = &results["tuned"][0];
    let solved = |place: usize| tuned["trials"][place]["solved"].as_f64().unwrap();
    let best = usize::from(solved(1) > solved(0));
    assert_eq!(tuned["chosen"].as_u64(), Some(best as u64), "{tuned}");
    let row: toml::Table = read(&cells.join("shared.toml")).parse().unwrap();
    let rate = row["config"]["train"]["learning_rate"].as_float();
    assert_eq!(rate, Some([1e-4, 2e-3][best]));
    let (code, said) = fill(&second, &[]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(read(&second.join("table.md")), read(&first.join("table.md")));
    assert!(names(&second.join("runs")).is_empty() && names(&second.join("warm")).is_empty());
    // What would be another row is not taken for it.
    let (code, said) = fill(&second, &["--set", "budget.steps=9"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("`train.steps` 12 where it is 9; remove them"), "{said}");
}
