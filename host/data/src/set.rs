//! The data sets that can be read.

use std::fmt;
use std::str::FromStr;

use plugin_sdk::types::Split;
use troupe_core::error::suggestion;

/// A published data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are names")]
pub enum DataSet {
    Aime,
    Amc,
    Gsm8k,
    Math,
    Math500,
    OlympiadBench,
    Minerva,
    Polaris,
    DapoMath,
    Apps,
    CodeContests,
    LiveCodeBench,
    HumanEval,
    Mbpp,
    Boxoban,
}

impl DataSet {
    /// All of them.
    pub const ALL: [DataSet; 15] = [
        DataSet::Aime,
        DataSet::Amc,
        DataSet::Gsm8k,
        DataSet::Math,
        DataSet::Math500,
        DataSet::OlympiadBench,
        DataSet::Minerva,
        DataSet::Polaris,
        DataSet::DapoMath,
        DataSet::Apps,
        DataSet::CodeContests,
        DataSet::LiveCodeBench,
        DataSet::HumanEval,
        DataSet::Mbpp,
        DataSet::Boxoban,
    ];

    /// Its name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            DataSet::Aime => "aime",
            DataSet::Amc => "amc",
            DataSet::Gsm8k => "gsm8k",
            DataSet::Math => "math",
            DataSet::Math500 => "math-500",
            DataSet::OlympiadBench => "olympiadbench",
            DataSet::Minerva => "minerva",
            DataSet::Polaris => "polaris",
            DataSet::DapoMath => "dapo-math",
            DataSet::Apps => "apps",
            DataSet::CodeContests => "code-contests",
            DataSet::LiveCodeBench => "livecodebench",
            DataSet::HumanEval => "humaneval",
            DataSet::Mbpp => "mbpp",
            DataSet::Boxoban => "boxoban",
        }
    }

    /// The licence, as far as it is known here; a row that names one has that.
    pub fn licence(self) -> &'static str {
        match self {
            DataSet::Gsm8k | DataSet::Math | DataSet::Math500 => "MIT",
            DataSet::Apps | DataSet::HumanEval => "MIT",
            DataSet::Mbpp | DataSet::CodeContests => "CC-BY-4.0",
            DataSet::Boxoban | DataSet::DapoMath => "Apache-2.0",
            DataSet::Aime | DataSet::Amc => {
                "unknown (problems: Mathematical Association of America)"
            }
            DataSet::OlympiadBench
            | DataSet::Minerva
            | DataSet::Polaris
            | DataSet::LiveCodeBench => "unknown",
        }
    }

    /// The split of a set that is published to test with, whatever its files are called: a hub
    /// calls the only split of a set `train`.
    pub(super) fn only_split(self) -> Option<Split> {
        match self {
            DataSet::Aime
            | DataSet::Amc
            | DataSet::Math500
            | DataSet::OlympiadBench
            | DataSet::Minerva
            | DataSet::LiveCodeBench
            | DataSet::HumanEval => Some(Split::Test),
            DataSet::Gsm8k
            | DataSet::Math
            | DataSet::Polaris
            | DataSet::DapoMath
            | DataSet::Apps
            | DataSet::CodeContests
            | DataSet::Mbpp
            | DataSet::Boxoban => None,
        }
    }
}

impl fmt::Display for DataSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for DataSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = DataSet::ALL.into_iter().find(|set| set.name() == text);
        found.ok_or_else(|| {
            let hint = suggestion(text, DataSet::ALL.map(DataSet::name));
            format!("there is no data set `{text}` here{hint}")
        })
    }
}
