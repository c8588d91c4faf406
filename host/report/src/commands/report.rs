//! `host report`: runs as a page.

use std::path::{Path, PathBuf};

use super::args::ReportArgs;
use crate::page::{Bounds, Page};
use troupe_core::error::ExitCode;
use troupe_core::storage::write_file;
use troupe_terminal as terminal;

/// What the page is called if no name is given.
const FILE: &str = "report.html";

/// Write the page.
///
/// # Errors
/// If a run cannot be read, or the page not written.
pub fn run(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let bounds = Bounds {
        episodes: args.episodes,
        answers: args.answers,
        text_bytes: args.text_bytes,
        bytes: (args.mib as usize) << 20,
    };
    let page = Page::of(&args.runs, bounds)?;
    let html = page.to_html()?;
    let out = args.out.clone().unwrap_or_else(|| usual_place(&args.runs));
    write_file(&out, html.as_bytes())?;
    for note in page.runs.iter().flat_map(|run| &run.notes) {
        terminal::note(note);
    }
    let (episodes, answers) = page.runs.iter().fold((0, 0), |(episodes, answers), run| {
        (episodes + run.shown.episodes, answers + run.shown.answers)
    });
    terminal::line(&format!(
        "{}: {:.1} MB, {episodes} episodes, {answers} answers; open it in a browser",
        out.display(),
        html.len() as f64 / 1e6
    ));
    Ok(ExitCode::Success)
}

fn usual_place(runs: &[PathBuf]) -> PathBuf {
    match runs {
        [run] => run.join(FILE),
        _ => Path::new(FILE).to_owned(),
    }
}
