//! Python's `decimal.Decimal`, as far as reading and `==` go.

/// The largest exponent of a Python `Decimal` on a 64-bit machine.
const LARGEST: i64 = 999_999_999_999_999_999;

/// A decimal number, exact.
#[derive(Debug)]
pub(super) enum Decimal {
    /// `digits` × 10^`exponent`: no zeros at either end; zero has no digits.
    Finite {
        negative: bool,
        digits: String,
        exponent: i64,
    },
    Infinite {
        negative: bool,
    },
    /// Equal to nothing, itself included.
    Nan,
}

impl Decimal {
    /// Read a word as `Decimal(word)` does: underscores are ignored wherever
    /// they are; none if Python would raise.
    pub(super) fn parse(word: &str) -> Option<Decimal> {
        let word = word.replace('_', "").to_ascii_lowercase();
        let (negative, body) = match word.strip_prefix('-') {
            Some(body) => (true, body),
            None => (false, word.strip_prefix('+').unwrap_or(&word)),
        };
        if matches!(body, "inf" | "infinity") {
            return Some(Decimal::Infinite { negative });
        }
        let payload = body.strip_prefix("snan").or_else(|| body.strip_prefix("nan"));
        if let Some(payload) = payload {
            return payload.bytes().all(|byte| byte.is_ascii_digit()).then_some(Decimal::Nan);
        }
        let (mantissa, exponent) = match body.split_once('e') {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (body, 0),
        };
        finite(negative, mantissa, exponent)
    }

    /// `==`: by value, so `1E2` equals `100.0` and 0 equals -0.
    pub(super) fn equals(&self, other: &Decimal) -> bool {
        match (self, other) {
            (Decimal::Infinite { negative: a }, Decimal::Infinite { negative: b }) => a == b,
            (
                Decimal::Finite { negative: a, digits: x, exponent: i },
                Decimal::Finite { negative: b, digits: y, exponent: j },
            ) => x == y && (x.is_empty() || a == b && i == j),
            _ => false,
        }
    }
}

fn parse_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // Python refuses what does not fit as well.
    plain.then(|| text.parse().ok()).flatten()
}

fn finite(negative: bool, mantissa: &str, exponent: i64) -> Option<Decimal> {
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let exponent = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    let significant = digits.trim_start_matches('0');
    let leading = exponent.checked_add(i64::try_from(significant.len()).ok()?.max(1) - 1)?;
    if leading > LARGEST || exponent < -2 * LARGEST + 1 {
        return None;
    }
    let stripped = significant.trim_end_matches('0');
    let exponent = exponent + i64::try_from(significant.len() - stripped.len()).ok()?;
    Some(Decimal::Finite { negative, digits: stripped.to_owned(), exponent })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two words and whether Python has them equal; none: one is no number.
    const CASES: &[(&str, &str, Option<bool>)] = &[
        ("1E2", "100", Some(true)),
        ("1e2", "100.00", Some(true)),
        ("0.1", ".1", Some(true)),
        ("5.", "+5", Some(true)),
        ("-0", "0.000", Some(true)),
        ("0e5", "0", Some(true)),
        ("1_000", "1000", Some(true)),
        ("_1_", "1", Some(true)),
        ("1e_5", "100000", Some(true)),
        ("0.1", "0.10000000000000001", Some(false)),
        ("50000000000000000", "50000000000000001", Some(false)),
        ("-1", "1", Some(false)),
        ("inf", "+Infinity", Some(true)),
        ("inf", "-inf", Some(false)),
        ("NaN", "NaN", Some(false)),
        ("nan12", "1", Some(false)),
        ("1e999999999999999999", "10e999999999999999998", Some(true)),
        ("1e9999999999999999999", "1", None),
        ("1e-1999999999999999997", "1", Some(false)),
        ("1e-1999999999999999998", "1", None),
        ("__", "1", None),
        (".", "1", None),
        ("1e", "1", None),
        ("infinit", "1", None),
        ("1,5", "1", None),
        ("0x1", "1", None),
        ("--1", "1", None),
    ];

    #[test]
    fn words_are_the_numbers_that_python_reads() {
        for (left, right, equal) in CASES {
            let verdict =
                Decimal::parse(left).zip(Decimal::parse(right)).map(|(a, b)| a.equals(&b));
            assert_eq!(verdict, *equal, "{left} and {right}");
        }
    }
}
