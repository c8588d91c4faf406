//! Runs as people look at them: `host report` and `host watch` over a small real run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;
use troupe_core::archive::{list_episodes, list_tables};
use troupe_core::table::{Row, read_table};

use crate::support::run;
use crate::training::train;

/// A run of two roles with policies of their own, made once.
fn trained() -> &'static Path {
    static RUN: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, run) = RUN.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let sets = [
            "roles=per-role",
            "run.recorded_episodes=2",
            "train.steps=4",
            "rollout.tasks_per_step=4",
            "validation.tasks=8",
            "validation.every=2",
        ];
        train(folder.path(), "small", &sets);
        let run = folder.path().join("small");
        (folder, run)
    });
    run
}

/// A copy of the run to spoil.
fn copy(folder: &Path) -> PathBuf {
    let copy = folder.join("copy");
    for inner in ["", "episodes", "table"] {
        fs::create_dir_all(copy.join(inner)).unwrap();
        for entry in fs::read_dir(trained().join(inner)).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_file() {
                fs::copy(entry.path(), copy.join(inner).join(entry.file_name())).unwrap();
            }
        }
    }
    copy
}

/// The page of some runs: its file, and what it holds.
fn page(runs: &[&Path], out: &Path) -> (String, Value) {
    let mut flags = vec!["report", "--out", out.to_str().unwrap()];
    flags.extend(runs.iter().map(|run| run.to_str().unwrap()));
    let (code, _, stderr) = run(&flags);
    assert_eq!(code, 0, "{stderr}");
    let page = fs::read_to_string(out).unwrap();
    let (_, data) = page.split_once("type=\"application/json\">").unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    let data = serde_json::from_str(data).unwrap();
    (page, data)
}

