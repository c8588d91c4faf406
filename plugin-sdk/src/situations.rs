//! Situations: a word for observations that are alike, by rules that a user writes.

use serde::{Deserialize, Serialize};

use crate::random::Random;
use crate::require;
use crate::settings::Settings;
use crate::types::{Configured, Problem, Setting, Split};
use crate::workflow::Request;

const SETTING: &str = "situations";
/// Fits whatever is seen.
const EVERYTHING: &str = "*";
/// Before a share of all observations, in percent.
const SHARE: char = '%';
const FORM: &str = "a rule is `name=word word`, `name=%30` or `name=*`";
const BETWEEN: &str = "`;` stands between two";
/// A share is a whole number of these parts of all observations: hundredths of a percent.
const PARTS: u32 = 10_000;

/// Rules that say to which situation an observation belongs: the first that fits does.
///
/// `name=word word` fits where one of the words is seen, split at white space. `name=%30`
/// fits 30 of 100 observations: which, a digest of the text decides, so that the same is
/// always in the same situation and shares can be added up. `name=*` fits the rest.
///
/// Only a request's [situation](Request::situation) follows from it, never what a seat
/// is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Situations(Vec<Rule>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Rule {
    name: String,
    fits: Fits,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Fits {
    /// One of these is seen.
    Words(Vec<String>),
    /// The digest falls into these parts, the last one excluded.
    Parts(u32, u32),
    Everything,
}

impl Situations {
    /// The setting `situations`.
    pub fn setting() -> Setting {
        let summary = "Situations that answers are given in, such as `near=G; odd=%30; rest=*`: \
                       the first rule that fits what is seen. Empty for none.";
        Setting::text(SETTING, summary, "")
    }

    /// Those of the setting, or a problem that names the rule that is none.
    pub fn of(settings: &[Configured]) -> Result<Self, Problem> {
        let read = Situations::read(settings.text(SETTING)?);
        read.map_err(|wrong| Problem::settings(format!("`{SETTING}` has {wrong}")))
    }

    fn read(text: &str) -> Result<Self, String> {
        let (mut rules, mut taken) = (Vec::<Rule>::new(), 0);
        for text in text.split(';').map(str::trim).filter(|text| !text.is_empty()) {
            let ends = rules.last().is_some_and(|rule| rule.fits == Fits::Everything);
            require(!ends, || format!("the rule `{text}` behind one that fits everything"))?;
            let rule = Rule::read(text, taken)?;
            if let Fits::Parts(_, to) = rule.fits {
                taken = to;
            }
            rules.push(rule);
        }
        Ok(Situations(rules))
    }

    /// The situation in which this is seen; nothing where no rule fits.
    pub fn fitting(&self, observation: &str) -> Option<&str> {
        let fitting = self.0.iter().find(|rule| rule.fits.fits(observation));
        fitting.map(|rule| rule.name.as_str())
    }

    /// The request with the situation of what its seat sees.
    #[must_use]
    pub fn label(&self, request: Request, observation: &str) -> Request {
        match self.fitting(observation) {
            Some(name) => request.situation(name),
            None => request,
        }
    }
}

impl Rule {
    /// The rule, where shares before it have taken so many parts.
    fn read(text: &str, taken: u32) -> Result<Self, String> {
        let malformed = || format!("the rule `{text}`, but {FORM}");
        let (name, fits) = text.split_once('=').ok_or_else(malformed)?;
        let (name, words) = (name.trim(), fits.split_whitespace().collect::<Vec<_>>());
        let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
        require(is_name && !words.is_empty(), malformed)?;
        let fits = match words.as_slice() {
            [EVERYTHING] => Fits::Everything,
            [share] if share.starts_with(SHARE) => {
                let to = taken
                    + parts(share).ok_or_else(|| {
                        format!("the rule `{text}`, but a share is from `%0.01` to `%100`")
                    })?;
                require(to <= PARTS, || {
                    let percent = f64::from(to) / f64::from(PARTS / 100);
                    format!("shares of {percent}% with the rule `{text}`; 100% is the most")
                })?;
                Fits::Parts(taken, to)
            }
            words => {
                // Most likely a semicolon is missing: no rule should fit nothing in silence.
                let is_rule = |word: &&&str| {
                    word.contains('=') || word.starts_with(SHARE) || **word == EVERYTHING
                };
                if let Some(word) = words.iter().find(is_rule) {
                    let among = format!("`{word}` among the words of `{name}`");
                    return Err(format!("{among}, but {FORM}; {BETWEEN}"));
                }
                Fits::Words(words.iter().map(|&word| word.to_owned()).collect())
            }
        };
        Ok(Rule { name: name.to_owned(), fits })
    }
}

impl Fits {
    fn fits(&self, observation: &str) -> bool {
        match self {
            Fits::Words(words) => {
                observation.split_whitespace().any(|seen| words.iter().any(|word| word == seen))
            }
            Fits::Parts(from, to) => (*from..*to).contains(&part_of(observation)),
            Fits::Everything => true,
        }
    }
}

