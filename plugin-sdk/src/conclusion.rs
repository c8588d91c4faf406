//! What an answer comes to, for partners: a workflow shows one role what another
//! has said, or compares what two have said, without knowing the notation in
//! which the environment reads it.

use crate::reading::{bare, last_block, marked};

/// The part of an answer that an environment would most likely read: what is
/// marked as the answer, a last line that is called so, the last code block, or
/// the last line with the lines of the same notation above it.
///
/// ```
/// use plugin_sdk::conclusion::conclusion;
///
/// for text in ["D D", "I see.\nD D", "```\nD D\n```", "<answer>D D</answer>", "So:\nPlan: D D"] {
///     assert_eq!(conclusion(text), "D D", "{text}");
/// }
/// assert_eq!(conclusion("So I say:\n1>3\n2>3"), "1>3\n2>3");
/// ```
pub fn conclusion(answer: &str) -> &str {
    if let Some(inside) = marked(answer) {
        return bare(inside);
    }
    let text = answer.trim_end();
    let start = text.rfind('\n').map_or(0, |end| end + 1);
    let line = &text[start..];
    if is_labeled(line) {
        return bare(bare(line).trim_end_matches('.'));
    }
    match last_block(text) {
        Some(block) => block.trim(),
        None => bare(bare(&text[beginning(text, start)..]).trim_end_matches('.')),
    }
}

/// Whether the answer comes to this one word.
pub fn says(answer: &str, word: &str) -> bool {
    conclusion(answer).eq_ignore_ascii_case(word)
}

/// A word before it, such as `Answer:`, says what the line is.
fn is_labeled(line: &str) -> bool {
    line.split_once(':').is_some_and(|(_, rest)| !bare(rest).is_empty() && bare(line) == bare(rest))
}

/// Where the lines begin that are written as the last one is, which begins at `start`.
fn beginning(text: &str, start: usize) -> usize {
    let words: Vec<String> = text[start..].split_whitespace().map(shape).collect();
    let is_alike = |line: &&str| {
        let mut shapes = line.split_whitespace().map(shape).peekable();
        shapes.peek().is_some() && shapes.all(|shape| words.contains(&shape))
    };
    let above = text[..start].split_inclusive('\n').rev().take_while(is_alike);
    start - above.map(str::len).sum::<usize>()
}

/// What a word of a notation looks like: one sign for each stretch of letters or of
/// digits. A word of letters alone is like itself only, a single letter like any.
fn shape(word: &str) -> String {
    if word.chars().all(char::is_alphabetic) && word.chars().count() > 1 {
        return word.to_lowercase();
    }
    let sign = |letter: char| match letter {
        _ if letter.is_alphabetic() => 'a',
        _ if letter.is_numeric() => '0',
        _ => letter,
    };
    let mut shape: Vec<char> = word.chars().map(sign).collect();
    shape.dedup();
    shape.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partner_is_shown_what_the_environment_would_read() {
        for (text, read) in [
            ("", ""),
            ("D D R", "D D R"),
            ("I would go down.\n\n**D D R**", "D D R"),
            ("```text\nD D R\n```", "D D R"),
            ("```\nD D R\n```\nThat should do.", "D D R"),
            ("<answer> D D R </answer>, I am sure.", "D D R"),
            ("So \\boxed{42}.", "42"),
            ("2 + 2 = 4\nThe answer is:\n4.", "4"),
            ("```python\nprint(4)\n```\nAnswer: 4", "4"),
            ("A>B\nB>table", "A>B\nB>table"),
            ("Let us see.\nr1c2=3\nr12c4=9", "r1c2=3\nr12c4=9"),
            ("1>3\n\n2>3", "2>3"),
            ("Sure\nD D", "D D"),
        ] {
            assert_eq!(conclusion(text), read, "{text}");
        }
    }

    #[test]
    fn one_word_is_said_however_it_is_written() {
        for text in ["more", "I lack a date.\n**More.**", "```\nmore\n```", "Answer: more"] {
            assert!(says(text, "more"), "{text}");
        }
        assert!(!says("more of it", "more") && !says("", "more"));
    }
}
