//! Answers in sentences.

use super::Found;
use super::amounts::{self, Reading};
use super::formulas::formulas;
use super::markdown::{ITEM, STRONG, WEAK, plain};
use super::sentence::{addition, committed, masked, sentences, without_reason};
use super::words::{LEADS, REMARKS, RETRACTIONS, SUPPOSED, TITLES, is_sentence, phrases};

/// Only so much of a long text is searched for prose.
const MOST_BYTES: usize = 16_384;
/// Only so many answers of a line are looked at: the last ones.
const MOST_LEADS: usize = 8;

/// What a text comes to: an answer and, if its sentence can be read in several ways, others.
pub(super) struct Prose {
    pub answers: Vec<String>,
    pub found: Found,
}

/// Without the decoration of a text at its ends.
pub(super) fn trimmed(answer: &str) -> &str {
    let mut answer = answer.trim();
    loop {
        let before = answer;
        answer = answer.trim_matches(|c: char| {
            c.is_whitespace() || matches!(c, '*' | '`' | STRONG | WEAK | ITEM)
        });
        answer = answer.trim_end_matches(['.', ',', ';', ':']);
        answer = answer.strip_prefix("=>").unwrap_or(answer);
        answer = answer.trim_start_matches([':', '=', '→', '⇒', '∴']);
        if answer == before {
            return answer;
        }
    }
}

/// The answer that a text without box and marker gives.
pub(super) fn answer(text: &str) -> Option<Prose> {
    let text = plain(tail(text));
    let lines: Vec<&str> = text.lines().filter(|line| !trimmed(line).is_empty()).collect();
    if let Some((answers, at)) = statement(&lines) {
        return match retracted(&lines, at) {
            Retracted::Nothing => Some(Prose { answers, found: Found::Statement }),
            Retracted::For(prose) => prose,
        };
    }
    if !is_sentence(&text) {
        return whole(&lines);
    }
    last_words(&lines)
}

