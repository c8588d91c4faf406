//! What a page says of an experiment's results.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;

use super::Sheet;

/// The claims that were chosen before anything was run.
const PRIMARY: &str = "primary";

/// What is read of an experiment's `results.json`.
#[derive(Deserialize)]
pub(super) struct Results {
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

/// Where and when the page was written.
pub(super) struct Origin {
    pub(super) date: String,
    pub(super) machine: String,
}

/// The page of a sheet: what its experiment said, with where that is from.
pub(super) fn page(results: &Results, tables: &str, origin: &Origin, sheet: &Sheet) -> String {
    let mut page = format!("# {}\n\n", sheet.title);
    let _ = writeln!(
        page,
        "`{}` wrote this page on {} on {}. The experiment is `{}`; \
         [experiment-files.md]({}) says how to read and write such a file, and \
         what the columns mean. {}\n\n{}\n",
        sheet.command,
        origin.date,
        origin.machine,
        sheet.file,
        sheet.guide,
        made_by(&results.builds),
        sheet.words,
    );
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
    page + &tables_that_were_run(results, tables)
}

/// The tables without the title, and the names of the parts of which there is nothing.
fn tables_that_were_run(results: &Results, tables: &str) -> String {
    let is_made = |part: &str| results.builds.get(part).is_some_and(|builds| !builds.is_empty());
    let (mut missing, mut made) = (Vec::new(), String::new());
    let tables = tables.split_once('\n').map_or(tables, |(_, tables)| tables);
    for table in tables.split("\n## ").skip(1) {
        let heading = table.lines().next().unwrap_or_default();
        match heading.split_once(": ") {
            Some((part, _)) if !is_made(part) => missing.push(format!("`{part}`")),
            _ => made.extend(["\n## ", table]),
        }
    }
    missing.dedup();
    if missing.is_empty() {
        return made;
    }
    format!("\nNot run yet: {}.\n{made}", missing.join(", "))
}

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
    use super::super::{BOARDS, LANGUAGE_MODEL, QUICK};
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

    fn nothing() -> Results {
        Results {
            seeds: vec![1, 2],
            exam: "8 tasks".to_owned(),
            builds: BTreeMap::new(),
            claims: Vec::new(),
        }
    }

    fn origin() -> Origin {
        Origin { date: "2026-11-23".to_owned(), machine: "a machine".to_owned() }
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
        let tables =
            "# T\n\n## maze: solved\n\n| a |\n\n## sums: solved\n\n| b |\n\n## sums: claims\n";
        let page = page(&results, tables, &origin(), &BOARDS);
        assert!(page.contains("from commit 0123456789ab.") && page.contains("still to come"));
        assert!(page.contains("\n## maze: solved\n\n| a |\n") && !page.contains("| b |"), "{page}");
        assert_eq!(page.matches("Not run yet: `sums`.\n").count(), 1, "{page}");
    }

    #[test]
    fn a_table_of_one_part_is_shown_whole_whatever_its_notes_say() {
        let tables = "# Title\n\n## solved\n\n| a | seeds: 1 |\n";
        let page = page(&nothing(), tables, &origin(), &LANGUAGE_MODEL);
        assert!(page.ends_with("\n## solved\n\n| a | seeds: 1 |\n"), "{page}");
        assert!(page.contains("](../experiment-files.md)") && !page.contains("Not run"), "{page}");
    }

    #[test]
    fn a_quick_page_says_that_it_is_one() {
        let page = |sheet| page(&nothing(), "# Title\n\n## maze\n", &origin(), sheet);
        assert!(
            page(&QUICK).contains("This is the quick table") && page(&QUICK).ends_with("## maze\n")
        );
        assert!(!page(&BOARDS).contains("quick") && !page(&BOARDS).contains("# Title"));
        assert!(!page(&BOARDS).contains("primary"), "there is no claim");
    }
}
