//! How many files, and so connections, the system lets the process have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Allows as many as the system grants without privileges. Most systems begin with a
/// thousand, which is one for each session and no more.
pub fn allow_many_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // With fewer, connections wait; that is no reason not to serve.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}
