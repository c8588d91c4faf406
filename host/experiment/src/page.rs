//! The page of an experiment: one file that needs nothing else and runs nothing.

use plugin_sdk::printing::visible;

use super::curves::curves;
use super::folder::Folder;
use super::plan::Plan;
use super::planned::PlannedRow;
use super::results::{Results, RowResult};
use super::setup::Program;
use super::table::Table;
use troupe_core::provenance::Build;
use troupe_page::escaped_text;

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:15px/1.5 system-ui,sans-serif;max-width:76rem;margin:2rem auto;padding:0 1rem}\
div.wide{overflow-x:auto}\
table{border-collapse:collapse;font-variant-numeric:tabular-nums}\
th,td{padding:.25rem .7rem;text-align:left;border-bottom:1px solid #8885;vertical-align:top}\
code,pre{font-size:13px}pre{overflow-x:auto;white-space:pre-wrap}\
svg{max-width:100%;height:auto}h2{margin-top:2.2rem}";

/// What the page says of how the table came about.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The command that fills it.
    pub command: &'a str,
    /// The machine, and what else it did.
    pub machine: &'a str,
    /// The digest of what makes the runs, and on which device.
    pub engine: &'a str,
    /// What makes the runs.
    pub program: &'a Program,
}

/// The page.
pub(super) fn page(results: &Results, plan: &Plan, folder: &Folder, origin: &Origin) -> String {
    let tables: String = results.tables().iter().map(table).collect();
    let rows: String = (results.rows.iter().zip(&plan.rows))
        .map(|(result, planned)| row(result, planned, plan, folder, origin.program))
        .collect();
    let title = shown(&results.title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
         'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n\
         <p>Seeds {}. Intervals are 95 % intervals over seeds and tasks, and Student's over the \
         seeds beside them. What is said of a claim is corrected for the number of claims in its \
         family (Holm), which its interval is not.</p>\n{tables}\
         <h2>On the way</h2>\n<p>Success on validation tasks, mean over the seeds with its \
         interval.</p>\n<div class=\"wide\">{}</div>\n<h2>What it took</h2>\n{}\
         <h2>To repeat it</h2>\n<pre>{}</pre>\n<p>Written by host {} \
         (engine {}) on {}. What a row is stands in <code>rows/</code>, the digests of plugins and \
         policies in the <code>manifest.json</code> of each run.</p>\n{rows}</body>\n</html>\n",
        seeds(results),
        curves(results),
        table(&costs(results)),
        shown(origin.command),
        shown(&Build::this().to_string()),
        shown(origin.engine),
        shown(origin.machine),
    )
}

fn shown(text: &str) -> String {
    escaped_text(&visible(text))
}

fn seeds(results: &Results) -> String {
    results.seeds.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn table(table: &Table) -> String {
    let line = |cells: &[String], tag: &str| {
        let cells: String =
            cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", shown(cell))).collect();
        format!("<tr>{cells}</tr>\n")
    };
    let heading = match table.title.as_str() {
        "" => String::new(),
        title => format!("<h2>{}</h2>\n", shown(title)),
    };
    let note = match table.note.as_str() {
        "" => String::new(),
        note => format!("<p>{}</p>\n", shown(note)),
    };
    let rows: String = table.rows.iter().map(|row| line(row, "td")).collect();
    let header = line(&table.header, "th");
    format!(
        "{heading}{note}<div class=\"wide\"><table>\n<thead>{header}</thead>\n<tbody>\n{rows}</tbody>\n\
         </table></div>\n"
    )
}

/// What training took on this machine, on average over the seeds.
fn costs(results: &Results) -> Table {
    let header = [
        "row",
        "steps",
        "answers",
        "completion tokens",
        "prompt tokens",
        "acts",
        "CPU s",
        "seconds",
    ];
    let whole = |amount: f64| format!("{amount:.0}");
    let cells = |row: &RowResult| {
        let cost = row.cost;
        let name = match row.part.as_str() {
            "" => row.title.clone(),
            part => format!("{part}: {}", row.title),
        };
        let amounts = [
            row.steps,
            cost.samples,
            cost.completion_tokens,
            cost.prompt_tokens,
            cost.acts,
            cost.cpu_seconds,
            cost.seconds,
        ];
        [name].into_iter().chain(amounts.map(whole)).collect()
    };
    Table {
        title: String::new(),
        note: String::new(),
        header: header.map(str::to_owned).to_vec(),
        rows: results.rows.iter().filter(|row| row.trained && row.steps > 0.0).map(cells).collect(),
    }
}

/// A row's runs and the commands that repeat it.
fn row(
    result: &RowResult,
    planned: &PlannedRow,
    plan: &Plan,
    folder: &Folder,
    program: &Program,
) -> String {
    let runs: String = (result.runs.iter().zip(&result.seeds))
        .filter_map(|(run, seed)| Some((run.as_ref()?, seed)))
        .map(|(run, seed)| format!(" <a href=\"runs/{run}/\">seed {seed}</a>"))
        .collect();
    let runs = if runs.is_empty() { runs } else { format!("<p>Runs:{runs}.</p>\n") };
    let mut lines: Vec<String> = Vec::new();
    for cell in &planned.cells {
        for line in lines_of(cell.last(), plan, folder, program) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    let commands: String = lines.iter().map(|line| format!("{}\n", shown(line))).collect();
    format!(
        "<details><summary>{}</summary>\n{runs}<pre>{commands}</pre></details>\n",
        shown(&planned.row.label())
    )
}

/// The commands of a job, after those of what it needs.
fn lines_of(place: Option<usize>, plan: &Plan, folder: &Folder, program: &Program) -> Vec<String> {
    let Some(job) = place.map(|place| &plan.jobs[place]) else { return Vec::new() };
    let needs = job.needs.iter().flat_map(|&need| lines_of(Some(need), plan, folder, program));
    needs.chain(job.lines(folder, program)).collect()
}
