//! The figures as tables: for a terminal, for Markdown, LaTeX and spreadsheets. Nothing in them
//! depends on the machine, so an experiment that was killed has the same as one that was not.

use super::claims::ClaimResult;
use super::results::{Results, RowResult};
use super::tuning::Trial;
use troupe_core::statistics::{Estimate, Interval};

/// A table of texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// What stands above it.
    pub title: String,
    /// What made what is in it, if that is to be said.
    pub note: String,
    /// The columns.
    pub header: Vec<String>,
    /// The lines.
    pub rows: Vec<Vec<String>>,
}

impl Results {
    /// A table of rows and one of claims for each part.
    pub fn tables(&self) -> Vec<Table> {
        let mut parts: Vec<&String> = self.rows.iter().map(|row| &row.part).collect();
        parts.dedup();
        parts.into_iter().flat_map(|part| self.tables_of(part)).collect()
    }

    fn tables_of(&self, part: &str) -> Vec<Table> {
        let name = |what: &str| match part {
            "" => what.to_owned(),
            part => format!("{part}: {what}"),
        };
        let rows = self.rows.iter().filter(|row| row.part == part);
        let mut tables = vec![Table {
            title: name(&format!("solved, of {}", self.exam)),
            note: match self.builds.get(part).map(Vec::as_slice) {
                None | Some([]) => String::new(),
                Some(builds) => {
                    let builds: Vec<String> = builds.iter().map(ToString::to_string).collect();
                    format!("Made by host {}.", builds.join(" and "))
                }
            },
            header: self.header(),
            rows: rows.map(|row| self.cells(row)).collect(),
        }];
        let claims: Vec<Vec<String>> =
            self.claims.iter().filter(|claim| claim.part == part).map(claim_cells).collect();
        if !claims.is_empty() {
            let header = [
                "claim",
                "difference in points (95 % interval)",
                "t interval",
                "chance of none",
                "verdict",
            ];
            tables.push(Table {
                title: name("differences, paired by seed and task"),
                note: String::new(),
                header: header.map(str::to_owned).to_vec(),
                rows: claims,
            });
        }
        tables.extend(self.tuning(part).map(|rows| Table {
            title: name("chosen on validation tasks, before the rows were made"),
            note: String::new(),
            header: ["row", "settings", "solved in %", "seeds", ""].map(str::to_owned).to_vec(),
            rows,
        }));
        tables
    }

    /// What was tried for the rows of a part.
    fn tuning(&self, part: &str) -> Option<Vec<Vec<String>>> {
        let title = |name: &String| {
            let row = self.rows.iter().find(|row| row.part == part && row.name == *name);
            row.map_or(name, |row| &row.title).clone()
        };
        let tuned = self.tuned.iter().filter(|tuned| tuned.part == part);
        let rows: Vec<Vec<String>> = tuned
            .flat_map(|tuned| {
                let cells = |(place, trial): (usize, &Trial)| {
                    let seeds: Vec<String> = trial.by_seed.iter().map(|one| points(*one)).collect();
                    vec![
                        title(&tuned.row),
                        trial.set.join(", "),
                        trial.solved.map_or_else(|| "failed".to_owned(), points),
                        seeds.join(", "),
                        if place == tuned.chosen { "chosen".to_owned() } else { String::new() },
                    ]
                };
                tuned.trials.iter().enumerate().map(cells).collect::<Vec<_>>()
            })
            .collect();
        (!rows.is_empty()).then_some(rows)
    }

    fn header(&self) -> Vec<String> {
        let mut header =
            ["row", "solved in % (95 % interval)", "t interval", "middle half", "seeds"]
                .map(str::to_owned)
                .to_vec();
        header.push("gained in points".to_owned());
        if self.samples > 0 {
            header.push(format!("pass@{}", self.samples));
        }
        header.extend(["tokens", "acts", "notes"].map(str::to_owned));
        header
    }

