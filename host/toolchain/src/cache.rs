//! Where `cargo xtask setup` keeps its downloads.

use std::env;
use std::path::PathBuf;

/// The user's folder for them; nothing if neither `XDG_CACHE_HOME` nor `HOME` says where.
pub fn cache_folder() -> Option<PathBuf> {
    folder(env::var_os("XDG_CACHE_HOME").map(PathBuf::from), env::home_dir())
}

/// By the XDG rules, a relative `XDG_CACHE_HOME` does not count.
fn folder(xdg: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let base = xdg.filter(|path| path.is_absolute()).or_else(|| Some(home?.join(".cache")))?;
    Some(base.join("troupe"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_follows_the_xdg_rules() {
        let home = || Some(PathBuf::from("/home/ada"));
        assert_eq!(folder(Some("/c".into()), home()), Some("/c/troupe".into()));
        assert_eq!(folder(Some("c".into()), home()), Some("/home/ada/.cache/troupe".into()));
        assert_eq!(folder(None, home()), Some("/home/ada/.cache/troupe".into()));
        assert_eq!(folder(None, None), None);
    }
}
