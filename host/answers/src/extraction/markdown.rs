//! What Markdown adds to a text, taken away: what is left has one line for a paragraph, an
//! item or a formula. Formulas stay as they are.

use std::borrow::Cow;

use super::formulas::{Formula, formulas};

/// Opens what was printed boldly.
pub(super) const STRONG: char = '\u{2}';
/// Closes it.
pub(super) const WEAK: char = '\u{3}';
/// Begins an item of a list.
pub(super) const ITEM: char = '\u{4}';
/// Stands for a line break in a formula while lines are taken apart.
const BREAK: char = '\u{5}';
/// Stands for every byte of a formula while marks are looked for.
const MASK: char = '\u{1}';
/// Marks a line as what does not hold.
const REJECTED: [char; 4] = ['❌', '✗', '✘', '🚫'];

/// The text without what it takes back itself. Of a line that is rejected its mark is left: it is
/// a line still, and an item among others. Formulas stay as they are, and so does what stands in
/// braces, where `~~` is TeX's space.
pub(super) fn standing(text: &str) -> Cow<'_, str> {
    if !text.contains("~~") && !text.contains(REJECTED) {
        return Cow::Borrowed(text);
    }
    let hidden = masked(text, &formulas(text));
    let (mut kept, mut start) = (String::new(), 0);
    for hidden in hidden.split_inclusive('\n') {
        let line = &text[start..start + hidden.len()];
        start += hidden.len();
        match line.chars().find(|c| REJECTED.contains(c)) {
            Some(mark) => kept.extend([mark, '\n']),
            None => keep_what_is_not_struck(line, hidden, &mut kept),
        }
    }
    Cow::Owned(kept)
}

/// Add to `kept` what is not struck of a line whose formulas are hidden in `hidden`.
fn keep_what_is_not_struck(line: &str, hidden: &str, kept: &mut String) {
    let (mut from, mut at, mut braces) = (0, 0, 0_usize);
    while at < hidden.len() {
        let rest = &hidden[at..];
        // As in Markdown, where no space lies within the marks; and no box may lie halfway there.
        let is_marked = |length: &usize| {
            let inside = &rest[2..*length - 2];
            let count = |brace: char| inside.matches(brace).count();
            inside.trim() == inside && count('{') == count('}')
        };
        if let Some(length) = struck(rest).filter(|_| braces == 0).filter(is_marked) {
            kept.push_str(&line[from..at]);
            at += length;
            from = at;
            continue;
        }
        let mut letters = rest.chars();
        match letters.next() {
            Some('\\') => _ = letters.next(),
            Some('{') => braces += 1,
            Some('}') => braces = braces.saturating_sub(1),
            _ => {}
        }
        at = hidden.len() - letters.as_str().len();
    }
    kept.push_str(&line[from..]);
}

/// The text without its Markdown, with [`STRONG`], [`WEAK`] and [`ITEM`] for what of it says
/// where an answer is.
pub(super) fn plain(text: &str) -> String {
    let text: String = text.chars().filter(|c| !matches!(c, '\u{1}'..='\u{5}' | '\r')).collect();
    let text = text.replace("<answer>", "\nAnswer: ").replace("</answer>", "\n");
    let text = without_keycaps(&text).replace('’', "'");
    let text = with_formulas_on_one_line(&text);
    let tabular = text.lines().any(is_ruling);
    let several = text.lines().filter(|line| !line.trim().is_empty()).count() > 1;
    let lines = text.lines().filter_map(|line| plain_line(line, several, tabular));
    lines.collect::<Vec<_>>().join("\n").replace(BREAK, " ")
}

/// Without the digits that are pictures of keys: they number steps.
fn without_keycaps(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\u{20e3}') {
        let before = rest[..at].trim_end_matches('\u{fe0f}');
        kept.push_str(before.trim_end_matches(|c: char| c.is_ascii_digit()));
        rest = &rest[at + '\u{20e3}'.len_utf8()..];
    }
    kept + rest
}

fn with_formulas_on_one_line(text: &str) -> String {
    let mut joined = String::new();
    let mut at = 0;
    for formula in formulas(text) {
        joined.push_str(&text[at..formula.start]);
        joined.push_str(&text[formula.start..formula.end].replace('\n', &BREAK.to_string()));
        at = formula.end;
    }
    joined.push_str(&text[at..]);
    joined
}

/// A line without decoration, or nothing of a line that is one.
fn plain_line(line: &str, several: bool, tabular: bool) -> Option<String> {
    let mut line = line.trim();
    let grouped = line.replace("{,}", ",");
    if formulas(line).is_empty() {
        line = &grouped;
    }
    if is_rule(line)
        || line.starts_with("```")
        || line.starts_with("~~~")
        || line.contains(REJECTED)
    {
        return None;
    }
    while let Some(quoted) = line.strip_prefix('>').filter(|rest| !rest.starts_with('=')) {
        line = quoted.trim_start();
    }
    let heading = line.trim_start_matches('#');
    if heading.len() < line.len() && (heading.starts_with(' ') || heading.is_empty()) {
        line = heading.trim().trim_end_matches('#').trim_end();
    }
    let cells = if tabular { cells(line) } else { None };
    if let Some(cells) = cells {
        return Some(emphasised(&cells));
    }
    let item = if several { item(line) } else { None };
    let text = emphasised(item.unwrap_or(line));
    Some(if item.is_some() { format!("{ITEM}{text}") } else { text })
}

/// `---`, `***`, `___`, and the ruling of a table.
fn is_rule(line: &str) -> bool {
    let same = |mark: char| line.len() >= 3 && line.chars().all(|c| c == mark || c == ' ');
    ['-', '*', '_', '='].into_iter().any(same) || is_ruling(line)
}

