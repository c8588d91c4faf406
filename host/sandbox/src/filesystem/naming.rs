//! Giving names, changing them and taking them away.

use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use super::content::Content;
use super::tree::{Body, Entries, Inode, Kind, ROOT, Tree};
use super::walk::Place;

/// Files and directories there may be at a time.
const NODES: usize = 10_000;
/// Directories on the way from the root to a directory, itself included.
const DEPTH: usize = 128;

/// The flags of an open.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Opening {
    pub(super) create: bool,
    pub(super) exclusive: bool,
    pub(super) truncate: bool,
    pub(super) directory: bool,
    pub(super) write: bool,
}

impl Tree {
    /// Whether entries of the directory may come and go.
    fn check_writable(&self, directory: Inode) -> Result<(), ErrorCode> {
        if directory == ROOT {
            return Err(ErrorCode::Access);
        }
        self.parent(directory).map(|_| ())
    }

    fn create(&mut self, place: &Place<'_>, body: Body) -> Result<Inode, ErrorCode> {
        let name = place.name.ok_or(ErrorCode::Exist)?;
        self.check_writable(place.directory)?;
        let deep = self.ancestors(place.directory).count() >= DEPTH;
        if self.count() >= NODES || (deep && matches!(body, Body::Directory(_))) {
            return Err(ErrorCode::InsufficientSpace);
        }
        let inode = self.add(place.directory, body);
        self.directory_mut(place.directory)?.insert(name.to_owned(), inode);
        Ok(inode)
    }

    /// # Errors
    ///
    /// There must be nothing of that name, and room for it.
    pub(super) fn create_directory(&mut self, base: Inode, path: &str) -> Result<(), ErrorCode> {
        let place = self.locate(base, path)?;
        if self.find(&place)?.is_some() {
            return Err(ErrorCode::Exist);
        }
        self.create(&place, Body::Directory(Entries::new())).map(|_| ())
    }

    /// Finds a file or a directory, or creates a file.
    ///
    /// # Errors
    ///
    /// As POSIX has it.
    pub(super) fn open(
        &mut self,
        base: Inode,
        path: &str,
        how: Opening,
    ) -> Result<Inode, ErrorCode> {
        if how.directory && (how.create || how.exclusive || how.truncate) {
            return Err(ErrorCode::Invalid);
        }
        let place = self.locate(base, path)?;
        let Some(inode) = self.find(&place)? else {
            return match (how.create, place.directory_only) {
                (false, _) => Err(ErrorCode::NoEntry),
                (true, true) => Err(ErrorCode::IsDirectory),
                (true, false) => self.create(&place, Body::File(Content::default())),
            };
        };
        if how.create && how.exclusive {
            return Err(ErrorCode::Exist);
        }
        match self.status(inode)?.kind {
            Kind::Directory if how.create || how.truncate || how.write => {
                return Err(ErrorCode::IsDirectory);
            }
            Kind::File if how.directory || place.directory_only => {
                return Err(ErrorCode::NotDirectory);
            }
            Kind::File if how.truncate => self.resize(inode, 0)?,
            Kind::Directory | Kind::File => {}
        }
        Ok(inode)
    }

    /// # Errors
    ///
    /// There must be such a file.
    pub(super) fn remove_file(&mut self, base: Inode, path: &str) -> Result<(), ErrorCode> {
        let place = self.locate(base, path)?;
        let inode = self.find(&place)?.ok_or(ErrorCode::NoEntry)?;
        self.file(inode)?;
        if place.directory_only {
            return Err(ErrorCode::NotDirectory);
        }
        self.remove(&place)
    }

    /// # Errors
    ///
    /// There must be such a directory, with nothing in it.
    pub(super) fn remove_directory(&mut self, base: Inode, path: &str) -> Result<(), ErrorCode> {
        let place = self.locate(base, path)?;
        let inode = self.find(&place)?.ok_or(ErrorCode::NoEntry)?;
        let is_empty = self.directory(inode)?.is_empty();
        self.check_writable(place.directory)?;
        if !is_empty {
            return Err(ErrorCode::NotEmpty);
        }
        self.remove(&place)
    }

    /// Takes away the name, and the node as soon as nothing holds it.
    fn remove(&mut self, place: &Place<'_>) -> Result<(), ErrorCode> {
        let name = place.name.ok_or(ErrorCode::Invalid)?;
        self.check_writable(place.directory)?;
        let entries = self.directory_mut(place.directory)?;
        let inode = entries.remove(name).ok_or(ErrorCode::NoEntry)?;
        self.set_parent(inode, None)
    }

