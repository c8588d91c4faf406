//! Finding what a path names.

use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use super::tree::{Inode, Tree};

/// Bytes of one name.
const NAME_BYTES: usize = 255;
/// Bytes of a path.
const PATH_BYTES: usize = 4096;

/// Where a path leads: all of it resolved but its last name.
pub(super) struct Place<'a> {
    pub(super) directory: Inode,
    /// None if the path names the directory itself, as `.` and `..` do.
    pub(super) name: Option<&'a str>,
    /// Whether the path, ending in a slash, can only mean a directory.
    pub(super) directory_only: bool,
}

impl Tree {
    /// Follows a path from a directory. `..` of the root is the root: the whole
    /// tree is the guest's, so there is nothing that must not be climbed to.
    ///
    /// # Errors
    ///
    /// All but the last name must be directories that exist.
    pub(super) fn locate<'a>(&self, base: Inode, path: &'a str) -> Result<Place<'a>, ErrorCode> {
        check(path)?;
        let mut directory = base;
        self.directory(directory)?;
        let mut names = path.split('/').filter(|name| !matches!(*name, "" | ".")).peekable();
        while let Some(name) = names.next() {
            if name.len() > NAME_BYTES {
                return Err(ErrorCode::NameTooLong);
            }
            if name == ".." {
                directory = self.parent(directory)?;
            } else if names.peek().is_none() {
                let directory_only = path.ends_with('/') || path.ends_with("/.");
                return Ok(Place { directory, name: Some(name), directory_only });
            } else {
                let child = self.directory(directory)?.get(name);
                directory = *child.ok_or(ErrorCode::NoEntry)?;
                self.directory(directory)?;
            }
        }
        Ok(Place { directory, name: None, directory_only: true })
    }

    /// The node at a place, if there is one.
    pub(super) fn find(&self, place: &Place<'_>) -> Result<Option<Inode>, ErrorCode> {
        let entries = self.directory(place.directory)?;
        Ok(place.name.map_or(Some(place.directory), |name| entries.get(name).copied()))
    }

    /// The node that a path names.
    ///
    /// # Errors
    ///
    /// There must be such a thing.
    pub(super) fn resolve(&self, base: Inode, path: &str) -> Result<Inode, ErrorCode> {
        let place = self.locate(base, path)?;
        let inode = self.find(&place)?.ok_or(ErrorCode::NoEntry)?;
        if place.directory_only {
            self.directory(inode)?;
        }
        Ok(inode)
    }
}

/// WASI's paths are relative to a directory.
fn check(path: &str) -> Result<(), ErrorCode> {
    if path.is_empty() {
        Err(ErrorCode::NoEntry)
    } else if path.len() > PATH_BYTES {
        Err(ErrorCode::NameTooLong)
    } else if path.starts_with('/') {
        Err(ErrorCode::NotPermitted)
    } else if path.contains('\0') {
        Err(ErrorCode::Invalid)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::naming::Opening;
    use super::super::tree::ROOT;
    use super::*;

    fn tree() -> Tree {
        let mut tree = Tree::new(100, 0);
        tree.create_directory(ROOT, "tmp/a").unwrap();
        tree.open(ROOT, "tmp/a/file", Opening { create: true, ..Opening::default() }).unwrap();
        tree
    }

    #[test]
    fn every_spelling_of_a_path_leads_to_the_same_place() {
        let tree = tree();
        let file = tree.resolve(ROOT, "tmp/a/file").unwrap();
        let directory = tree.resolve(ROOT, "tmp/a").unwrap();
        for path in ["tmp//a/./file", "./tmp/a/../a/file", "../../tmp/../tmp/a/file"] {
            assert_eq!(tree.resolve(ROOT, path), Ok(file), "{path}");
        }
        for path in ["tmp/a/", "tmp/a/.", "tmp/a/../a/."] {
            assert_eq!(tree.resolve(ROOT, path), Ok(directory), "{path}");
        }
        assert_eq!(tree.resolve(directory, "../../.."), Ok(ROOT));
        assert_eq!(tree.resolve(directory, "file"), Ok(file));
    }

    #[test]
    fn a_path_that_leads_nowhere_is_refused_for_the_reason() {
        let tree = tree();
        let long = "x".repeat(NAME_BYTES + 1);
        for (path, error) in [
            ("", ErrorCode::NoEntry),
            ("etc/passwd", ErrorCode::NoEntry),
            ("tmp/nothing", ErrorCode::NoEntry),
            ("/tmp", ErrorCode::NotPermitted),
            ("tmp/a/file/", ErrorCode::NotDirectory),
            ("tmp/a/file/x", ErrorCode::NotDirectory),
            ("tmp/a/file/..", ErrorCode::NotDirectory),
            ("tmp/\0", ErrorCode::Invalid),
            (&long, ErrorCode::NameTooLong),
            (&"a/".repeat(PATH_BYTES), ErrorCode::NameTooLong),
        ] {
            assert_eq!(tree.resolve(ROOT, path), Err(error), "{path:.20}");
        }
        let file = tree.resolve(ROOT, "tmp/a/file").unwrap();
        assert_eq!(tree.resolve(file, "x"), Err(ErrorCode::NotDirectory));
    }
}
