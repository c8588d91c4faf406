//! Print the world's documents as a corpus file:
//! `cargo run -p search --example corpus > configs/search/corpus.jsonl`.

fn main() -> Result<(), serde_json::Error> {
    for document in search::world::World::new().documents() {
        println!("{}", serde_json::to_string(&document)?);
    }
    Ok(())
}
