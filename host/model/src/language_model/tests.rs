//! Policies as a whole: made, saved, loaded, refused.

use super::*;
use crate::model::{has_avx2, has_instructions};
use crate::{Request, Sampling, read_tensors, write_tensors};
use troupe_core::trajectory::{Author, Completion};

fn words() -> Vec<String> {
    ["up", "down", "left"].map(str::to_owned).to_vec()
}

fn policy() -> Policy {
    Policy::random(&PolicyConfig::default(), &words(), Seed::new(7), Device::cpu()).unwrap()
}

fn prompt(text: &str) -> [Message; 2] {
    let message = |author, text: &str| Message { author, text: text.to_owned() };
    [message(Author::System, "play well"), message(Author::User, text)]
}

#[test]
fn prompts_and_answers_become_tokens() {
    let policy = policy();
    assert_eq!(policy.encode_prompt(&prompt("up left"), &[], None).unwrap()[..], [4, 6, 3]);
    assert_eq!(policy.encode_answer("down up").unwrap(), [5, 4, 2]);
    let error = policy.encode_answer("down jump").unwrap_err().to_string();
    assert!(error.contains("`jump`"), "{error}");
    assert_eq!(policy.unknown_words("up fly fly"), ["fly"]);
}

#[test]
fn the_same_seed_makes_the_same_weights() {
    let digest = policy().digest().unwrap();
    assert_eq!(digest, policy().digest().unwrap());
    let other = Policy::random(&PolicyConfig::default(), &words(), Seed::new(8), Device::cpu());
    assert_ne!(digest, other.unwrap().digest().unwrap());
}

#[test]
fn saved_and_loaded_it_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let policy = policy();
    policy.save(folder.path()).unwrap();
    let loaded = Policy::load(folder.path(), Device::cpu()).unwrap();
    assert_eq!(policy.digest().unwrap(), loaded.digest().unwrap());
    assert_eq!(policy.config(), loaded.config());
    let request = Request {
        prompt: loaded.encode_prompt(&prompt("left up"), &[], None).unwrap(),
        seeds: (0..5).map(|branch| Seed::new(1).at(branch)).collect(),
    };
    let sampling = Sampling::from(&troupe_core::config::RolloutConfig::default());
    let ask = |policy: &Policy| policy.generate(std::slice::from_ref(&request), &sampling).unwrap();
    assert_eq!(ask(&policy), ask(&loaded));
    assert_eq!(policy.encode_answer("up").unwrap(), loaded.encode_answer("up").unwrap());
}

#[test]
fn a_duplicate_has_weights_of_its_own() {
    let mut policy = policy();
    let copy = policy.duplicate().unwrap();
    let _ = policy.trainable_mut().buffer().shallow_clone().fill_(0.5);
    assert_ne!(policy.digest().unwrap(), copy.digest().unwrap());
}

