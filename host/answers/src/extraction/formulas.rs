//! Formulas between delimiters, and dollar signs that are none.

/// A formula in a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Formula<'t> {
    /// Where its opening delimiter begins.
    pub start: usize,
    /// Behind its closing delimiter.
    pub end: usize,
    pub inside: &'t str,
}

/// What opens a formula, and what closes it.
const DELIMITERS: [(&str, &str); 4] = [("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]")];

/// What stands between dollar signs, `\(` and `\)`, or `\[` and `\]`.
pub(super) fn formulas(text: &str) -> Vec<Formula<'_>> {
    let mut formulas = Vec::new();
    let mut at = 0;
    // Behind the last of them nothing is closed, and nothing is looked for.
    let closes = DELIMITERS.map(|(_, close)| text.rfind(close).unwrap_or(0));
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("\\$") || rest.starts_with("\\\\") {
            at += 2;
            continue;
        }
        let mut delimiters = DELIMITERS.iter().zip(closes).filter(|(_, last)| at < *last);
        match delimiters.find_map(|((open, close), _)| formula(text, at, open, close)) {
            Some(formula) => {
                at = formula.end;
                if !formula.inside.trim().is_empty() {
                    formulas.push(formula);
                }
            }
            None => at += rest.chars().next().map_or(1, char::len_utf8),
        }
    }
    formulas
}

fn formula<'t>(text: &'t str, start: usize, open: &str, close: &str) -> Option<Formula<'t>> {
    let opened = start + open.len();
    let inside = text.get(start..)?.strip_prefix(open)?;
    let mut from = 0;
    loop {
        let length = from + inside[from..].find(close)?;
        let end = opened + length + close.len();
        let escaped = inside[..length].ends_with('\\') && close.starts_with('$');
        if !escaped {
            let formula = Formula { start, end, inside: &inside[..length] };
            return (open != "$" || encloses(formula.inside, &text[end..])).then_some(formula);
        }
        from = length + 1;
    }
}

/// Whether single dollar signs around `inside` are no money: `$2 and $3` holds no formula.
fn encloses(inside: &str, behind: &str) -> bool {
    let space = |c: Option<char>| c.is_none_or(char::is_whitespace);
    let opens = !space(inside.chars().next());
    let closes = !space(inside.chars().next_back());
    let amount = inside.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit());
    let goes_on = behind.starts_with(|c: char| c.is_ascii_digit());
    let prose = super::words::is_sentence(inside);
    let money = amount && prose;
    opens == closes && !goes_on && !money && !inside.contains("\n\n")
}
