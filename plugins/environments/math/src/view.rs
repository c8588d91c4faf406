//! What a role is told.

use crate::answer::Form;
use crate::digits;
use crate::question::Question;

/// How an answer looks: of two examples the one that is not the answer.
fn example(question: &Question) -> &'static str {
    if question.gold.trim() == "-17" { "23" } else { "-17" }
}

/// The rules and the notation.
pub fn rules(question: &Question, form: Form) -> String {
    match form {
        Form::Text => format!(
            "Solve a mathematical problem. Give the final answer inside \\boxed{{}}, as in \
             \\boxed{{{}}}; of several boxes the last one counts. Give the result itself, worked \
             out and exact, and nothing else in the box.",
            example(question)
        ),
        Form::Plain => {
            "Work out what is asked. Of the numbers in an answer the last one counts.".to_owned()
        }
        Form::Words => "Work out what is asked. A number is written digit by digit, its ones \
                        first: `2 1` is 12. A sum or difference is shown column by column, the \
                        ones first, with `;` between two columns: `2 + 4 ; 1 - 3` is 12 + 4 - 30. \
                        The answer is written in the same way, with `-` before a number below 0, \
                        `/` in a fraction, and `,` between several: `7 1` is 17."
            .to_owned(),
    }
}

/// Letters of what a seat said that it is shown.
const SAID: usize = 1_000;

/// What a seat can see: the question, what it said last, and in the end what
/// became of the answer.
pub fn show(question: &Question, form: Form, said: Option<&str>, is_right: Option<bool>) -> String {
    let verdict = is_right.map(|is_right| if is_right { "right" } else { "wrong" }.to_owned());
    let said = said.map(|said| said.chars().take(SAID).collect::<String>());
    match (form, &question.formula) {
        (Form::Words, Some(formula)) => {
            let asked = format!("{} ?", digits::spell_formula(formula));
            let said = said.map(|said| format!("you {}", digits::spell(&said)));
            [Some(asked), said, verdict].into_iter().flatten().collect::<Vec<_>>().join(" ")
        }
        _ => {
            let said = said.map(|said| format!("You said: {said}"));
            let asked = Some(question.text.clone());
            [asked, said, verdict].into_iter().flatten().collect::<Vec<_>>().join("\n\n")
        }
    }
}
