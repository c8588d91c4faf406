//! `--grant NAME=RIGHT,…`: what a plugin is granted.

use std::fmt;
use std::str::FromStr;

use troupe_core::config::{Config, Grantee};
use troupe_guests::plugin::Right;

/// A plugin, and what it is granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantArg {
    grantee: Grantee,
    rights: Vec<Right>,
}

impl GrantArg {
    /// Whether it is for the plugin that has this name.
    pub fn is_for(&self, name: &str) -> bool {
        self.grantee.name == name
    }

    /// Puts it into a configuration.
    pub fn apply(&self, config: &mut Config) {
        for right in &self.rights {
            let all = match right {
                Right::Sandbox => &mut config.sandbox.grant,
                Right::Retrieval => &mut config.retrieval.grant,
            };
            Grantee::extend(all, std::slice::from_ref(&self.grantee));
        }
    }
}

impl fmt::Display for GrantArg {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rights: Vec<&str> = self.rights.iter().map(|right| right.word()).collect();
        write!(out, "{}={}", self.grantee, rights.join(","))
    }
}

impl FromStr for GrantArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (grantee, rights) = text
            .rsplit_once('=')
            .ok_or("say what is granted to whom, such as `my-plugin=sandbox,search`")?;
        let right = |word: &str| match word {
            "sandbox" => Ok(Right::Sandbox),
            "search" | "retrieval" => Ok(Right::Retrieval),
            _ => Err(format!("there is no right `{word}`; there are `sandbox` and `search`")),
        };
        let rights = rights.split(',').map(right).collect::<Result<_, _>>()?;
        Ok(GrantArg { grantee: grantee.parse()?, rights })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_right_goes_to_its_own_table() {
        let granted = |text: &str| {
            let mut config = Config::default();
            text.parse::<GrantArg>().unwrap().apply(&mut config);
            let names = |all: Vec<Grantee>| all.into_iter().map(String::from).collect::<Vec<_>>();
            (names(config.sandbox.grant), names(config.retrieval.grant))
        };
        let quiz = || vec!["quiz".to_owned()];
        assert_eq!(granted("quiz=sandbox"), (quiz(), vec![]));
        assert_eq!(granted("quiz=search"), (vec![], quiz()));
        assert_eq!(granted("quiz=sandbox,search"), (quiz(), quiz()));
        let bound = format!("quiz@sha256:{}", "a".repeat(64));
        assert_eq!(granted(&format!("{bound}=sandbox")).0, std::slice::from_ref(&bound));
        for said in ["quiz=search", &format!("{bound}=sandbox,search")] {
            assert_eq!(said.parse::<GrantArg>().unwrap().to_string(), said);
        }
        for wrong in ["quiz", "quiz=", "quiz=network", "quiz@sha256:ab=sandbox"] {
            assert!(wrong.parse::<GrantArg>().is_err(), "{wrong}");
        }
    }
}
