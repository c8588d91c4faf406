//! What was seen, written into the page of each method, between two marks of its name.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, bail};

use super::cell::{Cell, Found};
use super::plan::{Figure, Method, Plan, Row};
use crate::workspace::Workspace;
use troupe_core::statistics::{Estimate, Interval, Verdict, holm};
use troupe_core::storage::write_file;

/// Writes every page.
pub fn write(workspace: &Workspace, plan: &Plan) -> Result<()> {
    for method in &plan.methods {
        let path = workspace.root.join(format!("docs/methods/{}.md", method.page()));
        let page =
            fs::read_to_string(&path).with_context(|| format!("reading `{}`", path.display()))?;
        let begin = format!("<!-- seen {} -->\n", method.name);
        let end = format!("<!-- /seen {} -->\n", method.name);
        let Some((before, rest)) = page.split_once(&begin) else {
            bail!("`{}` has no place for what was seen: {begin}", path.display());
        };
        let after = rest.split_once(&end).map_or("", |(_, after)| after);
        let seen = seen(workspace, plan, method)?;
        write_file(&path, format!("{before}{begin}{seen}{end}{after}").as_bytes())?;
    }
    Ok(())
}

/// What was found in the cells of a row that are filled, by seed.
type Filled = BTreeMap<u64, Found>;

fn filled(workspace: &Workspace, plan: &Plan, method: &Method, row: &Row) -> Result<Filled> {
    let mut all = Filled::new();
    for &seed in &plan.seeds {
        let found = Cell::of(workspace, plan, method, (row, seed), false).found()?;
        all.extend(found.map(|found| (seed, found)));
    }
    Ok(all)
}

fn seen(workspace: &Workspace, plan: &Plan, method: &Method) -> Result<String> {
    let mut rows = Vec::new();
    for row in &method.rows {
        rows.push((row, filled(workspace, plan, method, row)?));
    }
    let mut text = format!("\n{}\n", method.question);
    // Of what is only measured, success is no result.
    let plays = !method.claims.is_empty() || method.figures.is_empty();
    if plays {
        text.push_str(
            "\n| row | solved after | seeds | before | acts | tokens drawn | processor seconds |\n\
             |---|---|---|---|---|---|---|\n",
        );
        rows.iter().for_each(|(row, found)| text.push_str(&line(row, found, plan.seeds.len())));
        text.push_str(&claims(method, &rows, plan.seeds.len()));
    }
    for figures in method.figures.chunk_by(|one, next| one.table == next.table) {
        text.push_str(&table(figures, &rows, plan.seeds.len()));
    }
    let mut commits: Vec<String> = rows
        .iter()
        .flat_map(|(_, found)| found.values())
        .map(|found| format!("`{}`{}", found.commit, if found.changed { " (changed)" } else { "" }))
        .collect();
    commits.sort();
    commits.dedup();
    if !commits.is_empty() {
        let how = match plays {
            true => {
                "Greedy answers to the same test tasks for all seeds; 95 % intervals for other \
                 seeds and other tasks; acts, tokens and seconds are means over the seeds, of \
                 everything a row ran. "
            }
            false => "",
        };
        let errors = match method.figures.is_empty() {
            true => "",
            false => "± is one standard error over the seeds. ",
        };
        let commits = commits.join(", ");
        let _ = writeln!(text, "\n{how}{errors}Made by `cargo xtask methods`, commit {commits}.\n");
    }
    Ok(text)
}

fn line(row: &Row, found: &Filled, seeds: usize) -> String {
    if let Some(why) = &row.left_out {
        return format!("| {} | not run: {why} | | | | | |\n", row.title);
    }
    if found.is_empty() {
        return format!("| {} | not run yet | | | | | |\n", row.title);
    }
    let after = estimate(found, |found| &found.after).within(0.0, 1.0);
    let before = match found.values().any(|found| found.before.is_empty()) {
        true => "–".to_owned(),
        false => format!("{} %", percent(estimate(found, |found| &found.before).mean)),
    };
    let each: Vec<String> = after.seeds.iter().map(|share| percent(*share)).collect();
    let missing = match seeds - found.len() {
        0 => String::new(),
        missing => format!(" ({missing} to come)"),
    };
    let mean = |of: fn(&Found) -> f64| found.values().map(of).sum::<f64>() / found.len() as f64;
    // Of what was only examined nothing was trained.
    let spent = match mean(|found| found.acts as f64) {
        0.0 => "– | – | –".to_owned(),
        acts => format!(
            "{} | {} | {:.0}",
            thousands(acts),
            thousands(mean(|found| found.completion_tokens as f64)),
            mean(|found| found.seconds),
        ),
    };
    format!(
        "| {} | {} %{} | {}{missing} | {before} | {spent} |\n",
        row.title,
        percent(after.mean),
        after.crossed.map_or_else(String::new, |range| between(range, 100.0)),
        each.join(", "),
    )
}

