//! Exit codes, and the hint that a misspelt name deserves.
//!
//! Each layer has an error type of its own, and beside it says with which code the process ends
//! because of it. The command line asks whatever led to an error, the outermost first.

use std::error::Error;
use std::io;

/// How the process ends. Part of the public interface; listed in the README.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitCode {
    /// All went well.
    Success = 0,
    /// A fault of the program itself.
    Internal = 1,
    /// The command line or the configuration is wrong.
    Usage = 2,
    /// A plugin cannot be loaded, or does not fit the run; or an environment's server cannot be
    /// played.
    Plugin = 3,
    /// A policy cannot be loaded, or does not fit the run.
    Policy = 4,
    /// A run folder or checkpoint cannot be read or written.
    Storage = 5,
    /// The run was stopped by what happened in it, such as too many void episodes.
    Run = 6,
    /// A check was carried out and found faults.
    Check = 7,
    /// A process of a run with several, or a server that draws its answers, is gone; the run can be
    /// resumed.
    Lost = 8,
}

/// An error that knows how the process ends because of it.
pub trait Coded: Error + 'static {
    /// The code of its layer; nothing if what caused it is to be asked.
    fn code(&self) -> Option<ExitCode>;
}

/// Asks a cause for its code if it is an error of one kind.
pub type Asked = fn(&(dyn Error + 'static)) -> Option<ExitCode>;

/// Asks a cause for its code if it is an `E`.
pub fn ask<E: Coded>(cause: &(dyn Error + 'static)) -> Option<ExitCode> {
    cause.downcast_ref::<E>()?.code()
}

/// The code of the first cause that has one: all of an error's, the outermost first.
pub fn code_of<'e>(
    mut causes: impl Iterator<Item = &'e (dyn Error + 'static)>,
    kinds: &[Asked],
) -> Option<ExitCode> {
    causes.find_map(|cause| kinds.iter().find_map(|ask| ask(cause)))
}

/// A full disk has one exit code, wherever it was met.
impl Coded for io::Error {
    fn code(&self) -> Option<ExitCode> {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        let no_room = [FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull];
        no_room.contains(&self.kind()).then_some(ExitCode::Storage)
    }
}

/// The candidate that was probably meant by `word`.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + word.len().max(candidate.len()) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Names that are listed at most.
const LISTED: usize = 24;

/// "; did you mean `x`?", or what there is to choose from.
pub fn suggestion<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(nearest) = nearest(word, candidates.clone()) {
        return format!("; did you mean `{nearest}`?");
    }
    let mut all: Vec<String> = candidates.into_iter().map(|name| format!("`{name}`")).collect();
    let more = match all.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    all.truncate(LISTED);
    if all.is_empty() { String::new() } else { format!("; there are {}{more}", all.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_is_answered_with_the_nearest_right_one() {
        assert_eq!(
            suggestion("tempature", ["top_p", "temperature"]),
            "; did you mean `temperature`?"
        );
        assert_eq!(suggestion("zzz", ["top_p", "seed"]), "; there are `top_p`, `seed`");
        assert_eq!(suggestion("zzz", []), "");
        let many: Vec<String> = (0..100).map(|n| format!("row-{n}")).collect();
        let told = suggestion("zzzzzzzzz", many.iter().map(String::as_str));
        assert!(told.ends_with("`row-23` and 76 more"), "{told}");
    }
}
