//! A question: what is asked, and what is right.

use serde::{Deserialize, Serialize};
use troupe_answers::{Rules, Tolerance};

/// One question, drawn or of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// It in English.
    pub text: String,
    /// It in symbols, with a space between two of them: what small policies are
    /// shown. Questions of records have none.
    pub formula: Option<String>,
    /// The answer that is right.
    pub gold: String,
    /// Whose rules say what equals it.
    pub data_set: String,
    /// How far a number may be from it, as data sets write it: one for all parts
    /// of the answer, or one for each, with commas between them.
    pub tolerance: Option<String>,
    /// Whether somebody asks it who does not know what is right: there is no gold, and no answer
    /// is judged.
    #[serde(default)]
    pub is_asked: bool,
}

impl Question {
    /// A generated question.
    pub fn generated(text: String, formula: String, gold: String) -> Self {
        let data_set = "strict".to_owned();
        Question { text, formula: Some(formula), gold, data_set, tolerance: None, is_asked: false }
    }

    /// A question whose answer nobody knows, in English, or in words that are its formula.
    pub fn asked(text: String, formula: Option<String>) -> Self {
        let (gold, data_set) = (String::new(), String::new());
        Question { text, formula, gold, data_set, tolerance: None, is_asked: true }
    }

    /// Whether it was drawn, and is not of a record.
    pub fn is_generated(&self) -> bool {
        self.formula.is_some()
    }

    /// The answer that is right, if it is known.
    pub fn known_answer(&self) -> Option<&str> {
        (!self.is_asked).then_some(&self.gold)
    }

    /// What counts as equal to its gold. The names are those that data sets are
    /// imported under; others have the rules of no special one.
    pub fn rules(&self) -> Rules {
        let rules = Rules::named(&self.data_set).unwrap_or_default();
        let tolerances = self.tolerance.as_deref().and_then(Tolerance::parse_all);
        rules.with_tolerances(tolerances.unwrap_or_default())
    }
}

/// A question that was drawn, and what makes it that question: two ways to write
/// the same one have the same key.
pub struct Drawn {
    /// The question.
    pub question: Question,
    /// What makes it this one.
    pub key: String,
}
