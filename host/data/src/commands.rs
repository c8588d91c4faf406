//! `host data`: records out of published files, and a look at records.

mod args;

use std::path::PathBuf;

use crate::{
    Bounds, Dropped, ImportError, Order, RecordFile, Report, SplitChoice, Statistics, import,
};
pub use args::{DataCommand, ImportArgs};
use troupe_core::error::ExitCode;
use troupe_grading::Value;
use troupe_terminal as terminal;

/// Characters of a value that `show` prints.
const SHOWN_CHARS: usize = 600;

/// Files of fewer bytes need no bar.
const BAR_BYTES: u64 = 32 << 20;

/// Carry out one of the commands.
pub fn run(command: DataCommand) -> anyhow::Result<ExitCode> {
    match command {
        DataCommand::Import(args) => return run_import(&args),
        DataCommand::Show { file, record, whole } => {
            let record = RecordFile::open(&file)?.find(&record)?;
            show(&record.fields, if whole { usize::MAX } else { SHOWN_CHARS });
        }
        DataCommand::Sample { file, count, seed } => {
            for record in RecordFile::open(&file)?.sample(count, seed)? {
                terminal::line(&record.text);
            }
        }
        DataCommand::Stats { file, json } => {
            let statistics = Statistics::of(RecordFile::open(&file)?)?;
            if json {
                terminal::line(&serde_json::to_string(&statistics)?);
            } else {
                print_statistics(&statistics);
            }
        }
    }
    Ok(ExitCode::Success)
}

fn run_import(args: &ImportArgs) -> anyhow::Result<ExitCode> {
    let order = Order {
        set: args.set,
        paths: args.files.clone(),
        out: args
            .out
            .clone()
            .unwrap_or_else(|| PathBuf::from(format!("{}-records.jsonl", args.set))),
        split: args.split.map_or(SplitChoice::Published, SplitChoice::from),
        bounds: Bounds::of_mib(args.max_record_mib as usize),
    };
    let mut bar = None;
    let imported = import(&order, &mut |done, total| {
        if args.quiet || total < BAR_BYTES {
            return;
        }
        let mib = |bytes: u64| (bytes >> 20) as usize;
        let bar = bar.get_or_insert_with(|| terminal::Bar::new("import", 0, mib(total), "MiB"));
        bar.step_to(mib(done), String::new());
    });
    if let Some(bar) = bar {
        bar.finish();
    }
    let told = match &imported {
        Ok(told) => Some(told),
        Err(ImportError::NoRecords { report, .. }) => Some(&**report),
        Err(_) => None,
    };
    match told {
        Some(told) if args.json => terminal::line(&serde_json::to_string(told)?),
        Some(told) => print_report(told),
        None => {}
    }
    imported?;
    Ok(ExitCode::Success)
}

fn print_report(told: &Report) {
    let dropped = told.dropped_rows();
    terminal::line(&format!(
        "{}: {} rows, {} records, {dropped} dropped; licence: {}",
        told.data_set, told.rows, told.records, told.licence
    ));
    if told.records > 0 {
        terminal::line(&format!("`{}`: {} bytes, sha256 {}", told.file, told.bytes, told.sha256));
        let row = |(split, count): (&String, &usize)| vec![split.clone(), count.to_string()];
        terminal::table(&["split", "records"], &told.splits.iter().map(row).collect::<Vec<_>>());
    }
    print_reasons("dropped", &told.dropped);
    print_reasons("to be known", &told.noted);
}

fn print_reasons(title: &str, reasons: &[Dropped]) {
    if reasons.is_empty() {
        return;
    }
    terminal::line(&format!("{title}:"));
    for Dropped { reason, count, places } in reasons {
        terminal::line(&format!("  {count:>6}  {}", on_one_line(reason)));
        for place in places {
            terminal::line(&format!("          {}", on_one_line(place)));
        }
    }
}

fn on_one_line(text: &str) -> String {
    text.replace('\n', "\\n")
}

/// A record, field by field.
fn show(record: &Value, most: usize) {
    let Value::Dict(fields) = record else { return };
    for (name, value) in fields {
        let name = match name {
            Value::Str(name) => name.clone(),
            other => other.to_string(),
        };
        let text = match value {
            Value::Str(text) => text.clone(),
            Value::List(items) if items.iter().any(|item| matches!(item, Value::Dict(_))) => {
                items.iter().map(|item| format!("{item}\n")).collect()
            }
            other => other.to_string(),
        };
        let text = text.trim_end();
        let end = text.char_indices().nth(most).map_or(text.len(), |(end, _)| end);
        let rest = match text[end..].chars().count() {
            0 => String::new(),
            more => format!("… ({more} characters more; --whole shows them)"),
        };
        let shown = format!("{}{rest}", &text[..end]);
        if shown.contains('\n') {
            terminal::line(&format!("{name}:"));
            shown.lines().for_each(|line| terminal::line(&format!("  {line}")));
        } else {
            terminal::line(&format!("{name}: {shown}"));
        }
    }
}

fn print_statistics(statistics: &Statistics) {
    let Statistics { records, longest_bytes, with_solution, .. } = statistics;
    terminal::line(&format!(
        "{records} records, the longest of {longest_bytes} bytes; {with_solution} with a solution"
    ));
    let spread = |name: &str, spread: &Option<[usize; 3]>| {
        if let Some([least, median, most]) = spread {
            terminal::line(&format!("{name}: {least} to {most}, median {median}"));
        }
    };
    spread("characters of the problem", &statistics.problem_chars);
    spread("tests", &statistics.tests);
    for (field, counts) in &statistics.counts {
        let row = |(value, count): (&String, &usize)| vec![value.clone(), count.to_string()];
        terminal::table(&[field, "records"], &counts.iter().map(row).collect::<Vec<_>>());
    }
    let warn = |count: usize, what: &str| {
        if count > 0 {
            terminal::line(&format!("{count} {what}"));
        }
    };
    warn(statistics.too_long_for_runs, "records are too long for the tasks of a run (16 MiB)");
    warn(statistics.duplicate_ids, "records have the id of another");
    warn(statistics.across_splits.len(), "problems are in two splits:");
    for [one, other] in statistics.across_splits.iter().take(10) {
        terminal::line(&format!("  `{one}` and `{other}`"));
    }
}
