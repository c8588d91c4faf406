//! What runs are called on a page.

use std::path::{Path, PathBuf};

/// The names of folders, wherever they were named from; where several have the same, with as many
/// of the folders above them as tell them apart.
pub fn names_of(runs: &[PathBuf]) -> Vec<String> {
    let parts: Vec<Vec<String>> = runs.iter().map(|run| parts_of(run)).collect();
    let name = |own: &Vec<String>| {
        let is_own = |length: &usize| {
            let is_shared =
                |other: &Vec<String>| other != own && end(other, *length) == end(own, *length);
            !parts.iter().any(is_shared)
        };
        let length = (1..=own.len()).find(is_own).unwrap_or(own.len());
        end(own, length).join("/")
    };
    parts.iter().map(name).collect()
}

fn parts_of(run: &Path) -> Vec<String> {
    let whole = run.canonicalize().unwrap_or_else(|_| run.to_owned());
    whole.iter().map(|part| part.to_string_lossy().into_owned()).collect()
}

/// The last parts of a path, so many of them.
fn end(parts: &[String], length: usize) -> &[String] {
    &parts[parts.len().saturating_sub(length)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_folders_with_the_same_name_are_told_apart_by_those_above() {
        let names = |paths: &[&str]| names_of(&paths.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(names(&["nowhere/a/run", "nowhere/b"]), ["run", "b"]);
        let alike = ["nowhere/a/x/run", "nowhere/b/x/run", "nowhere/b/y/run", "nowhere/c"];
        assert_eq!(names(&alike), ["a/x/run", "b/x/run", "y/run", "c"]);
        assert_eq!(names(&["nowhere/run", "nowhere/run"]), ["run", "run"]);
    }
}
