//! What a server was found to do.

use serde::{Deserialize, Serialize};

use crate::failure::{TinkerFailure, TinkerFailureKind as Kind};
use crate::reduction::Reduction;
use troupe_core::config::{TinkerConfig, TrainConfig, UNBOUNDED_NORM};

/// What a server was found to do with what it is sent. What could not be found out is not there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conduct {
    /// What it makes of several losses.
    pub reduction: Option<Reduction>,
    /// Whether it bounds the norm of a gradient when it is asked to.
    pub clips: Option<bool>,
    /// What becomes of weights that were kept to draw from, once the model has learned more.
    pub snapshots: Option<Snapshots>,
    /// Whether log-probabilities at another temperature are those at 1.
    pub plain_logprobs: Option<bool>,
    /// Whether a step of one model moves another.
    pub steps_spread: Option<bool>,
    /// Whether weight decay of one model shrinks another.
    pub decay_spreads: Option<bool>,
    /// Whether it takes gradients in protobuf.
    pub protobuf: bool,
}

/// What becomes of weights that were kept to draw from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Snapshots {
    /// They stay what they were.
    Stay,
    /// Asked again, they are what the model is by then.
    Follow,
    /// Asking them sets the model back to them.
    SetBack,
}

impl Conduct {
    /// Refuse a server that cannot be right for a configuration of which `policies` are there.
    pub(crate) fn check(
        &self,
        tinker: &TinkerConfig,
        train: &TrainConfig,
        policies: usize,
    ) -> Result<Reduction, TinkerFailure> {
        let unfit = |reason: String| {
            Err(Kind::Unfit.because(format!("the server at {} {reason}", tinker.url)))
        };
        let reduction = match (Reduction::of(tinker.reduction), self.reduction) {
            (Some(said), Some(found)) if said != found => {
                return unfit(format!(
                    "{}, and policies.<name>.tinker.reduction says that it {}; leave the setting \
                     out",
                    found.words(),
                    said.words()
                ));
            }
            (said, found) => said.or(found),
        };
        let Some(reduction) = reduction else {
            return unfit(
                "does not show what it makes of the losses of several answers (no norm of its \
                 gradients, or one that fits nothing known); say it in \
                 policies.<name>.tinker.reduction"
                    .to_owned(),
            );
        };
        if train.max_gradient_norm < UNBOUNDED_NORM && self.clips != Some(true) {
            return unfit(format!(
                "does not bound the norm of gradients (`grad_clip_norm` had no effect); set \
                 train.max_gradient_norm = {UNBOUNDED_NORM:e}, which sets no bound"
            ));
        }
        if train.weight_decay > 0.0 && self.decay_spreads != Some(false) {
            return unfit(
                "shrinks the weights of other models when one decays, or could not be found not \
                 to; set train.weight_decay = 0"
                    .to_owned(),
            );
        }
        if policies > 1 && self.steps_spread != Some(false) {
            return unfit(match self.steps_spread {
                Some(_) => "moves one model when another learns; train one policy on it".to_owned(),
                None => format!(
                    "has no place for a second model, and {policies} policies are to be trained \
                     there; start it with more places, or train one"
                ),
            });
        }
        Ok(reduction)
    }

    /// In a line for people.
    pub fn words(&self) -> String {
        let mut words = vec![match self.reduction {
            Some(reduction) => reduction.words().to_owned(),
            None => "does not show what it makes of several losses".to_owned(),
        }];
        let mut note = |is: bool, text: &str| words.extend(is.then(|| text.to_owned()));
        note(self.clips == Some(false), "does not bound gradients");
        note(self.clips == Some(true), "bounds gradients");
        note(self.decay_spreads == Some(true), "decays all models at once");
        note(self.steps_spread == Some(true), "moves neighbors");
        note(self.steps_spread.is_none(), "has one place");
        note(self.snapshots == Some(Snapshots::Follow), "does not keep older states as they were");
        note(
            self.snapshots == Some(Snapshots::SetBack),
            "is set back by asking older states, which is never done",
        );
        note(!self.protobuf, "takes JSON");
        words.join(", ")
    }
}
