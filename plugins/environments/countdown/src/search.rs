//! Looking for an expression that makes the target, in whole numbers that are
//! not negative.

use crate::puzzle::Puzzle;

/// Pairs that are put together at most, so that a search ends in time.
const PAIRS: usize = 2_000_000;
/// Numbers beyond this are abandoned.
const LARGEST: i64 = 1 << 40;

/// A number that can be made, and how.
struct Part {
    value: i64,
    /// The parts it was made of, and the sign between them.
    made_of: Option<(usize, char, usize)>,
}

/// An expression that solves the puzzle, if one is found in time.
pub fn solve(puzzle: &Puzzle, all: bool) -> Option<String> {
    let parts = puzzle.numbers.iter().map(|&value| Part { value, made_of: None }).collect();
    let mut search = Search { parts, target: puzzle.target, all, left: PAIRS };
    let open: Vec<usize> = (0..puzzle.numbers.len()).collect();
    let found = search.go(&open)?;
    Some(search.text(found, true))
}

struct Search {
    /// Every part on the way to where the search is.
    parts: Vec<Part>,
    target: i64,
    all: bool,
    left: usize,
}

impl Search {
    /// The part that is the target, made of these.
    fn go(&mut self, open: &[usize]) -> Option<usize> {
        let is_target = |&&part: &&usize| self.parts[part].value == self.target;
        match open {
            [only] if self.all => return Some(*only).filter(|only| is_target(&only)),
            _ if !self.all => {
                if let Some(&found) = open.iter().find(is_target) {
                    return Some(found);
                }
            }
            _ => {}
        }
        for (place, &one) in open.iter().enumerate() {
            for &other in &open[place + 1..] {
                self.left = self.left.checked_sub(1)?;
                let rest: Vec<usize> =
                    open.iter().copied().filter(|&part| part != one && part != other).collect();
                if let Some(found) = self.join(one, other, rest) {
                    return Some(found);
                }
            }
        }
        None
    }

    fn join(&mut self, one: usize, other: usize, mut rest: Vec<usize>) -> Option<usize> {
        let swap = self.parts[one].value < self.parts[other].value;
        let (large, small) = if swap { (other, one) } else { (one, other) };
        let (high, low) = (self.parts[large].value, self.parts[small].value);
        let results = [
            ('+', high.checked_add(low)),
            ('-', Some(high - low)),
            ('*', high.checked_mul(low)),
            ('/', (low > 0 && high % low == 0).then(|| high / low)),
        ];
        for (sign, value) in results {
            let Some(value) = value.filter(|&value| value <= LARGEST) else { continue };
            let made = self.parts.len();
            self.parts.push(Part { value, made_of: Some((large, sign, small)) });
            rest.push(made);
            if let Some(found) = self.go(&rest) {
                return Some(found);
            }
            rest.pop();
            self.parts.pop();
        }
        None
    }

    fn text(&self, part: usize, is_outermost: bool) -> String {
        let Part { value, made_of } = &self.parts[part];
        match *made_of {
            None => value.to_string(),
            Some((one, sign, other)) => {
                let (one, other) = (self.text(one, false), self.text(other, false));
                let text = format!("{one} {sign} {other}");
                if is_outermost { text } else { format!("( {text} )") }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::Expression;

    #[test]
    fn what_is_found_is_right_and_what_cannot_be_is_not_found() {
        for (numbers, target) in [
            (vec![3, 7, 25, 3], 49),
            (vec![1, 2, 3, 4, 5, 6], 720),
            (vec![75, 50, 2, 3, 8, 7], 812),
        ] {
            let puzzle = Puzzle { numbers, target };
            let way = solve(&puzzle, true).expect("a way");
            let read = Expression::read(&way).expect("an expression");
            assert_eq!(puzzle.judge(&read, true), Ok(()), "{way}");
        }
        let some = Puzzle { numbers: vec![5, 9, 100], target: 45 };
        assert_eq!(solve(&some, false).as_deref(), Some("9 * 5"));
        assert_eq!(solve(&some, true), None);
        let many = Puzzle { numbers: vec![2; 16], target: 999_999_937 };
        assert_eq!(solve(&many, true), None);
    }
}
