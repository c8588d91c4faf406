//! The boxed answer of a solution.

/// What stands in the last `\boxed{…}` or `\fbox{…}`; also `\boxed 7`. Nothing
/// if there is none, or its braces do not close.
pub(super) fn last_boxed(solution: &str) -> Option<&str> {
    let places = ["\\boxed", "\\fbox"];
    let (start, command) = places
        .iter()
        .filter_map(|command| Some((solution.rfind(command)?, command)))
        .max_by_key(|(start, _)| *start)?;
    let rest = &solution[start + command.len()..];
    let open = rest.trim_start();
    if let Some(content) = open.strip_prefix('{') {
        return within_braces(content).map(str::trim).filter(|answer| !answer.is_empty());
    }
    if open.len() == rest.len() {
        return None;
    }
    let line = open.lines().next().unwrap_or_default();
    let answer = match line.split_once('$') {
        Some((formula, _)) => formula.trim(),
        None => line.split_whitespace().next().unwrap_or_default().trim_end_matches(['.', ',']),
    };
    Some(answer).filter(|answer| !answer.is_empty())
}

/// Up to the brace that closes what was opened before; escaped ones do not count.
fn within_braces(text: &str) -> Option<&str> {
    let mut depth = 0;
    let mut escaped = false;
    for (place, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '{' => depth += 1,
            '}' if depth == 0 => return Some(&text[..place]),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_last_box_counts_with_all_that_its_braces_hold() {
        for (solution, answer) in [
            ("so $\\boxed{1}$, no, $\\boxed{\\frac{1}{2}}$.", Some("\\frac{1}{2}")),
            ("$\\fbox{7}$", Some("7")),
            ("$\\boxed 7$ it is", Some("7")),
            ("so \\boxed 1 + x$, that is", Some("1 + x")),
            ("It is \\boxed 12.", Some("12")),
            ("$\\boxed{\\{1, 2\\}}$", Some("\\{1, 2\\}")),
            ("$\\boxed {3}$", Some("3")),
            ("$\\boxed{4", None),
            ("$\\boxed{ }$", None),
            ("\\boxedx", None),
            ("none", None),
        ] {
            assert_eq!(last_boxed(solution), answer, "{solution}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(\\\\boxed|\\\\fbox|[{}$ é]){0,12}") {
            _ = last_boxed(&text);
        }
    }
}
