//! The paper's table, with tiny policies: an experiment, and the page that says what was found.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::machine::machine;
use crate::process::{self, Failed};
use crate::progress::Elapsed;
use crate::workspace::Workspace;

const FILE: &str = "configs/experiments/stronger-together.toml";
const PAGE: &str = "docs/experiments.md";
/// Cells that are filled, a small file each, so that the next call goes on from there.
const CELLS: &str = "docs/experiments/cells";
const CURVES: &str = "docs/experiments/curves.svg";
/// The claims that were chosen before anything was run.
const PRIMARY: &str = "primary";
/// What the host ends with when a row failed; the others have figures.
const SOME_FAILED: i32 = 6;

/// What the quick table has of the whole one: the paper's rows on one board, two seeds, fewer
/// tokens and tasks, less to choose from.
const QUICK: [&str; 6] = [
    "seeds=[1, 2]",
    "budget.completion_tokens=40_000",
    "exam.tasks=128",
    "tune.seeds=[101]",
    "tune.share=0.25",
    "tune.values={\"train.learning_rate\" = [0.0003, 0.001]}",
];
const QUICK_PART: &str = "plan-path";

/// What is read of an experiment's `results.json`.
#[derive(Deserialize)]
struct Results {
    seeds: Vec<u64>,
    exam: String,
    /// The builds of Troupe that made the runs, part by part.
    builds: BTreeMap<String, Vec<Build>>,
    claims: Vec<Claim>,
}

#[derive(Clone, Deserialize, PartialEq)]
struct Build {
    commit: Option<String>,
    changed: bool,
}

#[derive(Deserialize)]
struct Claim {
    part: String,
    family: String,
    better: String,
    than: String,
    claim: Option<String>,
    difference: Option<Difference>,
    chance: Option<f64>,
    verdict: String,
    remarks: Vec<String>,
}

#[derive(Deserialize)]
struct Difference {
    mean: f64,
    crossed: Option<Interval>,
}

#[derive(Deserialize)]
struct Interval {
    low: f64,
    high: f64,
}

/// Fills the table, or goes on filling it, or only draws what is there, and writes the page; the
/// host has been built. What was not run is said so.
pub fn fill(workspace: &Workspace, quick: bool, only_drawn: bool) -> Result<()> {
    let elapsed = Elapsed::start();
    let mut host = experiment(workspace, quick);
    if only_drawn {
        host.arg("--table");
    }
    let filled = process::run(&mut host);
    let failed = filled.as_ref().err().and_then(|error| error.downcast_ref::<Failed>());
    if filled.is_ok() || failed.and_then(Failed::code) == Some(SOME_FAILED) {
        let page = write_page(workspace, quick)?;
        eprintln!("== {}: written after {elapsed}", page.display());
    }
    filled
}

fn experiment(workspace: &Workspace, quick: bool) -> Command {
    let mut host = Command::new(workspace.target_dir.join("release/host"));
    host.current_dir(&workspace.root).args(["experiment", FILE, "--out"]);
    host.arg(folder(workspace, quick));
    if quick {
        for set in QUICK {
            host.args(["--set", set]);
        }
        host.args(["--only", QUICK_PART]);
    } else {
        host.args(["--cells", CELLS]);
    }
    host
}

/// The quick page lies beside its runs, and never in the place of the other.
fn write_page(workspace: &Workspace, quick: bool) -> Result<PathBuf> {
    let folder = folder(workspace, quick);
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).with_context(|| format!("reading `{}`", path.display()))
    };
    let results: Results = serde_json::from_str(&read("results.json")?)?;
    let origin = Origin::of(workspace)?;
    let page = page(&results, &read("table.md")?, &origin, quick);
    let path = if quick { folder.join("page.md") } else { workspace.root.join(PAGE) };
    fs::write(&path, page).with_context(|| format!("writing `{}`", path.display()))?;
    if !quick {
        let curves = workspace.root.join(CURVES);
        fs::write(&curves, read("curves.svg")?)
            .with_context(|| format!("writing `{}`", curves.display()))?;
    }
    Ok(path)
}

fn folder(workspace: &Workspace, quick: bool) -> PathBuf {
    let name = if quick { "stronger-together-quick" } else { "stronger-together" };
    workspace.root.join("experiments").join(name)
}

/// Where and when the page was written.
struct Origin {
    date: String,
    machine: String,
}

impl Origin {
    fn of(workspace: &Workspace) -> Result<Self> {
        let say = |program: &str, arguments: &[&str]| -> Result<String> {
            let mut command = Command::new(program);
            let said = process::read(command.args(arguments).current_dir(&workspace.root))?;
            Ok(said.trim().to_owned())
        };
        Ok(Origin { date: say("date", &["-u", "+%Y-%m-%d"])?, machine: machine() })
    }
}