    fn cells(&self, row: &RowResult) -> Vec<String> {
        let solved = row.solved.as_ref();
        let mut cells = vec![
            row.title.clone(),
            solved.map_or_else(dash, percent),
            solved.and_then(|solved| solved.student).map_or_else(dash, |found| range(found, "")),
            solved.map_or_else(dash, |solved| points(solved.interquartile_mean)),
            match &row.by_seed[..] {
                [] => dash(),
                seeds => seeds.iter().map(|seed| points(*seed)).collect::<Vec<_>>().join(", "),
            },
            row.gained.as_ref().map_or_else(dash, difference),
        ];
        if self.samples > 0 {
            cells.push(row.pass.get(&self.samples).map_or_else(dash, percent));
        }
        let spent = |amount: f64| if amount > 0.0 { amount_of(amount) } else { dash() };
        cells.extend([spent(row.cost.completion_tokens), spent(row.cost.acts)]);
        cells.push(row.notes.join("; "));
        cells
    }

    /// The tables as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = format!("# {}\n", self.title);
        for table in self.tables() {
            text.push_str(&format!("\n## {}\n\n", table.title));
            if !table.note.is_empty() {
                text.push_str(&format!("{}\n\n", table.note));
            }
            text.push_str(&table.markdown());
        }
        text
    }

    /// The tables as LaTeX, for the packages `booktabs` and `graphicx`.
    pub fn latex(&self) -> String {
        let tables: Vec<String> = self.tables().iter().map(Table::latex).collect();
        tables.join("\n")
    }

    /// The figures of the rows with all digits, one row a line.
    pub fn csv(&self) -> String {
        let ks: Vec<usize> = self.rows.iter().flat_map(|row| row.pass.keys().copied()).collect();
        let most = ks.iter().copied().max().unwrap_or_default();
        let ks: Vec<usize> = (1..=most).filter(|k| ks.contains(k)).collect();
        let mut header: Vec<String> =
            ["part", "row", "title", "trained", "seeds"].map(str::to_owned).to_vec();
        for what in ["solved", "gained"]
            .map(str::to_owned)
            .into_iter()
            .chain(ks.iter().map(|k| format!("pass_{k}")))
        {
            header.extend(ENDS.map(|end| format!("{what}{end}")));
        }
        header.extend(
            [
                "solved_by_seed",
                "steps",
                "samples",
                "completion_tokens",
                "prompt_tokens",
                "acts",
                "notes",
            ]
            .map(str::to_owned),
        );
        let mut text = csv_line(&header);
        for row in &self.rows {
            text.push_str(&csv_line(&csv_cells(row, &ks)));
        }
        text
    }

    /// The same of the claims.
    pub fn claims_csv(&self) -> String {
        let mut header = ["part", "better", "than", "claim"].map(str::to_owned).to_vec();
        header.extend(ENDS.map(|end| format!("difference{end}")));
        header.extend(
            ["family", "chance", "margin", "outside", "verdict", "remarks"].map(str::to_owned),
        );
        let mut text = csv_line(&header);
        for claim in &self.claims {
            let words = claim.claim.clone().unwrap_or_default();
            let mut cells =
                vec![claim.part.clone(), claim.better.clone(), claim.than.clone(), words];
            cells.extend(digits(claim.difference.as_ref()));
            let number =
                |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
            cells.extend([claim.family.clone(), number(claim.chance), number(claim.margin)]);
            cells.extend([number(claim.outside), claim.verdict.words().to_owned()]);
            cells.push(claim.remarks.join("; "));
            text.push_str(&csv_line(&cells));
        }
        text
    }
}

/// The columns of an estimate.
const ENDS: [&str; 6] = ["", "_low", "_high", "_t_low", "_t_high", "_middle_half"];

fn digits(found: Option<&Estimate>) -> Vec<String> {
    let ends = |interval: Option<Interval>| [interval.map(|it| it.low), interval.map(|it| it.high)];
    let mut values = vec![found.map(|found| found.mean)];
    values.extend(ends(found.and_then(|found| found.crossed)));
    values.extend(ends(found.and_then(|found| found.student)));
    values.push(found.map(|found| found.interquartile_mean));
    values.into_iter().map(|value| value.map_or(String::new(), |value| value.to_string())).collect()
}