/// A table of numbers that rows have.
fn table(figures: &[Figure], rows: &[(&Row, Filled)], seeds: usize) -> String {
    let titles: Vec<&str> = figures.iter().map(|figure| figure.title.as_str()).collect();
    let name = figures.first().map_or("", |figure| figure.table.as_str());
    let mut text = if name.is_empty() { String::new() } else { format!("\n**{name}**\n") };
    let _ =
        write!(text, "\n| row | {} |\n|---{}|\n", titles.join(" | "), "|---".repeat(titles.len()));
    for (row, found) in rows {
        let shown: Vec<String> = match &row.left_out {
            Some(why) => {
                let rest = vec![String::new(); figures.len() - 1];
                [vec![format!("not run: {why}")], rest].concat()
            }
            None => figures.iter().map(|figure| number(figure, found, seeds)).collect(),
        };
        let _ = writeln!(text, "| {} | {} |", row.title, shown.join(" | "));
    }
    text
}

/// The mean over the seeds that have it, and how many if not all do.
fn number(figure: &Figure, found: &Filled, seeds: usize) -> String {
    let numbers: Vec<f64> = found.values().filter_map(|found| found.figure(&figure.path)).collect();
    if numbers.is_empty() {
        return if found.is_empty() { "not run yet".to_owned() } else { "–".to_owned() };
    }
    let one = |number: &f64| vec![*number];
    let estimate = Estimate::of(&numbers.iter().map(one).collect::<Vec<Vec<f64>>>());
    let show = |number: f64| match (figure.share, number.abs() >= 1000.0) {
        (true, _) => format!("{} %", percent(number)),
        (false, true) => thousands(number),
        (false, false) => format!("{number:.3}").replace('-', "−"),
    };
    let error =
        estimate.spread.map_or(String::new(), |spread| format!(" ± {}", show(spread.error)));
    format!("{}{error}{}", show(estimate.mean), of_seeds(numbers.len(), seeds))
}

/// How many there are, if not all.
fn of_seeds(count: usize, seeds: usize) -> String {
    if count == seeds { String::new() } else { format!(" ({count} of {seeds})") }
}

fn claims(method: &Method, rows: &[(&Row, Filled)], seeds: usize) -> String {
    let of = |name: &str| rows.iter().find(|(row, _)| row.name == name);
    let differences: Vec<Option<Estimate>> = method
        .claims
        .iter()
        .map(|claim| {
            let ((_, better), (_, than)) = (of(&claim.better)?, of(&claim.than)?);
            Some(difference(better, than)).filter(|difference| difference.seeds.len() > 1)
        })
        .collect();
    let chance = |difference: &Option<Estimate>| {
        let difference = difference.as_ref()?;
        Some(difference.spread?.two_sided(difference.mean))
    };
    let corrected = holm(&differences.iter().map(chance).collect::<Vec<_>>());
    if differences.is_empty() {
        return String::new();
    }
    let mut text = "\n| difference | points | chance of none | |\n|---|---|---|---|\n".to_owned();
    for ((claim, difference), chance) in method.claims.iter().zip(differences).zip(corrected) {
        let title = |name: &str| of(name).map_or(String::new(), |(row, _)| row.title.clone());
        let _ = match difference {
            None => writeln!(
                text,
                "| {} − {} | not run yet | | |",
                title(&claim.better),
                title(&claim.than)
            ),
            Some(difference) => writeln!(
                text,
                "| {} − {} | {}{}{} | {} | {} |",
                title(&claim.better),
                title(&claim.than),
                percent(difference.mean),
                difference.crossed.map_or_else(String::new, |range| between(range, 100.0)),
                of_seeds(difference.seeds.len(), seeds),
                chance.map_or("–".to_owned(), |chance| format!("{chance:.3}")),
                Verdict::of(&difference, chance, None).words(),
            ),
        };
    }
    text
}

/// The outcomes of each seed as numbers.
fn estimate(found: &Filled, of: impl Fn(&Found) -> &String) -> Estimate {
    let numbers = |found: &Found| of(found).chars().map(|c| solved(c, found)).collect();
    Estimate::of(&found.values().map(numbers).collect::<Vec<Vec<f64>>>())
}

/// In what share of the files a task was solved.
fn solved(count: char, found: &Found) -> f64 {
    f64::from(count.to_digit(10).unwrap_or_default()) / f64::from(found.of)
}

/// Paired by seed and task, of the seeds that both have.
fn difference(better: &Filled, than: &Filled) -> Estimate {
    let of_seed = |(seed, better): (&u64, &Found)| {
        let than = than.get(seed)?;
        let pairs = better.after.chars().zip(than.after.chars());
        Some(pairs.map(|(a, b)| solved(a, better) - solved(b, than)).collect())
    };
    Estimate::of(&better.iter().filter_map(of_seed).collect::<Vec<Vec<f64>>>())
}

fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share).replace('-', "−")
}

fn between(range: Interval, factor: f64) -> String {
    let end = |end: f64| format!("{:.1}", factor * end).replace('-', "−");
    format!(" ({} to {})", end(range.low), end(range.high))
}

fn thousands(number: f64) -> String {
    format!("{:.1} k", number / 1000.0)
}
