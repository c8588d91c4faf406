//! The descriptors that a guest holds.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use super::tree::{Inode, Kind, Tree};

/// The tree, which descriptors and streams share.
pub(super) type SharedTree = Arc<Mutex<Tree>>;

/// One node of the tree, which stays as long as this is held.
pub(super) struct Handle {
    tree: SharedTree,
    inode: Inode,
}

impl Handle {
    /// Finds a node, with nothing in between that could remove it.
    pub(super) fn find(
        tree: &SharedTree,
        find: impl FnOnce(&mut Tree) -> Result<Inode, ErrorCode>,
    ) -> Result<Self, ErrorCode> {
        let mut locked = lock(tree);
        let inode = find(&mut locked)?;
        locked.hold(inode)?;
        Ok(Handle { tree: tree.clone(), inode })
    }

    /// Another handle to the same node.
    pub(super) fn again(&self) -> Result<Self, ErrorCode> {
        Handle::find(&self.tree, |_| Ok(self.inode))
    }

    pub(super) fn inode(&self) -> Inode {
        self.inode
    }

    pub(super) fn shared(&self) -> &SharedTree {
        &self.tree
    }

    pub(super) fn tree(&self) -> MutexGuard<'_, Tree> {
        lock(&self.tree)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        lock(&self.tree).release(self.inode);
    }
}

/// A panic in between loses the instance, not the tree's shape.
fn lock(tree: &SharedTree) -> MutexGuard<'_, Tree> {
    tree.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An open file or directory.
pub(super) struct Descriptor {
    pub(super) handle: Handle,
    pub(super) readable: bool,
    pub(super) writable: bool,
}

impl Descriptor {
    /// The node, to be read.
    ///
    /// # Errors
    ///
    /// It must be a file that was opened for reading.
    pub(super) fn for_reading(&self) -> Result<&Handle, ErrorCode> {
        self.for_content(self.readable)
    }

    /// The node, to be written.
    ///
    /// # Errors
    ///
    /// It must be a file that was opened for writing.
    pub(super) fn for_writing(&self) -> Result<&Handle, ErrorCode> {
        self.for_content(self.writable)
    }

    fn for_content(&self, allowed: bool) -> Result<&Handle, ErrorCode> {
        if self.handle.tree().status(self.handle.inode)?.kind == Kind::Directory {
            Err(ErrorCode::IsDirectory)
        } else if allowed {
            Ok(&self.handle)
        } else {
            Err(ErrorCode::BadDescriptor)
        }
    }
}

/// A directory being listed, in the order of names. Remembers where it is by
/// name, so entries may come and go meanwhile.
pub(super) struct Listing {
    handle: Handle,
    last: Option<String>,
}

impl Listing {
    /// # Errors
    ///
    /// It must be a directory.
    pub(super) fn new(handle: Handle) -> Result<Self, ErrorCode> {
        handle.tree().directory(handle.inode)?;
        Ok(Listing { handle, last: None })
    }

    /// The next entry's name and kind; none after the last.
    pub(super) fn next(&mut self) -> Result<Option<(String, Kind)>, ErrorCode> {
        let entry = self.handle.tree().entry_after(self.handle.inode, self.last.as_deref())?;
        if let Some((name, _)) = &entry {
            self.last = Some(name.clone());
        }
        Ok(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::super::naming::Opening;
    use super::super::tree::ROOT;
    use super::*;

    fn create(tree: &SharedTree, path: &str) -> Handle {
        let how = Opening { create: true, ..Opening::default() };
        Handle::find(tree, |tree| tree.open(ROOT, path, how)).unwrap()
    }

    #[test]
    fn a_handle_keeps_a_removed_file_as_long_as_it_lives() {
        let tree = Arc::new(Mutex::new(Tree::new(10, 0)));
        let first = create(&tree, "tmp/x");
        let second = first.again().unwrap();
        let inode = first.inode();
        first.tree().remove_file(ROOT, "tmp/x").unwrap();
        drop(first);
        assert!(second.tree().status(inode).is_ok());
        drop(second);
        assert!(lock(&tree).status(inode).is_err());
    }

    #[test]
    fn a_listing_is_in_order_and_does_not_mind_removals() {
        let tree = Arc::new(Mutex::new(Tree::new(10, 0)));
        for path in ["tmp/b", "tmp/a", "tmp/c"] {
            create(&tree, path);
        }
        let tmp = Handle::find(&tree, |tree| tree.resolve(ROOT, "tmp")).unwrap();
        let mut listing = Listing::new(tmp).unwrap();
        let mut seen = Vec::new();
        while let Some((name, _)) = listing.next().unwrap() {
            lock(&tree).remove_file(ROOT, &format!("tmp/{name}")).unwrap();
            seen.push(name);
        }
        assert_eq!(seen, ["a", "b", "c"]);
    }

    #[test]
    fn content_is_only_for_who_opened_it_so() {
        let tree = Arc::new(Mutex::new(Tree::new(10, 0)));
        let handle = create(&tree, "tmp/x");
        let descriptor = Descriptor { handle, readable: true, writable: false };
        assert!(descriptor.for_reading().is_ok());
        assert_eq!(descriptor.for_writing().err(), Some(ErrorCode::BadDescriptor));
        let handle = Handle::find(&tree, |_| Ok(ROOT)).unwrap();
        let descriptor = Descriptor { handle, readable: true, writable: false };
        assert_eq!(descriptor.for_reading().err(), Some(ErrorCode::IsDirectory));
    }
}
