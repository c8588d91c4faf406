//! Cards that draw while one learns.

/// Answers that a card draws at a time, and tokens a second of all of them: Qwen3-1.7B in bfloat16
/// on an H200 (docs/gpu.md).
pub const SEEN: [(f64, f64); 3] = [(1.0, 255.0), (16.0, 3_407.0), (256.0, 28_938.0)];
/// Tokens a second of an update there: half of what its bytes alone would allow
/// (docs/performance.md); not seen.
pub const UPDATE: f64 = 20_000.0;
/// Seconds until a server draws by new weights: 3.4 GB over 10 GB/s, and a second besides; assumed.
pub const PUBLISH: f64 = 1.34;
/// A step: trees, answers to every state, rounds, mean and most tokens of an answer.
pub const TREES: usize = 256;
pub const BRANCHES: usize = 4;
pub const ROUNDS: usize = 8;
pub const MEAN: f64 = 128.0;
pub const MOST: f64 = 512.0;

/// Tokens a second of each of so many answers: between what was seen by the logarithm of their
/// number, beyond it in proportion.
fn pace(answers: f64) -> f64 {
    let own = |(answers, rate): (f64, f64)| rate / answers;
    let (last, rate) = SEEN[SEEN.len() - 1];
    if answers >= last {
        return rate / answers;
    }
    let above = SEEN.iter().position(|(seen, _)| *seen > answers).unwrap_or(1).max(1);
    let (low, high) = (SEEN[above - 1], SEEN[above]);
    let share = (answers / low.0).ln() / (high.0 / low.0).ln();
    own(low) + share * (own(high) - own(low))
}

/// Seconds in which a card draws so many answers, whose lengths are spread exponentially and cut:
/// as the short ones end, the others go faster, and the longest are waited for.
fn drawn(answers: usize) -> f64 {
    let length = |place: usize| {
        let share = (place as f64 + 0.5) / answers as f64;
        (-MEAN * (1.0 - share).ln()).min(MOST)
    };
    let (mut seconds, mut tokens) = (0.0, 0.0);
    for ended in 0..answers {
        seconds += (length(ended) - tokens) / pace((answers - ended) as f64);
        tokens = length(ended);
    }
    seconds
}

/// A step with so many cards that draw, in seconds.
pub struct Step {
    /// Until all is drawn.
    pub drawing: f64,
    /// Until it is learned from.
    pub learning: f64,
}

impl Step {
    /// With so many cards.
    pub fn of(cards: usize) -> Self {
        let answers = TREES * BRANCHES;
        Step {
            drawing: ROUNDS as f64 * drawn(answers.div_ceil(cards)),
            learning: (answers * ROUNDS) as f64 * MEAN / UPDATE,
        }
    }

    /// Seconds from one to the next where answers are of the newest weights.
    pub fn in_turn(&self) -> f64 {
        self.drawing + self.learning + PUBLISH
    }

    /// Where the next answers are drawn meanwhile (`rollout.staleness = 1`).
    pub fn meanwhile(&self) -> f64 {
        self.drawing.max(self.learning) + PUBLISH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_as_fast_as_was_seen_and_the_more_answers_the_slower_each() {
        for (answers, rate) in SEEN {
            assert!((answers * pace(answers) / rate - 1.0).abs() < 1e-9, "{answers}");
        }
        let paces: Vec<f64> = (0..12).map(|power| pace(f64::from(1 << power))).collect();
        assert!(paces.is_sorted_by(|one, next| one > next), "{paces:?}");
        assert!((pace(512.0) - pace(256.0) / 2.0).abs() < 1e-9, "no faster in all than was seen");
    }

    #[test]
    fn eight_cards_draw_faster_than_one_but_not_eight_times_as_they_wait_for_the_longest() {
        let [one, eight] = [1, 8].map(|cards| Step::of(cards).drawing);
        assert!(eight < one && eight > one / 8.0, "{one} {eight}");
        let longest = ROUNDS as f64 * MOST / pace(1.0);
        assert!(Step::of(TREES * BRANCHES).drawing > 0.0 && Step::of(64).drawing < longest);
        assert_eq!(Step::of(1).learning, Step::of(8).learning, "one card learns");
        assert!(Step::of(8).meanwhile() < Step::of(8).in_turn());
    }
}
