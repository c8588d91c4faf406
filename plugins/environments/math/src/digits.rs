//! Questions and answers in single words, for small policies: a word is a digit
//! or a sign, and a number is written from its ones upward, as one works it out.

use plugin_sdk::environment::Problem;

use crate::arithmetic;

/// What an answer is written with, besides digits.
const SIGNS: [&str; 5] = ["-", "/", ",", "(", ")"];
/// What questions are written with, besides that.
const NAMES: [&str; 24] = [
    "+", "*", ";", "=", "^", "x", "y", "x^2", "solve", "gcd", "lcm", "mod", "inverse", "prime",
    "after", "of", "largest", "count", "sum", "divisors", "?", "you", "wrong", "right",
];

/// Every word that there is.
pub fn vocabulary() -> Vec<String> {
    let digits = (0..10).map(|digit: u8| digit.to_string());
    digits.chain(SIGNS.into_iter().chain(NAMES).map(str::to_owned)).collect()
}

/// A formula in words.
pub fn spell_formula(formula: &str) -> String {
    let words = formula.split(' ').map(|word| match word.strip_prefix('-') {
        // What is divided may be below zero.
        Some(number) if is_number(number) => format!("- {}", from_the_ones(number)),
        _ if is_number(word) => from_the_ones(word),
        _ => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The formula that a question in words is; whether it ends with its `?` or not. A sum as people
/// write it is one, too.
///
/// # Errors
/// A word is none that questions have.
pub fn asked(question: &str) -> Result<String, Problem> {
    if let Some(formula) = arithmetic::in_columns(question.trim_end_matches(['?', ' '])) {
        return Ok(formula);
    }
    let known = vocabulary();
    let words: Vec<&str> = question.split_whitespace().filter(|word| *word != "?").collect();
    let is_known = |word: &str| is_number(word) || known.iter().any(|one| one == word);
    match words.iter().find(|word| !is_known(word)) {
        Some(word) => Err(Problem::task(format!(
            "`{}` is no word of its questions, such as `7 + 5 ; 4 + 2`",
            brief(word)
        ))),
        None if words.is_empty() => Err(Problem::task("the question is empty")),
        None => Ok(words.join(" ")),
    }
}

/// An answer in words.
pub fn spell(answer: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut rest = answer.trim_start();
    while let Some(first) = rest.chars().next() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        let (word, after) = rest.split_at(digits.max(first.len_utf8()));
        words.push(from_the_ones(word));
        rest = after.trim_start();
    }
    words.join(" ")
}

/// The answer that these words spell. A word of several digits is a number as
/// one writes it.
///
/// # Errors
/// A word is none of an answer.
pub fn read(text: &str) -> Result<String, String> {
    let mut answer = String::new();
    let mut number = String::new();
    for word in text.split_whitespace() {
        match word {
            _ if is_number(word) && word.len() == 1 => number.insert_str(0, word),
            _ if is_number(word) || SIGNS.contains(&word) => {
                answer.push_str(&std::mem::take(&mut number));
                answer.push_str(word);
            }
            _ => return Err(format!("`{}` is no digit.", brief(word))),
        }
    }
    answer.push_str(&number);
    if answer.is_empty() { Err("No answer was given.".to_owned()) } else { Ok(answer) }
}

/// What a question of a record is told, which cannot be said in these words.
pub fn not_spoken() -> Problem {
    let reason = "questions of records are in English: set `observation = \"text\"`";
    Problem::settings(reason)
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn from_the_ones(word: &str) -> String {
    word.chars().rev().map(String::from).collect::<Vec<_>>().join(" ")
}

fn brief(word: &str) -> &str {
    &word[..word.floor_char_boundary(40)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_as_it_was_spelled() {
        for answer in ["0", "120", "-35", "-3/40", "2, -17", "(10, -21)"] {
            let words = spell(answer);
            assert!(words.split(' ').all(|word| vocabulary().contains(&word.to_owned())));
            assert_eq!(read(&words), Ok(answer.replace(' ', "")), "{words}");
        }
        assert_eq!(spell("120"), "0 2 1");
        assert_eq!(read("120").as_deref(), Ok("120"));
        assert_eq!(read("0 2 1 0").as_deref(), Ok("0120"));
    }

    #[test]
    fn what_is_no_answer_is_named() {
        assert_eq!(read("1 two"), Err("`two` is no digit.".to_owned()));
        assert_eq!(read(" "), Err("No answer was given.".to_owned()));
        assert!(read("⊥").is_err());
    }

    #[test]
    fn a_formula_keeps_its_signs() {
        assert_eq!(spell_formula("( 12 + 7 ) * 30"), "( 2 1 + 7 ) * 0 3");
        assert_eq!(spell_formula("-12 / ( 3 - 5 )"), "- 2 1 / ( 3 - 5 )");
    }
}
