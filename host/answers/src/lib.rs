//! Says whether a mathematical answer is the one that was asked for.
//!
//! [`check`] compares two answers, [`check_answer`] finds the answer in what a model wrote
//! first. Both say *correct*, *wrong* or *undecided*; what counts as equal beyond what is
//! equal anyway is a matter of the [`Rules`], which data sets have by name.
//!
//! ```
//! use troupe_answers::{Rules, Verdict, check, check_answer};
//!
//! let rules = Rules::default();
//! assert_eq!(check(r"\frac{3}{4}", "0.75", &rules), Verdict::Correct);
//! assert_eq!(check(r"\sqrt{2}", "1.41", &rules), Verdict::Wrong);
//!
//! let written = r"<think>4, or 5?</think> The legs are equal, so it is $\boxed{5\text{ cm}}$.";
//! assert_eq!(check_answer("5", written, &rules), Verdict::Correct);
//!
//! let math = Rules::named("math").unwrap();
//! assert_eq!(check(r"50\%", "50", &math), Verdict::Correct);
//! ```
//!
//! It may know no other crate of ours, and reads no files, clock or entropy; the work of a call
//! is bounded. So the same two texts give the same verdict everywhere.

pub mod verdict;
pub mod number;
pub mod rules;
mod work;
mod term;
mod token;
mod lexicon;
mod lexer;
mod answer;
mod parser;
mod point;
mod evaluation;
mod equality;
mod closeness;
mod signs;
mod region;
mod comparison;
pub mod extraction;
mod judgment;

pub use extraction::{Extracted, Found, extract};
pub use judgment::{check, check_answer, check_extracted};
pub use rules::{Decimals, NAMES, Rules, Tolerance};
pub use verdict::{Reason, Verdict};