fn page(results: &Results, tables: &str, origin: &Origin, quick: bool) -> String {
    let mut page = String::from("# Experiments\n\n");
    let command = if quick { "cargo xtask paper --quick" } else { "cargo xtask paper" };
    let _ = writeln!(
        page,
        "`{command}` wrote this page on {} on {}. It runs `{FILE}`; \
         [experiment-files.md](experiment-files.md) says how to read and write such a file, and \
         what the columns mean. The policies are tiny: what is shown here is shown of them, and \
         of a language model it is a guess. {}\n",
        origin.date,
        origin.machine,
        made_by(&results.builds)
    );
    page.push_str(if quick { QUICK_WORDS } else { WHOLE_WORDS });
    let seeds: Vec<String> = results.seeds.iter().map(ToString::to_string).collect();
    let _ = writeln!(
        page,
        "Seeds {}; {}. Rows that are compared were trained with equally many tokens. Intervals \
         are 95 % intervals for other seeds and other tasks. A claim is *shown* if its difference \
         is above 0, *the opposite* if it is below, corrected for their number (Holm); \
         *equivalent* if it is within the margin; else *not shown*.\n",
        seeds.join(", "),
        results.exam
    );
    let primary = results.claims.iter().filter(|claim| claim.family == PRIMARY);
    let lines: String = primary.map(line).collect();
    if !lines.is_empty() {
        page.push_str(
            "## The primary claims\n\n| claim | where | difference in points | chance of none | \
             found |\n|---|---|---|---|---|\n",
        );
        page.push_str(&lines);
    }
    let tables = tables.split_once('\n').map_or(tables, |(_, tables)| tables);
    let is_made = |part: &str| results.builds.get(part).is_some_and(|builds| !builds.is_empty());
    let (mut missing, mut made) = (Vec::new(), String::new());
    for table in tables.split("\n## ").skip(1) {
        match table.split_once(": ") {
            Some((part, _)) if !is_made(part) => missing.push(format!("`{part}`")),
            _ => made.extend(["\n## ", table]),
        }
    }
    missing.dedup();
    if !missing.is_empty() {
        let _ = writeln!(page, "\nNot run yet: {}.", missing.join(", "));
    }
    page + &made
}

const QUICK_WORDS: &str = "This is the quick table: the paper's rows on one board, two seeds, few \
                           tokens. It shows that everything works. Two seeds show next to nothing \
                           else: their intervals are nine times as wide as the spread between \
                           them.\n\n";
const WHOLE_WORDS: &str = "Every seed of every row is a file below `docs/experiments/cells`, and \
                           `python3 docs/experiments/verdicts.py` computes the verdicts from them \
                           again. [Success over what was spent](experiments/curves.svg). What \
                           comparisons make of an answer is set beside what it was really worth in \
                           [methods/credit.md](methods/credit.md).\n\n";

fn line(claim: &Claim) -> String {
    let words = claim.claim.clone();
    let words =
        words.unwrap_or_else(|| format!("`{}` is better than `{}`", claim.better, claim.than));
    let points = |share: f64| format!("{:.1}", 100.0 * share).replace('-', "−");
    let difference = claim.difference.as_ref().map_or_else(
        || "–".to_owned(),
        |found| {
            let range =
                |ends: &Interval| format!(" ({} to {})", points(ends.low), points(ends.high));
            points(found.mean) + &found.crossed.as_ref().map_or(String::new(), range)
        },
    );
    let verdict = match claim.verdict.as_str() {
        "shown" => "shown",
        "opposite" => "the opposite",
        "equivalent" => "equivalent",
        "withheld" => "no verdict",
        _ => "not shown",
    };
    let chance = match claim.chance {
        None => "–".to_owned(),
        Some(chance) if chance < 0.001 => "< 0.001".to_owned(),
        Some(chance) => format!("{chance:.3}"),
    };
    let said = [&[verdict.to_owned()], &claim.remarks[..]].concat().join("; ");
    format!(
        "| {words} (`{}` − `{}`) | {} | {difference} | {chance} | {said} |\n",
        claim.better, claim.than, claim.part
    )
}

