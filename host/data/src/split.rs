//! Which split a row belongs to.

use plugin_sdk::types::Split;

/// What decides the split of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitChoice {
    /// What the set or the file says, else a digest of the problem.
    Published,
    /// This one for all.
    All(Split),
    /// A digest of the problem: eight in ten to training, one each to the others.
    ByDigest,
}

/// The split that a word stands for.
pub(super) fn of_word(word: &str) -> Option<Split> {
    match word.to_ascii_lowercase().as_str() {
        "train" | "training" => Some(Split::Train),
        "valid" | "validation" | "val" | "dev" => Some(Split::Validation),
        "test" | "testing" => Some(Split::Test),
        _ => None,
    }
}

/// The split that a file's name says, or else one of the two folders it lies in.
pub(super) fn of_path(path: &str) -> Option<Split> {
    let mut parts = path.rsplit(['/', '\\']);
    let name = parts.next()?;
    let said = |text: &str| {
        let mut splits = text
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter_map(|word| of_word(word.trim_end_matches(|c: char| c.is_ascii_digit())));
        let first = splits.next();
        // A name that says two says neither.
        first.filter(|first| splits.all(|other| other == *first))
    };
    said(name).or_else(|| parts.take(2).find_map(of_word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_is_told_by_the_name_or_by_the_folders_next_to_it() {
        for (path, split) in [
            ("gsm8k/train.jsonl", Some(Split::Train)),
            ("test-00000-of-00001.parquet", Some(Split::Test)),
            ("lcb/test5.jsonl", Some(Split::Test)),
            ("boxoban/medium/valid/003.txt", Some(Split::Validation)),
            ("MATH/train/algebra/17.json", Some(Split::Train)),
            ("test/some/where/else/x.jsonl", None),
            ("train-and-test.jsonl", None),
            ("contest.jsonl", None),
            ("latest.json", None),
        ] {
            assert_eq!(of_path(path), split, "{path}");
        }
    }
}
