//! How likely a text is to a policy, token by token.
//!
//! `cargo run --release -p troupe-model --example score_a_text models/SmolLM2-135M-Instruct "Two and two is four."`
//! Without a folder a tiny policy with random weights is asked.

#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use std::env;
use std::path::Path;

use troupe_core::config::PolicyConfig;
use troupe_core::seed::Seed;
use troupe_model::{Device, Policy, PolicyError};

fn main() -> Result<(), PolicyError> {
    let mut arguments = env::args().skip(1);
    let (folder, text) = (arguments.next(), arguments.next());
    let text = text.unwrap_or_else(|| "up up down left".to_owned());
    let policy = match folder {
        Some(folder) => Policy::load(Path::new(&folder), Device::cpu())?,
        None => {
            let words = ["up", "down", "left", "right"].map(str::to_owned);
            Policy::random(&PolicyConfig::default(), &words, Seed::new(1), Device::cpu())?
        }
    };
    let tokens = policy.wording().encode_text(&text)?;
    let logprobs = policy.score(&tokens)?;
    // The first token has nothing before it that it could follow from.
    for (token, logprob) in tokens[1..].iter().zip(&logprobs) {
        println!("{logprob:>8.3}  {:?}", policy.wording().decode_text(&[*token])?);
    }
    println!("{:>8.3}  in all", logprobs.iter().sum::<f32>());
    Ok(())
}
