//! Why a row is dropped.

/// The most that is told of what was found.
const DETAIL_CHARS: usize = 200;

/// Why a row is dropped: what rows are counted by, and what was found in this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The same words for all rows that are dropped for it.
    pub reason: String,
    /// What there is instead.
    pub detail: String,
    /// How many rows it is about: where a part of a file is lost, all in it.
    pub rows: usize,
}

impl Refusal {
    /// A refusal; of a long detail only the beginning is kept.
    pub fn new(reason: impl Into<String>, detail: impl Into<String>) -> Self {
        let mut detail = detail.into();
        if let Some((end, _)) = detail.char_indices().nth(DETAIL_CHARS) {
            detail.truncate(end);
            detail.push('…');
        }
        Refusal { reason: reason.into(), detail, rows: 1 }
    }

    /// A refusal that says all in its reason.
    pub fn plain(reason: impl Into<String>) -> Self {
        Refusal::new(reason, "")
    }
}
