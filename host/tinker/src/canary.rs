//! Whether what draws is what is trained: a fixed text, scored by both.

use serde::{Deserialize, Serialize};

use crate::drawing::Drawing;
use crate::failure::{TinkerFailure, TinkerFailureKind as Kind};
use crate::lesson::Lesson;
use crate::lora::Lora;
use troupe_model::Speaker;

/// Tokens of the text.
const TEXT: usize = 48;
/// Something else answers if it is this many times nearer.
const BETTER: f64 = 3.0;
/// Differences below this share of the tolerance are never looked into.
const NOISE: f64 = 0.1;

/// What the text is to the base and to the states of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Canary {
    /// To the base alone.
    pub(crate) base: Vec<f32>,
    /// To the model as it was drawn from last.
    pub(crate) last: Vec<f32>,
}

/// The text: ids without a meaning, the same every time.
pub(crate) fn text(speaker: &Speaker) -> Vec<u32> {
    let vocabulary = speaker.vocabulary() as u64;
    let token = |place: u64| ((place * place * 31 + place * 7919 + 5) % vocabulary) as u32;
    let plain = (0..).map(token).filter(|token| !speaker.ends().contains(token));
    plain.take(TEXT).collect()
}

/// What the text is to a model as it is trained.
pub(crate) fn score(speaker: &Speaker, lora: &mut Lora) -> Result<Vec<f32>, TinkerFailure> {
    let text = text(speaker);
    let scores = lora.score(vec![Lesson::new(&text[..1], &text[1..])])?;
    Ok(scores.into_iter().next().unwrap_or_default())
}

/// The mean difference between two scores, in nats per token.
pub(crate) fn difference(one: &[f32], other: &[f32]) -> f64 {
    let gaps = one.iter().zip(other).map(|(one, other)| f64::from((one - other).abs()));
    gaps.sum::<f64>() / one.len().max(1) as f64
}

impl Canary {
    /// Compare what draws with what is trained; gives the difference and remembers what was drawn
    /// from.
    pub(crate) fn ask(
        &mut self,
        drawing: &Drawing,
        lora: &mut Lora,
        tolerance: f64,
    ) -> Result<f64, TinkerFailure> {
        let there = drawing.score(&text(drawing.speaker))?;
        let here = score(drawing.speaker, lora)?;
        let gap = difference(&there, &here);
        let others =
            [("the base without any adapter", &self.base), ("an earlier state", &self.last)];
        let is_other = |other: &[f32]| BETTER * difference(&there, other) < gap;
        let likeness = others.iter().find(|(_, other)| is_other(other));
        if gap <= NOISE * tolerance || gap <= tolerance && likeness.is_none() {
            self.last = here;
            return Ok(gap);
        }
        let what = match likeness {
            Some((name, _)) => format!("these are those of {name}"),
            None => {
                "most likely another base or type of numbers draws, or another model".to_owned()
            }
        };
        Err(Kind::Unfit.because(format!(
            "what draws there is not what is trained: on a fixed text the log-probabilities differ \
             by {gap:.2e} nats per token, and `tolerance` is {tolerance}; {what}"
        )))
    }
}
