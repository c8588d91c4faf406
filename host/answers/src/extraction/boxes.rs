//! `\boxed{…}` and its relatives.

/// The commands that box an answer.
const COMMANDS: [&str; 2] = ["\\boxed", "\\fbox"];
/// More boxes than that are no list of answers.
const MOST_JOINED: usize = 64;

/// What stands in a box that is only spoken of.
const PLACEHOLDERS: [&str; 12] = [
    "answer", "your", "final", "the", "ans", "here", "result", "solution", "number", "value", "my",
    "content",
];

/// Nothing longer is a box that is only spoken of, in bytes.
const LONGEST_MENTION: usize = 80;

/// A box in a text.
struct Boxed<'t> {
    /// Where its command begins.
    start: usize,
    /// Behind its closing brace.
    end: usize,
    inside: &'t str,
}

/// What the boxes of a text come to.
pub(super) enum Last {
    /// What the last one holds, or the last ones together, if they are joined.
    Answer(String),
    /// The last one is not closed.
    Open,
    /// There is none. The text, without those that are only spoken of.
    None(String),
}

/// What the last box of `text` comes to.
pub(super) fn last(text: &str) -> Last {
    let text = without_mentions(text);
    let Some(start) = last_start(&text) else { return Last::None(text) };
    let Some(last) = boxed(&text, start) else { return Last::Open };
    let end = last.end;
    let mut answers = vec![innermost(last.inside)];
    let mut first = last.start;
    while let Some(before) = last_start(&text[..first]).filter(|_| answers.len() < MOST_JOINED) {
        match boxed(&text[..first], before) {
            Some(previous) if joins(&text[previous.end..first]) => {
                answers.push(innermost(previous.inside));
                first = previous.start;
            }
            _ => break,
        }
    }
    answers.reverse();
    let mut answer = answers.join(", ");
    if answers.len() == 1 {
        // A sign of the box's own formula belongs to the answer.
        if text[..first].trim_end().ends_with(['-', '−']) && formula_before(&text[..first]) {
            answer = format!("-({answer})");
        }
        let behind = &text[end..];
        if behind.starts_with("\\%") || behind.starts_with('%') {
            answer.push_str("\\%");
        }
    }
    Last::Answer(answer)
}

/// The text without the boxes that it only speaks of: `\boxed{}`, `\boxed{answer}`.
fn without_mentions(text: &str) -> String {
    let mut kept = String::new();
    let mut from = 0;
    let commands = COMMANDS.iter().flat_map(|command| text.match_indices(command));
    let mut starts: Vec<(usize, &str)> = commands.collect();
    starts.sort_unstable();
    for (start, command) in starts {
        let end = match boxed(within(text, start + LONGEST_MENTION), start) {
            Some(boxed) if is_placeholder(boxed.inside) => boxed.end,
            Some(_) => continue,
            None if is_bare(&text[start + command.len()..]) => start + command.len(),
            None => continue,
        };
        if start >= from {
            kept.push_str(&text[from..start]);
            kept.push(' ');
            from = end;
        }
    }
    kept + &text[from..]
}

/// The text up to about `end`.
fn within(text: &str, end: usize) -> &str {
    let mut end = end.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Whether what a box holds stands for an answer that is yet to come.
fn is_placeholder(inside: &str) -> bool {
    let words = inside
        .replace("\\text", " ")
        .replace("\\ldots", " ")
        .replace("\\dots", " ")
        .replace("\\cdots", " ");
    let words = words.replace(
        |c: char| !c.is_alphanumeric() && !matches!(c, '\\' | '-' | '?' | '\u{221e}' | '+'),
        " ",
    );
    let words = words.to_lowercase();
    let words: Vec<&str> = words.split_whitespace().collect();
    words.iter().all(|word| PLACEHOLDERS.contains(word)) && (words.is_empty() || words != ["the"])
}

/// Whether a command that boxes has nothing to box: "in \boxed notation".
fn is_bare(behind: &str) -> bool {
    let next = behind.trim_start();
    let spaced = next.len() < behind.len();
    let boxed = next.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '\\'));
    !(next.starts_with('{') || (spaced && boxed))
}

/// Where the last command that boxes begins, boxes in boxes left aside.
fn last_start(text: &str) -> Option<usize> {
    let mut start = COMMANDS.iter().filter_map(|command| text.rfind(command)).max()?;
    // The last box may lie in another one: then it is the outer one that counts.
    for _ in 0..8 {
        let outer = COMMANDS.iter().filter_map(|command| text[..start].rfind(command)).max();
        match outer.and_then(|outer| boxed(text, outer)) {
            Some(enclosing) if enclosing.end > start => start = enclosing.start,
            _ => break,
        }
    }
    Some(start)
}

/// The box whose command begins at `start`, if it is closed.
fn boxed(text: &str, start: usize) -> Option<Boxed<'_>> {
    let command = COMMANDS.iter().find(|command| text[start..].starts_with(**command))?;
    let behind = start + command.len();
    let open = behind + (text[behind..].len() - text[behind..].trim_start().len());
    if !text[open..].starts_with('{') {
        // `\boxed 7` takes what stands up to the next space or dollar sign.
        let spaced = open > behind;
        let length = text[open..].find(|c: char| c.is_whitespace() || c == '$' || c == '.');
        let end = open + length.unwrap_or(text.len() - open);
        return (spaced && end > open && !is_bare(&text[behind..])).then(|| Boxed {
            start,
            end,
            inside: &text[open..end],
        });
    }
    let (mut depth, mut escaped) = (0_usize, false);
    for (offset, byte) in text[open..].bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 && !escaped {
            let end = open + offset + 1;
            return Some(Boxed { start, end, inside: &text[open + 1..end - 1] });
        }
    }
    None
}

/// Without the words that lead to an answer in its own box: `\text{The answer is } 11`.
pub(super) fn without_lead(answer: &str) -> &str {
    let led = answer.strip_prefix("\\text{").and_then(|rest| rest.split_once('}'));
    led.filter(|(words, rest)| {
        let words = words.trim_end();
        (words.ends_with(" is") || words.ends_with(':')) && !rest.trim().is_empty()
    })
    .map_or(answer, |(_, rest)| rest.trim())
}

/// What a box holds; of a box around a box, the inner one's.
fn innermost(mut inside: &str) -> String {
    while let Some(only) = COMMANDS.iter().find_map(|command| {
        let trimmed = inside.trim();
        let nested = trimmed.strip_prefix(command)?.trim_start().strip_prefix('{')?;
        nested.strip_suffix('}').filter(|rest| !rest.contains("\\boxed"))
    }) {
        inside = only;
    }
    inside.trim().to_owned()
}

/// Whether nothing but a comma or "and" stands between two boxes.
fn joins(between: &str) -> bool {
    if between.len() > 80 {
        return false;
    }
    let mut rest = between.replace("\\text", " ").replace("\\quad", " ");
    rest.retain(|c| !matches!(c, '$' | '{' | '}' | '\\' | '(' | ')' | '*'));
    let words: Vec<&str> = rest.split_whitespace().collect();
    let joined = words.concat();
    matches!(joined.as_str(), "," | "and" | ",and" | ";" | "or" | ",or" | "&")
}

/// Whether the minus at the end of `before` belongs to a formula, and is no dash of a text.
fn formula_before(before: &str) -> bool {
    let before = before.trim_end().trim_end_matches('-');
    before.ends_with('$') || before.ends_with('=') || before.trim_end().ends_with('=')
}
