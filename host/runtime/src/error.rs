//! Exit codes, and the hint that a misspelt name deserves.
//!
//! Each layer has an error type of its own; the command line turns them into
//! these codes in one place (`cli`).

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

/// The candidate that was probably meant by `word`.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + word.len().max(candidate.len()) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// "; did you mean `x`?", or what there is to choose from.
pub fn suggestion<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(nearest) = nearest(word, candidates.clone()) {
        return format!("; did you mean `{nearest}`?");
    }
    let all: Vec<String> = candidates.into_iter().map(|name| format!("`{name}`")).collect();
    if all.is_empty() { String::new() } else { format!("; there are {}", all.join(", ")) }
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
    }
}
