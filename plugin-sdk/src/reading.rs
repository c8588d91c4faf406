//! Reading what language models write: what counts may stand in a code block,
//! or in the last lines.

/// Lines, counted from the end, in which an answer is looked for, and bytes.
const LINES: usize = 64;
const BYTES: usize = 64 << 10;
/// What may stand around an answer without meaning anything.
const WRAPPING: [char; 4] = ['`', '*', '"', '$'];
/// What may stand before an answer, in small letters.
const LABELS: [&str; 4] = ["final answer:", "answer:", "moves:", "plan:"];
/// What an answer is called between its tags.
const TAG: &str = "answer";
pub(crate) const BOX: &str = "\\boxed{";

/// What `parse` makes of what is [`marked`], of the text, of its last code
/// block, of its last lines together, or of the last line that it can read; the
/// error is that of the last line.
///
/// ```
/// use plugin_sdk::reading;
///
/// let number = |text: &str| text.parse::<u8>().map_err(|error| error.to_string());
/// for text in ["7", "It is 7, so\n**7**", "```\n7\n```\nThat is it.", "Answer: 7\nDone."] {
///     assert_eq!(reading::last(text, number), Ok(7), "{text}");
/// }
/// assert!(reading::last("seven", number).is_err());
/// ```
pub fn last<T, E>(text: &str, parse: impl Fn(&str) -> Result<T, E>) -> Result<T, E> {
    let text = end(text.trim());
    let read =
        |passage| Some(bare(passage)).filter(|passage| !passage.is_empty()).map(&parse)?.ok();
    // Most answers are nothing but the answer: the rest of the text is looked at only then.
    if let Some(answer) = marked(text).and_then(read).or_else(|| read(text)) {
        return Ok(answer);
    }
    let lines = last_lines(text);
    let passages = last_block(text).into_iter().chain(paragraph(text, &lines));
    let answer = passages.chain(lines.iter().rev().copied()).find_map(read);
    answer.map_or_else(|| parse(bare(lines.last().copied().unwrap_or_default())), Ok)
}

/// The text without white space and marks of emphasis around it, and without a
/// word before it that says what it is.
pub fn bare(text: &str) -> &str {
    let trim = |text| {
        str::trim_matches(text, |letter: char| letter.is_whitespace() || WRAPPING.contains(&letter))
    };
    let text = trim(text);
    let labeled = LABELS.iter().find_map(|label| {
        let (start, rest) = text.split_at_checked(label.len())?;
        start.eq_ignore_ascii_case(label).then_some(rest)
    });
    labeled.map_or(text, trim)
}

/// What was marked as the answer, the last time: `<answer>7</answer>` or
/// `\boxed{7}`.
pub fn marked(text: &str) -> Option<&str> {
    tagged(text, TAG).or_else(|| boxed(text))
}

/// What stands between the tags of this name, the last time.
pub fn tagged<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let before = &text[..text.rfind(&format!("</{name}>"))?];
    let tag = format!("<{name}>");
    Some(&before[before.rfind(&tag)? + tag.len()..])
}

/// What stands in a box, the last time.
pub fn boxed(text: &str) -> Option<&str> {
    let inside = &text[text.rfind(BOX)? + BOX.len()..];
    let mut depth = 1;
    let end = inside.find(|letter| {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        depth == 0
    })?;
    Some(&inside[..end])
}

/// The text, if it is long only the lines at its end, so that reading is bounded.
fn end(text: &str) -> &str {
    let Some(start) = text.len().checked_sub(BYTES) else { return text };
    let last = &text[text.ceil_char_boundary(start)..];
    last.split_once('\n').map_or(last, |(_, lines)| lines)
}

/// The last lines that are not blank, in their order.
fn last_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> =
        text.lines().rev().filter(|line| !line.trim().is_empty()).take(LINES).collect();
    lines.reverse();
    lines
}

/// The text from each of the last lines on, the longest first, as far as no
/// blank line is in between.
fn paragraph<'t>(text: &'t str, lines: &[&'t str]) -> impl Iterator<Item = &'t str> {
    let place = |line: &&str| line.as_ptr() as usize - text.as_ptr() as usize;
    let starts: Vec<usize> = lines.iter().map(place).collect();
    let begin = text.rfind("\n\n").unwrap_or(0);
    starts.into_iter().filter(move |&start| start >= begin).map(move |start| &text[start..])
}

/// The answer that a text comes to: what is [`marked`], or its last line.
///
/// ```
/// use plugin_sdk::reading::final_answer;
///
/// assert_eq!(final_answer("So it is \\boxed{\\frac{1}{2}}, I think."), "\\frac{1}{2}");
/// assert_eq!(final_answer("2 + 2\nThe answer is 4.\nAnswer: **4**"), "4");
/// ```
pub fn final_answer(text: &str) -> &str {
    if let Some(inside) = marked(text) {
        return bare(inside);
    }
    let line = last_lines(text).last().copied().unwrap_or_default();
    bare(bare(line).trim_end_matches('.'))
}

/// A program: what stands in the last fenced block, or all of it.
pub fn program(text: &str) -> &str {
    last_block(text).unwrap_or(text)
}

/// What stands in the last fenced block.
pub fn last_block(text: &str) -> Option<&str> {
    let before = text.trim_end().strip_suffix("```").or_else(|| {
        let end = text.rfind("\n```")?;
        Some(&text[..end])
    })?;
    let start = before.rfind("```")? + 3;
    let (_language, inside) = before[start..].split_once('\n')?;
    Some(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(text: &str) -> Result<String, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let is_letter = |word: &&str| word.len() == 1;
        match words.iter().find(|word| !is_letter(word)) {
            Some(word) => Err(format!("`{word}` is long.")),
            None => Ok(words.concat()),
        }
    }

    #[test]
    fn an_answer_is_found_wherever_it_usually_stands() {
        for text in [
            "a b",
            "a\nb",
            "```\na b\n```",
            "I think:\n```text\na\nb\n```\nThat should do.",
            "I tried c.\nThen this:\na\nb",
            "c d\n\nRather:\n\na b",
            "Let us see\na b\nDone, I hope.",
            "**a b**",
            "Final answer: a b",
            "<answer>c</answer> or rather <answer> a b </answer>.",
            "So it is $\\boxed{a b}$ I say.",
        ] {
            assert_eq!(last(text, letters).as_deref(), Ok("ab"), "{text}");
        }
        assert_eq!(marked("\\boxed{\\frac{1}{2}} = 0.5"), Some("\\frac{1}{2}"));
        assert_eq!(marked("\\boxed{1 </answer>"), None);
    }

    #[test]
    fn what_cannot_be_read_is_explained_by_its_last_line() {
        assert_eq!(last("why not\nno way", letters), Err("`no` is long.".to_owned()));
        assert_eq!(last("", letters).as_deref(), Ok(""));
        assert_eq!(last("```", letters).as_deref(), Ok(""));
        let long = "never mind\n".repeat(10_000);
        assert_eq!(last(&long, letters), Err("`never` is long.".to_owned()));
        let late = format!("{}\na b", "ä ".repeat(1 << 17));
        assert_eq!(last(&late, letters).as_deref(), Ok("ab"));
    }
}
