//! `host plugin search`: components that an index knows, by words.

use std::path::PathBuf;

use crate::index::{Index, Known};
use troupe_core::installation::plugin_folders;
use troupe_terminal::{self as terminal, UsageError};

/// Lines of one answer.
const SHOWN: usize = 20;
/// Where the index of what was installed lies, seen from the plugins.
const BESIDE: &str = "../catalogue/index.json";

/// Print what fits.
pub(super) fn search(words: &[String], indices: &[PathBuf]) -> anyhow::Result<()> {
    let files = match indices {
        [] => vec![installed()?],
        named => named.to_vec(),
    };
    let mut all = Index::default();
    for file in files {
        // What several know is shown once, as the first one says it.
        let more = Index::read(&file)?.components.into_iter();
        let unknown =
            more.filter(|known| all.components.iter().all(|it| it.reference != known.reference));
        let unknown: Vec<Known> = unknown.collect();
        all.components.extend(unknown);
    }
    let found = all.search(words);
    for known in found.iter().take(SHOWN) {
        tell(known);
    }
    match found.len() {
        0 => terminal::note(&format!("none of {} components fits", all.components.len())),
        count if count > SHOWN => {
            let more = count - SHOWN;
            terminal::note(&format!(
                "and {more} more; with more words, what fits best comes first"
            ));
        }
        _ => {}
    }
    Ok(())
}

/// The index that came with the program.
fn installed() -> Result<PathBuf, UsageError> {
    let files = plugin_folders().into_iter().map(|folder| folder.join(BESIDE));
    files.into_iter().find(|file| file.is_file()).ok_or_else(|| {
        let reason = "there is no index to search in; name one with `--index FILE` (`host plugin \
                      catalogue` writes them)";
        UsageError(reason.to_owned())
    })
}

fn tell(known: &Known) {
    let Known { name, sentence, contract, .. } = known;
    let version = known.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let kind = known.kind.as_ref().map(|kind| format!(", {kind}")).unwrap_or_default();
    let licence = known.licence.as_ref().map_or("no licence named".to_owned(), ToString::to_string);
    terminal::line(&format!("{name}{version}{kind}: {sentence}"));
    terminal::line(&format!("  contract {contract}; {licence}"));
    terminal::line(&format!("  files = [{:?}]", String::from(known.reference.clone())));
}
