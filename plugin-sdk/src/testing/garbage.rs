//! What language models say where one word was asked for.

use std::collections::HashSet;

use super::phrasebook::GARBAGE;

/// A text that is no answer, and what it is.
pub(super) struct Garbage {
    pub what: &'static str,
    pub text: String,
    /// Whether it is a number: one may be an answer, and a wrong one worth a little.
    is_number: bool,
}

impl Garbage {
    fn new(what: &'static str, text: impl Into<String>) -> Self {
        Garbage { what, text: text.into(), is_number: false }
    }

    fn number(what: &'static str, text: impl Into<String>) -> Self {
        Garbage { is_number: true, ..Garbage::new(what, text) }
    }

    /// Everything that is said for nothing. A language may add to it: a policy will.
    pub fn all() -> Vec<Garbage> {
        let short = GARBAGE.iter().map(|text| Garbage::new("a few characters", *text));
        short.chain(Garbage::of_models()).collect()
    }

    fn of_models() -> Vec<Garbage> {
        let thought = "Hmm, wait. Perhaps we ought to reconsider everything that was mentioned. ";
        let digits = "8713690245".repeat(4);
        let fence = "```json\n{\"thoughts\": [\"hmm\"], \"verdict\": null}\n```\n";
        let controls: String = (1..32).chain(127..160).filter_map(char::from_u32).collect();
        vec![
            Garbage::new("ten thousand characters of prose", said(thought, 10_000)),
            Garbage::new("a word of ten thousand letters", "q".repeat(10_000)),
            Garbage::number("a number of forty digits", digits.clone()),
            Garbage::number("a negative number of forty digits", format!("-{digits}")),
            Garbage::number("a fraction of forty digits", format!("0.{digits}e{digits}")),
            Garbage::new(
                "Chinese",
                "\u{6211}\u{8ba4}\u{4e3a}\u{5e94}\u{8be5}\u{518d}\u{60f3}\u{4e00}\u{60f3}\u{3002}",
            ),
            Garbage::new(
                "Arabic",
                "\u{631}\u{628}\u{645}\u{627} \u{644}\u{627}\u{60c} \u{661}\u{662}\u{663}",
            ),
            Garbage::new(
                "Devanagari",
                "\u{936}\u{93e}\u{92f}\u{926} \u{928}\u{939}\u{940}\u{902} \u{967}\u{968}",
            ),
            Garbage::new("Russian", "\u{43d}\u{435} \u{437}\u{43d}\u{430}\u{44e}"),
            Garbage::new("a code fence", fence),
            Garbage::new("a code fence without an end", "```python\nimport this\n"),
            Garbage::new("lines of nothing", "\n\n \t\r\n\u{a0}\u{2028}\n"),
            Garbage::new(
                "emoji",
                "\u{1f914}\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}\u{1f3fd}\u{1f1e9}\u{1f1ea}\u{2764}\u{fe0f}",
            ),
            Garbage::new(
                "letters under heaps of accents",
                "Z\u{351}\u{36b}\u{343}\u{36a}\u{302}a\u{34a}\u{36e}\u{361}".repeat(20),
            ),
            Garbage::new("NUL characters", "\u{0}\u{0}hmm\u{0}"),
            Garbage::new("control characters", controls + "\u{1b}[2J\u{202e}"),
            Garbage::new("a mark of the order of bytes", "\u{feff}\u{200b}"),
            Garbage::new("brackets in brackets", "[".repeat(5_000)),
            Garbage::new("parentheses in parentheses", "(".repeat(5_000) + &")".repeat(5_000)),
            Garbage::new("objects in objects", "{\"q\":".repeat(2_000) + "null"),
            Garbage::new("markup", "<think>\n</think><answer></answer><|im_end|>"),
            Garbage::new("percent signs", "%s%n%d {} {0} $(hmm) ${hmm} \\n \\u0000"),
        ]
    }

    /// Whether it is no number, and no word of it is one that means something: nothing can be read
    /// out of it then.
    pub fn is_foreign(&self, known: &HashSet<String>) -> bool {
        !self.is_number && words(&self.text).all(|word| !known.contains(&word))
    }
}

/// Letters and digits, in lower case.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// The same over and over, so many characters of it.
fn said(sentence: &str, characters: usize) -> String {
    sentence.chars().cycle().take(characters).collect()
}

/// The fewest characters from the text's beginning that still show something, as far as halving
/// finds them.
pub(super) fn shortest_text(text: &str, shows_it: impl Fn(&str) -> bool) -> String {
    let letters: Vec<char> = text.chars().collect();
    let first = |count: usize| letters[..count].iter().collect::<String>();
    let (mut none, mut all) = (0, letters.len());
    while none + 1 < all {
        let middle = none.midpoint(all);
        if shows_it(&first(middle)) { all = middle } else { none = middle }
    }
    first(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_to_what_still_shows_the_fault() {
        let text = said("some words ", 10_000);
        assert_eq!(shortest_text(&text, |text| text.len() > 40).len(), 41);
        assert_eq!(shortest_text("abc", |_| true), "a");
        assert_eq!(shortest_text("abc", |text| text == "abc"), "abc");
    }

    #[test]
    fn garbage_with_a_word_of_the_language_in_it_is_not_foreign() {
        let known: HashSet<String> = ["wait".to_owned()].into();
        let all = Garbage::all();
        let find = |what: &str| all.iter().find(|one| one.what == what).unwrap();
        assert!(!find("ten thousand characters of prose").is_foreign(&known));
        assert!(!find("a number of forty digits").is_foreign(&known));
        assert!(find("a code fence").is_foreign(&known));
        assert_eq!(find("ten thousand characters of prose").text.chars().count(), 10_000);
        assert_eq!(find("a number of forty digits").text.len(), 40);
    }
}