/// The end of a long text.
fn tail(text: &str) -> &str {
    let mut start = text.len().saturating_sub(MOST_BYTES);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// Where something was said: a line, and a place in it behind the sentence.
type Span = (usize, usize);

/// What the last phrase that leads to an answer says, and where its sentence ends.
fn statement(lines: &[&str]) -> Option<(Vec<String>, Span)> {
    (0..lines.len()).rev().find_map(|at| stated(lines, at))
}

fn stated(lines: &[&str], at: usize) -> Option<(Vec<String>, Span)> {
    let line = lines[at];
    if is_title(line) {
        return below(lines, at, line.len());
    }
    let lower: String = masked(line);
    let bare: String =
        lower.chars().map(|c| if matches!(c, STRONG | WEAK) { ' ' } else { c }).collect();
    let mut places: Vec<(usize, usize)> = phrases(LEADS)
        .flat_map(|lead| places(&bare, lead))
        .filter(|&(start, _)| !bare[..start].ends_with(|c: char| c.is_alphanumeric()))
        .collect();
    places.sort_unstable();
    places.iter().rev().take(MOST_LEADS).find_map(|&(start, end)| {
        let sentence = bare[..start].rsplit(['.', '?', '!', ';']).next().unwrap_or_default();
        if phrases(SUPPOSED).any(|word| format!("{sentence} ").contains(word)) {
            return None;
        }
        if trimmed(&line[end..]).is_empty() {
            return below(lines, at, end);
        }
        let sentence = sentences(&line[end..]).into_iter().next().unwrap_or_default();
        // It points into the line.
        let behind = sentence.as_ptr() as usize - line.as_ptr() as usize + sentence.len();
        if sentence.trim_end().ends_with('?') {
            return None;
        }
        let mut answers = clause(sentence)?;
        // "Answer - 5" is 5, or -5.
        if bare[..end].ends_with('-') {
            let negative = format!("-{}", answers.first()?);
            answers.push(negative);
        }
        Some((answers, (at, behind)))
    })
}

/// Where `lead` stands, however many spaces and marks are between its words.
fn places(text: &str, lead: &str) -> Vec<(usize, usize)> {
    let words: Vec<&str> = lead.split(' ').collect();
    let gap = |c: char| c == ' ';
    let starts = text.match_indices(words[0]).map(|(at, _)| at);
    starts
        .filter_map(|start| {
            let mut at = start + words[0].len();
            for word in &words[1..] {
                let rest = text[at..].trim_start_matches(gap);
                if rest.len() == text.len() - at {
                    return None;
                }
                at = text.len() - rest.strip_prefix(word)?.len();
            }
            // "answer :", as Markdown leaves it.
            Some((start, at))
        })
        .collect()
}

fn is_title(line: &str) -> bool {
    let title = trimmed(line).to_lowercase();
    let title = title.trim_end_matches([' ', STRONG, WEAK, ':']);
    phrases(TITLES).any(|known| known == title)
}

/// What stands below a lead at the end of a line: items, or a line.
fn below(lines: &[&str], at: usize, behind: usize) -> Option<(Vec<String>, Span)> {
    let items: Vec<&str> =
        lines[at + 1..].iter().copied().take_while(|line| line.starts_with(ITEM)).collect();
    if items.len() > 1 {
        let list = list(&items)?;
        return Some((vec![list], (at + items.len(), usize::MAX)));
    }
    let Some(next) = lines.get(at + 1) else {
        return Some((Vec::new(), (at, behind))).filter(|_| false);
    };
    let sentence = sentences(next).into_iter().next()?;
    clause(sentence).map(|answers| (answers, (at + 1, sentence.len())))
}

/// The answers in a sentence behind a lead, one for each reading.
fn clause(sentence: &str) -> Option<Vec<String>> {
    // What is printed boldly and then exclaimed is no factorial.
    let sentence = sentence.replace("\u{3}!", "\u{3}");
    let main = short_answer(&sentence).unwrap_or_else(|| without_reason(&sentence));
    let answers = main_clause(main)?;
    Some(with_addition(answers, &sentence, main))
}

/// "Yes" of "Yes, because 4 is even.", which says nothing in numbers.
fn short_answer(sentence: &str) -> Option<&str> {
    let (short, _) = sentence.split_once(',').or_else(|| sentence.split_once(" because "))?;
    let word = trimmed(short);
    (!word.is_empty()
        && word.len() < 20
        && word.chars().all(char::is_alphabetic)
        && !is_sentence(word))
    .then_some(short)
}

fn main_clause(main: &str) -> Option<Vec<String>> {
    let answer = bare(main);
    let answer = trimmed(&answer);
    if answer.is_empty() {
        return None;
    }
    if let Some(letter) = choice(answer) {
        return Some(vec![letter.to_string()]);
    }
    let lower = answer.to_lowercase();
    if lower.starts_with("not ") {
        return None;
    }
    let priced =
        answer.contains(['$', '€', '£']) && formulas(answer).is_empty() && answer.contains(' ');
    let signed = ["minus ", "negative ", "~"].iter().any(|word| lower.starts_with(word));
    if is_sentence(answer) || priced || signed || answer.contains(" (") || main.contains(STRONG) {
        match amounts::reading(main) {
            Reading::Answers(answers, _) => return Some(answers),
            Reading::NoAnswer => return Some(vec!["?".to_owned()]),
            Reading::Nothing if is_sentence(answer) => {
                return amounts::spelled(main).map(|number| vec![number]);
            }
            Reading::Nothing => {}
        }
    }
    Some(exclaimed(&amounts::exact(answer).replace(" °", "°")))
}

/// The answers, and what the sentence adds to its main clause: it can be read as that, too.
fn with_addition(mut answers: Vec<String>, sentence: &str, main: &str) -> Vec<String> {
    answers.extend(addition(&sentence[main.len()..]).and_then(amounts::first));
    answers
}

/// Without the marks that Markdown left.
fn bare(line: &str) -> String {
    line.chars().filter(|c| !matches!(*c, STRONG | WEAK | ITEM)).collect()
}

/// `5!` at the end of a sentence is loud, or a factorial.
fn exclaimed(answer: &str) -> Vec<String> {
    match answer.strip_suffix('!').filter(|rest| !rest.ends_with('!') && !rest.is_empty()) {
        Some(quiet) => vec![quiet.to_owned(), answer.to_owned()],
        None => vec![answer.to_owned()],
    }
}

/// The letter of "B) 24" or "(C) because …", which name a choice and then say more.
fn choice(text: &str) -> Option<char> {
    let (inside, opened) = match text.strip_prefix('(') {
        Some(inside) => (inside, true),
        None => (text, false),
    };
    let mut characters = inside.chars();
    let letter = characters.next().filter(char::is_ascii_uppercase)?;
    let closed = characters.next() == Some(')');
    let rest = characters.as_str();
    let more = !opened || (rest.starts_with(' ') && is_sentence(rest));
    (closed && more).then_some(letter)
}

/// What became of a statement afterwards.
enum Retracted {
    Nothing,
    /// It was taken back, for this.
    For(Option<Prose>),
}

fn retracted(lines: &[&str], (line, behind): Span) -> Retracted {
    let rest = lines[line].get(behind..).unwrap_or_default();
    let after: Vec<&str> = std::iter::once(rest).chain(lines[line + 1..].iter().copied()).collect();
    let taken_back = |sentence: &&str| {
        let lower = trimmed(sentence).to_lowercase();
        phrases(RETRACTIONS).any(|word| lower.starts_with(word))
    };
    match after.iter().flat_map(|line| sentences(line)).any(|sentence| taken_back(&sentence)) {
        true => Retracted::For(last_words(&after)),
        false => Retracted::Nothing,
    }
}

/// A text that is nothing but an answer; of several lines the last, or all items.
fn whole(lines: &[&str]) -> Option<Prose> {
    let whole_text = |answers| Some(Prose { answers, found: Found::Whole });
    match lines {
        [] => None,
        [only] if choice(trimmed(&bare(only))).is_some() => {
            whole_text(choice(trimmed(&bare(only))).iter().map(char::to_string).collect())
        }
        [only] => match (begins_in_words(only), amounts::reading(only)) {
            (true, Reading::Answers(answers, _)) => whole_text(answers),
            (true, Reading::NoAnswer) => None,
            _ => whole_text(vec![trimmed(value(&bare(only))).to_owned()]),
        },
        [.., last] => {
            let items: Vec<&str> = trailing_items(lines);
            let named = |line: &&str| line.chars().nth(1) == Some(' ') && line.contains(" = ");
            let result = bare(last);
            if result.split_once(": ").is_some_and(|(label, _)| is_result(label)) {
                return whole_text(vec![trimmed(value(&result)).to_owned()]);
            }
            if items.len() > 1 || lines.iter().all(named) {
                return list(if items.len() > 1 { &items } else { lines })
                    .and_then(|list| whole_text(vec![list]));
            }
            whole_text(vec![trimmed(value(&bare(last))).to_owned()])
        }
    }
}

/// Whether a line begins with two words, as "Tom ran 45 km" does.
fn begins_in_words(line: &str) -> bool {
    let words = line.split_whitespace().take(2);
    words.filter(|word| word.len() > 1 && word.chars().all(char::is_alphabetic)).count() == 2
}

/// Whether a line of this label says what the others come to.
fn is_result(label: &str) -> bool {
    let lower = label.to_lowercase();
    ["total", "sum", "result", "answer", "altogether"].iter().any(|word| lower.contains(word))
}

/// What a line says behind its label: "Total cost: $18".
fn value(line: &str) -> &str {
    let is_label =
        |label: &str| label.len() > 1 && label.chars().all(|c| c.is_alphabetic() || c == ' ');
    let labelled = line.split_once(": ").filter(|(label, _)| is_label(label));
    if let Some((_, value)) = labelled {
        return value;
    }
    // `P(both) = 1/2 * 1/2 = 1/4`: what has a name of letters is what it equals in the end.
    let named = line.split_once('=').is_some_and(|(name, _)| {
        let mut words = name.split(|c: char| !c.is_alphabetic());
        !name.contains(['\\', '$']) && words.any(|word| word.len() > 3)
    });
    if named { line.rsplit('=').next().unwrap_or(line) } else { line }
}

/// Whether a sentence says of a number what kind of number it is: "10 is even".
fn is_about_a_number(lower: &str) -> bool {
    let behind = lower.trim_start_matches(|c: char| c.is_ascii_digit());
    let kinds = ["divisible", "even", "odd", "prime", "composite", "a multiple", "a factor"];
    let kind = behind.strip_prefix(" is ").filter(|_| behind.len() < lower.len());
    kind.is_some_and(|kind| kinds.iter().any(|word| kind.starts_with(word)))
}

fn trailing_items<'t>(lines: &[&'t str]) -> Vec<&'t str> {
    let mut items: Vec<&str> =
        lines.iter().rev().copied().take_while(|line| line.starts_with(ITEM)).collect();
    items.reverse();
    items
}

