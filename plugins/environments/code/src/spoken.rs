//! Problems, programs and tests in single words, for tiny policies. A number in a test is
//! written digit by digit: `test 1 2 gives 3 6`.

use std::collections::BTreeSet;

use plugin_sdk::environment::Problem;
use troupe_grader::Test;

use crate::game::{Attempt, Game};
use crate::recipe;

const TEST: &str = "test";
const GIVES: &str = "gives";
/// What is said of a program.
const PASSES: &str = "passes";
const FAILS: &str = "fails";
/// What a team's own tests say of it.
const AGREES: &str = "agrees";
const DISAGREES: &str = "disagrees";

/// Every word that there is.
pub fn vocabulary() -> Vec<String> {
    let digits = (0..10).map(|digit: u8| digit.to_string());
    let own = [TEST, GIVES, PASSES, FAILS, AGREES, DISAGREES].map(str::to_owned);
    let words: BTreeSet<String> =
        recipe::vocabulary().into_iter().chain(digits).chain(own).collect();
    words.into_iter().collect()
}

/// The rules and the notation.
pub fn rules() -> String {
    "Write a program in Python in one line, with `;` between two statements. It reads one whole \
     number, changes it as the words say, one after the other, and prints it: as it is, in base \
     2, the total of its digits, or its length. Tests are written digit by digit: \
     `test 1 2 gives 3 6 test 5 gives 1 5`."
        .to_owned()
}

/// What can be seen by a seat that has made this plan: the problem, whether its plan and the
/// latest program pass the examples, and whether the team's tests agree with the program.
pub fn show(game: &Game, plan: Option<&Attempt>) -> String {
    let on_examples = |attempt: &Attempt| {
        let passes = attempt.ran == Some(true) && attempt.examples.iter().all(|trial| trial.passed);
        if passes { PASSES } else { FAILS }
    };
    let trials = &game.suite.trials;
    let agrees = (!trials.is_empty())
        .then(|| if trials.iter().all(|trial| trial.passed) { AGREES } else { DISAGREES });
    let said = [game.attempt.as_ref().map(on_examples), plan.map(on_examples), agrees];
    let statement = [game.challenge.statement.as_str()];
    statement.into_iter().chain(said.into_iter().flatten()).collect::<Vec<_>>().join(" ")
}

/// Tests as words; of inputs and outputs that are no numbers there are none.
pub fn written(tests: &[Test]) -> String {
    let one = |test: &Test| match test {
        Test::Stdin { input, outputs } => {
            let output = outputs.first().map_or(&[][..], Vec::as_slice);
            Some(format!("{TEST} {} {GIVES} {}", apart(input)?, apart(output)?))
        }
        Test::Call { .. } | Test::Code { .. } => None,
    };
    tests.iter().filter_map(one).collect::<Vec<_>>().join(" ")
}

/// The tests that these words spell; what spells none is left out.
pub fn read(text: &str) -> Vec<Test> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let one = |words: &[&str]| {
        let gives = words.iter().position(|word| *word == GIVES)?;
        let (input, output) = (together(&words[..gives])?, together(&words[gives + 1..])?);
        Some(Test::stdin(&format!("{input}\n"), &format!("{output}\n")))
    };
    words.split(|word| *word == TEST).filter_map(one).collect()
}

/// Whether this is a problem in these words.
///
/// # Errors
/// A word of it is none.
pub fn check(statement: &str) -> Result<(), Problem> {
    let known = vocabulary();
    let is_unknown = |word: &&str| !known.iter().any(|one| one == word);
    statement.split_whitespace().find(is_unknown).map_or(Ok(()), |word| {
        let word: String = word.chars().take(40).collect();
        Err(Problem::task(format!(
            "`{word}` is no word of its problems, such as `add:3 reverse print`"
        )))
    })
}

/// What records say in English cannot be said in these words, and neither can problems about
/// lists and words.
pub fn not_spoken(what: &str) -> Problem {
    Problem::settings(format!("{what} told in English: set `observation = \"text\"`"))
}

fn apart(number: &[u8]) -> Option<String> {
    let digits = number.trim_ascii();
    let spelled = || digits.iter().map(|&digit| char::from(digit).to_string()).collect::<Vec<_>>();
    is_number(digits).then(|| spelled().join(" "))
}

fn together(words: &[&str]) -> Option<String> {
    let number = words.concat();
    is_number(number.as_bytes()).then_some(number)
}

fn is_number(digits: &[u8]) -> bool {
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_read_as_they_were_written() {
        let tests = [Test::stdin("12\n", "36\n"), Test::stdin("5", "101")];
        let words = written(&tests);
        assert_eq!(words, "test 1 2 gives 3 6 test 5 gives 1 0 1");
        assert!(words.split(' ').all(|word| vocabulary().contains(&word.to_owned())));
        assert_eq!(written(&read(&words)), words);
        assert_eq!(written(&read("test 12 gives 36")), "test 1 2 gives 3 6");
    }

    #[test]
    fn what_spells_no_test_is_left_out() {
        for words in ["", "test", "gives", "test gives", "test 1", "test 1 gives", "1 ⊥ gives 2"]
        {
            assert!(read(words).is_empty(), "{words}");
        }
        assert_eq!(read("test 1 gives test 2 gives 3 test four gives 4").len(), 1);
    }
}
