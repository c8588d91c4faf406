//! Print the world's documents as a corpus file:
//! `cargo run -p search --example corpus > configs/search/corpus.jsonl`.

use std::io::{self, Write};

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for document in search::world::World::new().documents() {
        serde_json::to_writer(&mut out, &document)?;
        writeln!(out)?;
    }
    Ok(())
}