    /// Moves a file or a directory; a file, or an empty directory, that has the
    /// new name is replaced.
    ///
    /// # Errors
    ///
    /// As POSIX has it.
    pub(super) fn rename(
        &mut self,
        (from_base, from): (Inode, &str),
        (to_base, to): (Inode, &str),
    ) -> Result<(), ErrorCode> {
        let (from, to) = (self.locate(from_base, from)?, self.locate(to_base, to)?);
        let moved = self.find(&from)?.ok_or(ErrorCode::NoEntry)?;
        let (Some(old), Some(new)) = (from.name, to.name) else { return Err(ErrorCode::Busy) };
        self.check_writable(from.directory)?;
        self.check_writable(to.directory)?;
        match self.status(moved)?.kind {
            Kind::Directory => self.check_depth(moved, to.directory)?,
            Kind::File if from.directory_only || to.directory_only => {
                return Err(ErrorCode::NotDirectory);
            }
            Kind::File => {}
        }
        if let Some(replaced) = self.find(&to)? {
            if replaced == moved {
                return Ok(());
            }
            self.check_replaceable(moved, replaced)?;
            self.remove(&to)?;
        }
        self.directory_mut(from.directory)?.remove(old);
        self.directory_mut(to.directory)?.insert(new.to_owned(), moved);
        self.set_parent(moved, Some(to.directory))
    }

    /// A directory cannot come to lie in itself, nor too deep.
    fn check_depth(&self, moved: Inode, to: Inode) -> Result<(), ErrorCode> {
        if self.ancestors(to).any(|above| above == moved) {
            return Err(ErrorCode::Invalid);
        }
        let mut depth = self.ancestors(to).count();
        let mut level = vec![moved];
        while !level.is_empty() {
            depth += 1;
            let inner = level.iter().filter_map(|&inode| self.directory(inode).ok());
            let inner = inner.flat_map(|entries| entries.values().copied());
            level = inner.filter(|&inode| self.directory(inode).is_ok()).collect();
        }
        if depth > DEPTH { Err(ErrorCode::InsufficientSpace) } else { Ok(()) }
    }

