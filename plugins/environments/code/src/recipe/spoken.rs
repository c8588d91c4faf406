//! One small number, told in single words to tiny policies. Their programs are Python in one
//! line, and between two blanks of it stands a word. A step and its constant are one word: to
//! copy a constant is learned all at once or not at all, and rewards teach it to nobody who does
//! not copy yet.

use plugin_sdk::Random;

use super::numbers::{by, collatz, digits, reversed, sorted};
use super::{Form, Last, Step, Style, last, within};

/// Constants in problems.
const LEAST: i64 = 2;
const LARGEST: i64 = 9;

/// What is told without a constant, and what with one.
const TOLD: [&str; 8] =
    ["square", "reverse", "digits", "sort", "print", "binary", "total", "length"];
const TOLD_BY: [&str; 6] = ["add", "times", "rest", "divide", "multiple", "odd"];
/// What programs are written with, besides constants.
const PYTHON: [&str; 25] = [
    "n",
    "=",
    ";",
    "+",
    "*",
    "%",
    "//",
    "1",
    "100",
    "if",
    "else",
    "for",
    "d",
    "in",
    "int(input())",
    "-(-n",
    "int(str(n)[::-1])",
    "sum(int(d)",
    "str(n))",
    "int(\"\".join(sorted(str(n))))",
    "print(n)",
    "print(bin(n)[2:])",
    "print(sum(int(d)",
    "str(n)))",
    "print(len(str(n)))",
];

pub(super) const FORM: Form<u64> = Form {
    told: "",
    python: "n = int(input())",
    parse: |input| input.trim().parse().unwrap_or(0),
    input: |random| format!("{}\n", within(1, 99, random)),
    steps: &[
        |random| by_some("add:BY", "n + BY", random, |n, by| n + by),
        |random| by_some("times:BY", "n * BY", random, |n, by| n * by),
        |random| by_some("rest:BY", "n % BY", random, |n, by| n % by),
        |random| by_some("divide:BY", "n // BY", random, |n, by| n / by),
        |random| by_some("multiple:BY", "-(-n // BY) * BY", random, |n, by| n.div_ceil(by) * by),
        |_| by("square", "n * n % 100", 0, |n, _| n * n % 100),
        |_| by("reverse", "int(str(n)[::-1])", 0, |n, _| reversed(n)),
        |_| {
            let python = "n + sum(int(d) for d in str(n))";
            by("digits", python, 0, |n, _| n + digits(n).sum::<u64>())
        },
        |_| by("sort", "int(\"\".join(sorted(str(n))))", 0, |n, _| sorted(n)),
        |random| by_some("odd:BY", "BY * n + 1 if n % 2 else n // 2", random, collatz),
    ],
    lasts: &[number, binary, total, length],
    style: Style::Words,
};

/// Every word of a statement or of a solution.
pub(super) fn vocabulary() -> Vec<String> {
    let constants = LEAST..=LARGEST;
    let closed = constants.clone().map(|constant| format!("{constant})"));
    let steps = constants.clone().flat_map(|by| TOLD_BY.map(|step| format!("{step}:{by}")));
    let words = TOLD.into_iter().chain(PYTHON).map(str::to_owned).chain(steps);
    words.chain(constants.map(|constant| constant.to_string())).chain(closed).collect()
}

fn by_some(
    told: &str,
    python: &str,
    random: &mut Random,
    applied: impl Fn(u64, u64) -> u64 + 'static,
) -> Step<u64> {
    by(told, python, within(LEAST, LARGEST, random), applied)
}

fn number() -> Last<u64> {
    last("print", "n", |n: u64| n.to_string())
}

fn binary() -> Last<u64> {
    last("binary", "bin(n)[2:]", |n: u64| format!("{n:b}"))
}

fn total() -> Last<u64> {
    last("total", "sum(int(d) for d in str(n))", |n| digits(n).sum::<u64>().to_string())
}

fn length() -> Last<u64> {
    last("length", "len(str(n))", |n: u64| n.to_string().len().to_string())
}

#[cfg(test)]
mod tests {
    use plugin_sdk::Random;
    use plugin_sdk::environment::Split;

    use crate::recipe::{Kind, Recipe};

    #[test]
    fn every_word_of_a_problem_is_known_and_every_word_is_of_a_problem() {
        let mut said = std::collections::BTreeSet::new();
        for seed in 0..3_000 {
            let mut random = Random::new(Split::Train, seed, "words");
            let recipe = Recipe::draw(Kind::Spoken, 3, &mut random);
            let text = format!("{} {}", recipe.statement, recipe.solution);
            said.extend(text.split_whitespace().map(str::to_owned));
        }
        assert_eq!(said, super::vocabulary().into_iter().collect());
    }
}
