mod comparisons;
mod findings;
mod jobs;
mod kept;
mod tuning;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::file::{Exam, ExperimentFile};
use super::guard::{check_claims, families};
use super::job::{Job, Loaded, Maker, Work};
use super::plan::Plan;
use super::planned::{Cell, PlannedRow};
use super::row::{Row, Source, expand};
use super::schedule::{Failure, State};
use super::setup::WarmStart;
use super::*;
use troupe_core::config::{Config, Roles};
use troupe_core::provenance::Build;
use troupe_core::statistics::Verdict;

const FILE: &str = r#"
seeds = [3, 4]
set = ["train.epochs=2"]
budget = { completion_tokens = 1000 }
warm = { success = 0.3 }

[[environments]]
name = "maze"
base = { single = ["one.toml"], team = ["two.toml"] }
set = ["environment.walls=3"]

[[environments]]
name = "sums"
base = { single = ["three.toml"], team = ["four.toml"] }
budget = { steps = 7 }

[[rows]]
name = "prompted"
base = "team"
train = false

[[rows]]
name = "team"
like = "prompted"
train = true
set = ["roles=per-role"]

[[rows]]
name = "swapped"
of = "team"
exam_set = ["roles.a=b"]
on = ["maze"]

[[sweeps]]
name = "alpha"
row = "team"
key = "advantage.alpha"
values = [0.5, 2]
on = ["sums"]
"#;

fn parse(text: &str) -> Result<ExperimentFile, ExperimentError> {
    ExperimentFile::parse(text, Path::new("x.toml"), &[])
}

fn refusal(text: &str) -> String {
    parse(text).and_then(|file| expand(&file)).unwrap_err().to_string()
}

fn rows() -> Vec<Row> {
    expand(&parse(FILE).unwrap()).unwrap()
}

fn row<'r>(rows: &'r [Row], label: &str) -> &'r Row {
    rows.iter().find(|row| row.label() == label).unwrap()
}

#[test]
fn rows_are_there_in_each_part_in_the_order_of_the_file() {
    let labels: Vec<String> = rows().iter().map(Row::label).collect();
    assert_eq!(
        labels,
        [
            "maze/prompted",
            "maze/team",
            "maze/swapped",
            "sums/prompted",
            "sums/team",
            "sums/alpha=0.5",
            "sums/alpha=2"
        ]
    );
}

#[test]
fn a_row_has_what_all_have_then_its_part_then_the_row_it_is_like_then_its_own() {
    let rows = rows();
    let swept = row(&rows, "sums/alpha=2");
    assert_eq!(
        swept.sets,
        [
            "train.epochs=2",
            "imitation.success=0.3",
            "train.steps=7",
            "roles=per-role",
            "advantage.alpha=2"
        ]
    );
    assert_eq!((swept.warm.as_str(), &swept.source), ("team", &Source::Trained));
    assert_eq!(swept.files, [Path::new("four.toml")]);
    let team = row(&rows, "maze/team");
    assert!(team.sets.contains(&"environment.walls=3".to_owned()));
    assert!(team.sets.contains(&"train.budget.completion_tokens=1000".to_owned()));
    assert_eq!(row(&rows, "maze/prompted").source, Source::Prompted);
    let swapped = row(&rows, "maze/swapped");
    assert_eq!(swapped.source, Source::Of("team".to_owned()));
    assert_eq!(
        (&swapped.files, &swapped.exam_sets[..]),
        (&team.files, &["roles.a=b".to_owned()][..])
    );
}

