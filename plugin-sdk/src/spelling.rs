//! Words of a small notation, however they are written.

use crate::{Format, Unreadable};

/// What may stand between the words of an answer.
const BETWEEN: &str = ",;[]()\"'`*";
/// What an answer may be called, with a colon behind it.
const LABELS: [&str; 6] = ["answer", "final answer", "moves", "plan", "action", "actions"];

/// A word of a notation: its letter, its spelling, and what it means.
pub type Word<'w, T> = (char, &'w str, T);

/// The words that an answer consists of, by letter or spelled out, in any case,
/// apart or as one: `D, D, R`, `DDR` and `down down right` are the same. They are
/// looked for where their form has them, and nothing else may stand there.
/// What is wrong otherwise is the first word that is none of the notation's.
///
/// ```
/// use plugin_sdk::{Format, spelling::spelled};
///
/// let words = [('d', "down", 1), ('r', "right", 2)];
/// let read = |text| spelled(Format::Any, "moves", text, &words);
/// assert_eq!(read("I go down.\n\nMoves: `D, D, right`"), Ok(vec![1, 1, 2]));
/// assert_eq!(read("drive down").expect_err("prose").why(), "drive");
/// assert_eq!(read(""), Ok(vec![]));
/// ```
pub fn spelled<T: Copy>(
    format: Format,
    kind: &str,
    text: &str,
    words: &[Word<'_, T>],
) -> Result<Vec<T>, Unreadable> {
    format.read(kind, text, |passage| all_words(unlabeled(passage), words))
}

/// An answer without what it is called.
fn unlabeled(passage: &str) -> &str {
    let is_label = |label: &str| {
        let label = label.trim_matches(|letter: char| !letter.is_alphanumeric());
        LABELS.iter().any(|known| known.eq_ignore_ascii_case(label))
    };
    passage.split_once(':').filter(|(label, _)| is_label(label)).map_or(passage, |(_, rest)| rest)
}

/// The words of a text in which there is nothing else but, at its end, a period.
fn all_words<T: Copy>(text: &str, words: &[Word<'_, T>]) -> Result<Vec<T>, Unreadable> {
    let text = text.trim_end().strip_suffix('.').unwrap_or(text);
    let between = |letter: char| letter.is_whitespace() || BETWEEN.contains(letter);
    let parts = || text.split(between).filter(|word| !word.is_empty());
    let mut found = Vec::new();
    for word in parts() {
        let known = meaning(word, words).ok_or_else(|| {
            Unreadable::new(word).among(parts(), |word| meaning(word, words).is_some())
        });
        found.extend(known?);
    }
    Ok(found)
}

/// The words of a list in small letters, however it is written: with commas or
/// numbers, in brackets, quotes or backticks, with spaces around `=`, and with a
/// period at its end.
///
/// ```
/// use plugin_sdk::spelling::listed;
///
/// assert_eq!(listed("1. `R1C2 = 3`\n2. `r1c3-`."), ["r1c2=3", "r1c3-"]);
/// ```
pub fn listed(text: &str) -> Vec<String> {
    let between = |letter: char| letter.is_whitespace() || BETWEEN.contains(letter);
    let words = |line: &str| {
        let parts: Vec<&str> = line.split('=').map(str::trim).collect();
        let line = parts.join("=").to_lowercase();
        let words = line.split(between).map(|word| word.trim_end_matches('.').to_owned());
        words.filter(|word| !word.is_empty()).collect::<Vec<String>>()
    };
    text.lines().flat_map(|line| words(unmarked(line.trim()))).collect()
}

/// A line without what makes it an entry of a list: `- `, `* ` or `12. `.
fn unmarked(line: &str) -> &str {
    let rest = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let mark: &[char] = if rest.len() < line.len() { &['.', ')'] } else { &['-', '*'] };
    let entry = rest.strip_prefix(mark).filter(|entry| entry.starts_with(char::is_whitespace));
    entry.unwrap_or(line)
}

/// What a word means, or each of its letters.
fn meaning<T: Copy>(word: &str, words: &[Word<'_, T>]) -> Option<Vec<T>> {
    let spelled = words.iter().find(|(_, name, _)| name.eq_ignore_ascii_case(word));
    spelled.map_or_else(|| by_letters(word, words), |&(_, _, meaning)| Some(vec![meaning]))
}

/// What the letters of a word mean, if all of them mean something.
fn by_letters<T: Copy>(word: &str, words: &[Word<'_, T>]) -> Option<Vec<T>> {
    let meaning = |letter: char| {
        let letter = letter.to_ascii_lowercase();
        words.iter().find(|(known, _, _)| *known == letter).map(|&(_, _, meaning)| meaning)
    };
    word.chars().map(meaning).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOVES: [Word<'static, char>; 4] =
        [('u', "up", 'U'), ('d', "down", 'D'), ('l', "left", 'L'), ('r', "right", 'R')];

    fn read(text: &str) -> Result<String, Unreadable> {
        spelled(Format::Any, "moves", text, &MOVES).map(|moves| moves.into_iter().collect())
    }

    #[test]
    fn however_it_is_written_it_is_the_same_answer() {
        for text in [
            "D D R",
            " ddr\n",
            "D, D, R",
            "down Down RIGHT",
            "[\"D\", \"D\", \"R\"]",
            "**DDR**.",
            "D\nD\nR",
            "Two down, one right:\n```text\nD\nD R\n```",
            "```\nD D R\n```\nThat should do.",
            "U U\n\nNo, better:\nAnswer: D D R\nI hope that helps.",
        ] {
            assert_eq!(read(text), Ok("DDR".to_owned()), "{text}");
        }
    }

    #[test]
    fn prose_with_stray_letters_is_no_answer() {
        for (text, word) in [
            ("I think D and R", "I"),
            ("D D R because I am near", "because"),
            ("D D R!", "R!"),
            ("up\u{0}", "up\u{0}"),
        ] {
            assert_eq!(read(text).expect_err("no answer").why(), word, "{text}");
        }
    }

    #[test]
    fn the_more_of_an_answer_is_known_the_less_it_costs() {
        let charges =
            ["D D go", "go D", "I go"].map(|text| read(text).expect_err("no answer").charge(-1.0));
        assert!(charges.is_sorted_by(|one, other| one > other), "{charges:?}");
    }

    #[test]
    fn nothing_is_read_as_nothing() {
        for text in ["", " \n", "[]", "***"] {
            assert_eq!(read(text), Ok(String::new()), "{text}");
        }
    }
}
