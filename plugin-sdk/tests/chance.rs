//! `chance.json` is what every other SDK's chance and splits are held to: it says
//! what this one's are.

use plugin_sdk::Random;
use plugin_sdk::environment::Split;
use serde_json::{Value, json};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/chance.json");
const TASKS: [(Split, u32, &str); 7] = [
    (Split::Train, 0, "walls"),
    (Split::Train, 0, ""),
    (Split::Train, 1, "walls"),
    (Split::Validation, 0, "walls"),
    (Split::Test, 7, "secret"),
    (Split::Test, u32::MAX, "grid 3"),
    (Split::Train, 256, "Wände 壁 🎲"),
];
/// The largest one is the largest length of a list in a component.
const BOUNDS: [usize; 8] = [0, 1, 2, 6, 100, 1000, 65_537, u32::MAX as usize];
const PROBLEMS: [&[u8]; 12] = [
    b"",
    b"a",
    b"b",
    b"c",
    b"d",
    b"e",
    b"f",
    b"troupe",
    &[0, 0, 0, 0],
    &[42, 0, 0, 0],
    "größer".as_bytes(),
    &[255, 0, 128],
];

/// Numbers of 64 bits are written in hexadecimal, because not every language's
/// numbers can hold them.
fn vector(&(split, seed, purpose): &(Split, u32, &str)) -> Value {
    let random = || Random::new(split, seed, purpose);
    let mut draws = random();
    let bits: Vec<_> = (0..4).map(|_| format!("{:016x}", draws.bits())).collect();
    let mut draws = random();
    let below: Vec<_> = BOUNDS.iter().map(|&bound| json!([bound, draws.below(bound)])).collect();
    let mut shuffled: Vec<u32> = (0..10).collect();
    random().shuffle(&mut shuffled);
    let letters = ["a", "b", "c", "d", "e"];
    let mut draws = random();
    let chosen: String = (0..8).filter_map(|_| draws.choose(&letters).copied()).collect();
    json!({
        "split": split.name(), "seed": seed, "purpose": purpose, "bits": bits,
        "below": below, "shuffled": shuffled, "chosen": chosen,
    })
}

fn owner(problem: &[u8]) -> Value {
    let hexadecimal: String = problem.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({ "problem": hexadecimal, "split": Split::owning(problem).name() })
}

/// An object of lists, with one vector a line.
fn written(lists: &[(&str, Vec<Value>)]) -> String {
    let list = |(name, vectors): &(&str, Vec<Value>)| {
        let lines: Vec<_> = vectors.iter().map(|vector| format!("    {vector}")).collect();
        format!("  \"{name}\": [\n{}\n  ]", lines.join(",\n"))
    };
    let lists: Vec<_> = lists.iter().map(list).collect();
    format!("{{\n{}\n}}\n", lists.join(",\n"))
}

#[test]
fn the_vectors_of_other_languages_are_what_this_one_draws() {
    let random = TASKS.iter().map(vector).collect();
    let owning = PROBLEMS.into_iter().map(owner).collect();
    let vectors = written(&[("random", random), ("owning", owning)]);
    if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
        std::fs::write(FILE, &vectors).expect("the repository can be written");
    }
    let kept = std::fs::read_to_string(FILE).unwrap_or_default();
    assert!(
        kept == vectors,
        "plugin-sdk/tests/chance.json is not what the code does; write it again with \
         INSTA_UPDATE=always"
    );
}
