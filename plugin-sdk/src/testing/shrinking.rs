//! The shortest list of actions that still shows a fault.

use crate::types::Move;

/// Lists that are tried at most.
const TRIES: usize = 400;

/// Leave out whatever is not needed: first long stretches, then single acts.
/// The list must show the fault as it is.
pub(super) fn shortest(
    acts: Vec<Vec<Move>>,
    shows_it: impl Fn(&[Vec<Move>]) -> bool,
) -> Vec<Vec<Move>> {
    let mut acts = acts;
    let mut tries = 0;
    let mut stretch = acts.len().div_ceil(2);
    while stretch > 0 {
        let mut start = 0;
        let mut left_out = false;
        while start < acts.len() && tries < TRIES {
            let end = (start + stretch).min(acts.len());
            let shorter = [&acts[..start], &acts[end..]].concat();
            tries += 1;
            if shows_it(&shorter) {
                acts = shorter;
                left_out = true;
            } else {
                start = end;
            }
        }
        // What could not be left out may be in vain now that something else is gone.
        stretch = if left_out && stretch == 1 && tries < TRIES { 1 } else { stretch / 2 };
    }
    acts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Seat;

    #[test]
    fn only_what_shows_the_fault_is_left() {
        let acts = |texts: &[String]| -> Vec<Vec<Move>> {
            texts.iter().map(|text| vec![Move::new(Seat::new("player"), "say", text)]).collect()
        };
        let texts: Vec<String> = (0..50).map(|text| text.to_string()).collect();
        let has =
            |acts: &[Vec<Move>], text: &str| acts.iter().any(|act| act[0].action.text == text);
        let short = shortest(acts(&texts), |acts| has(acts, "7") && has(acts, "31"));
        assert_eq!(short, acts(&["7".to_owned(), "31".to_owned()]));
        assert_eq!(shortest(acts(&texts), |_| true), acts(&[]));
        assert_eq!(shortest(acts(&texts), |acts| acts.len() == 50).len(), 50);
    }
}
