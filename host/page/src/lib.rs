//! Pages that are one file, hold all that they need and ask for nothing: what they look like, and
//! how a text that somebody else wrote stays a text in them.

mod document;
mod text;

pub use document::{Document, STYLE, Script};
pub use text::{embedded_bytes, escaped_text, image};
