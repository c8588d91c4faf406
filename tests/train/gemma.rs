//! A larger pretrained model, as `cargo xtask gemma` brings it: Gemma 3 270M, not instructed.

use std::path::Path;

use serde_json::Value;

use crate::support::run;

const MODEL: &str = "models/gemma-3-270m";

/// Tokens and log-probabilities of a text.
fn score(text: &str) -> (Vec<u32>, Vec<f64>) {
    let config =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(MODEL).join("config.json");
    assert!(config.is_file(), "{MODEL} is missing; run `cargo xtask gemma`");
    let (code, stdout, stderr) = run(&["policy", "score", MODEL, "--text", text]);
    assert_eq!(code, 0, "{stderr}");
    let found: Value = serde_json::from_str(&stdout).unwrap();
    let part = |name: &str| found[name].clone();
    (
        serde_json::from_value(part("tokens")).unwrap(),
        serde_json::from_value(part("logprobs")).unwrap(),
    )
}

#[test]
#[ignore = "`cargo xtask gemma` brings the model: 240 MB, and 1.1 GB once imported"]
fn it_reads_and_scores_texts_as_transformers_does() {
    // By transformers 5.23 in 32 bits, of the GGUF file.
    let awkward = "<bos>def f(x):\n    return  x🙂\n\n\t# Zwölf\u{7} 日本<end_of_turn>";
    for (text, tokens, expected) in [
        (
            "<bos>The capital of France is Paris, and 12 + 30 = 42.",
            &[
                2, 818, 5279, 529, 7001, 563, 9079, 236764, 532, 236743, 236770, 236778, 900,
                236743, 236800, 236771, 578, 236743, 236812, 236778, 236761,
            ][..],
            &[
                -2.9375, -9.6631, -0.866, -5.1119, -1.3521, -2.4769, -0.9911, -1.3789, -5.6667,
                -1.8244, -2.2516, -10.9607, -0.9467, -3.1597, -3.0797, -1.3387, -0.0427, -3.4462,
                -1.419, -1.5483,
            ][..],
        ),
        (
            awkward,
            &[
                2, 2063, 517, 236769, 236781, 1473, 107, 140, 2060, 138, 236781, 240731, 108,
                255968, 236865, 55436, 188371, 245, 33375, 106,
            ],
            &[
                -9.1009, -6.0194, -0.8635, -0.3343, -0.4544, -0.3676, -0.0568, -0.7299, -5.3724,
                -0.292, -21.5247, -0.6031, -9.7063, -2.0663, -19.7362, -4.5841, -22.1964, -17.8916,
                -30.4125,
            ],
        ),
    ] {
        let (found_tokens, found) = score(text);
        assert_eq!(found_tokens, tokens, "{text:?}");
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-3, "{text:?}: {found} is not {expected}");
        }
    }
}

#[test]
#[ignore = "`cargo xtask gemma` brings the model: 240 MB, and 1.1 GB once imported"]
fn it_knows_the_capital_of_france() {
    let ask = ["policy", "ask", MODEL, "What is the capital of France?", "--temperature", "0"];
    let (code, stdout, stderr) = run(&[&ask[..], &["--max-tokens", "1"]].concat());
    assert!(code == 0 && stdout.trim() == "Paris", "{stdout} {stderr}");
}
