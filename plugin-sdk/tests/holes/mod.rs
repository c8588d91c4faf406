//! Environments with holes in what they pay: a corpus to hunt in. Each has five variants, which
//! differ in what a hunter cannot know.

pub mod answers;
pub mod doors;
pub mod items;
pub mod keys;
pub mod programs;

/// Nothing is wrong.
pub const SOUND: u8 = 0;
/// Variants of each hole.
pub const VARIANTS: i32 = 5;

/// The setting that chooses one.
pub fn variant() -> plugin_sdk::Setting {
    plugin_sdk::Setting::integer("variant", "Which variant.", 0..=VARIANTS - 1, 0)
}
