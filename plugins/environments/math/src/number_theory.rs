//! Divisors, multiples, remainders and primes.

use plugin_sdk::Random;

use crate::question::{Drawn, Question};

/// Draw a question of a difficulty from 1 to 5: larger numbers, and more to do.
pub fn draw(difficulty: u32, random: &mut Random) -> Option<Drawn> {
    let kinds: &[fn(u64, &mut Random) -> Drawn] = match difficulty {
        1 => &[greatest_divisor, remainder],
        2 => &[greatest_divisor, least_multiple, remainder, next_prime],
        3 => &[least_multiple, next_prime, count_of_divisors, power],
        _ => &[count_of_divisors, sum_of_divisors, largest_prime, power, inverse],
    };
    let most = [20, 60, 200, 1_000, 10_000][difficulty.clamp(1, 5) as usize - 1];
    random.choose(kinds).map(|kind| kind(most, random))
}

fn below(most: u64, least: u64, random: &mut Random) -> u64 {
    least + random.below((most - least) as usize) as u64
}

/// A question of two numbers whose order does not matter.
fn of_pair(name: &str, words: &str, numbers: (u64, u64), gold: u64) -> Drawn {
    let (small, large) = (numbers.0.min(numbers.1), numbers.0.max(numbers.1));
    let mut drawn = of(
        format!("Find the {words} of {} and {}.", numbers.0, numbers.1),
        format!("{name} {} , {}", numbers.0, numbers.1),
        gold,
    );
    drawn.key = format!("{name} {small} {large}");
    drawn
}

fn of(text: String, formula: String, gold: u64) -> Drawn {
    let key = formula.clone();
    Drawn { question: Question::generated(text, formula, gold.to_string()), key }
}

fn greatest_divisor(most: u64, random: &mut Random) -> Drawn {
    // A common factor, or the answer is 1 most of the time.
    let factor = below(most / 4, 1, random);
    let numbers = (factor * below(most, 2, random), factor * below(most, 2, random));
    of_pair("gcd", "greatest common divisor", numbers, gcd(numbers.0, numbers.1))
}

fn least_multiple(most: u64, random: &mut Random) -> Drawn {
    let numbers = (below(most, 2, random), below(most, 2, random));
    let multiple = numbers.0 / gcd(numbers.0, numbers.1) * numbers.1;
    of_pair("lcm", "least common multiple", numbers, multiple)
}

fn remainder(most: u64, random: &mut Random) -> Drawn {
    let (number, by) = (below(most * most, most, random), below(most, 3, random));
    let text = format!("What is the remainder when {number} is divided by {by}?");
    of(text, format!("{number} mod {by}"), number % by)
}

fn power(most: u64, random: &mut Random) -> Drawn {
    let (base, by) = (below(most, 2, random), below(most, 3, random));
    let exponent = below(most, 3, random);
    let text = format!("What is the remainder when {base}^{exponent} is divided by {by}?");
    of(text, format!("{base} ^ {exponent} mod {by}"), power_mod(base, exponent, by))
}

fn inverse(most: u64, random: &mut Random) -> Drawn {
    loop {
        let by = below(most, 5, random);
        let number = below(by, 2, random);
        // Without a common factor there is one; for most pairs there is.
        let Some(inverse) = (1..by).find(|candidate| number * candidate % by == 1) else {
            continue;
        };
        let text = format!(
            "Find the smallest positive whole number x for which {number}x leaves the remainder 1 \
             when divided by {by}."
        );
        return of(text, format!("inverse {number} mod {by}"), inverse);
    }
}

fn next_prime(most: u64, random: &mut Random) -> Drawn {
    let number = below(most * 2, 2, random);
    let prime = (number + 1..).find(|&candidate| smallest_divisor(candidate) == candidate);
    let text = format!("What is the smallest prime number greater than {number}?");
    of(text, format!("prime after {number}"), prime.unwrap_or(2))
}

fn count_of_divisors(most: u64, random: &mut Random) -> Drawn {
    let number = below(most, 2, random);
    let text = format!("How many positive divisors does {number} have?");
    of(text, format!("count divisors {number}"), divisors(number).count() as u64)
}

fn sum_of_divisors(most: u64, random: &mut Random) -> Drawn {
    let number = below(most, 2, random);
    let text = format!("What is the sum of the positive divisors of {number}?");
    of(text, format!("sum divisors {number}"), divisors(number).sum())
}

fn largest_prime(most: u64, random: &mut Random) -> Drawn {
    let number = below(most, 2, random);
    let (mut rest, mut largest) = (number, 1);
    while rest > 1 {
        largest = largest.max(smallest_divisor(rest));
        rest /= smallest_divisor(rest);
    }
    let text = format!("What is the largest prime that divides {number}?");
    of(text, format!("largest prime of {number}"), largest)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn power_mod(base: u64, exponent: u64, by: u64) -> u64 {
    (0..exponent).fold(1 % by, |product, _| product * (base % by) % by)
}

/// The smallest divisor other than 1; of a number greater than 1.
fn smallest_divisor(number: u64) -> u64 {
    let divides = |divisor: &u64| number.is_multiple_of(*divisor);
    (2..).take_while(|divisor| divisor * divisor <= number).find(divides).unwrap_or(number)
}

fn divisors(number: u64) -> impl Iterator<Item = u64> {
    (1..=number).filter(move |divisor| number.is_multiple_of(*divisor))
}

#[cfg(test)]
mod tests {
    use plugin_sdk::environment::Split;

    use super::*;

    #[test]
    fn answers_are_those_of_a_textbook() {
        assert_eq!((gcd(12, 18), gcd(7, 5), power_mod(3, 5, 7)), (6, 1, 5));
        assert_eq!((smallest_divisor(91), smallest_divisor(97)), (7, 97));
        assert_eq!(divisors(28).sum::<u64>(), 56);
    }

    #[test]
    fn every_difficulty_has_many_questions_and_answers() {
        for difficulty in 1..=5 {
            let mut random = Random::new(Split::Train, difficulty, "test");
            let drawn: Vec<Drawn> =
                (0..300).filter_map(|_| draw(difficulty, &mut random)).collect();
            let different = |of: fn(&Drawn) -> &str| {
                drawn.iter().map(of).collect::<std::collections::BTreeSet<_>>().len()
            };
            assert!(different(|drawn| &drawn.key) > 200, "{difficulty}");
            assert!(different(|drawn| &drawn.question.gold) > 15, "{difficulty}");
        }
    }
}