fn lines(run: &Path, file: &str) -> Vec<Value> {
    let text = fs::read_to_string(run.join(file)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn near(one: &Value, other: &Value) -> bool {
    let (one, other) = (one.as_f64().unwrap(), other.as_f64().unwrap());
    (one - other).abs() <= 1e-5 * one.abs().max(1e-3)
}

#[test]
fn a_page_has_the_figures_of_the_metrics_step_by_step_and_role_by_role() {
    let folder = tempfile::tempdir().unwrap();
    let (_, data) = page(&[trained()], &folder.path().join("page.html"));
    let chapter = &data["runs"][0];
    let metrics = lines(trained(), "metrics.jsonl");
    let shown = chapter["metrics"].as_array().unwrap();
    assert_eq!(shown.len(), 5, "step 0 and 4 steps");
    for (line, shown) in metrics.iter().zip(shown) {
        assert_eq!(line["step"], shown["step"]);
        assert_eq!(line.get("validation").is_some(), shown.get("validation").is_some());
        for (role, of_role) in line["roles"].as_object().unwrap() {
            let shown = &shown["roles"][role];
            assert!(near(&of_role["reward"]["mean"], &shown["reward"]["mean"]), "{role}");
            assert!(near(&of_role["groups"]["spread"], &shown["groups"]["spread"]), "{role}");
            for (part, value) in of_role["parts"].as_object().unwrap() {
                assert!(near(value, &shown["parts"][part]), "{role} {part}");
            }
        }
    }
    let greedy = "/validation/greedy/success";
    assert_eq!(metrics[0].pointer(greedy), shown[0].pointer(greedy));
    let steps = chapter["settings"].as_array().unwrap();
    let steps = steps.iter().find(|change| change["key"] == "train.steps").unwrap();
    assert_eq!(steps["value"], "4");
    assert!(chapter["finished"].as_bool().unwrap() && chapter["notes"] == serde_json::json!([]));
}

#[test]
fn a_page_has_the_answers_of_the_tables_each_among_its_own_siblings() {
    let folder = tempfile::tempdir().unwrap();
    let (_, data) = page(&[trained()], &folder.path().join("page.html"));
    let chapter = &data["runs"][0];
    let leaves = chapter["tables"].as_array().unwrap();
    assert_eq!(leaves.len(), 4);
    for (leaf, (step, table)) in leaves.iter().zip(list_tables(trained()).unwrap()) {
        assert_eq!(leaf["step"], step);
        let answers = leaf["rows"].as_array().unwrap();
        let tasks: BTreeSet<u64> =
            answers.iter().map(|answer| answer["task"].as_u64().unwrap()).collect();
        assert_eq!(tasks, BTreeSet::from([0, 1]), "the two tasks that were recorded");
        let rows = read_table(&table).unwrap();
        let rows: Vec<&Row> =
            rows.iter().filter(|row| tasks.contains(&(row.sample.task as u64))).collect();
        assert_eq!(rows.len(), answers.len());
        let mut groups: BTreeMap<u64, BTreeSet<_>> = BTreeMap::new();
        for (row, answer) in rows.iter().zip(answers) {
            compare(row, answer, &data);
            let sample = &row.sample;
            let state = (sample.task, sample.role.clone(), sample.turn, sample.state);
            groups.entry(answer["group"].as_u64().unwrap()).or_default().insert(state);
        }
        let states: BTreeSet<_> = groups.values().flatten().collect();
        assert!(groups.values().all(|states| states.len() == 1), "{groups:?}");
        assert_eq!(states.len(), groups.len(), "no state is in two groups");
    }
}

fn compare(row: &Row, answer: &Value, data: &Value) {
    let sample = &row.sample;
    let text = &data["texts"]["list"][answer["text"].as_u64().unwrap() as usize];
    assert_eq!(text, &sample.completion.text);
    assert_eq!(answer["role"], sample.role);
    assert_eq!(answer["kept"], sample.kept);
    assert_eq!(answer["branch"], sample.branch);
    assert_eq!(answer["accepted"], sample.accepted);
    assert_eq!(answer["team"], sample.reward.team);
    assert_eq!(answer["local"], sample.reward.local);
    assert_eq!(answer.get("advantage").is_some(), row.advantage.is_some());
    if let Some(advantage) = row.advantage {
        assert!(near(&serde_json::json!(advantage), &answer["advantage"]), "{answer}");
    }
}

#[test]
fn a_reply_of_an_episode_points_to_its_own_row_and_states_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let (_, data) = page(&[trained()], &folder.path().join("page.html"));
    let chapter = &data["runs"][0];
    let episodes = chapter["episodes"].as_array().unwrap();
    let held_out = episodes.iter().filter(|story| story["split"] == "validation").count();
    assert_eq!((episodes.len(), held_out), (4 * 2 + 3 * 2, 3 * 2), "at steps 0, 2 and 4");
    let mut pointed = 0;
    for story in episodes {
        let drawings = story["drawings"].as_array().unwrap();
        let events = story["events"].as_array().unwrap();
        let acts = events.iter().filter(|event| event["is"] == "acted").count();
        assert_eq!(drawings.len(), 1 + acts, "one before, and one after each act");
        let svg = drawings[0]["svg"].as_u64().unwrap() as usize;
        assert!(data["texts"]["list"][svg].as_str().unwrap().starts_with("<svg"));
        for event in events.iter().filter(|event| event["is"] == "replied") {
            let row = event.get("row").and_then(Value::as_u64);
            assert_eq!(row.is_some(), story["split"] == "train", "{event}");
            let Some(row) = row else { continue };
            let leaf = chapter["tables"].as_array().unwrap();
            let leaf = leaf.iter().find(|leaf| leaf["step"] == story["step"]).unwrap();
            let answer = &leaf["rows"][row as usize];
            assert_eq!(answer["task"], story["task"]);
            for key in ["role", "turn", "text"] {
                assert_eq!(answer[key], event[key], "{key}");
            }
            assert_eq!(answer["kept"], true);
            pointed += 1;
        }
    }
    assert!(pointed > 10);
}

#[test]
fn a_long_run_with_thousands_of_answers_is_a_small_page() {
    let folder = tempfile::tempdir().unwrap();
    let long = copy(folder.path());
    let (episodes, tables) = (list_episodes(&long).unwrap(), list_tables(&long).unwrap());
    let line = lines(&long, "metrics.jsonl").swap_remove(2);
    let mut metrics = fs::read_to_string(long.join("metrics.jsonl")).unwrap();
    for step in 5..=200 {
        let (_, from) = &episodes[step % 4 + 1];
        fs::copy(from, long.join(format!("episodes/step-{step:06}.jsonl.zst"))).unwrap();
        let (_, from) = &tables[step % 4];
        fs::copy(from, long.join(format!("table/step-{step:06}.parquet"))).unwrap();
        let mut line = line.clone();
        line["step"] = step.into();
        metrics += &format!("{line}\n");
    }
    fs::write(long.join("metrics.jsonl"), metrics).unwrap();
    let (text, data) = page(&[&long], &folder.path().join("page.html"));
    assert!(text.len() < 5_000_000, "{} bytes", text.len());
    let shown = &data["runs"][0]["shown"];
    assert!(shown["answers"].as_u64().unwrap() > 4900, "{shown}");
    assert_eq!(shown["tables"][0], 200);
}

#[test]
fn what_is_no_run_is_refused_and_what_is_damaged_is_noted() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["report", "watch"] {
        let (code, _, stderr) = run(&[command, folder.path().to_str().unwrap()]);
        assert_eq!(code, 5, "{stderr}");
        assert!(stderr.contains("there is no config.toml in it"), "{stderr}");
    }
    let run = copy(folder.path());
    let (_, table) = list_tables(&run).unwrap().remove(0);
    fs::write(&table, "no table").unwrap();
    let (code, stdout, stderr) = self::run(&["report", run.to_str().unwrap()]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("step-000001.parquet` is damaged"), "{stderr}");
    assert!(stdout.starts_with(run.join("report.html").to_str().unwrap()), "{stdout}");
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("step-000001.parquet` is damaged"));
}

