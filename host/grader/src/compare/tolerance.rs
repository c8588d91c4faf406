//! `float`: words; numbers may differ a little.

use std::fmt;
use std::str::FromStr;

use super::text::{float, words};

/// How far a number may be off: by `absolute`, or by `relative` times the
/// expected number, whichever allows more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Share of the expected number's magnitude.
    pub relative: f64,
    /// In the number's own unit.
    pub absolute: f64,
}

/// What contest statements usually ask for.
impl Default for Tolerance {
    fn default() -> Self {
        Tolerance { relative: 1e-6, absolute: 1e-6 }
    }
}

impl Tolerance {
    /// Whether the number is near enough. Infinities and NaN are near nothing.
    pub fn holds(self, expected: f64, actual: f64) -> bool {
        expected.is_finite()
            && (actual - expected).abs() <= self.absolute.max(self.relative * expected.abs())
    }

    /// As many words, each equal or a number near the expected one.
    pub(super) fn matches(self, expected: &str, actual: &str) -> bool {
        let same = |(expected, actual): (&str, &str)| {
            expected == actual
                || float(expected).zip(float(actual)).is_some_and(|(e, a)| self.holds(e, a))
        };
        words(expected).count() == words(actual).count()
            && words(expected).zip(words(actual)).all(same)
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?},{:?}", self.relative, self.absolute)
    }
}

/// `relative,absolute`: two finite numbers, not below 0.
impl FromStr for Tolerance {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let number =
            |text: &str| text.trim().parse().ok().filter(|x: &f64| x.is_finite() && *x >= 0.0);
        let (relative, absolute) = text.split_once(',').ok_or(())?;
        Ok(Tolerance {
            relative: number(relative).ok_or(())?,
            absolute: number(absolute).ok_or(())?,
        })
    }
}