    fn check_replaceable(&self, moved: Inode, replaced: Inode) -> Result<(), ErrorCode> {
        match (self.directory(moved), self.directory(replaced)) {
            (Ok(_), Ok(entries)) if !entries.is_empty() => Err(ErrorCode::NotEmpty),
            (Ok(_), Err(_)) => Err(ErrorCode::NotDirectory),
            (Err(_), Ok(_)) => Err(ErrorCode::IsDirectory),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREATE: Opening =
        Opening { create: true, exclusive: false, truncate: false, directory: false, write: true };

    fn tree() -> Tree {
        let mut tree = Tree::new(1000, 0);
        tree.create_directory(ROOT, "tmp/empty").unwrap();
        tree.create_directory(ROOT, "tmp/full").unwrap();
        tree.open(ROOT, "tmp/full/inner", CREATE).unwrap();
        let file = tree.open(ROOT, "tmp/file", CREATE).unwrap();
        tree.write(file, 0, b"text").unwrap();
        tree
    }

    fn rename(tree: &mut Tree, from: &str, to: &str) -> Result<(), ErrorCode> {
        tree.rename((ROOT, from), (ROOT, to))
    }

    fn names(tree: &Tree, path: &str) -> Vec<String> {
        tree.directory(tree.resolve(ROOT, path).unwrap()).unwrap().keys().cloned().collect()
    }

    #[test]
    fn nothing_is_writable_outside_tmp() {
        let mut tree = tree();
        let access = Err(ErrorCode::Access);
        assert_eq!(tree.create_directory(ROOT, "x"), access);
        assert_eq!(tree.open(ROOT, "x", CREATE).map(|_| ()), access);
        assert_eq!(tree.remove_directory(ROOT, "tmp"), access);
        assert_eq!(rename(&mut tree, "tmp", "x"), access);
        assert_eq!(rename(&mut tree, "tmp/file", "file"), access);
        assert_eq!(tree.open(ROOT, "etc/x", CREATE), Err(ErrorCode::NoEntry));
        assert_eq!(names(&tree, "."), ["tmp"]);
    }

    #[test]
    fn opening_does_what_it_says() {
        let plain = Opening::default();
        for (path, how, expected) in [
            ("tmp/file", plain, Ok(4)),
            ("tmp/none", plain, Err(ErrorCode::NoEntry)),
            ("tmp/new", CREATE, Ok(0)),
            ("tmp/new/", CREATE, Err(ErrorCode::IsDirectory)),
            ("tmp/file", CREATE, Ok(4)),
            ("tmp/file", Opening { exclusive: true, ..CREATE }, Err(ErrorCode::Exist)),
            ("tmp/file", Opening { truncate: true, ..plain }, Ok(0)),
            ("tmp/file", Opening { directory: true, ..plain }, Err(ErrorCode::NotDirectory)),
            ("tmp/file/", plain, Err(ErrorCode::NotDirectory)),
            ("tmp/full", plain, Ok(0)),
            ("tmp/full", Opening { directory: true, ..plain }, Ok(0)),
            ("tmp/full", Opening { write: true, ..plain }, Err(ErrorCode::IsDirectory)),
            ("tmp/full", CREATE, Err(ErrorCode::IsDirectory)),
            ("tmp/x", Opening { directory: true, ..CREATE }, Err(ErrorCode::Invalid)),
        ] {
            let mut tree = tree();
            let opened = tree.open(ROOT, path, how);
            let size = opened.and_then(|inode| tree.status(inode)).map(|status| status.size);
            assert_eq!(size, expected, "{path} {how:?}");
        }
    }

    #[test]
    fn removing_needs_the_right_kind_of_thing() {
        let mut tree = tree();
        assert_eq!(tree.remove_file(ROOT, "tmp/full"), Err(ErrorCode::IsDirectory));
        assert_eq!(tree.remove_file(ROOT, "tmp/file/"), Err(ErrorCode::NotDirectory));
        assert_eq!(tree.remove_file(ROOT, "tmp/none"), Err(ErrorCode::NoEntry));
        assert_eq!(tree.remove_directory(ROOT, "tmp/file"), Err(ErrorCode::NotDirectory));
        assert_eq!(tree.remove_directory(ROOT, "tmp/full"), Err(ErrorCode::NotEmpty));
        assert_eq!(tree.remove_file(ROOT, "tmp/full/inner"), Ok(()));
        assert_eq!(tree.remove_directory(ROOT, "tmp/full/"), Ok(()));
        assert_eq!(tree.remove_file(ROOT, "tmp/file"), Ok(()));
        assert_eq!(names(&tree, "tmp"), ["empty"]);
    }

    #[test]
    fn renaming_replaces_what_may_be_replaced() {
        for (from, to, expected) in [
            ("tmp/file", "tmp/new", Ok(())),
            ("tmp/file", "tmp/file", Ok(())),
            ("tmp/file", "tmp/full/inner", Ok(())),
            ("tmp/file", "tmp/empty", Err(ErrorCode::IsDirectory)),
            ("tmp/file", "tmp/new/", Err(ErrorCode::NotDirectory)),
            ("tmp/none", "tmp/new", Err(ErrorCode::NoEntry)),
            ("tmp/full", "tmp/new/", Ok(())),
            ("tmp/full", "tmp/empty", Ok(())),
            ("tmp/empty", "tmp/full", Err(ErrorCode::NotEmpty)),
            ("tmp/full", "tmp/file", Err(ErrorCode::NotDirectory)),
            ("tmp/full", "tmp/full/in", Err(ErrorCode::Invalid)),
            ("tmp/full/inner", "tmp/full", Err(ErrorCode::IsDirectory)),
            ("tmp/.", "tmp/new", Err(ErrorCode::Access)),
            ("tmp/full/..", "tmp/new", Err(ErrorCode::Busy)),
        ] {
            assert_eq!(rename(&mut tree(), from, to), expected, "{from} to {to}");
        }
        let mut tree = tree();
        rename(&mut tree, "tmp/full", "tmp/empty").unwrap();
        assert_eq!(names(&tree, "tmp"), ["empty", "file"]);
        assert_eq!(names(&tree, "tmp/empty"), ["inner"]);
        assert_eq!(names(&tree, "tmp/empty/.."), ["empty", "file"]);
    }

    #[test]
    fn a_removed_directory_stays_usable_but_nothing_can_be_put_into_it() {
        let mut tree = tree();
        let empty = tree.resolve(ROOT, "tmp/empty").unwrap();
        tree.hold(empty).unwrap();
        tree.remove_directory(ROOT, "tmp/empty").unwrap();
        assert_eq!(tree.entry_after(empty, None), Ok(None));
        assert_eq!(tree.open(empty, "x", CREATE), Err(ErrorCode::NoEntry));
        assert_eq!(tree.resolve(empty, ".."), Err(ErrorCode::NoEntry));
        tree.release(empty);
        assert_eq!(tree.entry_after(empty, None), Err(ErrorCode::BadDescriptor));
    }

    #[test]
    fn there_may_be_only_so_many_nodes() {
        let mut tree = Tree::new(1000, 0);
        let mut nodes = 2;
        while tree.open(ROOT, &format!("tmp/{nodes}"), CREATE).is_ok() {
            nodes += 1;
        }
        assert_eq!(nodes, NODES);
        assert_eq!(tree.open(ROOT, "tmp/x", CREATE), Err(ErrorCode::InsufficientSpace));
        tree.remove_file(ROOT, "tmp/2").unwrap();
        assert!(tree.open(ROOT, "tmp/x", CREATE).is_ok());
    }

    #[test]
    fn directories_nest_only_so_deep() {
        let mut tree = Tree::new(1000, 0);
        let mut at = tree.resolve(ROOT, "tmp").unwrap();
        for _ in 2..DEPTH {
            tree.create_directory(at, "d").unwrap();
            at = tree.resolve(at, "d").unwrap();
        }
        let full = Err(ErrorCode::InsufficientSpace);
        assert_eq!(tree.create_directory(at, "d"), full);
        assert!(tree.open(at, "file", CREATE).is_ok());
        tree.create_directory(ROOT, "tmp/e").unwrap();
        assert_eq!(rename(&mut tree, "tmp/d", "tmp/e/d"), full);
        assert_eq!(rename(&mut tree, "tmp/d/d", "tmp/e/d"), Ok(()));
    }
}
