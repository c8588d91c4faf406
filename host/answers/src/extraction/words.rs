//! Words that tell a sentence from an answer, and what a sentence says of a number.

/// Words that only sentences have.
const SENTENCE: &str = "is are was were be equals so thus hence therefore we get find conclude since because \
    which that answer means i it have has gives obtain then must cannot can do makes needs \
    costs it's that's there's here's";
/// So many words around a number are a sentence, whichever they are.
const FEWEST_WORDS: usize = 4;

/// Whether `word` is one of `words`.
pub(super) fn among(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|listed| listed == word)
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

/// Words in front of a number that say that it is another one.
pub(super) const TURNS: &str = "than about approximately approx around roughly nearly almost under above below between \
    range ranges either maybe perhaps possibly except unless twice double triple half mod \
    modulo base exceeds exceed beyond until thrice close closer";

/// Words that say of a number that it is not this one, if only [`WEAK_WORDS`] stand between.
pub(super) const NEGATIONS: &str = "not nor neither never isn't aren't cannot can't doesn't wasn't won't shouldn't wouldn't \
    couldn't don't didn't could may might";

/// Words between "not" and a number that change nothing.
pub(super) const WEAK_WORDS: &str = "be equal to the a exactly just simply have give make get cost need actually total of \
    only equals been";

/// A number after one of these is not the answer: "the square of 5".
pub(super) const PARTS: &str = "square cube root power multiple factor half third quarter divisor percent fifth double \
    triple square-root opposite negative reciprocal inverse instead short";

/// Words directly in front of a number that make it the answer.
pub(super) const COPULAS: &str = "is are was were be equals equal gives give get gets have has obtain makes make made \
    needs need costs cost pays pay earns earn takes take yields becomes total totals exactly \
    only had got find say remain it's that's there's";

/// Words that a unit does not reach beyond.
pub(super) const STOPS: &str = "in on at a an each every of for from by with within during after before altogether total \
    left remaining now then if when while because since that which who is are was were will \
    would can so but as his her their its the this there here across between among to out \
    combined overall again today together until also too only have has had does do satisfies \
    works into per using via and or long tall wide deep high old away thick apart heavy \
    around once";

/// Words in front of a number that is beside what is said: "in 2 hours".
pub(super) const PREPOSITIONS: &str =
    "in over within after during for from of at by per every each with on until before";

/// Words between a number and what it counts.
pub(super) const FILLERS: &str =
    "more additional other whole different possible distinct such extra further full fewer";

/// Words behind a number that make another one of it.
pub(super) const SPOILERS: &str = "or so|or more|or less|squared|cubed|factorial|dozen|past |\
    hundredths|more than|less than|fewer than|greater than|short of|plus |minus |divided ";

/// The phrases of a list of them.
pub(super) fn phrases(list: &'static str) -> impl DoubleEndedIterator<Item = &'static str> + Clone {
    list.split('|')
}

/// What leads from an answer to its reason, or to what it is not.
pub(super) const REASONS: &str = " because| since |, as | given that| due to | considering |, for |, where |, while |\
    \x20whereas |, although |, but | but not |, not | and not | rather than | instead of |\
    , which | which is |, that is | (since| (because| (as | (not | that are | that is |\
    \x20so that | as we |, making |, after | as required";

/// Words that begin a reason in front of what it is the reason of.
pub(super) const OPENERS: &str = "because |since |as |if |when |given |for |although |while ";

/// What leads from a reason to what follows from it.
pub(super) const CONCLUSIONS: &str = ", so |; so | so the |, thus |; thus |, hence |; hence |, therefore |; therefore |\
    , giving |, we get |, which gives |, which means |, meaning |, it is | therefore |\
    , but it is |, but the |, but actually |, but in fact ";

/// Abbreviations whose point ends no sentence.
pub(super) const ABBREVIATIONS: &str = ".m|i.e|e.g|approx|ans|no|vs|eq|fig|dr|mr|mrs";

/// What leads to an answer, in lower case.
pub(super) const LEADS: &str = "answer is|answer:|answers are|answers:|answer would be|answer should be|\
    answer must be|answer =|answer →|answer —|answer –|answer -|answer ->|answer =>|answer to the question is|answer to the problem is|\
    answer comes to|solution is|result is|option is|choice is|ans:";

/// A line that is nothing but one of these leads to what stands below it.
pub(super) const TITLES: &str =
    "answer|final answer|the answer|the final answer|final result|answers";

/// What a lead stands in if it commits to nothing.
pub(super) const SUPPOSED: &str = "if the |whether |suppose |assume |unless |why the |guess|not the |think the |say the |\
    says the |claim|might|wrong |incorrect ";

/// What takes back what was said before.
pub(super) const RETRACTIONS: &str = "wait|no,|no:|oops|actually|correction|hmm|hold on|sorry";

/// How sentences begin that are about the answer, and are none.
pub(super) const REMARKS: &str = "let me know|i hope|hope |feel free|check|verif|to verify|to check|note|explanation|\
    remember|you can|do you|would you|this matches|i will put";
