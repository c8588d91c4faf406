//! The files that rows are read from.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::report;
use super::set::DataSet;
use troupe_core::storage::UNFINISHED;

/// Folders within folders.
const DEPTH: usize = 8;

/// What a problem of APPS in its folder form has in its folder.
const STATEMENT: &str = "question.txt";

/// A file, or a folder that is one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub path: PathBuf,
    pub is_row: bool,
    pub bytes: u64,
}

/// The sources that a path of the command line stands for: itself, or all in
/// it, in the order of their names.
pub(super) fn sources_of(path: &Path, set: DataSet) -> io::Result<Vec<Source>> {
    let metadata = fs::metadata(path)?;
    let mut sources = Vec::new();
    if metadata.is_dir() {
        walk(path, set, DEPTH, &mut sources)?;
    } else {
        File::open(path)?;
        sources.push(Source { path: path.to_owned(), is_row: false, bytes: metadata.len() });
    }
    Ok(sources)
}

fn walk(folder: &Path, set: DataSet, depth: usize, sources: &mut Vec<Source>) -> io::Result<()> {
    if set == DataSet::Apps && folder.join(STATEMENT).is_file() {
        let bytes = fs::metadata(folder.join(STATEMENT))?.len();
        sources.push(Source { path: folder.to_owned(), is_row: true, bytes });
        return Ok(());
    }
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        // A link may lead to a file, as in a hub's cache, but to no folder: that could go round.
        if entry.file_type()?.is_dir() {
            if depth > 0 {
                walk(&path, set, depth - 1, sources)?;
            }
        } else if is_data(&path, set)
            && let Ok(metadata) = fs::metadata(&path)
            && metadata.is_file()
        {
            sources.push(Source { path, is_row: false, bytes: metadata.len() });
        }
    }
    Ok(())
}

/// Whether a file lies in a folder, or will once it is written, and is one that is read there.
pub(super) fn would_read(folder: &Path, file: &Path, set: DataSet) -> bool {
    let (Ok(folder), Ok(file)) = (folder.canonicalize(), std::path::absolute(file)) else {
        return false;
    };
    let above = file.ancestors().skip(1).find_map(|above| above.canonicalize().ok());
    is_data(&file, set) && above.is_some_and(|above| above.starts_with(&folder))
}

fn is_data(path: &Path, set: DataSet) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    // What imports of ours leave in a folder.
    if name.starts_with(UNFINISHED) || name.ends_with(report::ENDING) {
        return false;
    }
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match set {
        DataSet::Boxoban => ending == "txt",
        _ => ["json", "jsonl", "ndjson", "parquet", "gz", "zst"].contains(&ending),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_stands_for_the_data_files_in_it_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let ours = ["a.jsonl.report.json", ".unfinished-a.jsonl", ".unfinished-a.txt"];
        let theirs = ["b/2.json", "b/1.json", "a.parquet", "README.md", "c/question.txt"];
        for name in ours.into_iter().chain(theirs) {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        let names = |set| -> Vec<String> {
            let sources = sources_of(folder.path(), set).unwrap();
            let name = |source: Source| {
                source.path.strip_prefix(folder.path()).unwrap().display().to_string()
            };
            sources.into_iter().map(name).collect()
        };
        assert_eq!(names(DataSet::Math), ["a.parquet", "b/1.json", "b/2.json"]);
        assert_eq!(names(DataSet::Apps), ["a.parquet", "b/1.json", "b/2.json", "c"]);
        assert_eq!(names(DataSet::Boxoban), ["c/question.txt"]);
        assert!(sources_of(&folder.path().join("none"), DataSet::Math).is_err());
    }
}
