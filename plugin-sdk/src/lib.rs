//! Write plugins for Troupe in Rust. A plugin is one WebAssembly component
//! that brings an environment, a workflow or an interpreter; this crate turns a
//! type that implements [`Environment`], [`Workflow`] or [`Interpreter`] into
//! one. Here is a complete environment:
//!
//! ```
//! use plugin_sdk::environment::{
//!     Action, Description, Environment, Outcome, Problem, Seat, Split, Task,
//! };
//! use plugin_sdk::{Random, Setting, Settings};
//! use serde::{Deserialize, Serialize};
//!
//! /// Guess a number; every wrong guess is answered with `higher` or `lower`.
//! #[derive(Serialize, Deserialize)]
//! struct Guess {
//!     most: u32,
//!     secret: u32,
//!     hint: String,
//! }
//!
//! impl Environment for Guess {
//!     fn describe() -> Description {
//!         Description::new("guess", "0.1.0", "Guess a number.")
//!             .setting(Setting::integer("most", "The largest secret.", 2..=1000, 100))
//!             .action("number", "one number, such as `17`")
//!     }
//!
//!     fn start(task: &Task) -> Result<Self, Problem> {
//!         let most = task.settings.integer("most")?;
//!         let mut random = Random::new(task.split, task.seed, "secret");
//!         // A secret belongs to one split, so that no task is in two of them.
//!         let secret = (0..1000)
//!             .map(|_| random.below(most as usize) as u32 + 1)
//!             .find(|secret| Split::owning(&secret.to_le_bytes()) == task.split)
//!             .ok_or_else(|| Problem::settings("too few secrets to split"))?;
//!         Ok(Guess { most, secret, hint: "guess".to_owned() })
//!     }
//!
//!     fn rules(&self, _seat: &Seat) -> String {
//!         format!("Find the secret number between 1 and {}.", self.most)
//!     }
//!
//!     fn observe(&self, _seat: &Seat) -> String {
//!         self.hint.clone()
//!     }
//!
//!     fn act(&mut self, _seat: &Seat, action: &Action) -> Result<Outcome, Problem> {
//!         let Ok(number) = action.text.trim().parse::<u32>() else {
//!             return Ok(Outcome::unreadable("This is not a number.", -0.3));
//!         };
//!         if number == self.secret {
//!             return Ok(Outcome::accepted().team("found", 1.0).solved());
//!         }
//!         self.hint = if number < self.secret { "higher" } else { "lower" }.to_owned();
//!         Ok(Outcome::accepted().feedback(&self.hint))
//!     }
//!
//!     fn demonstrate(&self, _seat: &Seat) -> Option<Action> {
//!         Some(Action::new("number", self.secret.to_string()))
//!     }
//! }
//!
//! plugin_sdk::export!(environment: Guess);
//! # plugin_sdk::testing::check_environment::<Guess>().assert_passed();
//! ```
//!
//! The crate's own tests check it the way `host plugin check` checks the
//! finished component:
//!
//! ```ignore
//! #[test]
//! fn keeps_the_contract() {
//!     plugin_sdk::testing::check_environment::<Guess>().assert_passed();
//! }
//! ```
//!
//! A plugin's crate is a `cdylib`, built for `wasm32-unknown-unknown` and
//! wrapped into a component. It can reach nothing but what it is given: no
//! files, no network, no clock, no entropy.

#[doc(hidden)]
pub mod bindings;
#[cfg(not(feature = "host"))]
#[doc(hidden)]
pub mod component;
mod answer;
pub mod conclusion;
mod description;
pub mod environment;
mod export;
pub mod format;
pub mod interpreter;
mod kinds;
mod memory;
pub mod log;
mod open;
pub mod preset;
pub mod prompt;
mod proposals;
mod random;
pub mod printing;
pub mod reading;
pub mod rendering;
pub mod retrieval;
mod reusable;
mod rewards;
pub mod sandbox;
pub mod settings;
mod situations;
pub mod spelling;
pub mod state;
// A component does not depend on the suite that it is tested with.
#[cfg(not(target_family = "wasm"))]
pub mod testing;
pub mod tool;
pub mod types;
pub mod unreadable;
pub mod workflow;

pub use environment::Environment;
pub use format::Format;
pub use interpreter::Interpreter;
pub use kinds::Kinds;
pub use open::Open;
pub use preset::Preset;
pub use proposals::Proposals;
pub use random::Random;
pub use rendering::Rendered;
pub use rewards::Rewards;
pub use settings::{SettingError, Settings};
pub use situations::Situations;
pub use types::{Domain, Seat, Setting, Value};
pub use unreadable::Unreadable;
pub use workflow::Workflow;

/// Fail with a sentence unless something holds.
fn require(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}