#[test]
fn a_run_is_printed_once_where_there_is_no_terminal() {
    let (code, stdout, stderr) = run(&["watch", trained().to_str().unwrap()]);
    assert_eq!(code, 0, "{stderr}");
    for part in ["step 4 of 4, finished", "success on validation tasks", "executor", "planner"] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    assert!(stdout.contains("validation plan-path 1"), "{stdout}");
    assert!(!stdout.contains('\u{1b}'), "nothing that a terminal would obey");
}

/// What a browser makes of a page, if there is a browser.
fn browse(page: &Path, address: &str) -> Option<String> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let profile = tempfile::tempdir().unwrap();
    let url = format!("file://{}#{address}", page.display());
    for name in names {
        let browser = Command::new(name)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"])
            .args(["--virtual-time-budget=5000", "--window-size=1200,1000", "--dump-dom"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(&url)
            .output();
        let Ok(output) = browser else { continue };
        let said = String::from_utf8_lossy(&output.stderr);
        let complaints: Vec<&str> = said.lines().filter(|line| line.contains("CONSOLE")).collect();
        assert!(complaints.is_empty(), "{address}: {complaints:?}");
        let dom = String::from_utf8(output.stdout).unwrap();
        assert!(!dom.contains("id=\"failed\""), "{address}");
        return Some(dom);
    }
    eprintln!("skipped: no browser is installed ({})", names.join(", "));
    None
}

#[test]
fn in_a_browser_the_page_shows_its_curve_and_the_filters_of_its_address() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    let (_, data) = page(&[trained()], &file);
    for axis in ["", "axis=tokens", "axis=cpu"] {
        let Some(dom) = browse(&file, axis) else { return };
        let (_, curve) = dom.split_once("class=\"curve\"").unwrap();
        let (_, points) = curve.split_once("points=\"").unwrap();
        let (points, _) = points.split_once('"').unwrap();
        assert_eq!(points.split(' ').count(), 3, "validated at steps 0, 2 and 4: {points}");
        assert!(!points.contains("NaN"), "{points}");
    }
    let episodes = data["runs"][0]["episodes"].as_array().unwrap();
    for (address, holds) in [
        ("split=validation", (|story| story["split"] == "validation") as fn(&Value) -> bool),
        ("split=train&end=truncated", |s| s["split"] == "train" && s["ending"] == "truncated"),
        ("end=solved&min=0.5", |s| s["ending"] == "solved" && s["reward"].as_f64() >= Some(0.5)),
        ("step=2&role=planner", |story| story["step"] == 2),
        ("q=no+such+words", |_| false),
    ] {
        let expected = episodes.iter().filter(|story| holds(story)).count();
        let dom = browse(&file, &format!("tab=episodes&{address}")).unwrap();
        assert_eq!(dom.matches("data-episode=").count(), expected, "{address}");
        assert!(dom.contains(&format!("{expected} of {} episodes", episodes.len())), "{address}");
    }
    for address in ["tab=roles", "tab=tasks", "tab=setup", "tab=episodes&e=3&view=tree"] {
        assert!(browse(&file, address).unwrap().contains("<main"), "{address}");
    }
}