#[test]
fn a_config_that_cannot_be_honored_is_refused_by_option() {
    let folder = tempfile::tempdir().unwrap();
    policy().save(folder.path()).unwrap();
    let path = folder.path().join("config.json");
    let original = std::fs::read_to_string(&path).unwrap();
    for (from, to, expected) in [
        ("\"qwen3\"", "\"mamba\"", "`model_type` is `mamba`"),
        ("\"hidden_act\": \"silu\"", "\"hidden_act\": \"relu\"", "`hidden_act`"),
        ("\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3", "evenly"),
        ("\"attention_bias\": false", "\"attention_bias\": true", "q_proj.bias` is missing"),
        (
            "\"rope_scaling\": null",
            "\"rope_scaling\": {\"rope_type\": \"longrope\"}",
            "`rope_scaling.rope_type` is `longrope`",
        ),
        ("\"hidden_size\": 64", "\"hidden_size\": 32", "has shape"),
        ("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3", "is missing"),
        ("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1", "not part of this architecture"),
        ("\"vocab_size\": 7", "\"vocab_size\": 8", "has shape"),
        ("\"vocab_size\": 7", "\"vocab_size\": 6", "has 7 tokens"),
    ] {
        assert!(original.contains(from), "{from}");
        std::fs::write(&path, original.replace(from, to)).unwrap();
        let error = Policy::load(folder.path(), Device::cpu()).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn damaged_weights_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let policy = policy();
    let _ = policy.trainable().buffer().narrow(0, 70, 1).fill_(f64::NAN);
    policy.save(folder.path()).unwrap();
    let error = Policy::load(folder.path(), Device::cpu()).unwrap_err().to_string();
    assert!(error.contains("`model.embed_tokens.weight`") && error.contains("NaN"), "{error}");
    std::fs::write(folder.path().join("model.safetensors"), b"short").unwrap();
    let error = Policy::load(folder.path(), Device::cpu()).unwrap_err().to_string();
    assert!(error.contains("model.safetensors"), "{error}");
}

#[test]
fn a_checkpoint_may_have_a_head_of_its_own_and_fewer_bits() {
    let folder = tempfile::tempdir().unwrap();
    let policy = policy();
    policy.save(folder.path()).unwrap();
    let (config, file) =
        (folder.path().join("config.json"), folder.path().join("model.safetensors"));
    let mut tensors = read_tensors(&file).unwrap();
    let head = tensors["model.embed_tokens.weight"].copy();
    tensors.insert("lm_head.weight".to_owned(), head);
    write_tensors(&file, tensors).unwrap();
    let original = std::fs::read_to_string(&config).unwrap();
    let request = Request { prompt: [4, 5, 6].into(), seeds: vec![Seed::new(1)] };
    let answer = |policy: &Policy| {
        policy.generate(std::slice::from_ref(&request), &Sampling::greedy(5)).unwrap().remove(0)
    };
    let untied =
        original.replace("\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false");
    std::fs::write(&config, &untied).unwrap();
    let loaded = Policy::load(folder.path(), Device::cpu()).unwrap();
    assert_eq!(loaded.parameter_count(), policy.parameter_count() + 7 * 64);
    assert_eq!(answer(&loaded), answer(&policy));
    std::fs::write(&config, untied.replace("float32", "bfloat16")).unwrap();
    let halved = Policy::load(folder.path(), Device::cpu()).unwrap();
    assert_eq!(halved.trainable().buffer().kind(), tch::Kind::BFloat16);
    // Decoding multiplies by packed copies of 16-bit weights, in every handle on them, where the
    // processor can.
    assert!(halved.decoder().packed().share().is_packed() || !has_instructions());
    assert!(!halved.decoder().share().is_packed() && !loaded.decoder().packed().is_packed());
    let again = tempfile::tempdir().unwrap();
    halved.save(again.path()).unwrap();
    let loaded = Policy::load(again.path(), Device::cpu()).unwrap();
    assert_eq!(loaded.digest().unwrap(), halved.digest().unwrap());
}

#[test]
fn weights_may_lie_in_several_files() {
    let folder = tempfile::tempdir().unwrap();
    let policy = policy();
    policy.save(folder.path()).unwrap();
    let whole = folder.path().join("model.safetensors");
    let mut names: Vec<(String, tch::Tensor)> = read_tensors(&whole).unwrap().into_iter().collect();
    names.sort_by(|left, right| left.0.cmp(&right.0));
    let second = names.split_off(5);
    let file = |index| format!("model-{index}.safetensors");
    let map: serde_json::Map<String, serde_json::Value> =
        (names.iter().map(|(name, _)| (name.clone(), file(1).into())))
            .chain(second.iter().map(|(name, _)| (name.clone(), file(2).into())))
            .collect();
    write_json(
        &folder.path().join("model.safetensors.index.json"),
        &serde_json::json!({ "weight_map": map }),
    )
    .unwrap();
    write_tensors(&folder.path().join(file(1)), names).unwrap();
    write_tensors(&folder.path().join(file(2)), second).unwrap();
    std::fs::remove_file(whole).unwrap();
    let loaded = Policy::load(folder.path(), Device::cpu()).unwrap();
    assert_eq!(policy.digest().unwrap(), loaded.digest().unwrap());
}

/// One whose products wait for its weights.
fn wide_policy() -> Policy {
    let config = PolicyConfig {
        hidden_size: 1024,
        intermediate_size: 2048,
        heads: 8,
        layers: 2,
        ..PolicyConfig::default()
    };
    let words: Vec<String> = (0..40).map(|word| format!("w{word}")).collect();
    Policy::random(&config, &words, Seed::new(3), Device::cpu()).unwrap()
}

#[test]
fn a_settled_policy_answers_as_before_on_any_number_of_threads() {
    let policy = wide_policy();
    let sampling = Sampling { temperature: 1.0, ..Sampling::greedy(12) };
    let ask = |policy: &Policy| {
        let seeds = (0..3).map(Seed::new).collect();
        policy
            .generate(&[Request { prompt: [4, 5, 6].into(), seeds }], &sampling)
            .unwrap()
            .remove(0)
    };
    let before = ask(&policy);
    let settled = |threads: usize, rounding: Rounding| {
        let mut policy = policy.share().unwrap();
        policy.set_threads(threads);
        Policy::settle([&mut policy], rounding);
        policy
    };
    // Random weights have all of their 32 bits.
    assert!(!settled(2, Rounding::Exact).decoder().has_packs());
    let alone = ask(&settled(1, Rounding::Nearest));
    assert_eq!(ask(&settled(2, Rounding::Nearest)), alone);
    for (settled, plain) in alone.iter().zip(&before) {
        assert_eq!(settled.tokens, plain.tokens);
        for (one, other) in settled.logprobs.iter().zip(&plain.logprobs) {
            assert!((one - other).abs() < 1e-2, "{one} {other}");
        }
    }
}

#[test]
fn settled_policies_over_one_base_have_one_copy_of_it() {
    let base = wide_policy();
    let adapt = |seed| base.adapt(&LoraConfig::default(), Seed::new(seed)).unwrap();
    let mut policies = [adapt(1), adapt(2)];
    let answer = |policy: &Policy| {
        let request = Request { prompt: [4, 5].into(), seeds: vec![Seed::new(1)] };
        policy.generate(&[request], &Sampling::greedy(6)).unwrap()
    };
    let before = [answer(&policies[0]), answer(&policies[1])];
    Policy::settle(&mut policies, Rounding::Nearest);
    let [one, other] = [&policies[0], &policies[1]].map(Policy::decoder);
    assert!(one.has_packs_of(other) && (one.has_packs() || !has_avx2()));
    let tokens = |answers: &[Vec<Completion>]| answers[0][0].tokens.clone();
    for (policy, before) in policies.iter().zip(&before) {
        assert_eq!(tokens(&answer(policy)), tokens(before));
    }
}
