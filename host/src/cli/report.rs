//! What people see of a run, beside what every command prints.

pub use runtime::cli::report::*;

use crate::metrics::Success;

/// `93.4 % (91.0 to 95.2 %)`: with the 95 % interval.
pub fn success(success: &Success) -> String {
    share(success.success, (success.low, success.high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_success_is_shown_with_its_interval() {
        assert_eq!(success(&Success::new(486, 512)), "94.9 % (92.7 to 96.5 %)");
    }
}
