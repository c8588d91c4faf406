//! Whether an imported model computes what `transformers` makes of the same GGUF file.
//!
//! `tests/parity/imported.py` says what that is. The golden files hold it for the tiny models of the
//! tests. Where `TROUPE_PARITY_PYTHON` names a Python with the packages of
//! `tests/parity/requirements.txt` and `TROUPE_PARITY_GGUF` a file, that one is compared, too.

use std::ffi::OsStr;
use std::path::Path;

use serde::Deserialize;
use tch::{Kind, Tensor};

use super::gguf_file::{GgufFile, TEMPLATE, tiny};
use super::{tiny_gemma, *};
use crate::language_model::Policy;
use crate::model::Device;
use crate::parity;

/// How far a logit may be off, with weights in 32 bits.
const TOLERANCE: f64 = 1e-3;

#[derive(Deserialize)]
struct Expected {
    strings: Vec<Tokens>,
    texts: Vec<Logits>,
}

#[derive(Deserialize)]
struct Tokens {
    text: String,
    tokens: Vec<u32>,
}

#[derive(Deserialize)]
struct Logits {
    tokens: Vec<i64>,
    /// Of a large vocabulary, one logit of so many is kept.
    #[serde(default = "one")]
    every: i64,
    logits: Vec<Vec<f32>>,
}

fn one() -> i64 {
    1
}

fn assert_same(file: &Path, expected: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    // No prompt is made, and a model that was not instructed has no template.
    import(file, &out, Some(Dtype::Float32), Some(TEMPLATE)).unwrap();
    let policy = Policy::load(&out, Device::cpu()).unwrap();
    let expected: Expected = troupe_core::storage::read_json(expected).unwrap();
    for Tokens { text, tokens } in &expected.strings {
        assert_eq!(policy.wording().encode_text(text).unwrap(), *tokens, "{text:?}");
    }
    let mut worst: f64 = 0.0;
    for Logits { tokens, every, logits } in &expected.texts {
        let found = parity::logits(&policy, tokens).slice(1, None, None, *every);
        let logits = Tensor::from_slice(&logits.concat()).view(found.size().as_slice());
        worst = worst.max((found - logits).abs().max().to_kind(Kind::Double).double_value(&[]));
    }
    println!("{}: {} strings, logits within {worst:.1e}", file.display(), expected.strings.len());
    assert!(worst <= TOLERANCE, "{}: {worst}", file.display());
}

/// Files of three families and the names of their golden files. Not `qwen3`, whose heads
/// `transformers` takes to be 128 wide, whatever the file says.
fn tinies() -> [(&'static str, GgufFile); 3] {
    [
        ("gguf-llama", tiny("llama", "smollm")),
        ("gguf-qwen2", tiny("qwen2", "qwen2")),
        ("gguf-gemma3", tiny_gemma::tiny()),
    ]
}

#[test]
fn tiny_files_compute_what_transformers_made_the_golden_files_from() {
    let folder = tempfile::tempdir().unwrap();
    for (name, file) in tinies() {
        let path = folder.path().join(format!("{name}.gguf"));
        std::fs::write(&path, file.bytes()).unwrap();
        assert_same(&path, &parity::folder().join("golden").join(format!("{name}.json")));
    }
}

/// What `imported.py` finds in the file.
fn make(python: &str, file: &Path, out: &Path, more: &[&str]) {
    let mut arguments = vec![file.as_os_str(), out.as_os_str()];
    arguments.extend(more.iter().map(OsStr::new));
    parity::make(python, "imported.py", &arguments);
}

#[test]
fn a_file_means_here_what_it_means_to_transformers() {
    let Ok(python) = std::env::var("TROUPE_PARITY_PYTHON") else {
        println!("TROUPE_PARITY_PYTHON names no Python: the golden files stand in for it");
        return tiny_files_compute_what_transformers_made_the_golden_files_from();
    };
    let folder = tempfile::tempdir().unwrap();
    let expected = folder.path().join("expected.json");
    for (name, file) in tinies() {
        let path = folder.path().join(format!("{name}.gguf"));
        std::fs::write(&path, file.bytes()).unwrap();
        make(&python, &path, &expected, &["--strings", "2000", "--seed", "20"]);
        assert_same(&path, &expected);
    }
    if let Some(file) = std::env::var_os("TROUPE_PARITY_GGUF") {
        make(&python, file.as_ref(), &expected, &[]);
        assert_same(file.as_ref(), &expected);
    }
}