/// The share in parts, if it is one of at least one part.
fn parts(share: &str) -> Option<u32> {
    let percent: f64 = share.strip_prefix(SHARE)?.parse().ok()?;
    let parts = percent * f64::from(PARTS / 100);
    let is_share =
        (1.0..=f64::from(PARTS)).contains(&parts) && (parts - parts.round()).abs() < 1e-6;
    is_share.then_some(parts.round() as u32)
}

/// Which of all parts the observation belongs to.
fn part_of(observation: &str) -> u32 {
    // Salted: an environment may have chosen a task's split by a hash of the same text.
    Random::new(Split::Train, 0, &format!("{SETTING} {observation}")).below(PARTS as usize) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn situations(text: &str) -> Situations {
        Situations::read(text).unwrap()
    }

    #[test]
    fn the_first_rule_that_fits_names_the_situation() {
        let rules = situations("near=G goal; walled = # ;rest=*;");
        for (seen, name) in [
            ("row 1 G", "near"),
            ("# goal", "near"),
            ("goals\t#", "walled"),
            ("goals ##", "rest"),
            ("", "rest"),
        ] {
            assert_eq!(rules.fitting(seen), Some(name), "{seen}");
        }
        assert_eq!(situations("near=G").fitting("g"), None);
        assert_eq!(situations("").fitting("G"), None);
        assert_eq!(situations("all=%100").fitting("G"), Some("all"));
    }

    #[test]
    fn a_rule_that_is_none_is_refused_by_name() {
        let range = "but a share is from `%0.01` to `%100`";
        for (text, wrong) in [
            ("near=G; far", format!("the rule `far`, but {FORM}")),
            ("near=", format!("the rule `near=`, but {FORM}")),
            ("=G", format!("the rule `=G`, but {FORM}")),
            ("so near=G", format!("the rule `so near=G`, but {FORM}")),
            ("a=%0", format!("the rule `a=%0`, {range}")),
            ("a=%1.005", format!("the rule `a=%1.005`, {range}")),
            ("a=%x", format!("the rule `a=%x`, {range}")),
            ("a=%60.5; b=%40", "shares of 100.5% with the rule `b=%40`; 100% is the most".into()),
            ("a=*; b=G", "the rule `b=G` behind one that fits everything".into()),
            ("a=G b=*", format!("`b=*` among the words of `a`, but {FORM}; {BETWEEN}")),
        ] {
            assert_eq!(Situations::read(text), Err(wrong), "{text}");
        }
        for text in ["a=G %30", "a=* G"] {
            assert!(Situations::read(text).unwrap_err().contains("among the words of `a`"));
        }
    }

    #[test]
    fn a_request_is_labelled_and_told_nothing_of_it() {
        let request = || Request::new("player").user("G");
        let labelled = situations("near=G").label(request(), "G");
        assert_eq!(labelled.situation.as_deref(), Some("near"));
        assert_eq!(labelled.messages, request().messages);
        assert_eq!(situations("near=G").label(request(), "#"), request());
    }

    /// How many of so many texts are in each of these situations.
    fn counts(rules: &Situations, names: &[&str], salt: u32, texts: u32) -> Vec<u32> {
        let of = |name: &str| {
            let text = |number: u32| format!("{salt} seen {number}");
            (0..texts).filter(|&it| rules.fitting(&text(it)) == Some(name)).count() as u32
        };
        names.iter().map(|name| of(name)).collect()
    }

    /// Four spreads of a share of 2000 are 90 at most.
    #[test]
    fn a_share_fits_about_so_many_observations_and_shares_add_up() {
        for case in 0..32 {
            let (first, second, salt) = (1 + case * 7 % 50, 1 + case * 11 % 49, case * 101);
            let texts = 2000;
            let apart = situations(&format!("a=%{first}; b=%{second}; rest=*"));
            let fitting = counts(&apart, &["a", "b", "rest"], salt, texts);
            let wanted = [first, second, 100 - first - second].map(|percent| percent * 20);
            for (found, wanted) in fitting.iter().zip(wanted) {
                assert!(found.abs_diff(wanted) <= 100, "{fitting:?} of {wanted}");
            }
            assert_eq!(fitting.iter().sum::<u32>(), texts);
            let joined = situations(&format!("both=%{}", first + second));
            let both = counts(&joined, &["both"], salt, texts)[0];
            assert_eq!(fitting[0] + fitting[1], both);
        }
    }

    #[test]
    fn no_text_of_a_user_is_a_crash() {
        let signs: Vec<char> = "[a=%*; 0-9.]é\u{1f600}".chars().collect();
        for case in 0..2000_usize {
            let length = case % 23;
            let text: String =
                (0..length).map(|at| signs[(case * 31 + at * at * 17) % signs.len()]).collect();
            let _ = Situations::read(&text).map(|rules| rules.fitting("a").map(str::len));
        }
    }
}