/// From which sources the runs were made: whoever wants to repeat them needs those.
fn made_by(builds: &BTreeMap<String, Vec<Build>>) -> String {
    let words = |build: &Build| {
        let commit = build.commit.as_ref().map_or("an unknown commit".to_owned(), |commit| {
            format!("commit {}", commit.chars().take(12).collect::<String>())
        });
        if build.changed { format!("{commit} with changes") } else { commit }
    };
    let of_part = |builds: &Vec<Build>| builds.iter().map(words).collect::<Vec<_>>().join(" and ");
    let made = builds.iter().filter(|(_, builds)| !builds.is_empty());
    let parts: Vec<(&String, String)> =
        made.map(|(part, builds)| (part, of_part(builds))).collect();
    match &parts[..] {
        [] => "Nothing was trained for it.".to_owned(),
        [(_, first), others @ ..] if others.iter().all(|(_, words)| words == first) => {
            format!("Its runs were made from {first}.")
        }
        _ => {
            let parts: Vec<String> =
                parts.iter().map(|(part, words)| format!("{part} from {words}")).collect();
            format!("Its runs were made: {}.", parts.join("; "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(verdict: &str) -> Claim {
        Claim {
            part: "maze".to_owned(),
            family: PRIMARY.to_owned(),
            better: "a".to_owned(),
            than: "b".to_owned(),
            claim: Some("A is better".to_owned()),
            difference: Some(Difference {
                mean: -0.125,
                crossed: Some(Interval { low: -0.25, high: -0.01 }),
            }),
            chance: Some(0.0314),
            verdict: verdict.to_owned(),
            remarks: Vec::new(),
        }
    }

    #[test]
    fn a_claim_stands_beside_what_was_found_of_it() {
        assert_eq!(
            line(&claim("opposite")),
            "| A is better (`a` − `b`) | maze | −12.5 (−25.0 to −1.0) | 0.031 | the opposite |\n"
        );
        let remarks = vec!["seed 2 of `b` failed".to_owned()];
        let nothing =
            Claim { difference: None, claim: None, chance: None, remarks, ..claim("withheld") };
        assert_eq!(
            line(&nothing),
            "| `a` is better than `b` (`a` − `b`) | maze | – | – | no verdict; seed 2 of `b` failed |\n"
        );
    }

    #[test]
    fn a_page_says_from_which_sources_its_runs_were_made() {
        let build =
            |commit: Option<&str>, changed| Build { commit: commit.map(str::to_owned), changed };
        let of = |builds: &[(&str, &[Build])]| {
            let builds = builds.iter().map(|(part, made)| ((*part).to_owned(), made.to_vec()));
            made_by(&builds.collect())
        };
        let one = [build(Some("0123456789abcdef"), false)];
        assert_eq!(
            of(&[("maze", &one), ("sums", &one), ("code", &[])]),
            "Its runs were made from commit 0123456789ab."
        );
        let two = [one[0].clone(), build(None, true)];
        assert_eq!(
            of(&[("maze", &one), ("sums", &two)]),
            "Its runs were made: maze from commit 0123456789ab; sums from commit 0123456789ab and \
             an unknown commit with changes."
        );
    }

    #[test]
    fn what_the_host_writes_is_read() {
        let written = r#"{"title": "T", "seeds": [1], "exam": "8 tasks", "samples": 4, "builds":
            {"maze": [{"version": "0.1.0", "commit": "0123456789abcdef", "changed": false,
                       "binary": "ab"}], "sums": []},
            "rows": [], "claims": [{"part": "maze", "family": "primary", "better": "a",
            "than": "b", "claim": "A", "difference": null, "chance": null, "verdict": "withheld",
            "remarks": ["seed 1 of `a` is still to come"]}], "tuned": []}"#;
        let results: Results = serde_json::from_str(written).unwrap();
        let origin = Origin { date: "2026-11-23".to_owned(), machine: "a machine".to_owned() };
        let tables =
            "# T\n\n## maze: solved\n\n| a |\n\n## sums: solved\n\n| b |\n\n## sums: claims\n";
        let page = page(&results, tables, &origin, false);
        assert!(page.contains("from commit 0123456789ab.") && page.contains("still to come"));
        assert!(page.contains("\n## maze: solved\n\n| a |\n") && !page.contains("| b |"), "{page}");
        assert_eq!(page.matches("Not run yet: `sums`.\n").count(), 1, "{page}");
    }

    #[test]
    fn a_quick_page_says_that_it_is_one() {
        let results = Results {
            seeds: vec![1, 2],
            exam: "8 tasks".to_owned(),
            builds: BTreeMap::new(),
            claims: Vec::new(),
        };
        let origin = Origin { date: "2026-11-23".to_owned(), machine: "a machine".to_owned() };
        let page = |quick| page(&results, "# Title\n\n## maze\n", &origin, quick);
        assert!(
            page(true).contains("This is the quick table") && page(true).ends_with("## maze\n")
        );
        assert!(!page(false).contains("quick") && !page(false).contains("# Title"));
        assert!(!page(false).contains("primary"), "there is no claim");
    }
}
