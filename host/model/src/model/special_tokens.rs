//! Tokens with a meaning of their own, which several files of a checkpoint name.

use super::entries::Entries;

/// The ids that a file names, the main one first; none if it names none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecialTokens {
    begin: Vec<u32>,
    end: Vec<u32>,
    pad: Vec<u32>,
}

impl SpecialTokens {
    /// Read the entries of a `config.json` or `generation_config.json`.
    pub fn read(entries: &Entries) -> Result<Self, String> {
        Ok(SpecialTokens {
            begin: entries.token_ids("bos_token_id")?,
            end: entries.token_ids("eos_token_id")?,
            pad: entries.token_ids("pad_token_id")?,
        })
    }

    /// With a family's tokens in place of keys that its `config.json` leaves out.
    pub(super) fn or_defaults(
        mut self,
        entries: &Entries,
        begin: Option<u32>,
        end: Option<u32>,
    ) -> Self {
        if !entries.mentions("bos_token_id") {
            self.begin.extend(begin);
        }
        if !entries.mentions("eos_token_id") {
            self.end.extend(end);
        }
        self
    }

    /// With the tokens of `other` where there are none.
    pub fn or(self, other: &SpecialTokens) -> Self {
        let first =
            |own: Vec<u32>, other: &Vec<u32>| if own.is_empty() { other.clone() } else { own };
        SpecialTokens {
            begin: first(self.begin, &other.begin),
            end: first(self.end, &other.end),
            pad: first(self.pad, &other.pad),
        }
    }

    /// Tokens that end an answer.
    pub fn ends(&self) -> &[u32] {
        &self.end
    }

    /// All of them under their keys.
    pub fn named(&self) -> [(&'static str, &[u32]); 3] {
        [("bos_token_id", &self.begin), ("eos_token_id", &self.end), ("pad_token_id", &self.pad)]
    }
}
