//! Prompts as critics read them: with a line in front that only they may see.

use std::collections::BTreeMap;
use std::sync::Arc;

use troupe_core::trajectory::Sample;
use troupe_model::{Policy, PolicyError};

/// What a critic reads of some answers' prompts, in their order: the hint, if it reads hints and
/// there is one, behind the token that begins a text, if the prompt begins with one.
pub(super) fn prompts_of<'a>(
    critic: &Policy,
    reads_hints: bool,
    samples: impl Iterator<Item = &'a Sample>,
) -> Result<Vec<Arc<[u32]>>, PolicyError> {
    let begin = critic.wording().encode_begun("")?;
    let mut hints: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    let mut prompts = Vec::new();
    for sample in samples {
        let Some(hint) = sample.hint.as_deref().filter(|_| reads_hints) else {
            prompts.push(sample.prompt.clone());
            continue;
        };
        if !hints.contains_key(hint) {
            hints.insert(hint, critic.wording().encode_text(&format!("{hint}\n"))?);
        }
        let rest = sample.prompt.strip_prefix(&begin[..]);
        let (before, rest) = rest.map_or((&[][..], &sample.prompt[..]), |rest| (&begin[..], rest));
        prompts.push([before, &hints[hint], rest].concat().into());
    }
    Ok(prompts)
}

/// Answers with such prompts, and without the hints that are in them then.
pub(super) fn hinted<'a>(
    critic: &Policy,
    reads_hints: bool,
    samples: impl Iterator<Item = &'a Sample> + Clone,
) -> Result<Vec<Sample>, PolicyError> {
    let prompts = prompts_of(critic, reads_hints, samples.clone())?;
    let read = samples.zip(prompts).map(|(sample, prompt)| Sample {
        prompt,
        hint: None,
        ..sample.clone()
    });
    Ok(read.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::config::PolicyConfig;
    use troupe_core::example::sample;
    use troupe_core::seed::Seed;
    use troupe_model::Device;

    #[test]
    fn the_hint_stands_before_the_prompt_and_only_for_those_that_read_it() {
        let words = ["up", "down"].map(str::to_owned);
        let critic =
            Policy::random(&PolicyConfig::default(), &words, Seed::new(1), Device::cpu()).unwrap();
        let said = |text: &str| critic.wording().encode_text(text).unwrap();
        let with = |hint: Option<&str>| Sample {
            hint: hint.map(str::to_owned),
            prompt: said("up up").into(),
            ..sample(0, 0, 0, "solo", 0)
        };
        let samples = [with(Some("down")), with(None), with(Some("up down"))];
        let read = |reads| prompts_of(&critic, reads, samples.iter()).unwrap();
        let told = read(true);
        assert_eq!(*told[0], [said("down"), said("up up")].concat());
        assert_eq!(*told[1], *said("up up"));
        assert_eq!(*told[2], [said("up down"), said("up up")].concat());
        assert!(read(false).iter().all(|prompt| **prompt == *said("up up")));
        let copies = hinted(&critic, true, samples.iter()).unwrap();
        assert!(
            copies.iter().zip(told).all(|(copy, told)| copy.prompt == told && copy.hint.is_none())
        );
    }
}
