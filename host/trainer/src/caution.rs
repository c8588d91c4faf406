//! How carefully a policy's steps are made.

use serde::{Deserialize, Serialize};

/// How often a step is made that moves its policy too far: each time at half the learning rate of
/// the time before.
pub(crate) const ATTEMPTS: usize = 4;
/// A step that uses less than this share of what it may move leaves room for twice its learning
/// rate: a divergence grows with the square of a small step (Schulman et al. 2015, arXiv
/// 1502.05477, appendix C).
const ROOM: f64 = 0.25;

/// Factor on a policy's learning rate, which falls by halves where steps move it too far, and rises
/// again where they leave room.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Caution(f64);

impl Default for Caution {
    /// None: steps are made at the learning rate.
    fn default() -> Self {
        Caution(1.0)
    }
}

impl Caution {
    /// What the learning rate is multiplied by.
    pub(crate) fn factor(self) -> f64 {
        self.0
    }

    /// A step went too far, and was taken back.
    pub(crate) fn went_too_far(&mut self) {
        self.0 *= 0.5;
    }

    /// A step stands that moved its policy so far, of what it may; `limit` is not 0.
    pub(crate) fn stood(&mut self, moved: f64, limit: f64) {
        if moved < ROOM * limit {
            self.0 = (2.0 * self.0).min(1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_halves_what_goes_too_far_and_doubles_what_leaves_room_up_to_the_learning_rate() {
        let mut caution = Caution::default();
        caution.stood(0.0, 0.1);
        assert_eq!(caution.factor(), 1.0, "never more than the learning rate");
        caution.went_too_far();
        caution.went_too_far();
        caution.stood(0.026, 0.1);
        assert_eq!(caution.factor(), 0.25, "twice as large a step would use all of it");
        caution.stood(0.024, 0.1);
        assert_eq!(caution.factor(), 0.5);
    }
}
