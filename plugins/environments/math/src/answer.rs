//! Reading answers, and saying whether they are right.

use plugin_sdk::environment::Problem;
use serde::{Deserialize, Serialize};
use troupe_answers::{Extracted, Found, Reason, Verdict, check, extract};

use crate::digits;
use crate::question::Question;

/// Bytes of an answer that is looked at; a longer one is none.
const LONGEST: usize = 256 << 10;
/// Letters of an answer that are shown in a message.
const SHOWN: usize = 120;

/// The form of questions and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Form {
    /// Digits and signs, each a word.
    Words,
    /// English, with the answer in a box.
    Text,
    /// English, with the last whole number of the answer: for language models too
    /// small to keep to a form.
    Plain,
}

/// What was made of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judged {
    /// There is no answer in it.
    Unreadable(String),
    /// It is this, and not right.
    Wrong(String),
    /// It is this, and right.
    Right(String),
    /// It is this, and nobody knows whether it is right.
    Unjudged(String),
}

/// Judge an answer.
///
/// # Errors
/// It can be called neither right nor wrong: no seat is rewarded or charged for
/// that.
pub fn judge(question: &Question, form: Form, text: &str) -> Result<Judged, Problem> {
    if text.len() > LONGEST {
        return Ok(Judged::Unreadable("The answer is too long.".to_owned()));
    }
    let read = match form {
        Form::Words => digits::read(text),
        Form::Text => extracted(text),
        Form::Plain => last_number(text).ok_or_else(|| "There is no number in this.".to_owned()),
    };
    let answer = match read {
        Ok(answer) => answer,
        Err(reason) => return Ok(Judged::Unreadable(reason)),
    };
    if question.is_asked {
        return Ok(Judged::Unjudged(answer));
    }
    let is_generated = question.is_generated();
    // Else the question itself would be an answer: it is equal to it.
    if is_generated && !is_worked_out(&answer, &question.gold) {
        return Ok(not_worked_out());
    }
    match check(&question.gold, &answer, &question.rules()) {
        Verdict::Correct => Ok(Judged::Right(answer)),
        Verdict::Wrong => Ok(Judged::Wrong(answer)),
        // The gold is a plain number here: what cannot be read is no other way to write it.
        Verdict::Undecided(_) if is_generated => Ok(not_worked_out()),
        Verdict::Undecided(reason) => Err(undecided(question, &answer, reason)),
    }
}

fn not_worked_out() -> Judged {
    let reason = "The answer has to be worked out: give nothing but the result.";
    Judged::Unreadable(reason.to_owned())
}

/// The answer in a text, in a box or where it is plainly said. The last number
/// of some prose is none, and neither is what can be read in two ways.
fn extracted(text: &str) -> Result<String, String> {
    let is_said = |found: &Extracted| {
        found.others.is_empty() && !matches!(found.found, Found::Ending | Found::Number)
    };
    let answer = extract(text).filter(is_said).map(|found| found.answer);
    let has_sense = |answer: &String| answer.chars().any(char::is_alphanumeric);
    answer.filter(has_sense).ok_or_else(|| "There is no answer in \\boxed{}.".to_owned())
}

/// The last whole number of a text; commas between digits are left out. Digits
/// that are part of a word, as in `1e9`, are none.
fn last_number(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is_letter = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphabetic);
    let mut rest = bytes.len();
    loop {
        let end = (0..rest).rev().find(|at| is_digit(*at))? + 1;
        let mut start = end - 1;
        while start > 0 {
            match bytes[start - 1] {
                b'0'..=b'9' => start -= 1,
                b',' if start > 1 && is_digit(start - 2) => start -= 2,
                _ => break,
            }
        }
        if is_letter(end) || start.checked_sub(1).is_some_and(is_letter) {
            rest = start;
            continue;
        }
        // After a digit or a letter, a minus takes something away.
        let is_sign = start > 0
            && bytes[start - 1] == b'-'
            && (start == 1 || bytes[start - 2].is_ascii_whitespace());
        let digits = text[start..end].replace(',', "");
        let digits = match digits.trim_start_matches('0') {
            "" => "0",
            digits => digits,
        };
        let sign = if is_sign && digits != "0" { "-" } else { "" };
        return Some(format!("{sign}{digits}"));
    }
}

fn undecided(question: &Question, answer: &str, reason: Reason) -> Problem {
    let cut = |text: &str| text.chars().take(SHOWN).collect::<String>();
    let (gold, answer) = (cut(&question.gold), cut(answer));
    Problem::task(format!("whether `{answer}` is `{gold}` is undecided: {reason}"))
}

