//! One whole number that is not negative.

use super::{Form, Last, Step, Style, last, step, within};

pub(super) const FORM: Form<u64> = Form {
    told: "The input is one whole number n.",
    python: "n = int(input())",
    parse: |input| input.trim().parse().unwrap_or(0),
    input: |random| format!("{}\n", within(10, 9_999, random)),
    steps: &[
        |random| by("Add BY to n.", "n + BY", within(1, 99, random), |n, by| n + by),
        |random| by("Multiply n by BY.", "n * BY", within(2, 9, random), |n, by| n * by),
        |random| {
            by(
                "Replace n by the remainder of n divided by BY.",
                "n % BY",
                within(17, 999, random),
                |n, by| n % by,
            )
        },
        |random| {
            let told = "Divide n by BY and leave out the remainder.";
            by(told, "n // BY", within(2, 9, random), |n, by| n / by)
        },
        |random| {
            let told = "Replace n by the smallest multiple of BY that is not less than n.";
            by(told, "-(-n // BY) * BY", within(3, 99, random), |n, by| n.div_ceil(by) * by)
        },
        |_| {
            let told = "Replace n by its square modulo 10000.";
            by(told, "n * n % 10000", 0, |n, _| (n % 10_000) * (n % 10_000) % 10_000)
        },
        |_| {
            let told = "Write the digits of n in reverse; zeros at the front disappear.";
            by(told, "int(str(n)[::-1])", 0, |n, _| reversed(n))
        },
        |_| {
            let told = "Add the sum of its digits to n.";
            by(told, "n + sum(int(d) for d in str(n))", 0, |n, _| n + digits(n).sum::<u64>())
        },
        |_| {
            let told = "Sort the digits of n, the smallest first; zeros at the front disappear.";
            by(told, "int(\"\".join(sorted(str(n))))", 0, |n, _| sorted(n))
        },
        |random| {
            let told = "If n is odd, replace it by BY times n plus 1, else by half of n.";
            let python = "BY * n + 1 if n % 2 else n // 2";
            by(told, python, within(3, 9, random), collatz)
        },
    ],
    lasts: &[number, binary, apart, sum],
    style: Style::Sentences,
};

/// A step of n and a constant, which stands as BY in both texts.
pub(super) fn by(
    told: &str,
    python: &str,
    by: i64,
    applied: impl Fn(u64, u64) -> u64 + 'static,
) -> Step<u64> {
    let filled = |text: &str| text.replace("BY", &by.to_string());
    let amount = by.unsigned_abs();
    step(filled(told), format!("n = {}", filled(python)), move |n| applied(n, amount))
}

/// The digits, the ones first.
pub(super) fn digits(number: u64) -> impl DoubleEndedIterator<Item = u64> {
    number
        .to_string()
        .bytes()
        .rev()
        .map(|digit| u64::from(digit - b'0'))
        .collect::<Vec<_>>()
        .into_iter()
}

pub(super) fn reversed(number: u64) -> u64 {
    digits(number).fold(0, |reversed, digit| 10 * reversed + digit)
}

pub(super) fn sorted(number: u64) -> u64 {
    let mut sorted: Vec<u64> = digits(number).collect();
    sorted.sort_unstable();
    sorted.into_iter().fold(0, |number, digit| 10 * number + digit)
}

pub(super) fn collatz(number: u64, by: u64) -> u64 {
    if number % 2 == 1 { by * number + 1 } else { number / 2 }
}

fn number() -> Last<u64> {
    last("Print n.", "n", |n: u64| n.to_string())
}

fn binary() -> Last<u64> {
    last("Print n in base 2.", "bin(n)[2:]", |n: u64| format!("{n:b}"))
}

fn apart() -> Last<u64> {
    last("Print the digits of n with a space between two of them.", "*str(n)", |n: u64| {
        digits(n).rev().map(|digit| digit.to_string()).collect::<Vec<_>>().join(" ")
    })
}

fn sum() -> Last<u64> {
    let told = "Print n and the sum of its digits in one line.";
    last(told, "n, sum(int(d) for d in str(n))", |n: u64| format!("{n} {}", digits(n).sum::<u64>()))
}
