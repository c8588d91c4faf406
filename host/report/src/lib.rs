//! Runs to look at: as one page, as a screen of the terminal, and two of them
//! task by task.
//!
//! Reads run folders and starts nothing but plugins that draw.

pub mod commands;

pub mod page;
pub mod screen;
pub mod turnover;