fn is_ruling(line: &str) -> bool {
    line.contains("--")
        && line.contains('|')
        && line.chars().all(|c| matches!(c, '-' | '|' | ':' | ' '))
}

/// A row of a table: what its first cell is called, and the others.
fn cells(line: &str) -> Option<String> {
    let inner = line.strip_prefix('|')?;
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    let cells: Vec<&str> =
        inner.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect();
    Some(match cells.as_slice() {
        [first, rest @ ..] if !rest.is_empty() => format!("{first}: {}", rest.join("; ")),
        only => only.concat(),
    })
}

/// What stands behind the mark or number of an item.
fn item(line: &str) -> Option<&str> {
    let marked = ["- ", "* ", "+ ", "• ", "– "].iter().find_map(|mark| line.strip_prefix(mark));
    let numbered = || {
        let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let rest = &line[digits..];
        let rest = rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "));
        rest.filter(|_| (1..=2).contains(&digits))
    };
    marked.or_else(numbered).map(str::trim)
}

/// A line without emphasis, tags, struck text and pictures.
fn emphasised(line: &str) -> String {
    let mut written = String::new();
    let mut at = 0;
    let formulas = formulas(line);
    for (place, length, sign) in marks(&masked(line, &formulas)) {
        written.push_str(&without_pictures(line, at, place, &formulas));
        written.extend(sign);
        at = place + length;
    }
    written.push_str(&without_pictures(line, at, line.len(), &formulas));
    written
}

/// The text with nothing to be read in the place of its formulas, and as long.
fn masked(text: &str, formulas: &[Formula<'_>]) -> String {
    let (mut masked, mut at) = (String::new(), 0);
    for formula in formulas {
        masked.push_str(&text[at..formula.start]);
        masked.extend(std::iter::repeat_n(MASK, formula.end - formula.start));
        at = formula.end;
    }
    masked + &text[at..]
}

/// The text between two places, without pictures outside of its formulas.
fn without_pictures(line: &str, from: usize, to: usize, formulas: &[Formula<'_>]) -> String {
    let inside =
        |at: usize| formulas.iter().any(|formula| (formula.start..formula.end).contains(&at));
    let text = line.get(from..to).unwrap_or_default().char_indices();
    text.filter(|(at, c)| inside(from + at) || !is_picture(*c)).map(|(_, c)| c).collect()
}

/// Emoji and dingbats, but for those that calculate.
fn is_picture(character: char) -> bool {
    matches!(character, '\u{2600}'..='\u{2714}' | '\u{2717}'..='\u{2794}' | '\u{2b00}'..='\u{2bff}'
        | '\u{fe0e}' | '\u{fe0f}' | '\u{20e3}' | '\u{1f000}'..='\u{1faff}' | '\u{25a0}'..='\u{25ff}')
        && !matches!(character, '\u{2795}'..='\u{2797}')
}

/// Where marks of emphasis and tags stand in a line, how long they are, and what is left of them.
/// Struck text is one mark.
fn marks(line: &str) -> Vec<(usize, usize, Option<char>)> {
    let mut marks = Vec::new();
    let mut at = 0;
    while at < line.len() {
        let rest = &line[at..];
        if let Some(length) = tag(rest).or_else(|| struck(rest)) {
            marks.push((at, length, None));
            at += length;
            continue;
        }
        let pair = ["***", "**", "__", "*", "_", "``", "`"]
            .iter()
            .find_map(|mark| closing(line, at, mark).map(|close| (*mark, close)));
        match pair {
            Some((mark, close)) => {
                let strong = mark.len() > 1 && !mark.starts_with('`');
                marks.push((at, mark.len(), strong.then_some(STRONG)));
                marks.push((close, mark.len(), strong.then_some(WEAK)));
                at += mark.len();
            }
            None => {
                let known = marks.iter().find(|(place, ..)| *place == at);
                at += known
                    .map_or_else(|| rest.chars().next().map_or(1, char::len_utf8), |mark| mark.1);
            }
        }
    }
    marks.sort_by_key(|mark| mark.0);
    marks.dedup_by(|later, earlier| later.0 < earlier.0 + earlier.1);
    marks
}

/// Where the emphasis that opens at `at` with `mark` is closed, if it is one: `2*3*4` is none.
fn closing(line: &str, at: usize, mark: &str) -> Option<usize> {
    let inside = line[at..].strip_prefix(mark)?;
    let code = mark.starts_with('`');
    let before = line[..at].chars().next_back();
    let joins = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || matches!(c, ')' | ']'));
    let open = inside.starts_with(|c: char| !c.is_whitespace() && !mark.contains(c));
    if !open || (joins(before) && !code) {
        return None;
    }
    let closes = |offset: &usize| {
        let (within, behind) = (&inside[..*offset], &inside[offset + mark.len()..]);
        let ended = within.ends_with(|c: char| !c.is_whitespace());
        code || (ended && !behind.starts_with(|c: char| c.is_alphanumeric() || mark.contains(c)))
    };
    let close = inside.match_indices(mark).map(|(offset, _)| offset).find(closes)?;
    Some(at + mark.len() + close)
}

/// The length of an HTML tag that only says how something looks.
fn tag(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('<')?;
    let length = inside.find('>')?;
    let name = inside[..length].trim_matches(['/', ' ']);
    let name = name.split(' ').next().unwrap_or_default().to_ascii_lowercase();
    let known = ["b", "i", "u", "em", "strong", "p", "br", "span", "div", "center", "mark", "code"];
    known.contains(&name.as_str()).then_some(length + 2)
}

/// The length of struck text.
fn struck(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix("~~")?;
    let length = inside.find("~~")?;
    (length > 0).then_some(length + 4)
}
