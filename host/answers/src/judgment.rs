//! From two texts to a verdict.

use crate::answer::Answer;
use crate::comparison::Comparer;
use crate::equality::Comparison;
use crate::extraction::{Extracted, Found, extract, unwrapped};
use crate::lexer::{Commas, lex};
use crate::lexicon;
use crate::parser::parse;
use crate::rules::Rules;
use crate::signs::written_out;
use crate::token::Token;
use crate::verdict::{Reason, Verdict};
use crate::work::Work;

/// Whether `answer`, which is nothing but an answer, is right where `gold` is asked for.
///
/// ```
/// use troupe_answers::{Reason, Rules, Verdict, check};
///
/// let rules = Rules::default();
/// assert_eq!(check(r"\{1, 2\}", "2, 1", &rules), Verdict::Correct);
/// assert_eq!(check("x=5", r"x \le 5", &rules), Verdict::Wrong);
/// assert_eq!(check(r"\ln 2", r"\log 2", &rules), Verdict::Undecided(Reason::Ambiguous));
/// ```
pub fn check(gold: &str, answer: &str, rules: &Rules) -> Verdict {
    let gold = unwrapped(gold);
    let work = Work::comparing(&gold, answer);
    let verdict = read_and_compare(&gold, answer, Commas::Group, rules, &work);
    match verdict {
        Ok(verdict) => verdict,
        Err(reason) => Verdict::Undecided(reason),
    }
}

/// Whether the answer that `text` comes to is right where `gold` is asked for. A text
/// without an answer is wrong.
///
/// ```
/// use troupe_answers::{Rules, Verdict, check_answer};
///
/// let rules = Rules::named("gsm8k").unwrap();
/// assert_eq!(check_answer("18", "9 * 2 = 18, so she makes $18 a day.\n#### 18", &rules), Verdict::Correct);
/// assert_eq!(check_answer("18", "I do not know.", &rules), Verdict::Wrong);
/// ```
pub fn check_answer(gold: &str, text: &str, rules: &Rules) -> Verdict {
    match extract(text) {
        Some(extracted) => check_extracted(gold, &extracted, rules),
        None => Verdict::Wrong,
    }
}

/// Whether what was found in a text is right where `gold` is asked for. What can be read in
/// several ways is right, or wrong, if it is that in each.
pub fn check_extracted(gold: &str, extracted: &Extracted, rules: &Rules) -> Verdict {
    let verdict = check(gold, &extracted.answer, rules);
    if verdict == Verdict::Wrong && ends_in(gold, extracted, rules) {
        return Verdict::Undecided(Reason::Ambiguous);
    }
    let others = extracted.others.iter().map(|other| check(gold, other, rules));
    others.fold(verdict, |verdict, other| {
        if verdict == other { verdict } else { Verdict::Undecided(Reason::Ambiguous) }
    })
}

/// Whether a formula of a sentence comes to what is asked for, as `a + b = 10` does if 10 is:
/// it answers if `a + b` was sought, and does not if `a` was.
fn ends_in(gold: &str, extracted: &Extracted, rules: &Rules) -> bool {
    let prose = matches!(extracted.found, Found::Formula | Found::Ending);
    let side = extracted.answer.rsplit_once('=').filter(|_| prose).map(|(_, side)| side);
    side.is_some_and(|side| check(gold, side, rules) == Verdict::Correct)
}

fn read_and_compare(
    gold: &str,
    text: &str,
    commas: Commas,
    rules: &Rules,
    work: &Work,
) -> Result<Verdict, Reason> {
    let gold_tokens = lex(gold, Commas::Group)?.tokens;
    let lexed = lex(text, commas)?;
    let answer_tokens = lexed.tokens;
    if gold_tokens.is_empty() {
        return Err(Reason::GoldUnreadable);
    }
    if gold_tokens == answer_tokens {
        return Ok(Verdict::Correct);
    }
    if !answer_tokens.iter().any(says_something) {
        return Ok(Verdict::Wrong);
    }
    let gold_answer = parse(&gold_tokens).map_err(|error| error.reason(Reason::GoldUnreadable))?;
    if let Answer::Words(words) = &gold_answer {
        return Ok(against_words(words, &answer_tokens));
    }
    let answer = match parse(&answer_tokens) {
        Ok(answer) => answer,
        // Prose is no number.
        Err(_) if answer_tokens.iter().any(is_prose) => return Ok(Verdict::Wrong),
        Err(error) => return Err(error.reason(Reason::AnswerUnreadable)),
    };
    let (gold_answer, answer) = (written_out(gold_answer)?, written_out(answer)?);
    let comparer = Comparer { rules, work };
    let several = !matches!(gold_answer, Answer::Value(_));
    match comparer.compare(&gold_answer, &answer) {
        Comparison::Same => Ok(Verdict::Correct),
        // `1,300` may be two numbers where several are asked for.
        _ if lexed.grouped && several && commas == Commas::Group => {
            read_and_compare(gold, text, Commas::Separate, rules, work)
        }
        Comparison::Different => Ok(Verdict::Wrong),
        Comparison::Unknown(reason) => Err(reason),
    }
}

fn against_words(words: &str, tokens: &[Token]) -> Verdict {
    let mut text = String::new();
    for token in tokens {
        match token {
            // Letters that were taken for a product may be a word: "dog".
            Token::Name(part) | Token::Word(part) => text.push_str(&part.to_lowercase()),
            Token::Number(number) => text.push_str(&number.value.to_string()),
            Token::Sign('-' | '\'' | ',' | '.' | '"' | '/') => {}
            _ => return Verdict::Wrong,
        }
    }
    let letters: String = words.split(' ').collect();
    if text == letters { Verdict::Correct } else { Verdict::Wrong }
}

fn says_something(token: &Token) -> bool {
    !matches!(token, Token::Sign('…' | '.' | '?' | ',' | '{' | '}' | '$'))
}

/// Whether a word is none that belongs to an answer in numbers.
fn is_prose(token: &Token) -> bool {
    let Token::Word(word) = token else { return false };
    lexicon::unit(word).is_none() && !matches!(word.as_str(), "and" | "or")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_within_a_numeral_of_another_base_is_a_digit_of_it() {
        let verdict = |answer: &str| check("1A05_{16}", answer, &Rules::default());
        for same in ["1A05_{16}", "1A05_16", "01A05_{16}"] {
            assert_eq!(verdict(same), Verdict::Correct, "{same}");
        }
        for other in ["1A5_{16}", "1A005_{16}", "1A50_{16}"] {
            assert_eq!(verdict(other), Verdict::Wrong, "{other}");
        }
        for (gold, other) in [("A05_{16}", "A5_{16}"), ("1E05_{16}", "1E5_{16}")] {
            assert_ne!(check(gold, other, &Rules::default()), Verdict::Correct, "{gold}");
            assert_eq!(check(gold, gold, &Rules::default()), Verdict::Correct, "{gold}");
        }
    }

    #[test]
    fn zeros_in_front_of_a_number_change_nothing() {
        for (gold, same) in [("25", "025"), ("0.5", ".5"), ("1e5", "1e05"), ("110_2", "0110_2")] {
            assert_eq!(check(gold, same, &Rules::default()), Verdict::Correct, "{gold}");
        }
    }
}
