//! The commit that the host is built from. A crate of its own, that only what lies on top of all
//! others uses: with every commit it is compiled anew, and what uses it, too.

/// The last commit that changed what the host is made of, in full; nothing if unknown, as
/// where the sources came without their history.
pub const COMMIT: Option<&str> = match env!("TROUPE_COMMIT").is_empty() {
    true => None,
    false => Some(env!("TROUPE_COMMIT")),
};

/// Whether the sources were not those of the commit.
pub const CHANGED: bool = !env!("TROUPE_CHANGED").is_empty();