/// Items as one list, if each is nothing but an answer.
fn list(items: &[&str]) -> Option<String> {
    let item_text = |item: &&str| {
        let text = bare(item);
        let text = trimmed(&text).to_owned();
        let formulas = formulas(&text);
        match formulas.as_slice() {
            [only] if only.start == 0 && only.end == text.len() => {
                Some(only.inside.trim().to_owned())
            }
            _ => (!is_sentence(&text)).then_some(text.clone()),
        }
    };
    items.iter().map(item_text).collect::<Option<Vec<String>>>().map(|items| items.join(", "))
}

/// What the last sentence with a number or formula commits itself to.
fn last_words(lines: &[&str]) -> Option<Prose> {
    let items = trailing_items(lines);
    let led = lines
        .len()
        .checked_sub(items.len() + 1)
        .is_some_and(|at| trimmed(lines[at]).len() < lines[at].trim_end().len());
    if items.len() > 1
        && led
        && let Some(list) = list(&items)
    {
        return Some(Prose { answers: vec![list], found: Found::Ending });
    }
    let all: Vec<&str> = lines.iter().flat_map(|line| sentences(line)).collect();
    for sentence in all.iter().rev() {
        let lower = trimmed(sentence).to_lowercase();
        if phrases(REMARKS).any(|remark| lower.starts_with(remark))
            || lower.contains("question")
            || is_about_a_number(&lower)
            || sentence.trim_end().ends_with('?')
        {
            continue;
        }
        let main = committed(sentence);
        if let Some(algebra) = amounts::algebra(main) {
            return Some(Prose { answers: vec![algebra], found: Found::Ending });
        }
        if lower.contains("no solution") {
            return Some(Prose { answers: vec!["no solution".to_owned()], found: Found::Ending });
        }
        match amounts::reading(main) {
            Reading::Nothing => {
                if let Some(number) = amounts::spelled(main) {
                    return Some(Prose { answers: vec![number], found: Found::Ending });
                }
            }
            Reading::NoAnswer => return None,
            Reading::Answers(answers, found) => {
                let answers = with_addition(answers, sentence, "");
                return Some(Prose { answers, found });
            }
        }
    }
    None
}
