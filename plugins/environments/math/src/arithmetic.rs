//! Sums and other expressions in whole numbers.

use plugin_sdk::Random;

use crate::question::{Drawn, Question};

/// Results beyond this are drawn anew.
const LARGEST: i64 = 1_000_000_000_000;
/// What a quotient is at most.
const QUOTIENTS: usize = 12;

/// What is drawn.
pub struct Wanted {
    /// Which operators may occur.
    pub operators: Vec<Operator>,
    /// How many numbers there are.
    pub operands: usize,
    /// The largest number.
    pub largest: usize,
    /// Whether they are asked as one asks a person, and answered by a number alone.
    pub is_plain: bool,
}

/// What is done with two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operator {
    /// Their sum.
    Plus,
    /// Their difference.
    Minus,
    /// Their product.
    Times,
    /// Their quotient, always a whole number here.
    Over,
}

impl Operator {
    /// The operators that a setting such as `+-` names.
    pub fn all_in(signs: &str) -> Vec<Operator> {
        let of = |sign| match sign {
            '+' => Some(Operator::Plus),
            '-' => Some(Operator::Minus),
            '*' => Some(Operator::Times),
            '/' => Some(Operator::Over),
            _ => None,
        };
        signs.chars().filter_map(of).collect()
    }

    fn sign(self) -> char {
        match self {
            Operator::Plus => '+',
            Operator::Minus => '-',
            Operator::Times => '*',
            Operator::Over => '/',
        }
    }

    fn is_additive(self) -> bool {
        matches!(self, Operator::Plus | Operator::Minus)
    }
}

/// An expression.
enum Expression {
    Number(i64),
    Pair(Operator, Box<Expression>, Box<Expression>),
}

use Expression::{Number, Pair};

/// Draw an expression whose value is not negative; none if this one's is, or
/// would be too large.
pub fn draw(wanted: &Wanted, random: &mut Random) -> Option<Drawn> {
    let expression = wanted.expression(wanted.operands, random);
    let value = expression.value().filter(|value| (0..=LARGEST).contains(value))?;
    let shown = expression.shown();
    let formula = expression.columns().unwrap_or_else(|| spaced(&shown));
    // Else the end of the question, repeated, would be an answer.
    if wanted.is_plain && expression.numbers().contains(&value) {
        return None;
    }
    let written = shown.replace('*', "×").replace('/', "÷");
    let text = match wanted.is_plain {
        true => format!("What is {written}? Answer with the number only."),
        false => format!("Compute {written}."),
    };
    let question = Question::generated(text, formula, value.to_string());
    Some(Drawn { question, key: expression.key() })
}

impl Wanted {
    fn expression(&self, operands: usize, random: &mut Random) -> Expression {
        if operands <= 1 {
            return Number(self.number(random));
        }
        let operator = random.choose(&self.operators).copied().unwrap_or(Operator::Plus);
        // Without products there is nothing to bracket: one number joins at a time.
        let left = match self.operators.iter().all(|operator| operator.is_additive()) {
            true => operands - 1,
            false => 1 + random.below(operands - 1),
        };
        if operator == Operator::Over {
            let divisor = self.expression(operands - 1, random);
            let quotient = 1 + random.below(QUOTIENTS) as i64;
            let dividend = divisor.value().and_then(|value| value.checked_mul(quotient));
            return pair(operator, Number(dividend.unwrap_or(0)), divisor);
        }
        let first = self.expression(left, random);
        pair(operator, first, self.expression(operands - left, random))
    }

    fn number(&self, random: &mut Random) -> i64 {
        random.below(self.largest + 1) as i64
    }
}

fn pair(operator: Operator, left: Expression, right: Expression) -> Expression {
    Pair(operator, Box::new(left), Box::new(right))
}

impl Expression {
    /// Its value; none if it is too large, or something is divided by 0.
    fn value(&self) -> Option<i64> {
        match self {
            Number(number) => Some(*number),
            Pair(operator, left, right) => {
                let (left, right) = (left.value()?, right.value()?);
                match operator {
                    Operator::Plus => left.checked_add(right),
                    Operator::Minus => left.checked_sub(right),
                    Operator::Times => left.checked_mul(right),
                    Operator::Over => left.checked_rem(right)?.eq(&0).then(|| left / right),
                }
            }
        }
    }

