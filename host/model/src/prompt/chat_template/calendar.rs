//! The one day that templates know of.

use minijinja::{Error, ErrorKind};

/// 26 July 2024, 0:00: the day that Llama 3.1's template writes where there
/// is no clock, under the codes of C's `strftime`.
const DAY: [(char, &str); 14] = [
    ('Y', "2024"),
    ('y', "24"),
    ('m', "07"),
    ('d', "26"),
    ('e', "26"),
    ('j', "208"),
    ('b', "Jul"),
    ('B', "July"),
    ('a', "Fri"),
    ('A', "Friday"),
    ('H', "00"),
    ('M', "00"),
    ('S', "00"),
    ('%', "%"),
];

/// `strftime_now(format)`.
pub(super) fn format(format: String) -> Result<String, Error> {
    let mut text = String::new();
    let mut rest = format.chars();
    while let Some(letter) = rest.next() {
        if letter != '%' {
            text.push(letter);
            continue;
        }
        let code = rest.next().unwrap_or('%');
        let known = DAY.iter().find(|(known, _)| *known == code);
        let (_, word) = known.ok_or_else(|| {
            let reason = format!("`strftime_now` is asked for `%{code}`, which it does not know");
            Error::new(ErrorKind::InvalidOperation, reason)
        })?;
        text.push_str(word);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::format;

    #[test]
    fn it_is_always_the_same_day() {
        assert_eq!(format("%d %b %Y, %A 100%%".to_owned()).unwrap(), "26 Jul 2024, Friday 100%");
        let error = format("%Q".to_owned()).unwrap_err().to_string();
        assert!(error.contains("`%Q`"), "{error}");
    }
}
