//! What a role is told.

use troupe_grader::{Test, Value};

use crate::challenge::Challenge;
use crate::game::{Attempt, Game};
use crate::suite::{self, Suite};
use crate::trial::Trial;

/// Letters of a program, of a test and of what is said about one.
const PROGRAM: usize = 6_000;
const TEST: usize = 400;
const DETAIL: usize = 300;

/// The rules and the notation.
pub fn rules(game: &Game) -> String {
    let challenge = &game.challenge;
    let task = match &challenge.problem.function {
        Some(function) => format!(
            "The program has to define the function `{function}`, which is called by the tests."
        ),
        None if challenge.takes_tests() => {
            "The program reads standard input and writes standard output.".to_owned()
        }
        None => "The tests are code, and the program has to define what they call; what it reads \
                 and writes does not matter."
            .to_owned(),
    };
    let program = match challenge.takes_tests() && !challenge.is_called() {
        true => "name = input()\nprint(\"Hello, \" + name)",
        false => "def greeting(name):\n    return \"Hello, \" + name",
    };
    format!(
        "A problem has to be solved by a program in Python 3 with its standard library, without \
         files and network. {task} It is judged by hidden tests.\n\
         A program is given in one fenced block, such as\n\
         ```python\n{program}\n```\n{}",
        on_tests(challenge, game.wanted())
    )
}

/// How tests are written, and how many.
fn on_tests(challenge: &Challenge, wanted: usize) -> String {
    if !challenge.takes_tests() {
        return "No tests can be written for this problem; whoever is asked for some need not \
                answer."
            .to_owned();
    }
    let count = match wanted {
        suite::MOST => wanted.to_string(),
        _ => format!("{wanted} to {}", suite::MOST),
    };
    format!(
        "Tests are given as a list in JSON, such as\n{}\n\
         Whoever is asked for tests writes {count} of them. A test counts if its input is none of \
         the examples' and none of another test's.",
        suite::notation(challenge)
    )
}

/// What can be seen by a seat that has made this plan.
pub fn show(game: &Game, plan: Option<&Attempt>) -> String {
    let Game { challenge, attempt, suite, .. } = game;
    let mut parts = vec![challenge.statement.trim().to_owned()];
    if !challenge.starter.trim().is_empty() {
        parts.push(format!("Begin with\n{}", fenced(&challenge.starter)));
    }
    for (index, test) in challenge.examples().iter().enumerate() {
        parts.push(format!("Example {}\n{}", index + 1, told(test)));
    }
    let programs = [("The latest program", attempt.as_ref()), ("Your last plan", plan)];
    for (title, attempt) in programs {
        if let Some(attempt) = attempt {
            parts.push(format!("{title}\n{}", fenced(&attempt.source)));
            parts.extend(Some(on_examples(attempt)).filter(|said| !said.is_empty()));
        }
    }
    if !suite.tests.is_empty() {
        parts.push(on_suite(suite));
    }
    parts.join("\n\n")
}

fn on_examples(attempt: &Attempt) -> String {
    if !attempt.builds {
        return "It is no program.".to_owned();
    }
    let mut lines = vec![attempt.on_examples()];
    for (index, trial) in attempt.examples.iter().enumerate().filter(|(_, trial)| !trial.passed) {
        lines.push(format!("Example {}: {}", index + 1, cut(&trial.detail, DETAIL)));
    }
    lines.join("\n")
}

fn on_suite(suite: &Suite) -> String {
    let mut lines = vec!["The tests of the team".to_owned()];
    for (index, test) in suite.tests.iter().enumerate() {
        let verdict = suite.trials.get(index).map_or(String::new(), said);
        lines.push(format!("{}. {}{verdict}", index + 1, in_line(test)));
    }
    lines.join("\n")
}

fn said(trial: &Trial) -> String {
    match trial.passed {
        true => "\n   The program agrees.".to_owned(),
        false => format!("\n   The program does not agree: {}", cut(&trial.detail, DETAIL)),
    }
}

/// A test as an example of the statement.
fn told(test: &Test) -> String {
    match test {
        Test::Stdin { input, outputs } => {
            let output = outputs.first().map_or(&[][..], Vec::as_slice);
            format!("Input:\n{}\nOutput:\n{}", block(input), block(output))
        }
        other => in_line(other),
    }
}

fn block(bytes: &[u8]) -> String {
    cut(String::from_utf8_lossy(bytes).trim_end(), TEST)
}

/// A test in one line.
fn in_line(test: &Test) -> String {
    let string = |bytes: &[u8]| Value::Str(String::from_utf8_lossy(bytes).into_owned()).to_string();
    cut(
        &match test {
            Test::Stdin { input, outputs } => {
                let output = outputs.first().map_or(&[][..], Vec::as_slice);
                format!("for the input {} the output {}", string(input), string(output))
            }
            Test::Call { arguments, expected } => {
                format!(
                    "with the arguments {} the result {expected}",
                    String::from_utf8_lossy(arguments)
                )
            }
            Test::Code { code } => code.trim().to_owned(),
        },
        TEST,
    )
}

fn fenced(program: &str) -> String {
    format!("```python\n{}\n```", cut(program.trim_end(), PROGRAM))
}

/// At most so many letters of a text.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{} …", &text[..end]),
    }
}
