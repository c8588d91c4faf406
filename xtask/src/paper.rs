//! The paper's table, with tiny policies, and that of a language model: experiments, and the pages
//! that say what was found.

mod page;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::machine::machine;
use crate::process::{self, Failed};
use crate::progress::Elapsed;
use crate::workspace::Workspace;
use page::{Origin, Results, page};
use troupe_core::storage::write_file;

/// An experiment, and the page that its table is shown on.
struct Sheet {
    title: &'static str,
    /// What writes the page.
    command: &'static str,
    file: &'static str,
    /// Where the page finds what is said of such files.
    guide: &'static str,
    /// Below `experiments`.
    folder: &'static str,
    /// Of the command line of `host experiment`.
    asked: &'static [&'static str],
    /// What is said of the whole.
    words: &'static str,
    /// The page, and the picture beside it; those of a quick table lie beside its runs.
    kept: Option<(&'static str, &'static str)>,
}

const BOARDS: Sheet = Sheet {
    title: "Experiments",
    command: "cargo xtask paper",
    file: "configs/experiments/stronger-together.toml",
    guide: "experiment-files.md",
    folder: "stronger-together",
    // Cells that are filled, a small file each, so that the next call goes on from there.
    asked: &["--cells", "docs/experiments/cells"],
    words: "The policies are tiny: what is shown here is shown of them; of a language model there \
            is [a table of its own](experiments/language-model.md). Every seed of every row is a \
            file below `docs/experiments/cells`, and `python3 docs/experiments/verdicts.py` \
            computes the verdicts from them again. [Success over what was spent]\
            (experiments/curves.svg). What comparisons make of an answer is set beside what it was \
            really worth in [methods/credit.md](methods/credit.md).",
    kept: Some(("docs/experiments.md", "docs/experiments/curves.svg")),
};

/// What the quick table has of the whole one: the paper's rows on one board, two seeds, fewer
/// tokens and tasks, less to choose from.
const QUICK: Sheet = Sheet {
    command: "cargo xtask paper --quick",
    folder: "stronger-together-quick",
    asked: &[
        "--set",
        "seeds=[1, 2]",
        "--set",
        "budget.completion_tokens=40_000",
        "--set",
        "exam.tasks=128",
        "--set",
        "tune.seeds=[101]",
        "--set",
        "tune.share=0.25",
        "--set",
        "tune.values={\"train.learning_rate\" = [0.0003, 0.001]}",
        "--only",
        "plan-path",
    ],
    words: "This is the quick table: the paper's rows on one board, two seeds, few tokens. It shows \
            that everything works. Two seeds show next to nothing else: their intervals are nine \
            times as wide as the spread between them.",
    kept: None,
    ..BOARDS
};

/// Its cells are filled by `host experiment`, seed by seed; the page shows those that are there.
const LANGUAGE_MODEL: Sheet = Sheet {
    title: "A language model on a small board",
    command: "cargo xtask paper --page",
    file: "configs/experiments/language-model.toml",
    guide: "../experiment-files.md",
    folder: "language-model",
    asked: &["--cells", "docs/experiments/language-model", "--table"],
    words: "SmolLM2-135M-Instruct learns the board of [language-models.md](../language-models.md\
            #a-small-board-as-a-team). Every seed of every row is a file below \
            `docs/experiments/language-model`; a seed that is missing there was not run, and what \
            is said is said of the others. [Success over what was spent](language-model.svg).",
    kept: Some(("docs/experiments/language-model.md", "docs/experiments/language-model.svg")),
};
/// What that experiment has to have, if only to be drawn.
const MODEL: &str = "models/SmolLM2-135M-Instruct";
/// What the host ends with when a row failed; the others have figures.
const SOME_FAILED: i32 = 6;

/// Fills the table, or goes on filling it, or only draws what is there, and writes the pages; the
/// host has been built. What was not run is said so.
pub fn fill(workspace: &Workspace, quick: bool, only_drawn: bool) -> Result<()> {
    let filled = show(workspace, if quick { &QUICK } else { &BOARDS }, only_drawn);
    if quick || filled.is_err() {
        return filled;
    }
    if workspace.root.join(MODEL).is_dir() {
        return show(workspace, &LANGUAGE_MODEL, false);
    }
    eprintln!(
        "== the language model's page is left as it is: `cargo xtask smollm` brings the model"
    );
    Ok(())
}

fn show(workspace: &Workspace, sheet: &Sheet, only_drawn: bool) -> Result<()> {
    let elapsed = Elapsed::start();
    let mut host = Command::new(workspace.target_dir.join("release/host"));
    host.current_dir(&workspace.root).args(["experiment", sheet.file, "--out"]);
    host.arg(folder(workspace, sheet)).args(sheet.asked);
    if only_drawn {
        host.arg("--table");
    }
    let filled = process::run(&mut host);
    let failed = filled.as_ref().err().and_then(|error| error.downcast_ref::<Failed>());
    if filled.is_ok() || failed.and_then(Failed::code) == Some(SOME_FAILED) {
        let page = write_page(workspace, sheet)?;
        eprintln!("== {}: written after {elapsed}", page.display());
    }
    filled
}

/// The quick page lies beside its runs, and never in the place of the other.
fn write_page(workspace: &Workspace, sheet: &Sheet) -> Result<PathBuf> {
    let folder = folder(workspace, sheet);
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).with_context(|| format!("reading `{}`", path.display()))
    };
    let write = |path: &PathBuf, text: String| anyhow::Ok(write_file(path, text.as_bytes())?);
    let results: Results = serde_json::from_str(&read("results.json")?)?;
    let page = page(&results, &read("table.md")?, &origin(workspace)?, sheet);
    let Some((kept, curves)) = sheet.kept else {
        let path = folder.join("page.md");
        return write(&path, page).map(|()| path);
    };
    write(&workspace.root.join(curves), read("curves.svg")?)?;
    let path = workspace.root.join(kept);
    write(&path, page).map(|()| path)
}

fn folder(workspace: &Workspace, sheet: &Sheet) -> PathBuf {
    workspace.root.join("experiments").join(sheet.folder)
}

fn origin(workspace: &Workspace) -> Result<Origin> {
    let mut date = Command::new("date");
    let date = process::read(date.args(["-u", "+%Y-%m-%d"]).current_dir(&workspace.root))?;
    Ok(Origin { date: date.trim().to_owned(), machine: machine() })
}
