//! Equations: linear, quadratic, and pairs of linear ones.

use plugin_sdk::Random;

use crate::question::{Drawn, Question};

/// Draw equations of a difficulty from 1 to 5: larger numbers, and more to do.
pub fn draw(difficulty: u32, random: &mut Random) -> Option<Drawn> {
    let kinds: &[fn(i64, &mut Random) -> Option<Drawn>] = match difficulty {
        1 => &[linear],
        2 => &[linear, both_sides, quadratic],
        3 => &[both_sides, fraction, quadratic, system],
        _ => &[fraction, quadratic, scaled_quadratic, system],
    };
    let most = 4 + 5 * i64::from(difficulty);
    random.choose(kinds).and_then(|kind| kind(most, random))
}

/// A whole number other than 0, at most `most` from it.
fn nonzero(most: i64, random: &mut Random) -> i64 {
    let size = 1 + random.below(most as usize) as i64;
    if random.below(2) == 0 { size } else { -size }
}

/// `ax + b = c`, solved by a whole number.
fn linear(most: i64, random: &mut Random) -> Option<Drawn> {
    let (a, b, x) = (2 + random.below(8) as i64, nonzero(most, random), nonzero(most, random));
    solve("x", &[(&[(a, "x"), (b, "")], &[(a * x + b, "")])], &x.to_string())
}

/// `ax + b = cx + d`, solved by a whole number.
fn both_sides(most: i64, random: &mut Random) -> Option<Drawn> {
    let (a, c) = (nonzero(9, random), nonzero(9, random));
    let (b, x) = (nonzero(most, random), nonzero(most, random));
    let d = (a - c) * x + b;
    let drawn = solve("x", &[(&[(a, "x"), (b, "")], &[(c, "x"), (d, "")])], &x.to_string());
    drawn.filter(|_| a != c)
}

/// `ax + b = c`, solved by a fraction.
fn fraction(most: i64, random: &mut Random) -> Option<Drawn> {
    let (a, b, c) = (2 + random.below(11) as i64, nonzero(most, random), nonzero(most, random));
    let (over, under) = ((c - b) / gcd(c - b, a), a / gcd(c - b, a));
    let gold = format!("{over}/{under}");
    solve("x", &[(&[(a, "x"), (b, "")], &[(c, "")])], &gold).filter(|_| under > 1)
}

/// `x² + bx + c = 0` with two solutions in whole numbers.
fn quadratic(most: i64, random: &mut Random) -> Option<Drawn> {
    roots(1, most, random)
}

/// The same with a factor before `x²`.
fn scaled_quadratic(most: i64, random: &mut Random) -> Option<Drawn> {
    roots(2 + random.below(4) as i64, most, random)
}

fn roots(a: i64, most: i64, random: &mut Random) -> Option<Drawn> {
    let (one, other) = (nonzero(most, random), nonzero(most, random));
    let (b, c) = (-a * (one + other), a * one * other);
    let left = [(a, "x^2"), (b, "x"), (c, "")];
    let gold = format!("{}, {}", one.min(other), one.max(other));
    solve("x", &[(&left, &[])], &gold).filter(|_| one != other)
}

/// Two linear equations in `x` and `y` with one solution in whole numbers.
fn system(most: i64, random: &mut Random) -> Option<Drawn> {
    let (x, y) = (nonzero(most, random), nonzero(most, random));
    let [a, b, c, d] = std::array::from_fn(|_| nonzero(9, random));
    let (first, second) = ([(a, "x"), (b, "y")], [(c, "x"), (d, "y")]);
    let (is, also) = ([(a * x + b * y, "")], [(c * x + d * y, "")]);
    let equations: [(Side, Side); 2] = [(&first, &is), (&second, &also)];
    let drawn = solve("x, y", &equations, &format!("({x}, {y})"));
    drawn.filter(|_| a * d != b * c)
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.abs().max(1) } else { gcd(b, a % b) }
}