#[test]
fn what_is_wrong_with_a_file_is_said_by_key() {
    let with = |text: &str| format!("seeds = [1]\nbase = []\n{text}");
    let cases = [
        ("seeds = [1]".to_owned(), "missing field `rows`"),
        (with("[[rows]]\nname = 'a'\nlik = 'b'"), "unknown field `lik`"),
        (with("[[rows]]\nname = 'a'\ntrain = 'no'"), "invalid type: string \"no\""),
        (
            with("[[rows]]\nname = 'a'\nlike = 'c'"),
            "`rows.a.like` cannot be used: there is no row `c`",
        ),
        (with("[[rows]]\nname = 'a'\n[[rows]]\nname = 'a'"), "two rows of this name"),
        (with("[[rows]]\nname = 'a/b'"), "`rows.a/b` cannot be used: a name has"),
        (with("[[rows]]\nname = 'a'\nlike = 'b'\n[[rows]]\nname = 'b'\nlike = 'a'"), "in a circle"),
        (with("[[rows]]\nname = 'a'\nbase = 'team'"), "there is one `base` without names"),
        (
            with("[[rows]]\nname = 'a'\nwarm = 'aa'"),
            "`rows.a.warm` cannot be used: there is no row `aa`; did you mean `a`?",
        ),
        (
            with("[[rows]]\nname = 'a'\nof = 'b'\n[[rows]]\nname = 'b'\ntrain = false"),
            "is not trained",
        ),
        (
            with("[[rows]]\nname = 'a'\nof = 'b'\nset = ['x=1']\n[[rows]]\nname = 'b'"),
            "put what the exam is to be like into `exam_set`",
        ),
        (with("[[rows]]\nname = 'a'\nexam_set = ['x=1']"), "add a row `of` it"),
        (with("[[rows]]\nname = 'a'\non = ['moon']"), "there is no environment `moon`"),
        (
            with("[[rows]]\nname = 'a'\n[[sweeps]]\nname = 's'\nrow = 'a'"),
            "`sweeps.s` cannot be used: it has no value",
        ),
        (
            with("exam = { split = 'train' }\n[[rows]]\nname = 'a'"),
            "must be \"test\" or \"validation\"",
        ),
        ("seeds = [1, 1]\n[[rows]]\nname = 'a'".to_owned(), "would count twice"),
        ("seeds = []\n[[rows]]\nname = 'a'".to_owned(), "`seeds` cannot be used: there is none"),
    ];
    for (text, expected) in cases {
        let said = refusal(&text);
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_key_of_the_file_can_be_set_on_the_command_line() {
    let sets = ["seeds=[9]".to_owned(), "exam.tasks=5".to_owned()];
    let file = ExperimentFile::parse(FILE, Path::new("x.toml"), &sets).unwrap();
    assert_eq!((file.seeds, file.exam.tasks), (vec![9], 5));
    let wrong = ExperimentFile::parse(FILE, Path::new("x.toml"), &["exam.task=5".to_owned()]);
    assert!(wrong.unwrap_err().to_string().contains("unknown field `task`"));
}

fn config(sets: &[&str]) -> Config {
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    Config::load(None, &sets).unwrap()
}

#[test]
fn an_address_depends_on_settings_and_contents_and_not_on_where_things_lie() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let program = write("host", "program");
    let addresses = || Addresses::new(Path::new(&program), "cpu").unwrap();
    let (here, there) = (write("a/game.wasm", "1"), write("b/game.wasm", "1"));
    let other = write("c/game.wasm", "2");
    let of = |sets: &[&str]| addresses().identity(&config(sets)).unwrap();
    let plain = of(&[&format!("plugins.files=['{here}']")]);
    assert_eq!(plain, of(&[&format!("plugins.files=['{there}']"), "run.name=x", "run.seed=8"]));
    assert_ne!(plain, of(&[&format!("plugins.files=['{other}']")]));
    assert_ne!(plain, of(&[&format!("plugins.files=['{here}']"), "train.epochs=3"]));
    let one = addresses().of(&["train", "1", &plain]);
    assert_eq!(one, addresses().of(&["train", "1", &plain]));
    assert_ne!(one, addresses().of(&["train", "2", &plain]));
    assert_ne!(
        one,
        Addresses::new(Path::new(&program), "cuda:0").unwrap().of(&["train", "1", &plain])
    );
    write("host", "another program");
    assert_ne!(one, addresses().of(&["train", "1", &plain]));
}

#[test]
fn rows_that_share_policies_and_rows_that_do_not_begin_alike() {
    let shared = config(&["policies.shared.layers=2", "train.epochs=3"]);
    let own =
        ["roles=per-role", "policies.a.layers=2", "policies.b.layers=2", "policies.b.train=false"];
    let roles = WarmStart::of(&config(&own)).unwrap();
    let shared = WarmStart::of(&shared).unwrap();
    assert_eq!(shared.config, roles.config);
    assert_eq!(roles.config.roles, Roles::Shared);
    let names = |name: &str| (name.to_owned(), "shared".to_owned());
    assert_eq!(roles.policies, BTreeMap::from([names("a"), names("b")]));
    let uneven = ["roles=per-role", "policies.a.layers=2", "policies.b.layers=3"];
    let uneven = WarmStart::of(&config(&uneven)).unwrap();
    assert_eq!(uneven.config.roles, Roles::PerRole);
    assert_eq!(uneven.policies["b"], "b");
    assert_eq!(WarmStart::of(&config(&["policies.shared.path=x"])), None);
    assert_eq!(
        WarmStart::of(&config(&["policies.shared.layers=2", "imitation.enabled=false"])),
        None
    );
    // What is played decides; how it is learned afterwards does not.
    let other = config(&["policies.shared.layers=2", "environment.walls=5"]);
    assert_ne!(WarmStart::of(&other).unwrap().config, shared.config);
}

/// A run with two validations, and a test on four tasks before and after.
fn write_run(folder: &Folder, address: &str, solved: [&[u32]; 2], (spread, void): (f64, usize)) {
    let run = folder.run(address);
    fs::create_dir_all(&run).unwrap();
    let line = |step: usize| {
        serde_json::json!({
            "step": step, "episodes": 10 * step, "void": { "out_of_fuel": void * step },
            "roles": { "walker": { "groups": { "groups": 4, "spread": spread } } },
            "totals": { "samples": 10 * step, "completion_tokens": 30 * step,
                        "prompt_tokens": 90 * step, "acts": 20 * step },
            "timing": { "totals": { "seconds": 1.0, "cpu_seconds": 2.0, "fuel": 9 } },
            "validation": { "greedy": { "success": 0.25 * step as f64 } },
        })
    };
    fs::write(run.join("metrics.jsonl"), format!("{}\n{}\n", line(0), line(1))).unwrap();
    fs::write(run.join("outcomes.jsonl"), outcomes(0, solved[0]) + &outcomes(1, solved[1]))
        .unwrap();
    fs::write(run.join("summary.json"), "{}").unwrap();
    write_manifest(folder, address, &[build("a1")], "11");
}

fn build(binary: &str) -> Build {
    Build {
        commit: Some("c0ffee".to_owned()),
        binary: Some(binary.to_owned()),
        ..Build::unknown("1.2.3")
    }
}

/// Who made a run, and with which file of a plugin.
fn write_manifest(folder: &Folder, address: &str, builds: &[Build], plugin: &str) {
    let plugins = [serde_json::json!({ "name": "maze", "version": "1.0.0", "digest": plugin })];
    let manifest = serde_json::json!({ "builds": builds, "plugins": plugins });
    fs::write(folder.run(address).join("manifest.json"), manifest.to_string()).unwrap();
}

fn outcomes(step: usize, solved: &[u32]) -> String {
    let line = |task: u32| {
        let is_solved = solved.contains(&task);
        let line = serde_json::json!({
            "step": step, "split": "test", "answers": "greedy", "family": "maze", "task": task,
            "sample": 0, "ending": if is_solved { "solved" } else { "truncated" },
            "solved": is_solved, "turns": 1, "completion_tokens": 1, "prompt_tokens": 1,
            "reward": 0.0, "last": null,
        });
        format!("{line}\n")
    };
    (0..4).map(line).collect()
}

fn job(address: &str, row: &str, seed: u64) -> Job {
    let policies = vec![Loaded {
        policy: "shared".to_owned(),
        source: "shared".to_owned(),
        maker: Maker::Warm("warm".to_owned()),
    }];
    let exam = Some(Exam { tasks: 4, samples: 2, ..Exam::default() });
    let work = Work::Train { config: "rows/a.toml".into(), policies, exam };
    Job { address: address.to_owned(), label: row.to_owned(), seed, work, needs: Vec::new() }
}

/// Two rows and three seeds, one of which failed in the second row.
fn filled(folder: &Folder) -> (Plan, Vec<State>) {
    let text = "title = 'Mazes | & more'\nseeds = [1, 2, 3]\nexam = { tasks = 4 }\n[[rows]]\nname = 'good'\n\
                [[rows]]\nname = 'flat_row'\ntitle = 'flat & void'\n[[compare]]\nbetter = 'good'\n\
                than = 'flat_row'\nclaim = 'Good is better'\n[[compare]]\nbetter = 'flat_row'\nthan = 'good'";
    let file = parse(text).unwrap();
    let solved: [&[u32]; 6] = [&[0, 1, 2], &[0, 1, 2, 3], &[0, 1, 3], &[0], &[1], &[]];
    let jobs: Vec<Job> = (0..6)
        .map(|place| {
            let name = if place < 3 { "good" } else { "flat_row" };
            job(&format!("{name}{place}"), name, place as u64 % 3 + 1)
        })
        .collect();
    for (place, job) in jobs.iter().enumerate().take(5) {
        let health = if place < 3 { (0.5, 0) } else { (0.0, 1) };
        write_run(folder, &job.address, [&[0], solved[place]], health);
    }
    let failure =
        Failure { code: Some(6), message: "the update changed no weight; try more".to_owned() };
    let mut states = vec![State::Done; 6];
    states[5] = State::Failed(failure);
    let rows = expand(&file).unwrap().into_iter().enumerate().map(|(index, row)| {
        let cell =
            |seed: usize| Cell { seed: seed as u64 + 1, run: Some(3 * index + seed), exam: None };
        let config = config(&[]);
        PlannedRow {
            row,
            exam_config: config.clone(),
            config,
            lenders: BTreeMap::new(),
            cells: (0..3).map(cell).collect(),
            kept: Vec::new(),
        }
    });
    let families = families(&file.compare, &expand(&file).unwrap());
    (Plan { rows: rows.collect(), file, families, jobs }, states)
}

#[test]
fn figures_stand_with_their_own_row_and_seed() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = Folder::create(temporary.path()).unwrap();
    let (plan, states) = filled(&folder);
    let results = Results::read(&plan, &states, &folder).unwrap();
    let [good, flat] = &results.rows[..] else { panic!("two rows") };
    assert_eq!(good.solved.as_ref().unwrap().seeds, [0.75, 1.0, 0.75]);
    assert_eq!(good.gained.as_ref().unwrap().seeds, [0.5, 0.75, 0.5]);
    // What has failed is in no mean, and what has not is no mean of all.
    assert_eq!((&flat.seeds[..], &flat.by_seed[..]), (&[1, 2][..], &[0.25, 0.25][..]));
    assert_eq!((&flat.solved, &flat.gained, flat.cost), (&None, &None, Default::default()));
    let [claim, reverse] = &results.claims[..] else { panic!("two claims") };
    for claim in [claim, reverse] {
        assert_eq!((claim.verdict, &claim.difference), (Verdict::Withheld, &None));
        assert_eq!(claim.said(), "no verdict; seed 3 of `flat_row` failed");
    }
    assert!(results.has_failed());
    assert_eq!(
        flat.notes,
        [
            "seed 3 failed: the update changed no weight (exit code 6)",
            "seed 1: all groups of `walker` were flat, so it learned nothing",
            "seed 2: all groups of `walker` were flat, so it learned nothing",
            "7.1 % of its episodes were void"
        ]
    );
    assert_eq!(good.cost.completion_tokens, 30.0);
    assert_eq!(good.curves[0].len(), 2);
}