/// The share of a number's digits that a wrong one has in the same place. Only of
/// generated questions whose answer is one whole number.
pub fn nearness(question: &Question, answer: &str) -> f64 {
    let number = |text: &str| {
        let text = text.trim();
        let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
        let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        let from_the_ones = || digits.trim_start_matches('0').bytes().rev().collect::<Vec<u8>>();
        is_number.then(|| (sign.to_owned(), from_the_ones()))
    };
    match (question.is_generated(), number(&question.gold), number(answer)) {
        (true, Some((sign, gold)), Some((other, digits))) if sign == other => {
            let same = gold.iter().zip(&digits).filter(|(one, other)| one == other).count();
            same as f64 / gold.len().max(digits.len()).max(1) as f64
        }
        _ => 0.0,
    }
}

/// What a result may be written with, besides digits, signs and fractions. What begins like
/// another one comes before it.
const WRAPPING: [&str; 23] = [
    "\\dfrac",
    "\\tfrac",
    "\\frac",
    "\\left",
    "\\right",
    "\\textbf",
    "\\text",
    "\\mathrm",
    "\\mathbf",
    "\\boxed",
    "\\displaystyle",
    "\\qquad",
    "\\quad",
    "\\,",
    "\\;",
    "\\!",
    "\\ ",
    "\\(",
    "\\)",
    "\\[",
    "\\]",
    "\\{",
    "\\}",
];
/// Words between two results, and a sign for both that the checker reads alike.
const JOINERS: [&str; 2] = ["and", "or"];
const JOINER: char = '∧';

/// Whether the answer to a generated question is a result: numbers, with a
/// fraction or brackets only where the gold has them, and nothing left to do.
fn is_worked_out(answer: &str, gold: &str) -> bool {
    let has_fraction =
        ["/", "\\frac", "\\dfrac", "\\tfrac"].iter().any(|mark| answer.contains(mark));
    if has_fraction && !gold.contains('/') {
        return false;
    }
    let bare =
        WRAPPING.iter().fold(answer.replace('−', "-"), |text, part| text.replace(part, " "));
    let joined = JOINERS.iter().fold(bare, |text, word| text.replace(word, &JOINER.to_string()));
    // `\text{ and }` leaves braces, and a sign behind them takes nothing away.
    let dense: String = joined.split_whitespace().collect();
    let bare = dense.replace(&format!("{{{JOINER}}}"), &JOINER.to_string());
    let letters = "0123456789.,-/=xy{}$";
    let brackets = if gold.contains('(') { "()" } else { "" };
    let known =
        |letter: char| letter == JOINER || letters.contains(letter) || brackets.contains(letter);
    bare.chars().all(known) && has_only_signs(&bare)
}

/// Whether every minus is a number's sign, and none takes something away.
fn has_only_signs(text: &str) -> bool {
    let mut before = '=';
    for letter in text.chars() {
        let follows_a_number = before.is_ascii_digit() || matches!(before, '}' | ')' | 'x' | 'y');
        if letter == '-' && follows_a_number {
            return false;
        }
        before = letter;
    }
    true
}

#[cfg(test)]
mod tests {
    use plugin_sdk::types::Fault;

    use super::*;
    use crate::record;