#[test]
fn whatever_a_model_wrote_stays_text_in_a_browser() {
    let folder = tempfile::tempdir().unwrap();
    let run = copy(folder.path());
    let hostile = "</script><img src=x onerror=alert(1)>\u{202e}\u{1b}[2J<!--<script>";
    let (step, path) = list_episodes(&run).unwrap().remove(1);
    let episodes = zstd::decode_all(fs::File::open(&path).unwrap()).unwrap();
    let mut spoiled = Vec::new();
    for line in String::from_utf8(episodes).unwrap().lines() {
        let mut episode: Value = serde_json::from_str(line).unwrap();
        for event in episode["events"].as_array_mut().unwrap() {
            if event["event"] == "replied" {
                event["text"] = hostile.into();
                event["role"] = format!("role{hostile}").into();
            }
            if event["event"] == "observed" {
                event["text"] = "long ".repeat(200_000).into();
            }
        }
        spoiled.extend(format!("{episode}\n").into_bytes());
    }
    fs::write(&path, zstd::encode_all(spoiled.as_slice(), 3).unwrap()).unwrap();
    let file = folder.path().join("page.html");
    let (text, data) = page(&[&run], &file);
    assert_eq!(text.matches("</script").count(), 2);
    let episodes = data["runs"][0]["episodes"].as_array().unwrap();
    let index = episodes.iter().position(|story| story["step"] == step).unwrap();
    let cut: Vec<u64> =
        serde_json::from_value::<BTreeMap<String, u64>>(data["texts"]["cut"].clone())
            .unwrap()
            .into_values()
            .collect();
    assert!(cut.contains(&(1_000_000 - 4000)), "a long text is cut, and says so: {cut:?}");
    let Some(dom) = browse(&file, &format!("tab=episodes&e={index}")) else { return };
    let (_, body) = dom.split_once("<main").unwrap();
    assert!(body.contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;\\u202e\\u001b[2J"));
    assert!(!body.contains("<img src=\"x\"") && !body.contains(['\u{202e}', '\u{1b}']));
}

#[test]
fn the_screen_of_a_run_reads_well() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::create_dir(path.join("episodes")).unwrap();
    fs::write(path.join("config.toml"), "[train]\nsteps = 40\n").unwrap();
    let line = |step: usize| {
        let success = (step as f64 / 50.0).sqrt();
        let role = |mean: f64| {
            serde_json::json!({
                "reward": { "mean": mean, "std": 0.5 }, "accepted": 0.75, "cut": 0.0,
                "completion_tokens": { "mean": 3.5 }, "groups": { "spread": 0.4, "dropped": 0.1 },
            })
        };
        let rewards = [success - 0.5, 0.4 - success].map(role);
        serde_json::json!({
            "step": step,
            "roles": { "planner": rewards[0], "executor": rewards[1] },
            "updates": { "shared": { "entropy": 1.0 - success / 2.0, "gradient_norm": 0.25 } },
            "validation": { "greedy": { "success": success }, "sampled": { "success": success / 2.0 } },
        })
        .to_string()
    };
    let lines: Vec<String> = (0..=30).map(line).collect();
    fs::write(path.join("metrics.jsonl"), lines.join("\n") + "\n").unwrap();
    let (code, stdout, stderr) = run(&["watch", path.to_str().unwrap()]);
    assert_eq!(code, 0, "{stderr}");
    let shown = stdout.replace(path.to_str().unwrap(), "runs/example");
    insta::assert_snapshot!("screen", shown);
}