#[test]
fn tables_are_drawn_as_markdown_latex_and_csv() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = Folder::create(temporary.path()).unwrap();
    let (plan, states) = filled(&folder);
    let results = Results::read(&plan, &states, &folder).unwrap();
    insta::assert_snapshot!("markdown", results.markdown());
    insta::assert_snapshot!("latex", results.latex());
    insta::assert_snapshot!("csv", results.csv() + &results.claims_csv());
}

#[test]
fn a_page_runs_nothing_and_shows_hostile_text_as_text() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = Folder::create(temporary.path()).unwrap();
    let (plan, mut states) = filled(&folder);
    let message = "<script>alert(1)</script>".to_owned();
    states[5] = State::Failed(Failure { code: None, message });
    let results = Results::read(&plan, &states, &folder).unwrap();
    let program = Program { host: "host".into(), device: None, threads: 1 };
    let (command, machine, engine) = ("host experiment x.toml", "a machine", "abc on cpu");
    let origin = Origin { command, machine, engine, program: &program };
    write_tables(&results, &plan, &folder, &origin).unwrap();
    let page = fs::read_to_string(folder.file("index.html")).unwrap();
    assert!(page.contains("default-src 'none'") && !page.contains("<script"), "{page}");
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(page.contains("host train rows/a.toml --set &#39;run.seed=2&#39;"), "{page}");
    assert!(page.contains("<svg") && page.contains("runs/good1/"));
}
