//! Words that tell a sentence from an answer, and what a sentence says of a number.

/// Words that only sentences have.
const SENTENCE: &str = "is are was were be equals so thus hence therefore we get find conclude since because which \
    that answer means i it have has gives obtain then must cannot can do makes needs costs";
/// So many words around a number are a sentence, whichever they are.
const FEWEST_WORDS: usize = 4;

/// Whether `word` is one of `words`.
pub(super) fn among(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|one| one == word)
}

/// Whether a text has words that only sentences have, outside of formulas.
pub(super) fn is_sentence(text: &str) -> bool {
    let plain = without_commands(text);
    let words: Vec<String> = plain
        .split(|c: char| !c.is_alphabetic() && c != '\'')
        .filter(|word| word.len() > 1)
        .map(str::to_lowercase)
        .collect();
    let many = words.len() >= FEWEST_WORDS && plain.contains(|c: char| c.is_ascii_digit());
    many || words.iter().any(|word| among(SENTENCE, word))
}

/// The text without what stands in the braces of `\text` and the names of commands.
fn without_commands(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        plain.push(' ');
        let command = &rest[at + 1..];
        let length = command.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(command.len());
        let (name, behind) = command.split_at(length);
        rest = behind;
        if name.starts_with("text") || name == "mbox" || name == "mathrm" {
            let inside = behind.strip_prefix('{').and_then(|inside| inside.find('}'));
            rest = inside.map_or(behind, |end| &behind[end + 2..]);
        } else if name.is_empty() {
            let mut characters = behind.chars();
            characters.next();
            rest = characters.as_str();
        }
    }
    plain.push_str(rest);
    plain
}

/// Words in front of a number that say that it is another one, or not this one.
pub(super) const TURNS: &str = "than least most about approximately approx around roughly nearly almost under above below \
    between range ranges either neither not nor never isn't aren't cannot can't maybe perhaps \
    possibly except unless twice double triple half multiple factor divisor mod modulo base \
    exceeds exceed beyond until doesn't wasn't";

/// Words directly in front of a number that make it the answer.
pub(super) const COPULAS: &str = "is are was were be equals equal gives give get gets have has obtain makes make made needs \
    need costs cost pays pay earns earn takes take yields becomes total totals exactly only had \
    got find say remain";

/// Words that a unit does not reach beyond.
pub(super) const STOPS: &str = "in on at a an each every of for from by with within during after before altogether total \
    left remaining now then if when while because since that which who is are was were will \
    would can so but as his her their its the this there here across between among to out \
    combined overall again today together until also too only have has had does do satisfies \
    works into per using via and or";

/// Words between a number and what it counts.
pub(super) const FILLERS: &str =
    "more additional other whole different possible distinct such extra further full fewer";

/// Words behind a number that make another one of it.
pub(super) const SPOILERS: [&str; 9] = [
    "or so",
    "or more",
    "or less",
    "squared",
    "cubed",
    "factorial",
    "dozen",
    "past ",
    "hundredths",
];
