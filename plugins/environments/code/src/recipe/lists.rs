//! Lists of whole numbers.

use plugin_sdk::Random;

use super::{Form, Last, Step, Style, last, step, within};

type List = Vec<i64>;

pub(super) const FORM: Form<List> = Form {
    told: "The first line of the input is a number n, the second one has n whole numbers: a list.",
    python: "input()\na = [int(word) for word in input().split()]",
    parse: |input| {
        let numbers = input.lines().nth(1).unwrap_or_default().split_whitespace();
        numbers.filter_map(|word| word.parse().ok()).collect()
    },
    input: |random| {
        let count = 3 + random.below(6);
        let numbers: Vec<String> =
            (0..count).map(|_| within(-20, 40, random).to_string()).collect();
        format!("{count}\n{}\n", numbers.join(" "))
    },
    steps: &[
        keep_multiples,
        keep_greater,
        keep_every,
        add,
        multiply,
        square,
        remainder,
        |_| plain("Reverse the list.", "a = a[::-1]", |a| a.into_iter().rev().collect()),
        |_| plain("Sort the list, the smallest number first.", "a = sorted(a)", sorted),
        |_| {
            plain("Sort the list, the largest number first.", "a = sorted(a)[::-1]", |a| {
                sorted(a).into_iter().rev().collect()
            })
        },
        distinct,
        sums,
        differences,
        rotate,
    ],
    lasts: &[all, sum, largest, count, spread, different],
    style: Style::Sentences,
};

fn plain(told: &str, python: &str, applied: fn(List) -> List) -> Step<List> {
    step(told.to_owned(), python.to_owned(), applied)
}

fn each(
    told: String,
    python: &str,
    by: i64,
    applied: impl Fn(i64, i64) -> i64 + 'static,
) -> Step<List> {
    let python = format!("a = [{} for x in a]", python.replace("BY", &by.to_string()));
    step(told, python, move |a: List| a.into_iter().map(|x| applied(x, by)).collect())
}

fn keep_multiples(random: &mut Random) -> Step<List> {
    let by = within(2, 5, random);
    let told = format!("Keep only the multiples of {by}.");
    let python = format!("a = [x for x in a if x % {by} == 0]");
    step(told, python, move |a: List| a.into_iter().filter(|x| x % by == 0).collect())
}

fn keep_greater(random: &mut Random) -> Step<List> {
    let than = within(-10, 15, random);
    let told = format!("Keep only the numbers greater than {than}.");
    let python = format!("a = [x for x in a if x > {than}]");
    step(told, python, move |a: List| a.into_iter().filter(|x| *x > than).collect())
}

fn keep_every(random: &mut Random) -> Step<List> {
    let by = random.below(2) + 2;
    let name = ["second", "third"][by - 2];
    let told = format!("Keep the first number and every {name} one after it.");
    step(told, format!("a = a[::{by}]"), move |a: List| a.into_iter().step_by(by).collect())
}

fn add(random: &mut Random) -> Step<List> {
    let by = within(1, 30, random);
    each(format!("Add {by} to each number."), "x + BY", by, |x, by| x + by)
}

fn multiply(random: &mut Random) -> Step<List> {
    let by = within(2, 9, random);
    each(format!("Multiply each number by {by}."), "x * BY", by, |x, by| x.wrapping_mul(by))
}

fn square(_: &mut Random) -> Step<List> {
    let told = "Replace each number by its square modulo 1000.".to_owned();
    each(told, "x * x % 1000", 0, |x, _| {
        let rest = x % 1000;
        rest * rest % 1000
    })
}

fn remainder(random: &mut Random) -> Step<List> {
    let by = within(3, 12, random);
    let told = format!("Replace each number x by x modulo {by}, which is from 0 to {}.", by - 1);
    each(told, "x % BY", by, i64::rem_euclid)
}

fn distinct(_: &mut Random) -> Step<List> {
    let told = "Of equal numbers keep only the first.";
    plain(told, "a = list(dict.fromkeys(a))", |a| {
        let mut kept = List::new();
        for x in a {
            if !kept.contains(&x) {
                kept.push(x);
            }
        }
        kept
    })
}

fn sums(_: &mut Random) -> Step<List> {
    let told = "Replace each number by the sum of it and all numbers before it.";
    plain(told, "a = [sum(a[: i + 1]) for i in range(len(a))]", |a| {
        a.into_iter()
            .scan(0_i64, |sum, x| {
                *sum += x;
                Some(*sum)
            })
            .collect()
    })
}

fn differences(_: &mut Random) -> Step<List> {
    let told = "Replace the list by the differences of neighbors, the later number minus the \
                earlier one.";
    let python = "a = [y - x for x, y in zip(a, a[1:])]";
    plain(told, python, |a| a.windows(2).map(|pair| pair[1] - pair[0]).collect())
}

fn rotate(random: &mut Random) -> Step<List> {
    let by = random.below(3) + 1;
    let told = match by {
        1 => "Move the first number to the end.".to_owned(),
        _ => format!("Move the first {by} numbers to the end, in their order."),
    };
    step(told, format!("a = a[{by}:] + a[:{by}]"), move |mut a: List| {
        let by = by.min(a.len());
        a.rotate_left(by);
        a
    })
}

fn sorted(mut list: List) -> List {
    list.sort_unstable();
    list
}

fn all() -> Last<List> {
    let told = "Print the numbers in one line, or `none` if there is none.";
    last(told, "*(a or ['none'])", |a: List| join(&a))
}

fn join(list: &[i64]) -> String {
    let words: Vec<String> = list.iter().map(i64::to_string).collect();
    if words.is_empty() { "none".to_owned() } else { words.join(" ") }
}

fn sum() -> Last<List> {
    let told = "Print the sum of the numbers, which is 0 if there is none.";
    last(told, "sum(a)", |a: List| a.iter().sum::<i64>().to_string())
}

fn largest() -> Last<List> {
    let told = "Print the largest number, or `none` if there is none.";
    last(told, "max(a) if a else 'none'", |a: List| {
        a.iter().max().map_or("none".to_owned(), i64::to_string)
    })
}

fn count() -> Last<List> {
    let told = "Print how many numbers there are, and then their sum, in one line.";
    last(told, "len(a), sum(a)", |a: List| format!("{} {}", a.len(), a.iter().sum::<i64>()))
}

fn spread() -> Last<List> {
    let told = "Print the difference of the largest and the smallest number, or `none` if there \
                is no number.";
    last(told, "max(a) - min(a) if a else 'none'", |a: List| {
        match (a.iter().max(), a.iter().min()) {
            (Some(most), Some(least)) => (most - least).to_string(),
            _ => "none".to_owned(),
        }
    })
}

fn different() -> Last<List> {
    let told = "Print the sum of the numbers, of equal ones only one.";
    last(told, "sum(set(a))", |a: List| {
        a.into_iter().collect::<std::collections::BTreeSet<_>>().iter().sum::<i64>().to_string()
    })
}
