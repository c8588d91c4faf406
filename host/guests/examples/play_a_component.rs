//! An environment, played by its own expert: what a component is to the host.
//!
//! `cargo run --release -p troupe-guests --example play_a_component target/plugins/sudoku.wasm`

#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use std::env;
use std::path::PathBuf;

use troupe_core::config::Limits;
use troupe_guests::plugin::{Grants, Move, PluginLibrary, Seat, Split, Status, Task};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file =
        env::args_os().nth(1).map_or_else(|| "target/plugins/sudoku.wasm".into(), PathBuf::from);
    // Nothing is granted: no sandbox, no corpus, and there are no files and no network to grant.
    let library = PluginLibrary::load(&[file], &[], &Limits::default(), Grants::default())?;
    let environment = library.environment(None)?;
    let settings = environment.settings(&toml::Table::new())?;
    let configuration = environment.configure(&settings)?;
    let seat = Seat::new("player");
    let task = Task {
        split: Split::Train,
        seed: 1,
        settings: settings.configured().to_vec(),
        seats: vec![seat.clone()],
        entry: None,
    };
    let mut episode = environment.start(&task)?;
    println!("{}", episode.rules(&seat)?);
    for turn in 0..configuration.max_turns {
        let Some(action) = episode.demonstrate(&seat)? else { break };
        println!("turn {turn}: {} {:?}", action.kind, action.text);
        let outcome = episode.act(vec![Move { seat: seat.clone(), action }])?;
        for award in outcome.awards {
            println!("  {} {:+.2}", award.name, award.value);
        }
        if outcome.status != Status::Ongoing {
            println!("ended: {:?}", outcome.status);
            return Ok(());
        }
    }
    Err("the expert did not come to an end".into())
}
