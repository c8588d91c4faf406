//! Plugins that keep nothing between episodes.

use crate::types::Extra;
use crate::{environment, workflow};

/// The key of a description's extras by which a plugin says so.
const REUSABLE: &str = "reusable";

fn says_so(extras: &[Extra]) -> bool {
    extras.iter().any(|extra| extra.key == REUSABLE)
}

fn say_so(extras: &mut Vec<Extra>) {
    extras.push(Extra { key: REUSABLE.to_owned(), value: String::new() });
}

impl environment::Description {
    /// An episode depends on its task and its moves alone, not on what an instance was used for
    /// before: there is no state outside of the episode. Then the host need not make a fresh
    /// instance for each fork, which is most of what one costs. `host plugin check` looks whether
    /// it is true.
    #[must_use]
    pub fn reusable(mut self) -> Self {
        say_so(&mut self.extras);
        self
    }

    /// Whether one instance may serve one episode after the other.
    pub fn is_reusable(&self) -> bool {
        says_so(&self.extras)
    }
}

impl workflow::Description {
    /// A session depends on its briefing and its events alone, not on what an instance was used
    /// for before: there is no state outside of the session. Then the host need not make a fresh
    /// instance for each fork. `host plugin check` looks whether it is true.
    #[must_use]
    pub fn reusable(mut self) -> Self {
        say_so(&mut self.extras);
        self
    }

    /// Whether one instance may serve one session after the other.
    pub fn is_reusable(&self) -> bool {
        says_so(&self.extras)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_is_used_again_only_where_that_is_said() {
        let environment = environment::Description::new("a", "1.0.0", "");
        assert!(!environment.is_reusable());
        assert!(environment.reusable().is_reusable());
        let workflow = workflow::Description::new("a", "1.0.0", "");
        assert!(!workflow.is_reusable());
        assert!(workflow.reusable().is_reusable());
    }
}
