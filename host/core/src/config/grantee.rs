//! The recipient of a grant.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::table::Kind;

/// What stands between a file's name and its digest.
const SEPARATOR: &str = "@sha256:";
/// Hexadecimal digits of a SHA-256.
const DIGITS: usize = 64;

/// A plugin file that is granted something: any of its name, or the one with
/// this digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Grantee {
    /// Name of the file, without `.wasm`.
    pub name: String,
    /// SHA-256 of the file, in hexadecimal.
    pub digest: Option<String>,
}

impl Grantee {
    /// Any file of this name.
    pub fn named(name: impl Into<String>) -> Self {
        Grantee { name: name.into(), digest: None }
    }

    /// Whether the file of this name and digest is meant.
    pub fn means(&self, name: &str, digest: &str) -> bool {
        self.name == name && self.digest.as_ref().is_none_or(|granted| granted == digest)
    }

    /// Grants it to more files; what was granted to a name before gives way.
    pub fn extend(all: &mut Vec<Grantee>, more: &[Grantee]) {
        all.retain(|known| more.iter().all(|new| new.name != known.name));
        all.extend(more.iter().cloned());
    }

    /// Writes down of each that is any file of a name which file it is, of those
    /// given with name and digest.
    pub fn bind(all: &mut Vec<Grantee>, files: &[(String, String)]) {
        for grantee in all.iter_mut().filter(|grantee| grantee.digest.is_none()) {
            let file = files.iter().find(|(name, _)| *name == grantee.name);
            grantee.digest = file.map(|(_, digest)| digest.clone());
        }
        let mut known: Vec<Grantee> = Vec::new();
        for grantee in std::mem::take(all) {
            if !known.contains(&grantee) {
                known.push(grantee);
            }
        }
        *all = known;
    }
}

impl fmt::Display for Grantee {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.digest {
            None => out.write_str(&self.name),
            Some(digest) => write!(out, "{}{SEPARATOR}{digest}", self.name),
        }
    }
}

impl FromStr for Grantee {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((name, digest)) = text.split_once(SEPARATOR) else {
            return Ok(Grantee::named(text));
        };
        let is_digit = |letter: u8| letter.is_ascii_digit() || (b'a'..=b'f').contains(&letter);
        if name.is_empty() || digest.len() != DIGITS || !digest.bytes().all(is_digit) {
            return Err(format!("it must be {}", Grantee::accepts()));
        }
        Ok(Grantee { name: name.to_owned(), digest: Some(digest.to_owned()) })
    }
}

impl TryFrom<String> for Grantee {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Grantee> for String {
    fn from(grantee: Grantee) -> Self {
        grantee.to_string()
    }
}

impl Kind for Grantee {
    fn accepts() -> String {
        format!("`name` or `name{SEPARATOR}<{DIGITS} hexadecimal digits>`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(letter: &str) -> String {
        letter.repeat(DIGITS)
    }

    fn grantees(texts: &[String]) -> Vec<Grantee> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn a_digest_is_whole_or_refused() {
        let text = format!("quiz@sha256:{}", digest("a"));
        let grantee: Grantee = text.parse().unwrap();
        assert_eq!(grantee.to_string(), text);
        assert!(grantee.means("quiz", &digest("a")) && !grantee.means("quiz", &digest("b")));
        assert!(!grantee.means("quick", &digest("a")));
        let any = Grantee::named("quiz");
        assert!(any.means("quiz", &digest("b")) && !any.means("quick", &digest("b")));
        for wrong in ["quiz@sha256:", "quiz@sha256:abc", &text.to_uppercase().replace("SHA", "sha")]
        {
            let refused = wrong.parse::<Grantee>().unwrap_err();
            assert!(refused.contains("64 hexadecimal digits"), "{wrong}: {refused}");
        }
    }

    #[test]
    fn what_is_bound_means_one_file_and_what_is_granted_anew_replaces_it() {
        let (a, b) = (digest("a"), digest("b"));
        let files = [("quiz".to_owned(), a.clone()), ("solo".to_owned(), b.clone())];
        let mut all = grantees(&["quiz".to_owned(), "other".to_owned()]);
        Grantee::bind(&mut all, &files);
        assert_eq!(all, grantees(&[format!("quiz@sha256:{a}"), "other".to_owned()]));
        Grantee::extend(&mut all, &[Grantee::named("quiz")]);
        assert_eq!(all, grantees(&["other".to_owned(), "quiz".to_owned()]));
        let mut twice = grantees(&["quiz".to_owned(), format!("quiz@sha256:{a}")]);
        Grantee::bind(&mut twice, &files);
        assert_eq!(twice, grantees(&[format!("quiz@sha256:{a}")]));
    }
}