    fn judged(question: &Question, text: &str) -> &'static str {
        match judge(question, Form::Text, text) {
            Ok(Judged::Right(_)) => "right",
            Ok(Judged::Wrong(_)) => "wrong",
            Ok(Judged::Unreadable(_)) => "unreadable",
            Err(problem) if problem.fault == Fault::Task => "void",
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_answer_is_judged_where_it_is_said() {
        let question =
            Question::generated("Compute 17 + 25.".to_owned(), String::new(), "42".to_owned());
        for (text, verdict) in [
            ("17 + 25 is \\boxed{42}.", "right"),
            ("42", "right"),
            ("<think>\\boxed{42}</think> It is \\boxed{41}.", "wrong"),
            ("\\boxed{17 + 25}", "unreadable"),
            ("\\boxed{84/2}", "unreadable"),
            ("17 + 25", "unreadable"),
            ("\\boxed{4 2}", "unreadable"),
            ("\\boxed{42", "unreadable"),
            ("There are 42 ways to say this.", "unreadable"),
            ("", "unreadable"),
            ("\\boxed{}", "unreadable"),
        ] {
            assert_eq!(judged(&question, text), verdict, "{text}");
        }
    }

    #[test]
    fn a_result_is_right_however_it_is_set() {
        let question = |gold: &str| {
            Question::generated("Solve it.".to_owned(), String::new(), gold.to_owned())
        };
        let (one, two) = (question("42"), question("-2, 9"));
        for text in ["\\mathbf{42}", "\\textbf{42}", "\\displaystyle 42", "\\quad 42"] {
            assert_eq!(judged(&one, &format!("\\boxed{{{text}}}")), "right", "{text}");
        }
        for text in [
            "x = -2 \\quad \\text{or} \\quad x = 9",
            "-2,\\quad 9",
            "9 \\text{ and } -2",
            "-2 \\qquad\\text{and}\\qquad 9",
        ] {
            assert_eq!(judged(&two, &format!("\\boxed{{{text}}}")), "right", "{text}");
        }
        assert_eq!(judged(&one, "\\boxed{50 \\text{ and } -8}"), "wrong");
    }

    #[test]
    fn of_a_plain_answer_the_last_number_counts() {
        for (text, number) in [
            ("59 + 63 = 122.", Some("122")),
            ("The answer is 1,234.", Some("1234")),
            ("7, 8", Some("8")),
            ("-5", Some("-5")),
            ("it is -5", Some("-5")),
            ("3-5", Some("5")),
            ("007", Some("7")),
            ("-0", Some("0")),
            ("none", None),
            ("", None),
            ("é5é", Some("5")),
            ("7, not 1e999", Some("7")),
            ("-1e999", None),
        ] {
            assert_eq!(last_number(text).as_deref(), number, "{text}");
        }
        let question = Question::generated(String::new(), String::new(), "42".to_owned());
        for (text, is_right) in
            [("17 + 25 = 42.", true), ("42 - 1", false), ("9".repeat(999).as_str(), false)]
        {
            let judged = judge(&question, Form::Plain, text).expect("a verdict");
            assert_eq!(matches!(judged, Judged::Right(_)), is_right, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_decided_about_a_record_is_void_and_not_wrong() {
        let record = r#"{"problem": "P", "answer": "x^2 + 1", "data_set": "math"}"#;
        let question = record::read(record).expect("a question");
        assert_eq!(judged(&question, "\\boxed{1 + x^2}"), "right");
        assert_eq!(judged(&question, "\\boxed{1 - x^2}"), "wrong");
        // It depends on the base that was meant.
        let ambiguous = Question { gold: "\\log 2".to_owned(), ..question };
        assert_eq!(judged(&ambiguous, "\\boxed{\\ln 2}"), "void");
    }

    #[test]
    fn hostile_text_is_judged_without_a_panic() {
        let question = Question::generated(String::new(), String::new(), "42".to_owned());
        let record = record::read(r#"{"problem": "P", "answer": "\\frac{1}{2}"}"#).expect("one");
        let deep = format!("\\boxed{{{}", "{(".repeat(20_000));
        let tower = "\\boxed{9^9^9^9^9^9}".to_owned();
        let long = "\\boxed{1}".repeat(30_000);
        for text in [deep, tower, long, "⊥\u{0}\\boxed{\u{1F9E8}}".to_owned()] {
            for question in [&question, &record] {
                for form in [Form::Text, Form::Words] {
                    assert!(!matches!(judge(question, form, &text), Ok(Judged::Right(_))));
                }
            }
        }
    }

    #[test]
    fn a_wrong_number_is_as_near_as_its_digits() {
        let near = |gold: &str, answer: &str| {
            let question = Question::generated(String::new(), String::new(), gold.to_owned());
            nearness(&question, answer)
        };
        assert_eq!(near("1234", "1235"), 0.75);
        assert_eq!(near("34", "1034"), 0.5);
        assert_eq!(near("-34", "34"), 0.0);
        assert_eq!(near("0", "10"), 0.0);
        assert_eq!(near("3/4", "3"), 0.0);
        let huge = "7".repeat(100_000);
        assert!(near("7", &huge) < 0.001);
    }

    #[test]
    fn a_result_is_told_from_what_is_left_to_do() {
        for (answer, gold) in [
            ("42", "42"),
            ("-7", "-7"),
            ("x = -7", "-7"),
            ("$1{,}234$", "1234"),
            ("\\frac{-3}{4}", "-3/4"),
            ("x=2 and x=-3", "-3, 2"),
            ("2 and -3", "-3, 2"),
            ("(1, -2)", "(1, -2)"),
        ] {
            assert!(is_worked_out(answer, gold), "{answer}");
        }
        for (answer, gold) in [
            ("17 + 25", "42"),
            ("50 - 8", "42"),
            ("6 \\times 7", "42"),
            ("84/2", "42"),
            ("\\frac{84}{2}", "42"),
            ("2(3)", "6"),
            ("6!", "720"),
            ("2^5", "32"),
            ("\\sqrt{4}", "2"),
            ("gcd(12, 18)", "6"),
            ("50{,}-8", "42"),
            ("\\text{50}-8", "42"),
        ] {
            assert!(!is_worked_out(answer, gold), "{answer}");
        }
    }
}