/// One side of an equation: numbers, and what they multiply.
type Side<'t> = &'t [(i64, &'t str)];

/// The question of these equations.
fn solve(unknowns: &str, equations: &[(Side, Side)], gold: &str) -> Option<Drawn> {
    let asked = match (unknowns, gold.contains(", ")) {
        ("x, y", _) => "Find the pair (x, y) that solves",
        (_, true) => "Find both solutions, separated by a comma, of",
        _ => "Solve for x:",
    };
    let written = |space: &str, joint: &str| {
        let sides = |(left, right): &(Side, Side)| {
            format!("{} = {}", written(left, space), written(right, space))
        };
        equations.iter().map(sides).collect::<Vec<_>>().join(joint)
    };
    let text = format!("{asked} {}.", written("", " and "));
    let formula = format!("solve {}", written(" ", " , "));
    let key = formula.clone();
    Some(Drawn { question: Question::generated(text, formula, gold.to_owned()), key })
}

/// A sum of terms such as `3x - 4`, with this between a number or a sign and
/// what belongs to it.
fn written(side: Side, space: &str) -> String {
    let mut text = String::new();
    for (factor, unknown) in side.iter().filter(|(factor, _)| *factor != 0) {
        let term = match (factor.abs(), *unknown) {
            (size, "") => size.to_string(),
            (1, unknown) => unknown.to_owned(),
            (size, unknown) => format!("{size}{space}{unknown}"),
        };
        text += &match (text.is_empty(), *factor < 0) {
            (true, false) => term,
            (true, true) => format!("-{space}{term}"),
            (false, false) => format!(" + {term}"),
            (false, true) => format!(" - {term}"),
        };
    }
    if text.is_empty() { "0".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use plugin_sdk::environment::Split;

    use super::*;

    #[test]
    fn sides_are_written_as_one_writes_them() {
        assert_eq!(written(&[(-1, "x"), (4, "")], ""), "-x + 4");
        assert_eq!(written(&[(3, "x^2"), (-1, "x"), (0, "")], ""), "3x^2 - x");
        assert_eq!(written(&[(3, "x"), (-12, "y")], " "), "3 x - 12 y");
        assert_eq!(written(&[(-7, "")], " "), "- 7");
        assert_eq!(written(&[], ""), "0");
    }

    #[test]
    fn every_gold_solves_its_equations() {
        let mut random = Random::new(Split::Train, 0, "test");
        for difficulty in 1..=5 {
            for _ in 0..200 {
                let Some(drawn) = draw(difficulty, &mut random) else { continue };
                let formula = drawn.question.formula.as_deref().unwrap_or_default();
                check(formula.trim_start_matches("solve "), &drawn.question.gold);
            }
        }
    }

    fn check(equations: &str, gold: &str) {
        let pair = gold.strip_prefix('(').and_then(|gold| gold.strip_suffix(')'));
        for equation in equations.split(" , ") {
            let (left, right) = equation.split_once(" = ").expect("an equation");
            let holds = |x: f64, y: f64| (value(left, x, y) - value(right, x, y)).abs() < 1e-9;
            let number = |text: &str| match text.trim().split_once('/') {
                Some((over, under)) => over.parse::<f64>().unwrap() / under.parse::<f64>().unwrap(),
                None => text.trim().parse().unwrap(),
            };
            match pair.and_then(|pair| pair.split_once(',')) {
                Some((x, y)) => assert!(holds(number(x), number(y)), "{equation} at {gold}"),
                None => {
                    assert!(gold.split(',').all(|x| holds(number(x), 0.0)), "{equation} at {gold}")
                }
            }
        }
    }

    fn value(side: &str, x: f64, y: f64) -> f64 {
        let (mut sum, mut sign, mut term) = (0.0, 1.0, 1.0);
        for word in side.split(' ') {
            match word {
                "+" | "-" => {
                    sum += if term == f64::INFINITY { 0.0 } else { sign * term };
                    (sign, term) = (if word == "-" { -1.0 } else { 1.0 }, 1.0);
                }
                "x" => term *= x,
                "y" => term *= y,
                "x^2" => term *= x * x,
                number => term *= number.parse::<f64>().unwrap(),
            }
        }
        // A leading minus has no term before it.
        let lead = if side.starts_with('-') { 1.0 } else { 0.0 };
        sum + sign * term - lead
    }
}
