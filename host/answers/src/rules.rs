//! What a data set takes for equal.

use num_rational::BigRational;

use crate::number::Number;

/// The switches. `Rules::default()` is for answers of no special data set.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// `0 < x < 1` is right where the gold is `(0, 1)`, and the other way round.
    pub inequality_for_interval: bool,
    /// `1, 2` is right where the gold is `{1, 2}`, and the other way round.
    pub list_for_set: bool,
    /// `35` is right where the gold is `35 cm`, and `5 people` where it is `5`.
    pub unit_optional: bool,
    /// `50` is right where the gold is `50%`, and the other way round.
    pub percent_optional: bool,
    /// What a gold that is a decimal stands for.
    pub decimals: Decimals,
    /// How far off an answer may be: one for all, or one for each part of the gold, in its
    /// order. Empty: not at all.
    pub tolerances: Vec<Tolerance>,
}

/// What a gold that is a decimal stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decimals {
    /// For itself.
    Exact,
    /// For itself, and for a value that no decimal can write, such as `√2` or `1/3`, if it
    /// rounds to the gold and the gold shows four digits or more.
    Approximate,
    /// For everything that rounds to it.
    Rounded,
}

/// How far off an answer may be, absolutely.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerance(BigRational);

/// The names that [`Rules::named`] knows.
pub const NAMES: [&str; 9] =
    ["default", "aime", "amc", "gsm8k", "math", "math-500", "olympiadbench", "minerva", "strict"];

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            inequality_for_interval: true,
            list_for_set: true,
            unit_optional: true,
            percent_optional: false,
            decimals: Decimals::Approximate,
            tolerances: Vec::new(),
        }
    }
}

impl Rules {
    /// The rules of a data set, by the name it is imported under.
    pub fn named(name: &str) -> Option<Rules> {
        let rules = Rules::default();
        Some(match name {
            "default" | "olympiadbench" => rules,
            // Their golds are whole numbers, or a number with its currency.
            "aime" | "amc" | "gsm8k" => Rules { decimals: Decimals::Exact, ..rules },
            // Its golds lose their units and percent signs.
            "math" | "math-500" => {
                Rules { percent_optional: true, decimals: Decimals::Exact, ..rules }
            }
            // Its golds are measured or computed quantities.
            "minerva" => Rules { decimals: Decimals::Rounded, ..rules },
            "strict" => Rules::strict(),
            _ => return None,
        })
    }

    /// Every switch off.
    pub fn strict() -> Rules {
        Rules {
            inequality_for_interval: false,
            list_for_set: false,
            unit_optional: false,
            percent_optional: false,
            decimals: Decimals::Exact,
            tolerances: Vec::new(),
        }
    }

    /// These rules, with tolerances: one for all parts of a gold, or one for each.
    #[must_use]
    pub fn with_tolerances(self, tolerances: Vec<Tolerance>) -> Rules {
        Rules { tolerances, ..self }
    }

    /// The tolerance for the part of the gold at `index`.
    pub(crate) fn tolerance(&self, index: usize) -> Option<&BigRational> {
        let tolerance = match self.tolerances.as_slice() {
            [only] => Some(only),
            several => several.get(index),
        };
        tolerance.map(|tolerance| &tolerance.0)
    }
}

impl Tolerance {
    /// The tolerances of several parts, with commas between them.
    pub fn parse_all(text: &str) -> Option<Vec<Tolerance>> {
        text.split(',').map(Tolerance::parse).collect()
    }

    /// The tolerance that a data set writes so, as `0.01` or `1e-1`.
    pub fn parse(text: &str) -> Option<Tolerance> {
        let text = text.trim().to_ascii_lowercase();
        let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || whole.len() + fraction.len() == 0 {
            return None;
        }
        let power: i64 = power.parse().ok()?;
        let number = Number::from_digits(whole, Some(fraction), "")?.shifted(power)?;
        Some(Tolerance(number.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_rules_and_no_other_name_has() {
        assert!(NAMES.iter().all(|name| Rules::named(name).is_some()));
        assert_eq!(Rules::named("maths"), None);
    }

    #[test]
    fn a_tolerance_is_read_as_data_sets_write_it() {
        let tenth = Tolerance::parse("0.1");
        assert!(tenth.is_some());
        assert_eq!(Tolerance::parse("1e-1"), tenth);
        assert_eq!(Tolerance::parse("1E-01"), tenth);
        for text in ["", "-1", "e5", "nan", "1e", "1e99999999999"] {
            assert_eq!(Tolerance::parse(text), None, "{text}");
        }
    }

    #[test]
    fn one_tolerance_is_for_all_and_several_are_each_for_its_part() {
        let tolerances = |texts: &[&str]| {
            let parsed = texts.iter().filter_map(|text| Tolerance::parse(text)).collect();
            Rules::default().with_tolerances(parsed)
        };
        assert_eq!(tolerances(&["1"]).tolerance(5), tolerances(&["1"]).tolerance(0));
        assert_eq!(tolerances(&["1", "2"]).tolerance(2), None);
    }
}