fn csv_cells(row: &RowResult, ks: &[usize]) -> Vec<String> {
    let list = |values: Vec<String>| values.join(" ");
    let mut cells = vec![
        row.part.clone(),
        row.name.clone(),
        row.title.clone(),
        row.trained.to_string(),
        list(row.seeds.iter().map(ToString::to_string).collect()),
    ];
    cells.extend(digits(row.solved.as_ref()));
    cells.extend(digits(row.gained.as_ref()));
    for k in ks {
        cells.extend(digits(row.pass.get(k)));
    }
    cells.push(list(row.by_seed.iter().map(ToString::to_string).collect()));
    let cost = row.cost;
    let amounts = [row.steps, cost.samples, cost.completion_tokens, cost.prompt_tokens, cost.acts];
    cells.extend(amounts.map(|amount| amount.to_string()));
    cells.push(row.notes.join("; "));
    cells
}

fn csv_line(cells: &[String]) -> String {
    let cell = |cell: &String| match cell.contains([',', '"', '\n']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.clone(),
    };
    cells.iter().map(cell).collect::<Vec<_>>().join(",") + "\n"
}

fn claim_cells(claim: &ClaimResult) -> Vec<String> {
    let ClaimResult { better, than, .. } = claim;
    let found = claim.difference.as_ref();
    vec![
        claim.claim.clone().unwrap_or_else(|| format!("`{better}` is better than `{than}`")),
        found.map_or_else(dash, difference),
        found.and_then(|found| found.student).map_or_else(dash, |found| range(found, "")),
        claim.chance.map_or_else(dash, chance),
        claim.said(),
    ]
}

impl Table {
    fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> =
                cells.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule: Vec<String> = self.header.iter().map(|_| "---".to_owned()).collect();
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        line(&self.header) + &line(&rule) + &rows
    }

    fn latex(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| in_latex(cell)).collect();
            format!("  {} \\\\\n", cells.join(" & "))
        };
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!(
            "\\begin{{table}}\n  \\caption{{{}}}\n  \\resizebox{{\\linewidth}}{{!}}{{%\n  \
             \\begin{{tabular}}{{{}}}\n  \\toprule\n{}  \\midrule\n{rows}  \\bottomrule\n  \
             \\end{{tabular}}}}\n\\end{{table}}\n",
            in_latex(&self.title),
            "l".repeat(self.header.len()),
            line(&self.header),
        )
    }
}

fn in_latex(text: &str) -> String {
    let letter = |letter: char| match letter {
        '&' | '%' | '$' | '#' | '_' | '{' | '}' => format!("\\{letter}"),
        '\\' => "\\textbackslash{}".to_owned(),
        '~' => "\\textasciitilde{}".to_owned(),
        '^' => "\\textasciicircum{}".to_owned(),
        // As letters they are others in LaTeX's usual fonts.
        '<' | '>' | '|' => format!("${letter}$"),
        '−' => "$-$".to_owned(),
        '–' => "--".to_owned(),
        '\n' => " ".to_owned(),
        other => other.to_string(),
    };
    text.chars().map(letter).collect()
}

fn dash() -> String {
    "–".to_owned()
}

/// `79.3`: a share in hundredths.
fn points(share: f64) -> String {
    format!("{:.1}", 100.0 * share).replace('-', "−")
}

fn range(interval: Interval, before: &str) -> String {
    format!("{before}{} to {}", points(interval.low), points(interval.high))
}

/// `79.3 (75.3 to 83.3)`.
fn percent(found: &Estimate) -> String {
    let interval = found.crossed.map_or(String::new(), |interval| range(interval, " (") + ")");
    format!("{}{interval}", points(found.mean))
}

/// The same with a sign.
fn difference(found: &Estimate) -> String {
    let sign = if found.mean > 0.0 { "+" } else { "" };
    format!("{sign}{}", percent(found))
}

/// `0.013`, or that it is less than what is worth telling apart.
fn chance(chance: f64) -> String {
    if chance < 0.001 { "< 0.001".to_owned() } else { format!("{chance:.3}") }
}

/// `1.23 M`.
fn amount_of(amount: f64) -> String {
    match amount {
        amount if amount >= 1e6 => format!("{:.2} M", amount / 1e6),
        amount if amount >= 1e3 => format!("{:.1} k", amount / 1e3),
        amount => format!("{amount:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_latex_takes_for_another_letter_is_written_as_mathematics() {
        assert_eq!(in_latex("< 0.001 | −5 %"), "$<$ 0.001 $|$ $-$5 \\%");
    }
}