    /// The numbers in it.
    fn numbers(&self) -> Vec<i64> {
        match self {
            Number(number) => vec![*number],
            Pair(_, left, right) => [left.numbers(), right.numbers()].concat(),
        }
    }

    fn shown(&self) -> String {
        match self {
            Number(number) => number.to_string(),
            Pair(operator, left, right) => {
                let (first, second) =
                    (left.within(*operator, false), right.within(*operator, true));
                format!("{first} {} {second}", operator.sign())
            }
        }
    }

    /// It as an operand, in brackets where they are needed.
    fn within(&self, outer: Operator, is_right: bool) -> String {
        let bracketed = match self {
            Number(_) => false,
            Pair(..) if is_right => true,
            Pair(inner, ..) => inner.is_additive() && !outer.is_additive(),
        };
        if bracketed { format!("({})", self.shown()) } else { self.shown() }
    }

    /// Itself, with the operands of sums and products in order.
    fn key(&self) -> String {
        match self {
            Number(number) => number.to_string(),
            Pair(operator, left, right) => {
                let mut sides = [left.key(), right.key()];
                if matches!(operator, Operator::Plus | Operator::Times) {
                    sides.sort();
                }
                format!("({}{}{})", sides[0], operator.sign(), sides[1])
            }
        }
    }

    /// The digits of one place after the other, the ones first, as one adds on
    /// paper: `2 + 4 ; 1 + 3` is 12 + 34. Only for sums and differences.
    fn columns(&self) -> Option<String> {
        let mut terms = Vec::new();
        self.terms(&mut terms)?;
        Some(columns(&terms))
    }

    /// The numbers of a sum with their signs.
    fn terms(&self, terms: &mut Vec<(char, i64)>) -> Option<()> {
        match self {
            Number(number) => terms.push(('+', *number)),
            Pair(operator, left, right) if operator.is_additive() => {
                left.terms(terms)?;
                let Number(number) = **right else { return None };
                terms.push((operator.sign(), number));
            }
            Pair(..) => return None,
        }
        Some(())
    }
}

/// A sum place by place, the ones first: numbers with their signs.
fn columns(terms: &[(char, i64)]) -> String {
    let digits: Vec<(char, Vec<char>)> = terms
        .iter()
        .map(|(sign, number)| (*sign, number.to_string().chars().rev().collect()))
        .collect();
    let width = digits.iter().map(|(_, digits)| digits.len()).max().unwrap_or(0);
    let column = |place: usize| {
        let digit = |(sign, digits): &(char, Vec<char>)| {
            format!("{sign} {}", digits.get(place).unwrap_or(&'0'))
        };
        let column = digits.iter().map(digit).collect::<Vec<_>>().join(" ");
        column.trim_start_matches("+ ").to_owned()
    };
    (0..width).map(column).collect::<Vec<_>>().join(" ; ")
}

/// A sum as people write it, such as `85 + 63 - 4`, place by place; nothing if it is none.
pub fn in_columns(sum: &str) -> Option<String> {
    let spaced = sum.replace('+', " + ").replace('-', " - ");
    let mut words = spaced.split_whitespace();
    let number = |word: &str| {
        let is_plain = word.len() <= 18 && word.bytes().all(|byte| byte.is_ascii_digit());
        is_plain.then(|| word.parse().ok()).flatten()
    };
    let mut terms = vec![('+', number(words.next()?)?)];
    while let Some(sign) = words.next() {
        let sign = sign.chars().next().filter(|sign| ['+', '-'].contains(sign))?;
        terms.push((sign, number(words.next()?)?));
    }
    Some(columns(&terms))
}

/// With a space between brackets and numbers.
fn spaced(shown: &str) -> String {
    shown.replace('(', "( ").replace(')', " )")
}

#[cfg(test)]
mod tests {
    use plugin_sdk::environment::Split;

    use super::*;

    fn number(number: i64) -> Expression {
        Number(number)
    }

