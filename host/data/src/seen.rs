//! Which names and problems there were already.

use std::collections::{BTreeMap, HashMap};

use super::refusal::Refusal;
use plugin_sdk::types::Split;

/// What tells problems apart, whatever they are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Problem([u8; 16]);

impl Problem {
    /// A problem that another spacing does not make another.
    pub fn of_words(text: &str) -> Self {
        Problem::of_text(&text.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// A problem in which every space counts.
    pub fn of_text(text: &str) -> Self {
        let mut digest = [0; 16];
        digest.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..16]);
        Problem(digest)
    }
}

/// The records so far.
#[derive(Debug, Default)]
pub(super) struct Seen {
    names: BTreeMap<String, (Split, Problem)>,
    problems: HashMap<Problem, (Split, String)>,
}

impl Seen {
    /// Nothing if the name is free; the name with its split before it if only
    /// another split has it: some publishers number each split from 0.
    pub fn unused_name(
        &self,
        id: &str,
        split: Split,
        problem: Problem,
    ) -> Result<Option<String>, Refusal> {
        let Some((other_split, other)) = self.names.get(id) else { return Ok(None) };
        let renamed = format!("{split}/{id}");
        if *other_split != split && !self.names.contains_key(&renamed) {
            return Ok(Some(renamed));
        }
        let reason = match *other == problem {
            true => "the same row once more",
            false => "duplicate id of another problem",
        };
        Err(Refusal::new(reason, format!("`{id}`")))
    }

    /// Where a problem was seen first.
    pub fn first_of(&self, problem: Problem) -> Option<&(Split, String)> {
        self.problems.get(&problem)
    }

    /// Remember a record.
    pub fn add(&mut self, id: String, split: Split, problem: Problem) {
        self.problems.entry(problem).or_insert_with(|| (split, id.clone()));
        self.names.insert(id, (split, problem));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_taken_once_in_a_split_and_told_apart_between_splits() {
        let (one, two) = (Problem::of_words("one  \nproblem"), Problem::of_words("two"));
        assert_eq!(one, Problem::of_words("one problem"));
        assert_ne!(Problem::of_text("# #"), Problem::of_text("#  #"));
        let mut seen = Seen::default();
        seen.add("7".to_owned(), Split::Train, one);
        assert_eq!(seen.unused_name("8", Split::Train, two), Ok(None));
        assert_eq!(seen.unused_name("7", Split::Test, two), Ok(Some("test/7".to_owned())));
        let reason = |problem| seen.unused_name("7", Split::Train, problem).unwrap_err().reason;
        assert_eq!(reason(one), "the same row once more");
        assert_eq!(reason(two), "duplicate id of another problem");
        assert_eq!(seen.first_of(one), Some(&(Split::Train, "7".to_owned())));
        assert_eq!(seen.first_of(two), None);
        seen.add("test/7".to_owned(), Split::Test, two);
        assert!(seen.unused_name("7", Split::Test, one).is_err());
    }
}
