//! Checks a file of pairs, prints a verdict a line, and says how many pairs a second that was.

use std::time::Instant;

use answer_checker::{Rules, check_answer};

fn main() {
    let path = std::env::args().nth(1).expect("the name of a file of pairs");
    let text = std::fs::read_to_string(path).expect("a file of pairs");
    let pairs: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect();
    let rules = Rules::default();
    let start = Instant::now();
    let field = |pair: &serde_json::Value, name: &str| pair[name].as_str().unwrap_or("").to_owned();
    for pair in &pairs {
        let begun = Instant::now();
        let verdict = check_answer(&field(pair, "gold"), &field(pair, "answer"), &rules);
        let took = begun.elapsed().as_micros();
        let row = [
            field(pair, "class"),
            field(pair, "expect"),
            verdict.to_string(),
            field(pair, "gold"),
            field(pair, "answer"),
            took.to_string(),
        ];
        println!("{}", row.join("\t"));
    }
    eprintln!("{:.0} pairs a second", pairs.len() as f64 / start.elapsed().as_secs_f64());
}