    #[test]
    fn brackets_are_written_where_they_are_needed_and_nowhere_else() {
        let sum = || pair(Operator::Plus, number(1), number(2));
        let shown = |operator, left, right| pair(operator, left, right).shown();
        assert_eq!(shown(Operator::Times, sum(), number(3)), "(1 + 2) * 3");
        assert_eq!(shown(Operator::Minus, sum(), number(3)), "1 + 2 - 3");
        assert_eq!(shown(Operator::Minus, number(3), sum()), "3 - (1 + 2)");
        let product = pair(Operator::Times, number(4), number(5));
        assert_eq!(shown(Operator::Plus, product, number(3)), "4 * 5 + 3");
    }

    #[test]
    fn a_sum_is_shown_place_by_place() {
        let sum = pair(Operator::Plus, number(107), number(35));
        assert_eq!(sum.columns().as_deref(), Some("7 + 5 ; 0 + 3 ; 1 + 0"));
        let difference = pair(Operator::Minus, sum, number(4));
        assert_eq!(difference.columns().as_deref(), Some("7 + 5 - 4 ; 0 + 3 - 0 ; 1 + 0 - 0"));
        assert_eq!(pair(Operator::Times, number(2), number(3)).columns(), None);
        assert_eq!(in_columns("37+105 - 4").as_deref(), Some("7 + 5 - 4 ; 3 + 0 - 0 ; 0 + 1 - 0"));
        for other in ["", "+", "3 +", "3 4", "3 + x", "7 + 5 ; 3 + 0", "2 * 3", "-1 + 2"] {
            assert_eq!(in_columns(other), None, "{other}");
        }
    }

    #[test]
    fn both_orders_of_a_sum_are_one_question() {
        let key = |operator, one, two| pair(operator, number(one), number(two)).key();
        assert_eq!(key(Operator::Plus, 3, 12), key(Operator::Plus, 12, 3));
        assert_ne!(key(Operator::Minus, 3, 12), key(Operator::Minus, 12, 3));
    }

    #[test]
    fn whatever_is_drawn_has_the_value_that_python_gives_it() {
        let operators = Operator::all_in("+-*/");
        let wanted = Wanted { operators, operands: 4, largest: 99, is_plain: false };
        let mut random = Random::new(Split::Train, 0, "test");
        let mut drawn = 0;
        while drawn < 300 {
            let Some(Drawn { question, .. }) = draw(&wanted, &mut random) else { continue };
            let formula = question.formula.as_deref().unwrap_or_default();
            // Columns are another notation, tested above.
            if !formula.contains(';') {
                let value = evaluate(&mut formula.split(' ').peekable(), 0);
                assert_eq!(value.to_string(), question.gold, "{formula}");
            }
            drawn += 1;
        }
    }

    #[test]
    fn a_plain_question_does_not_end_with_its_answer() {
        let operators = Operator::all_in("+");
        let wanted = Wanted { operators, operands: 2, largest: 5, is_plain: true };
        let mut random = Random::new(Split::Train, 0, "test");
        let drawn: Vec<Drawn> = (0..200).filter_map(|_| draw(&wanted, &mut random)).collect();
        assert!(drawn.len() > 100);
        for Drawn { question, .. } in drawn {
            let (sum, rest) =
                question.text["What is ".len()..].split_once('?').expect("a question");
            let (one, other) = sum.split_once(" + ").expect("a sum");
            assert_eq!(rest, " Answer with the number only.");
            assert!(one != question.gold && other != question.gold, "{}", question.text);
        }
    }

    /// A second opinion: what a parser with the usual precedence makes of it.
    fn evaluate(words: &mut std::iter::Peekable<std::str::Split<'_, char>>, least: u8) -> i64 {
        let mut value = match words.next() {
            Some("(") => {
                let value = evaluate(words, 0);
                assert_eq!(words.next(), Some(")"));
                value
            }
            word => word.expect("a number").parse().expect("a number"),
        };
        while let Some(&sign) = words.peek() {
            let strength = match sign {
                "+" | "-" => 1,
                "*" | "/" => 2,
                _ => break,
            };
            if strength <= least {
                break;
            }
            words.next();
            let right = evaluate(words, strength);
            value = match sign {
                "+" => value + right,
                "-" => value - right,
                "*" => value * right,
                _ => value / right,
            };
        }
        value
    }
}
